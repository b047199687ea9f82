from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from snekhorn.geometry.neighbor_search import find_neighbors
from snekhorn.runtime.execution import Threads

from ..helpers import clusters, squared_distances, without_some_entries

K = 15


@dataclass
class Found:
    """Neighbour lists (n, k) of a graph whose rows are of one length."""

    indices: np.ndarray
    costs: np.ndarray
    recall: float


def _find(X, k, metric, n_threads, **how):
    graph = find_neighbors(X, k, metric, Threads(n_threads), **how)
    np.testing.assert_array_equal(graph.degrees, k)
    return Found(graph.indices.reshape(-1, k), graph.costs.reshape(-1, k), graph.recall)


def _brute(C, k=K):
    """Nearest neighbours by cost, then by index."""
    C = C + np.diag(np.full(len(C), np.inf))
    indices = np.argsort(C, axis=1, kind="stable")[:, :k]
    return indices, np.take_along_axis(C, indices, axis=1)


def _recall(indices, C):
    truth, _ = _brute(C, indices.shape[1])
    return np.mean([np.isin(true, found).mean() for true, found in zip(truth, indices, strict=True)])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("metric", "scipy_name"),
    [("sqeuclidean", "sqeuclidean"), ("euclidean", "euclidean"), ("cosine", "cosine"), ("manhattan", "cityblock")],
)
def test_exact_neighbours_are_those_of_brute_force(many, metric, scipy_name, dtype):
    X = many.astype(dtype)
    found = _find(X, K, metric, 1)
    C = cdist(X.astype(float), X.astype(float), scipy_name)
    _, costs = _brute(C)
    assert found.recall == 1.0
    assert _recall(found.indices, C) > (1 - 1e-9 if dtype == np.float64 else 0.999)
    np.testing.assert_allclose(found.costs, costs, rtol=1e-9 if dtype == np.float64 else 1e-4, atol=1e-7)
    assert found.costs.dtype == dtype


@pytest.mark.parametrize("metric", ["l2", "minkowski", "nan_euclidean"])
def test_other_names_of_the_euclidean_distance(many, metric):
    want = _find(many, K, "euclidean", 1)
    found = _find(many, K, metric, 1)
    np.testing.assert_array_equal(found.indices, want.indices)
    np.testing.assert_array_equal(found.costs, want.costs)


def test_sparse_points(many):
    thin = without_some_entries(many)
    found = _find(sparse.csr_matrix(thin), K, "sqeuclidean", 1)
    np.testing.assert_allclose(found.costs, _brute(squared_distances(thin))[1], rtol=1e-6, atol=1e-9)


def test_lists_may_be_empty():
    X = np.random.default_rng(0).integers(0, 4, size=(4000, 3)).astype(float)  # 64 places, more lists
    found = _find(X, K, "sqeuclidean", 1, approximate=True)
    np.testing.assert_array_equal(found.costs, 0.0)
    np.testing.assert_array_equal(X[found.indices], np.repeat(X[:, None], K, axis=1))


def test_the_size_of_the_blocks_leaves_no_trace_in_an_exact_search(many, monkeypatch):
    X = np.round(many)  # with ties
    want = _find(X, K, "sqeuclidean", 1)
    for name in ("QUERIES_AT_ONCE", "CONVERTED_AT_ONCE", "PRODUCTS_AT_ONCE"):
        monkeypatch.setattr(f"snekhorn.geometry.point_search.{name}", 100)
    found = _find(X, K, "sqeuclidean", 1)
    np.testing.assert_array_equal(found.indices, want.indices)
    np.testing.assert_array_equal(found.costs, want.costs)


def test_costs_are_sorted_and_never_of_the_point_itself(many):
    found = _find(many, K, "sqeuclidean", 1)
    assert (np.diff(found.costs, axis=1) >= 0.0).all()
    assert (found.indices != np.arange(len(many))[:, None]).all()


