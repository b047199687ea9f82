"""Nearest points where many distances tie or nearly tie: exact, in a defined order, and the same on any threads."""

import numpy as np
import pytest
from scipy import sparse

from snekhorn.geometry.neighbor_index import NeighborIndex
from snekhorn.geometry.neighbor_search import find_neighbors
from snekhorn.geometry.point_search import PointSearch
from snekhorn.runtime.execution import Threads

from ..helpers import clusters, squared_distances

K = 30
THREADS = (1, 2, 3, 7)


def _kinds(n):
    rng = np.random.default_rng(0)
    normal = rng.normal(size=(n, 20))
    return {
        "counts": rng.poisson(1.0, (n, 30)).astype(float),
        "binary": rng.integers(0, 2, (n, 12)).astype(float),
        "grey levels": rng.integers(0, 5, (n, 64)) / 4.0,
        "scaled integers": 0.1 * rng.integers(0, 4, (n, 10)),
        "duplicates": np.repeat(normal[: n // 4], 4, axis=0),
        "all equal": np.full((n, 5), 0.1),
        "one-hot": np.eye(25)[rng.integers(0, 25, n)],
        "one column": normal[:, :1].copy(),
        "groups far apart": normal + 1e9 * (np.arange(n) % 2)[:, None],
        "outlier": np.concatenate([normal[1:], np.full((1, 20), 1e12)]),
        "float32": normal.astype(np.float32),
    }


KINDS = tuple(_kinds(40))


def _same_sets(found, want, C):
    """Whether two lists have the same points, or others only at costs equal up to rounding."""
    costs, true = (np.sort(np.take_along_axis(C, lists, axis=1), axis=1) for lists in (found, want))
    np.testing.assert_allclose(costs, true, rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_exact_neighbours_whatever_ties(kind):
    X = _kinds(700)[kind]
    indices, squared = PointSearch(X, "sqeuclidean").exact(None, K, X.dtype, Threads(2))
    C = squared_distances(X)
    np.testing.assert_allclose(squared, np.take_along_axis(C, indices, axis=1), rtol=1e-6)
    np.fill_diagonal(C, np.inf)
    _same_sets(indices, np.argsort(C, axis=1, kind="stable")[:, :K], C)
    assert all(len(set(row)) == K for row in indices.tolist())


@pytest.mark.parametrize("kind", ["counts", "binary", "grey levels", "all equal", "one-hot", "duplicates"])
def test_of_equally_near_points_the_first_are_found(kind):
    X = _kinds(700)[kind]
    indices, _ = PointSearch(X, "sqeuclidean").exact(None, K, float, Threads(2))
    C = squared_distances(X)  # exact, because the entries are multiples of a quarter, or equal
    np.fill_diagonal(C, np.inf)
    np.testing.assert_array_equal(indices, np.argsort(C, axis=1, kind="stable")[:, :K])


def test_the_unit_of_a_lattice_does_not_decide_which_equally_near_points_are_found():
    lattice = np.stack(np.meshgrid(np.arange(20.0), np.arange(20.0)), axis=-1).reshape(-1, 2)
    want, _ = PointSearch(lattice, "sqeuclidean").exact(None, 6, float, Threads())
    for unit in (0.1, 1e-6, 1 / 3, 1e30):
        found, squared = PointSearch(unit * lattice, "sqeuclidean").exact(None, 6, float, Threads())
        np.testing.assert_array_equal(np.sort(found, axis=1), np.sort(want, axis=1))
        assert (np.diff(squared, axis=1) >= 0.0).all()


@pytest.mark.parametrize("approximate", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_threads_leave_no_trace(kind, approximate):
    X = _kinds(1500)[kind]
    found = [find_neighbors(X, K, "sqeuclidean", Threads(n), approximate=approximate) for n in THREADS]
    for other in found[1:]:
        np.testing.assert_array_equal(other.indices, found[0].indices)
        np.testing.assert_array_equal(other.costs, found[0].costs)


@pytest.mark.parametrize("approximate", [False, True])
def test_threads_leave_no_trace_in_many_counts(approximate):
    """With this many rows, matrix products are divided among the threads of BLAS."""
    X = np.random.default_rng(0).poisson(1.0, (8000, 30)).astype(float)
    one, *others = (find_neighbors(X, 90, "sqeuclidean", Threads(n), approximate=approximate) for n in (1, 2, 3))
    for other in others:
        np.testing.assert_array_equal(other.indices, one.indices)
        np.testing.assert_array_equal(other.costs, one.costs)


@pytest.mark.parametrize("limit", [100_000, 100])
@pytest.mark.parametrize("kind", KINDS)
def test_a_query_alone_and_in_a_batch(kind, limit, monkeypatch):
    monkeypatch.setattr("snekhorn.geometry.neighbor_index.EXACT_INDEX_LIMIT", limit)  # below, clusters
    X = _kinds(900)[kind]
    index = NeighborIndex(X[:800], "sqeuclidean")
    queries = np.concatenate([X[800:], X[:100]])
    indices, costs = index.query(queries, K, Threads(3))
    for i in range(0, len(queries), 9):
        alone = index.query(queries[i : i + 1], K, Threads(1))
        np.testing.assert_array_equal(alone[0][0], indices[i])
        np.testing.assert_array_equal(alone[1][0], costs[i])


METRICS = ("correlation", "manhattan", "chebyshev", "braycurtis", "hamming")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("metric", METRICS)
def test_threads_leave_no_trace_in_other_metrics(metric, dtype):
    X = np.random.default_rng(0).poisson(3.0, (700, 40)).astype(dtype)
    found = [find_neighbors(X, K, metric, Threads(n)) for n in THREADS]
    index = NeighborIndex(X[:600], metric)
    asked = [index.query(X[500:], K, Threads(n)) for n in THREADS]
    for other, new in zip(found[1:], asked[1:], strict=True):
        np.testing.assert_array_equal(other.indices, found[0].indices)
        np.testing.assert_array_equal(other.costs, found[0].costs)
        np.testing.assert_array_equal(new, asked[0])


@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine", "manhattan"])
def test_threads_leave_no_trace_in_sparse_points(metric):
    X = np.random.default_rng(0).poisson(0.5, (700, 40)).astype(float)
    X[:, 0] = 1.0  # no row is zero
    X = sparse.csr_matrix(X)
    found = [find_neighbors(X, K, metric, Threads(n)) for n in THREADS]
    for other in found[1:]:
        np.testing.assert_array_equal(other.indices, found[0].indices)
        np.testing.assert_array_equal(other.costs, found[0].costs)


def _copies(X):
    """Four copies of every row, each as far apart as the number of rows."""
    return np.concatenate([X] * 4)


@pytest.mark.parametrize(
    ("metric", "form"),
    [
        *((metric, sparse.csr_matrix) for metric in ("sqeuclidean", "euclidean", "cosine", "manhattan")),
        *((metric, np.asarray) for metric in ("sqeuclidean", "cosine", "manhattan", "correlation", "mahalanobis")),
    ],
)
@pytest.mark.parametrize("k", [1, 3, 40])
def test_of_equal_rows_the_first_is_found(metric, form, k):
    X = np.random.default_rng(0).normal(size=(80, 7)) + 3.0
    indices, costs = NeighborIndex(form(_copies(X)), metric).query(form(_copies(X)), k, Threads(2))
    np.testing.assert_array_equal(indices[:, 0], np.tile(np.arange(80), 4))
    np.testing.assert_array_equal(costs[:, 0], 0.0)
    assert all(len(set(row)) == k for row in indices.tolist())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_of_multiples_of_a_row_the_first_is_found_by_the_cosine(form, dtype):
    X = np.random.default_rng(0).normal(size=(80, 7))
    X = np.concatenate([factor * X for factor in (1.0, 3.0, 0.1, 1e-5, np.pi, 1e7)]).astype(dtype)
    indices, costs = NeighborIndex(form(X), "cosine").query(form(X), 10, Threads(2))
    np.testing.assert_array_equal(indices[:, 0], np.tile(np.arange(80), 6))
    np.testing.assert_array_equal(costs[:, :6], 0.0)
    assert (costs[:, 6:] > 0.0).all()


def test_the_search_is_exact_in_few_dimensions_where_float32_cannot_resolve_clusters():
    X = clusters(4000, p=3) + 1e9 * (np.arange(4000) % 2)[:, None]
    one, two = (find_neighbors(X, K, "sqeuclidean", Threads(n), approximate=True) for n in (1, 2))
    np.testing.assert_array_equal(one.indices, two.indices)
    assert one.recall == 1.0
