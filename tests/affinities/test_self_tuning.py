import warnings

import numpy as np
import pytest

from snekhorn.affinities import SelfTuningAffinity

from ..helpers import clusters, dense, full_matrices_held, squared_distances


def _formula(C, k):
    scale = np.sqrt(np.sort(C, axis=1)[:, k])
    return np.exp(-C / np.outer(scale, scale)), scale


@pytest.mark.parametrize("k", [1, 7, 59])
def test_is_the_kernel_of_distances_to_the_kth_neighbour(X, k):
    affinity = SelfTuningAffinity(k).fit(X)
    want, scale = _formula(squared_distances(X), k)
    np.testing.assert_allclose(affinity.affinity_, want, rtol=1e-10, atol=1e-300)
    np.testing.assert_allclose(affinity.bandwidths_, scale, rtol=1e-13)
    np.testing.assert_array_equal(affinity.affinity_, affinity.affinity_.T)


def test_graph_is_the_full_matrix_on_its_edges(X):
    P = SelfTuningAffinity(7, n_neighbors=12).fit_transform(X)
    want, _ = _formula(squared_distances(X), 7)
    on_edge = dense(P) > 0.0
    assert on_edge.sum() < want.size / 2
    np.testing.assert_allclose(dense(P)[on_edge], want[on_edge], rtol=1e-10)
    np.testing.assert_array_equal(dense(P), dense(P).T)


def test_without_self_loops_only_the_diagonal_goes(X):
    P = SelfTuningAffinity().fit_transform(X)
    np.fill_diagonal(P, 0.0)
    np.testing.assert_array_equal(SelfTuningAffinity(self_loops=False).fit_transform(X), P)


@pytest.mark.parametrize("n_neighbors", [None, 8])
def test_rows_without_mass_are_warned_of(rng, n_neighbors):
    X = np.concatenate([rng.normal(size=(40, 3)), [[1e4, 0.0, 0.0]]])
    with pytest.warns(UserWarning, match=r"1 row has no mass \(row 40\), .* allow self_loops or remove far outliers\."):
        P = SelfTuningAffinity(7, n_neighbors=n_neighbors, self_loops=False).fit_transform(X)
    np.testing.assert_array_equal(np.flatnonzero(dense(P).sum(axis=1) == 0.0), [40])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SelfTuningAffinity(7, n_neighbors=n_neighbors).fit(X)


def test_more_duplicates_than_k_keep_a_scale(rng):
    X = np.repeat(rng.normal(size=(4, 2)), [10, 1, 1, 1], axis=0)
    affinity = SelfTuningAffinity(3).fit(X)
    assert (affinity.bandwidths_ > 0.0).all()
    np.testing.assert_array_equal(affinity.affinity_[:10, :10], 1.0)
    assert np.isfinite(affinity.affinity_).all()


def test_costs_and_affinity_are_all_that_is_held():
    """In addition, there are two blocks of 256 rows, each an eighth of a matrix here."""
    assert full_matrices_held(SelfTuningAffinity(), clusters(2048)) < 2.4


@pytest.mark.parametrize("n_neighbors", [None, 5])
@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100])
def test_if_every_point_has_duplicates_the_nearest_other_place_sets_the_scale(scale, n_neighbors):
    places = scale * np.repeat([[0.0], [2.0], [5.0]], 4, axis=0)
    P = dense(SelfTuningAffinity(2, n_neighbors=n_neighbors).fit_transform(places))
    np.testing.assert_allclose(P[0, :4], 1.0)
    np.testing.assert_allclose(P[0, 4], np.exp(-1.0))
