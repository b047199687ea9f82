"""Compare the training points nearest to new points with a full search in NumPy."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.neighbors import VALID_METRICS

from snekhorn.geometry.neighbor_index import NeighborIndex
from snekhorn.geometry.neighbor_search import LEAST_RECALL
from snekhorn.geometry.point_search import PointSearch
from snekhorn.runtime.execution import Threads

from ..helpers import clusters, without_some_entries

METRICS = ("sqeuclidean", "euclidean", "cosine", "cityblock", "correlation", "seuclidean", "mahalanobis")


def _scales(X, metric):
    if metric == "seuclidean":
        return {"V": X.var(axis=0, ddof=1)}
    return {"VI": np.linalg.inv(np.cov(X, rowvar=False))} if metric == "mahalanobis" else {}


def _assert_each_alone(own, new, k, n_threads):
    """A query gives the same result alone and in a batch."""
    indices, costs = own.query(new, k, Threads(n_threads))
    for i in range(0, len(new), 7):
        alone = own.query(new[i : i + 1], k, Threads(1))
        np.testing.assert_array_equal(alone[0][0], indices[i])
        np.testing.assert_array_equal(alone[1][0], costs[i])


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("k", [1, 7, 200])
def test_finds_the_nearest(metric, k):
    X, new = clusters(200, p=4), clusters(30, p=4, seed=1)
    indices, costs = NeighborIndex(X, metric).query(new, k, Threads(1))
    want = np.sort(cdist(new, X, metric=metric, **_scales(X, metric)), axis=1)[:, :k]
    assert indices.shape == costs.shape == (30, k)
    np.testing.assert_allclose(costs, want, rtol=1e-6, atol=1e-9)
    assert all(len(set(row)) == k for row in indices)


@pytest.mark.parametrize("metric", METRICS)
def test_a_training_point_is_at_cost_zero(metric):
    X = 1e3 + clusters(200, p=4)
    indices, costs = NeighborIndex(X, metric).query(X, 5, Threads(1))
    np.testing.assert_array_equal(indices[:, 0], np.arange(200))
    np.testing.assert_array_equal(costs[:, 0], 0.0)


def test_a_sparse_training_point_is_at_cost_zero():
    X = sparse.csr_matrix(1e3 * without_some_entries(clusters(200, p=4)))
    indices, costs = NeighborIndex(X, "sqeuclidean").query(X, 5, Threads(1))
    np.testing.assert_array_equal(indices[:, 0], np.arange(200))
    np.testing.assert_array_equal(costs[:, 0], 0.0)


def test_of_equal_points_the_first_comes_first():
    X = np.repeat(clusters(40), 5, axis=0)
    indices, costs = NeighborIndex(X, "sqeuclidean").query(X, 5, Threads(1))
    np.testing.assert_array_equal(indices, np.arange(5) + 5 * (np.arange(200) // 5)[:, None])
    np.testing.assert_array_equal(costs, 0.0)


@pytest.mark.parametrize("limit", [100_000, 100])
@pytest.mark.parametrize("n_threads", [1, 4])
def test_every_question_by_itself(limit, n_threads, monkeypatch):
    monkeypatch.setattr("snekhorn.geometry.neighbor_index.EXACT_INDEX_LIMIT", limit)  # below, clusters
    own = NeighborIndex(clusters(3000, p=4), "sqeuclidean")
    new = clusters(60, p=4, seed=1)
    _assert_each_alone(own, new, 10, n_threads)


@pytest.mark.filterwarnings("ignore:Data was converted to boolean")
@pytest.mark.parametrize("metric", sorted({*VALID_METRICS["brute"], "sqeuclidean"} - {"precomputed"}))
def test_every_question_by_itself_in_every_metric(metric):
    """At this many columns, the matrix products of some metrics would round by the size of the batch."""
    p = 2 if metric == "haversine" else 64
    own = NeighborIndex(clusters(300, p=p), metric)
    new = clusters(40, p=p, seed=1)
    _assert_each_alone(own, new, 10, 2)


@pytest.mark.parametrize("k", [300, 900])
def test_more_neighbours_than_a_few_clusters_hold(k, monkeypatch):
    monkeypatch.setattr("snekhorn.geometry.neighbor_index.EXACT_INDEX_LIMIT", 100)
    X, new = clusters(3000, p=4), clusters(40, p=4, seed=1)
    indices, costs = NeighborIndex(X, "sqeuclidean").query(new, k, Threads(1))
    assert indices.min() >= 0
    assert all(len(set(row)) == k for row in indices)
    C = cdist(new, X, "sqeuclidean")
    np.testing.assert_allclose(costs, np.take_along_axis(C, indices, 1), rtol=1e-9)
    true = np.sort(C, axis=1)[:, k - 1 : k] * (1 + 1e-9)
    assert np.mean(costs <= true) >= LEAST_RECALL


def test_rows_that_found_too_few_are_searched_again(monkeypatch):
    X, new = clusters(3000, p=4), clusters(40, p=4, seed=1)
    search = PointSearch(X, "sqeuclidean")
    monkeypatch.setattr(search, "_clusters_to_search", lambda *_, **__: 4)
    indices, _ = search.in_clusters(new, 900, float, Threads())
    np.testing.assert_array_equal(indices, np.argsort(cdist(new, X), axis=1)[:, :900])


def test_the_numbers_asked_for_before_leave_no_trace(monkeypatch):
    monkeypatch.setattr("snekhorn.geometry.neighbor_index.EXACT_INDEX_LIMIT", 100)
    X, new = clusters(3000, p=4), clusters(40, p=4, seed=1)
    own = NeighborIndex(X, "sqeuclidean")
    want = own.query(new, 10, Threads(1))
    own.query(new, 300, Threads(1))
    np.testing.assert_array_equal(own.query(new, 10, Threads(1)), want)


def _far_groups(n, gap, share=2):
    """Points of unit variance, one in `share` of them further away than float32 can resolve."""
    X = np.random.default_rng(0).normal(size=(n, 5))
    return X + gap * (np.arange(n) % share == 0)[:, None]


@pytest.mark.parametrize("limit", [100_000, 100])
@pytest.mark.parametrize(("gap", "share"), [(1e8, 2), (1e9, 2), (1e9, 5)])
def test_groups_that_float32_cannot_resolve(limit, gap, share, monkeypatch):
    monkeypatch.setattr("snekhorn.geometry.neighbor_index.EXACT_INDEX_LIMIT", limit)
    X = _far_groups(600, gap, share)
    indices, costs = NeighborIndex(X, "euclidean").query(X, 90, Threads(2))
    np.testing.assert_array_equal(indices[:, 0], np.arange(600))
    np.testing.assert_array_equal(costs[:, 0], 0.0)
    true = np.sort(cdist(X, X), axis=1)[:, :90]
    exact = np.arange(600) % share == 0 if limit == 100 else slice(None)  # clusters serve the larger group
    np.testing.assert_allclose(costs[exact], true[exact])
    assert np.mean(costs <= true[:, -1:]) >= LEAST_RECALL


@pytest.mark.parametrize("n_threads", [1, 4])
def test_every_question_by_itself_where_float32_is_not_enough(n_threads):
    X = _far_groups(600, 1e9)
    own = NeighborIndex(X, "sqeuclidean")
    new = _far_groups(60, 1e9) + 0.1
    _assert_each_alone(own, new, 90, n_threads)


@pytest.mark.parametrize("limit", [100_000, 100])
def test_of_more_equal_points_than_asked_for_the_first_comes_first(limit, monkeypatch):
    monkeypatch.setattr("snekhorn.geometry.neighbor_index.EXACT_INDEX_LIMIT", limit)
    X = np.concatenate([clusters(500), np.zeros((300, 3))])
    indices, _ = NeighborIndex(X, "sqeuclidean").query(X[-50:], 90, Threads(2))
    np.testing.assert_array_equal(indices, np.tile(np.arange(500, 590), (50, 1)))


def test_costs_given():
    C = np.array([[3.0, 1.0, 2.0, 1.0], [0.0, 5.0, 0.0, 1.0]])
    indices, costs = NeighborIndex(None, "precomputed").query(C, 3, Threads(1))
    np.testing.assert_array_equal(indices, [[1, 3, 2], [0, 2, 3]])
    np.testing.assert_array_equal(costs, [[1.0, 1.0, 2.0], [0.0, 0.0, 1.0]])


def test_offset_and_scale_do_not_matter():
    X, new = clusters(200), clusters(30, seed=1)
    indices, costs = NeighborIndex(X, "euclidean").query(new, 5, Threads(1))
    for offset, scale in ((1e6, 1.0), (0.0, 1e-12), (0.0, 1e12)):
        other, found = NeighborIndex(offset + scale * X, "euclidean").query(offset + scale * new, 5, Threads(1))
        np.testing.assert_allclose(found / scale, costs, rtol=1e-5)
        assert np.mean(other == indices) > 0.99


def test_pickles_without_its_index():
    own = NeighborIndex(clusters(200), "sqeuclidean")
    new = clusters(30, seed=1)
    want = own.query(new, 5, Threads(1))
    again = pickle.loads(pickle.dumps(own))
    assert again._search is None
    np.testing.assert_array_equal(again.query(new, 5, Threads(1)), want)


def test_keeps_no_costs():
    assert NeighborIndex(np.zeros((5, 5)), "precomputed").X is None


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_an_outline_has_the_size_of_all_points_but_takes_no_memory(form):
    X = without_some_entries(clusters(200, p=4))
    outline = NeighborIndex(form(X), "sqeuclidean").outline(1000)
    assert outline.shape == (1000, 4)
    assert outline.dtype == X.dtype
    parts = [outline.data, outline.indices] if sparse.issparse(outline) else [outline]
    assert not any(stride for part in parts for stride in part.strides)
    if sparse.issparse(outline):
        assert outline.nnz == 5 * np.count_nonzero(X)


def test_a_released_search_is_prepared_again():
    X, new = clusters(200, p=4), clusters(30, p=4, seed=1)
    index = NeighborIndex(X, "seuclidean")
    before = index.query(new, 5, Threads(1))
    index.release_search()
    for found, expected in zip(index.query(new, 5, Threads(1)), before, strict=True):
        np.testing.assert_array_equal(found, expected)
