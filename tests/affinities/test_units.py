"""The unit of the costs matters to no affinity, up to the limits of their type."""

import numpy as np
import pytest

from snekhorn.affinities import DoublyStochasticAffinity, EntropicAffinity, GaussianAffinity, SymmetricEntropicAffinity
from snekhorn.geometry.costs import DenseCost, NeighborGraph

from ..helpers import AFFINITIES, clusters, dense, fit_whatever_it_says, make, row_gap

SCALES = [1e-140, 1e-78, 1e84, 1e140]
X = clusters(60)


@pytest.mark.parametrize("self_loops", [True, False])
@pytest.mark.parametrize("n_neighbors", [None, 30])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("kind", AFFINITIES)
def test_any_unit_gives_the_same_affinity(kind, scale, n_neighbors, self_loops):
    affinity = make(kind, 8.0, n_neighbors=n_neighbors, self_loops=self_loops)
    want = dense(affinity.fit_transform(X))
    assert affinity.report_.converged
    found = dense(affinity.fit_transform(X * scale))
    assert affinity.report_.converged
    np.testing.assert_allclose(found, want, atol=1e-7)


@pytest.mark.parametrize("scale", SCALES)
def test_bandwidths_and_duals_have_the_unit_of_the_user(scale):
    for affinity, names in (
        (EntropicAffinity(8.0), ["bandwidths_", "marginal_dual_"]),
        (SymmetricEntropicAffinity(8.0), ["entropy_dual_", "marginal_dual_"]),
        (DoublyStochasticAffinity(perplexity=8.0), ["bandwidth_", "potential_"]),
        (GaussianAffinity(perplexity=8.0), ["bandwidth_"]),
    ):
        affinity.fit(X)
        want = {name: np.copy(getattr(affinity, name)) for name in names}
        affinity.fit(X * scale)
        for name in names:
            largest = np.abs(want[name]).max()
            np.testing.assert_allclose(
                getattr(affinity, name) / scale / scale, want[name], rtol=1e-5, atol=1e-6 * largest
            )


@pytest.mark.parametrize("self_loops", [True, False])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("kind", [GaussianAffinity, DoublyStochasticAffinity])
def test_a_given_bandwidth_has_the_unit_of_the_user(kind, scale, self_loops):
    affinity = kind(5.0 * scale * scale, self_loops=self_loops).fit(X * scale)
    want = kind(5.0, self_loops=self_loops).fit_transform(X)
    assert affinity.bandwidth_ == 5.0 * scale * scale
    np.testing.assert_allclose(affinity.affinity_, want, atol=1e-8)


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_a_warm_start_takes_its_own_solution_in_any_unit(scale):
    affinity = SymmetricEntropicAffinity(8.0, warm_start=True).fit(X * scale)
    first = affinity.report_.n_passes
    assert affinity.fit(X * scale).report_.n_passes < first / 4


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_edges_added_for_starved_points_have_the_same_unit(scale):
    points = np.random.default_rng(0).standard_t(3, size=(400, 60))
    affinity = SymmetricEntropicAffinity(8.0, n_neighbors=24)
    want = affinity.fit_transform(points)
    found = affinity.fit_transform(points * scale)
    assert (
        want.nnz
        > SymmetricEntropicAffinity(8.0, n_neighbors=24, metric="precomputed")
        .fit(_neighbour_lists(points, 24))
        .affinity_.nnz
    )
    assert row_gap(found) < 1e-8
    np.testing.assert_allclose(dense(found), dense(want), atol=1e-6)


def _neighbour_lists(points, k):
    costs = ((points[:, None] - points) ** 2).sum(axis=2)
    np.fill_diagonal(costs, np.inf)
    order = np.argsort(costs, axis=1)[:, :k]
    return order, np.take_along_axis(costs, order, axis=1)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scale", [1e-18, 1.0, 1e18])
def test_costs_of_ordinary_size_are_not_copied(scale, dtype):
    C = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0))).astype(dtype) * dtype(scale)
    matrix = DenseCost(C)
    graph = NeighborGraph(np.arange(6), np.roll(np.arange(5), 1), C[0] + C[1])
    assert matrix.in_own_units() is matrix
    assert graph.in_own_units() is graph


@pytest.mark.parametrize("scale", [1e-280, 1e-150, 1e150, 1e300])
def test_own_units_are_powers_of_two_and_keep_every_digit(scale):
    C = np.random.default_rng(0).uniform(1.0, 2.0, size=(5, 5)) * scale
    C[0, 1] *= 1e-6
    found = DenseCost(C).in_own_units()
    assert 1e-61 < found.matrix.min() < found.matrix.max() < 1e61
    assert np.frexp(found.unit)[0] == 0.5
    np.testing.assert_array_equal(found.matrix * found.unit, C)


def test_a_cost_far_above_the_others_stays_finite():
    C = np.full((5, 5), 1e-280)
    C[0, 1:] = C[1:, 0] = 1e280
    np.fill_diagonal(C, 0.0)
    assert np.isfinite(DenseCost(C).in_own_units().matrix).all()
    affinity = EntropicAffinity(2.0, metric="precomputed")
    said = fit_whatever_it_says(affinity, C)
    assert np.isfinite(affinity.affinity_).all()
    assert affinity.report_.converged != bool(said)