def test_ties_are_sorted_by_index(many):
    found = _find(np.concatenate([many, many]), K, "sqeuclidean", 1)
    later = np.diff(found.indices, axis=1) > 0
    assert later[np.diff(found.costs, axis=1) == 0.0].all()


@pytest.mark.parametrize("copies", [2, 30])
def test_duplicates_are_neighbours_at_cost_zero(copies):
    X = np.repeat(clusters(20), copies, axis=0)
    found = _find(X, K, "sqeuclidean", 1)
    n_zero = min(copies - 1, K)
    np.testing.assert_array_equal(found.costs[:, :n_zero], 0.0)
    assert (found.indices != np.arange(len(X))[:, None]).all()
    assert all(len(set(row)) == K for row in found.indices.tolist())


@pytest.mark.parametrize("change", [lambda X: X + 1e6, lambda X: X * 1e30, lambda X: X * 1e-30], ids=["+", "*", "/"])
def test_offset_and_unit_do_not_matter(many, change):
    found = _find(change(many), K, "sqeuclidean", 1)
    assert _recall(found.indices, squared_distances(many)) > 0.9999


@pytest.mark.parametrize("distance", [1e3, 1e6])
def test_an_outlier_does_not_cost_the_others_their_neighbours(many, distance):
    X = np.concatenate([many, np.full((1, many.shape[1]), distance)])
    found = _find(X, K, "sqeuclidean", 1)
    assert _recall(found.indices, squared_distances(X)) > 0.999


@pytest.mark.parametrize("gap", [1e3, 1e4])
def test_groups_far_apart_keep_their_neighbours(many, gap):
    X = many + gap * (np.arange(len(many)) % 2)[:, None]
    found = _find(X, K, "sqeuclidean", 1)
    assert _recall(found.indices, squared_distances(X)) > 0.999


def test_approximate_neighbours_reach_the_recall_and_report_it():
    X = np.random.default_rng(0).normal(size=(4000, 10))
    found = _find(X, K, "sqeuclidean", 2, approximate=True)
    true_recall = _recall(found.indices, squared_distances(X))
    assert true_recall >= 0.96
    assert found.recall >= 0.96
    assert found.recall == pytest.approx(true_recall, abs=0.02)


def test_approximate_costs_are_exact_for_what_was_found():
    X = clusters(2000, p=6)
    found = _find(X, K, "sqeuclidean", 2, approximate=True)
    want = np.sum((X[:, None] - X[found.indices]) ** 2, axis=2)
    np.testing.assert_allclose(found.costs, want, rtol=1e-12)


@pytest.mark.parametrize("n", [100, 1000, 5000])
def test_approximate_neighbours_of_few_points_are_found_without_a_word(n, capfd):
    _find(clusters(n), K, "sqeuclidean", 1, approximate=True)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("approximate", [True, False])
@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine"])
def test_the_number_of_threads_leaves_no_trace(approximate, metric):
    X = clusters(7000, p=4)
    one, two, four = (_find(X, K, metric, n, approximate=approximate) for n in (1, 2, 4))
    for other in (two, four):
        np.testing.assert_array_equal(other.indices, one.indices)
        np.testing.assert_array_equal(other.costs, one.costs)
        assert other.recall == one.recall


def test_some_points_can_be_searched_again(many):
    graph = find_neighbors(many, K, "sqeuclidean", Threads())
    some = np.arange(3, 200, 7)
    found = graph.search_among(some, 4)
    indices, costs = _brute(squared_distances(many[some]), 4)
    np.testing.assert_array_equal(found.indices.reshape(-1, 4), indices)
    np.testing.assert_allclose(found.costs.reshape(-1, 4), costs, rtol=1e-12)


@pytest.mark.parametrize("k", [1, 4])
def test_all_other_points_may_be_asked_for(k):
    X = clusters(k + 1)
    found = _find(X, k, "sqeuclidean", 1)
    np.testing.assert_array_equal(
        np.sort(found.indices, axis=1), [np.delete(np.arange(k + 1), i) for i in range(k + 1)]
    )
