import numpy as np
import pytest

from snekhorn.affinities import GaussianAffinity

from ..helpers import dense, entropies, row_gap, squared_distances


def _kernel(X, bandwidth, *, self_loops):
    K = np.exp(-squared_distances(X) / bandwidth)
    if not self_loops:
        np.fill_diagonal(K, 0.0)
    return K / K.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("self_loops", [True, False])
@pytest.mark.parametrize("bandwidth", [2.0, 50.0])
def test_is_the_kernel_normalised_by_row(X, bandwidth, self_loops):
    P = GaussianAffinity(bandwidth, self_loops=self_loops).fit_transform(X)
    np.testing.assert_allclose(P, _kernel(X, bandwidth, self_loops=self_loops), rtol=1e-11, atol=1e-300)


def test_a_given_bandwidth_has_no_entropy_to_miss(X):
    report = GaussianAffinity(3.0).fit(X).report_
    assert np.isnan(report.entropy_gap)
    assert "entropy gap" not in str(report)


def test_symmetrised_is_the_mean_with_the_transpose(X):
    P = GaussianAffinity(3.0, symmetrize=True).fit_transform(X)
    K = _kernel(X, 3.0, self_loops=True)
    np.testing.assert_allclose(P, (K + K.T) / 2, rtol=1e-11)
    np.testing.assert_array_equal(P, P.T)


@pytest.mark.parametrize("n_neighbors", [None, 30])
@pytest.mark.parametrize("self_loops", [True, False])
@pytest.mark.parametrize("perplexity", [2.0, 15.0])
def test_bandwidth_has_the_average_perplexity_asked(X, perplexity, self_loops, n_neighbors):
    affinity = GaussianAffinity(perplexity=perplexity, self_loops=self_loops, n_neighbors=n_neighbors).fit(X)
    gap = abs(entropies(affinity.affinity_).mean() - np.log(perplexity))
    assert gap < 1e-9
    assert affinity.report_.entropy_gap == pytest.approx(gap, abs=1e-12)
    assert affinity.report_.marginal_gap == pytest.approx(row_gap(affinity.affinity_), abs=1e-15)
    again = GaussianAffinity(affinity.bandwidth_, self_loops=self_loops, n_neighbors=n_neighbors).fit_transform(X)
    np.testing.assert_array_equal(dense(again), dense(affinity.affinity_))


@pytest.mark.parametrize("self_loops", [True, False])
@pytest.mark.parametrize("bandwidth", [1e-300, 1e-6, 1e300])
def test_extreme_bandwidths_give_finite_rows_that_sum_to_one(X, bandwidth, self_loops):
    P = GaussianAffinity(bandwidth, self_loops=self_loops).fit_transform(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-9)
