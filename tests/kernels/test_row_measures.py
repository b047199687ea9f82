import numpy as np
import pytest
from scipy import sparse

from snekhorn.kernels.row_measures import ENTROPY, N_MEASURES, SUM, TIES, dense_measures, graph_measures


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_measures_are_the_formulas(rng, dtype):
    P = np.where(rng.random((9, 40)) < 0.3, 0.0, rng.random((9, 40))).astype(dtype)
    P[4] = 0.0
    P[5, :3] = 1e-310, 1e-40, 2.0
    found = np.full((9, N_MEASURES), np.nan)
    dense_measures(2, 9, P, found)
    assert np.isnan(found[:2]).all()
    exact = P[2:].astype(float)
    np.testing.assert_allclose(found[2:, SUM], exact.sum(axis=1), rtol=1e-14)
    entropies = -(exact * np.log(np.where(exact > 0.0, exact, 1.0))).sum(axis=1)
    np.testing.assert_allclose(found[2:, ENTROPY], entropies, atol=1e-11)
    np.testing.assert_array_equal(found[2:, TIES], (exact >= exact.max(axis=1, keepdims=True) / 2.0).sum(axis=1))


def test_graphs_have_the_measures_of_their_full_matrix(rng):
    P = np.where(rng.random((9, 40)) < 0.7, 0.0, rng.random((9, 40)))
    graph, want, found = sparse.csr_matrix(P), np.empty((9, N_MEASURES)), np.empty((9, N_MEASURES))
    dense_measures(0, 9, P, want)
    graph_measures(0, 9, graph.indptr, graph.data, found)
    np.testing.assert_allclose(found, want, rtol=1e-13)
