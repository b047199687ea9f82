import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import pairwise_distances

from snekhorn.geometry.costs import DenseCost, NeighborGraph, build_cost, count_neighbors
from snekhorn.runtime.execution import Threads

from ..helpers import squared_distances, without_some_entries


def _build(X, metric="sqeuclidean", n_neighbors=None):
    return build_cost(X, metric=metric, n_neighbors=n_neighbors, perplexity=5.0, execution=Threads(1))


@pytest.mark.parametrize("metric", ["euclidean", "l2", "l1", "cosine", "chebyshev", "canberra", "braycurtis"])
def test_dense_costs_are_those_of_scikit_learn(X, metric):
    matrix = _build(X, metric).matrix
    np.testing.assert_allclose(matrix, pairwise_distances(X, metric=metric), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(matrix, matrix.T)
    np.testing.assert_array_equal(np.diag(matrix), 0.0)
    assert matrix.min() >= 0.0


def test_squared_distances_are_exact(X):
    np.testing.assert_allclose(_build(X).matrix, squared_distances(X), rtol=1e-14)


@pytest.mark.parametrize("metric", ["sqeuclidean", "euclidean", "cosine", "manhattan"])
def test_sparse_points_have_the_distances_of_their_dense_form(X, metric):
    thin = without_some_entries(X)
    found = _build(sparse.csr_matrix(thin), metric).matrix
    np.testing.assert_allclose(found, _build(thin, metric).matrix, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("metric", ["sqeuclidean", "manhattan"])
def test_float32_stays_float32(X, metric):
    X = X.astype(np.float32)
    assert _build(X, metric).matrix.dtype == np.float32
    assert _build(X, metric, 5).costs.dtype == np.float32


@pytest.mark.parametrize(
    ("n_neighbors", "n", "count"), [(None, 100, None), (7, 100, 7), (200, 100, 99), ("auto", 100, 8), ("auto", 6, 5)]
)
def test_number_of_neighbours(n_neighbors, n, count):
    assert count_neighbors(n_neighbors, n, 5.0) == count


def test_auto_rounds_up():
    assert count_neighbors("auto", 100, 5.4) == 9


def test_a_precomputed_matrix_is_used_as_it_is(X):
    C = squared_distances(X)
    assert isinstance(_build(C, "precomputed"), DenseCost)
    assert np.shares_memory(_build(C, "precomputed").matrix, C)


def test_the_nearest_of_a_precomputed_matrix_are_its_smallest_entries(X):
    C = squared_distances(X)
    graph = _build(C, "precomputed", 7)
    assert isinstance(graph, NeighborGraph)
    np.testing.assert_allclose(graph.costs.reshape(-1, 7), np.sort(C, axis=1)[:, 1:8], rtol=1e-15)


def test_the_nearest_of_a_precomputed_matrix_take_no_second_matrix(rng):
    C = squared_distances(rng.normal(size=(2000, 1)))
    tracemalloc.start()
    _build(C, "precomputed", 7)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < C.nbytes


@pytest.mark.parametrize("n_neighbors", [7, "auto"])
def test_the_nearest_of_a_precomputed_graph_are_its_smallest_entries(X, n_neighbors):
    C = squared_distances(X)
    k = count_neighbors(n_neighbors, len(X), 5.0)
    found = _build(sparse.csr_matrix(C), "precomputed", n_neighbors)
    want = _build(C, "precomputed", n_neighbors)
    np.testing.assert_array_equal(found.degrees, k)
    np.testing.assert_array_equal(np.sort(found.costs.reshape(-1, k), axis=1), want.costs.reshape(-1, k))
    np.testing.assert_array_equal(np.sort(want.indices.reshape(-1, k), axis=1), found.indices.reshape(-1, k))


@pytest.mark.parametrize("n_neighbors", [None, "auto"])
def test_a_graph_with_fewer_neighbours_is_used_as_it_is(X, n_neighbors):
    indices = (np.arange(len(X))[:, None] + [1, 2, 3]) % len(X)
    graph = _build((indices, np.ones(indices.shape)), "precomputed", n_neighbors)
    np.testing.assert_array_equal(graph.degrees, 3)


@pytest.mark.parametrize("n_neighbors", [None, 9])
@pytest.mark.parametrize("metric", ["seuclidean", "mahalanobis"])
def test_metrics_with_scales_take_them_from_all_points(X, metric, n_neighbors):
    C = pairwise_distances(X, metric=metric)
    want = _build(C, "precomputed", n_neighbors)
    found = _build(X, metric, n_neighbors)
    if n_neighbors is None:
        np.testing.assert_allclose(found.matrix, want.matrix, rtol=1e-9)
    else:
        np.testing.assert_array_equal(found.indices, want.indices)
        np.testing.assert_allclose(found.costs, want.costs, rtol=1e-9)


def test_the_diagonal_of_a_graph_is_left_out():
    full = sparse.csr_matrix(np.arange(1.0, 17.0).reshape(4, 4))
    graph = _build(full, "precomputed")
    np.testing.assert_array_equal(graph.degrees, 3)
    np.testing.assert_array_equal(graph.costs, [v for v in range(1, 17) if v not in (1, 6, 11, 16)])


@pytest.mark.parametrize("dtype", [int, np.float32, np.float64])
def test_distances_of_lists_are_floats(dtype):
    graph = _build((np.array([[1], [0]]), np.array([[3], [3]], dtype=dtype)), "precomputed")
    assert graph.costs.dtype == (np.float32 if dtype is np.float32 else np.float64)
