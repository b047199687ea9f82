"""Every affinity of the paper matches the solution that an independent solver finds for its convex problem."""

import numpy as np
import pytest

from snekhorn.affinities import DoublyStochasticAffinity, EntropicAffinity, SymmetricEntropicAffinity

from ..helpers import clusters, entropies, jittered_circle, squared_distances
from .convex import kl_projection, solve

AGREEMENT = 1e-6


def _agree(P, Q):
    np.testing.assert_allclose(P, Q, rtol=0.0, atol=AGREEMENT)


@pytest.mark.parametrize("self_loops", [True, False])
@pytest.mark.parametrize(("n", "perplexity"), [(5, 2.0), (12, 1.5), (12, 5.0), (20, 18.0)])
def test_entropic(n, perplexity, self_loops):
    X = clusters(n)
    P = EntropicAffinity(perplexity, self_loops=self_loops).fit_transform(X)
    C = squared_distances(X)
    _agree(P, solve(C, symmetric=False, self_loops=self_loops, log_perplexity=np.log(perplexity)))


@pytest.mark.parametrize(("n", "perplexity"), [(9, 2.0), (12, 3.0), (16, 5.0), (20, 8.0), (20, 15.0)])
@pytest.mark.parametrize("spread", [1.0, 3.0])
def test_symmetric_entropic(spread, n, perplexity, rng):
    X = rng.normal(size=(n, 3)) * np.where(np.arange(n) % 2, 1.0, spread)[:, None]
    affinity = SymmetricEntropicAffinity(perplexity).fit(X)
    assert affinity.report_.n_floor_rows == 0
    _agree(affinity.affinity_, solve(squared_distances(X), log_perplexity=np.log(perplexity)))


@pytest.mark.parametrize(("n", "perplexity"), [(9, 4.0), (16, 5.0), (20, 8.0), (20, 15.0)])
def test_symmetric_entropic_without_self_loops(n, perplexity):
    X = jittered_circle(n)
    affinity = SymmetricEntropicAffinity(perplexity, self_loops=False).fit(X)
    assert affinity.report_.n_floor_rows == 0
    want = solve(squared_distances(X), self_loops=False, log_perplexity=np.log(perplexity))
    _agree(affinity.affinity_, want)


@pytest.mark.parametrize(
    ("n", "perplexity", "self_loops"), [(9, 2.0, True), (12, 3.0, True), (10, 3.0, False), (20, 8.0, False)]
)
def test_a_floor_on_the_entropy_duals_adds_as_much_entropy_to_the_objective(n, perplexity, self_loops):
    """With gamma_i >= sigma_i, P minimises <P, C> - sum_i sigma_i H(P_i) under the same constraints.

    Where the entropy is the one asked for, any sigma_i up to gamma_i gives the same P: 0 is taken.
    """
    X = clusters(n)
    affinity = SymmetricEntropicAffinity(perplexity, self_loops=self_loops).fit(X)
    above = entropies(affinity.affinity_) > np.log(perplexity) + 1e-7
    assert affinity.report_.n_floor_rows == above.sum() > 0
    floor = np.where(above, affinity.entropy_dual_, 0.0).round(10)  # the last bits may stop the other solver short
    C = squared_distances(X)
    _agree(affinity.affinity_, solve(C, self_loops=self_loops, log_perplexity=np.log(perplexity), temperature=floor))


@pytest.mark.parametrize("self_loops", [True, False])
@pytest.mark.parametrize("bandwidth", [0.5, 3.0, 100.0])
def test_doubly_stochastic_of_a_bandwidth(bandwidth, self_loops):
    X = jittered_circle(14) * 3.0
    P = DoublyStochasticAffinity(bandwidth, self_loops=self_loops).fit_transform(X)
    _agree(P, solve(squared_distances(X), self_loops=self_loops, temperature=bandwidth))


@pytest.mark.parametrize("self_loops", [True, False])
@pytest.mark.parametrize("perplexity", [3.0, 6.0, 11.0])
def test_doubly_stochastic_of_an_average_perplexity(perplexity, self_loops):
    X = clusters(14)
    P = DoublyStochasticAffinity(perplexity=perplexity, self_loops=self_loops).fit_transform(X)
    _agree(P, solve(squared_distances(X), self_loops=self_loops, mean_log_perplexity=np.log(perplexity)))


@pytest.mark.parametrize("share", [0.9, 0.4])  # at 1, a constraint without multiplier slows the other solver
@pytest.mark.parametrize("perplexity", [3.0, 8.0])
def test_entropic_is_the_kl_projection_of_a_gaussian_kernel(perplexity, share):
    X = jittered_circle(12)
    affinity = EntropicAffinity(perplexity).fit(X)
    sigma = share * affinity.bandwidths_.min()
    _agree(affinity.affinity_, kl_projection(squared_distances(X), sigma, np.log(perplexity), symmetric=False))


@pytest.mark.parametrize("share", [0.9, 0.4])  # at 1, a constraint without multiplier slows the other solver
@pytest.mark.parametrize("perplexity", [3.0, 8.0])
def test_symmetric_entropic_is_the_kl_projection_of_a_gaussian_kernel(perplexity, share):
    X = jittered_circle(12)
    affinity = SymmetricEntropicAffinity(perplexity).fit(X)
    sigma = share * affinity.entropy_dual_.min()
    _agree(affinity.affinity_, kl_projection(squared_distances(X), sigma, np.log(perplexity), symmetric=True))


def test_the_kl_projection_of_a_wider_kernel_is_another_matrix():
    """The paper's remarks need sigma to be at most the smallest bandwidth; here it is larger."""
    X = jittered_circle(12)
    affinity = SymmetricEntropicAffinity(3.0).fit(X)
    sigma = 3.0 * affinity.entropy_dual_.max()
    P = kl_projection(squared_distances(X), sigma, np.log(3.0), symmetric=True)
    assert np.abs(P - affinity.affinity_).max() > 100 * AGREEMENT
