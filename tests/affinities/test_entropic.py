import numpy as np
import pytest
from scipy import sparse

from snekhorn.affinities import EntropicAffinity, row_perplexities
from snekhorn.affinities.entropic import MOST_ENTRIES, row_targets
from snekhorn.datasets import make_heteroscedastic_multinomial
from snekhorn.geometry.neighbor_graph import NeighborGraph
from snekhorn.runtime.execution import Threads

from ..helpers import dense, entropies, row_gap, squared_distances


@pytest.mark.parametrize("n_neighbors", [None, 40])
@pytest.mark.parametrize("self_loops", [True, False])
@pytest.mark.parametrize("perplexity", [1.5, 8.0, 35.0])
def test_rows_sum_to_one_and_have_the_perplexity(X, perplexity, self_loops, n_neighbors):
    affinity = EntropicAffinity(perplexity, self_loops=self_loops, n_neighbors=n_neighbors).fit(X)
    assert row_gap(affinity.affinity_) < 1e-12
    np.testing.assert_allclose(entropies(affinity.affinity_), np.log(perplexity), atol=1e-11)
    assert affinity.report_.converged
    assert affinity.report_.entropy_gap < 1e-11


def test_is_the_kernel_of_its_bandwidths(X):
    affinity = EntropicAffinity(8.0).fit(X)
    K = np.exp(-squared_distances(X) / affinity.bandwidths_[:, None])
    np.testing.assert_allclose(affinity.affinity_, K / K.sum(axis=1, keepdims=True), rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("self_loops", [True, False])
def test_is_the_exponential_of_its_duals(X, self_loops):
    affinity = EntropicAffinity(8.0, self_loops=self_loops).fit(X)
    lam, eps = affinity.marginal_dual_[:, None], affinity.entropy_dual_[:, None]
    want = np.exp((lam - squared_distances(X)) / eps)
    if not self_loops:
        np.fill_diagonal(want, 0.0)
    np.testing.assert_allclose(affinity.affinity_, want, rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("n_neighbors", [None, 30])
@pytest.mark.parametrize("distance", [1e5, 1e9, 1e12])
def test_a_far_outlier_without_self_loops_keeps_its_digits(X, distance, n_neighbors):
    far = np.concatenate([X, np.full((1, X.shape[1]), distance)])
    affinity = EntropicAffinity(8.0, self_loops=False, n_neighbors=n_neighbors).fit(far)
    assert row_gap(affinity.affinity_) < 1e-12
    assert affinity.report_.marginal_gap == pytest.approx(row_gap(affinity.affinity_), abs=1e-15)


@pytest.mark.parametrize("n_neighbors", [None, 25])
def test_symmetrised_is_the_mean_with_the_transpose(X, n_neighbors):
    plain = dense(EntropicAffinity(8.0, n_neighbors=n_neighbors).fit_transform(X))
    found = dense(EntropicAffinity(8.0, n_neighbors=n_neighbors, symmetrize=True).fit_transform(X))
    np.testing.assert_array_equal(found, (plain + plain.T) / 2)


def test_symmetrising_works_across_blocks_of_rows(many):
    plain = EntropicAffinity(8.0).fit_transform(many)
    found = EntropicAffinity(8.0, symmetrize=True).fit_transform(many)
    np.testing.assert_array_equal(found, (plain + plain.T) / 2)


def test_rows_of_duplicates_have_more_than_the_perplexity_and_are_counted(rng):
    X = np.repeat(rng.normal(size=(5, 2)), [12, 1, 1, 1, 1], axis=0)
    affinity = EntropicAffinity(4.0).fit(X)
    assert affinity.report_.n_floor_rows == 12
    np.testing.assert_allclose(np.exp(entropies(affinity.affinity_)[:12]), 12.0, rtol=1e-9)


def test_rows_with_too_few_neighbours_are_named():
    star = np.zeros((6, 6))
    star[0, 1:] = star[1:, 0] = 1.0
    affinity = EntropicAffinity(3.0, metric="precomputed")
    with pytest.warns(UserWarning, match="5 rows .* cannot reach perplexity 3"):
        affinity.fit(sparse.csr_matrix(star))
    np.testing.assert_array_equal(affinity.report_.unreachable_rows, [1, 2, 3, 4, 5])
    np.testing.assert_allclose(entropies(affinity.affinity_)[1:], np.log(2.0), rtol=1e-9)


def _assert_uniform_on_ties(affinity, X):
    affinity.fit(X)
    P = dense(affinity.affinity_)
    assert affinity.report_.converged
    assert row_gap(P) < 1e-6
    assert affinity.report_.marginal_gap == pytest.approx(row_gap(P), abs=1e-15)
    nearest = P[P > 0.1]
    np.testing.assert_allclose(nearest, nearest[0], rtol=1e-5)


def test_costs_that_tie_within_rounding_share_the_mass():
    """The search counts the first two costs of the first row as equal; so must the matrix."""
    C = 1.0 + np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 3.0], [1.0, 3.0, 0.0]]) * 1e-14
    np.fill_diagonal(C, 0.0)
    affinity = EntropicAffinity(1.01, metric="precomputed", self_loops=False).fit(C)
    assert row_gap(affinity.affinity_) < 1e-12
    np.testing.assert_array_equal(affinity.report_.floor_rows, [0])
    np.testing.assert_allclose(affinity.affinity_[0], [0.0, 0.5, 0.5], atol=1e-12)


@pytest.mark.parametrize("n", [12, 50, 99])
@pytest.mark.parametrize("scale", [0.01, 0.3, 1.0])
def test_circles_in_float32_share_the_mass(n, scale):
    angle = 2.0 * np.pi * np.arange(n) / n
    circle = scale * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    _assert_uniform_on_ties(EntropicAffinity(1.5, self_loops=False), circle.astype(np.float32))


@pytest.mark.parametrize("n_neighbors", [None, 20])
def test_lattices_in_float32_share_the_mass(n_neighbors):
    lattice = np.stack(np.divmod(np.arange(49), 7), axis=1) / np.float32(3.0)
    torus = np.concatenate([np.cos(lattice * 6 * np.pi / 7), np.sin(lattice * 6 * np.pi / 7)], axis=1)
    affinity = EntropicAffinity(1.5, self_loops=False, n_neighbors=n_neighbors)
    _assert_uniform_on_ties(affinity, torus.astype(np.float32))


def test_the_search_for_a_bandwidth_does_not_cycle():
    """Newton's method alternates between two bandwidths for ever on one of these rows."""
    X, *_ = make_heteroscedastic_multinomial(1000)
    affinity = EntropicAffinity(30, self_loops=False).fit(X)
    assert affinity.report_.converged
    np.testing.assert_allclose(row_perplexities(affinity.affinity_), 30.0, rtol=1e-9)


@pytest.mark.parametrize("self_loops", [False, True])
@pytest.mark.parametrize("k", range(2, 40))
def test_targets_are_lowered_for_rows_with_too_few_entries(k, self_loops):
    """A row with exactly as many entries as the perplexity would have to be uniform; rounding must not decide."""
    ring = (np.arange(50)[:, None] + np.arange(1, k + 1)) % 50
    graph = NeighborGraph.from_lists(ring, np.ones(ring.shape), Threads(1))
    n_entries = k + self_loops
    for perplexity in (n_entries - 0.5, float(n_entries), n_entries + 0.5):
        expected = perplexity if perplexity < n_entries else MOST_ENTRIES * n_entries
        targets = np.exp(row_targets(graph, float(np.log(perplexity)), self_loops=self_loops))
        np.testing.assert_allclose(targets, expected)
