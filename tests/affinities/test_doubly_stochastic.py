import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from snekhorn.affinities import DoublyStochasticAffinity

from ..helpers import dense, entropies, fit_whatever_it_says, row_gap, squared_distances


@pytest.mark.parametrize("self_loops", [True, False])
@pytest.mark.parametrize("bandwidth", [3.0, 50.0, 1e4])
def test_is_the_scaled_kernel_of_its_potential(X, bandwidth, self_loops):
    affinity = DoublyStochasticAffinity(bandwidth, self_loops=self_loops).fit(X)
    f = affinity.potential_
    want = np.exp((f[:, None] + f - squared_distances(X)) / bandwidth)
    if not self_loops:
        np.fill_diagonal(want, 0.0)
    np.testing.assert_allclose(affinity.affinity_, want, rtol=1e-9, atol=1e-300)
    assert row_gap(affinity.affinity_) < 1e-8
    assert affinity.report_.converged


def test_a_given_bandwidth_has_no_entropy_to_miss(X):
    assert np.isnan(DoublyStochasticAffinity(3.0).fit(X).report_.entropy_gap)


def test_agrees_with_many_sinkhorn_steps(X):
    bandwidth = 20.0
    C, f = squared_distances(X), np.zeros(len(X))
    for _ in range(2000):
        f = (f - bandwidth * np.log(np.exp((f - C) / bandwidth).sum(axis=1))) / 2.0
    want = np.exp((f[:, None] + f - C) / bandwidth)
    np.testing.assert_allclose(DoublyStochasticAffinity(bandwidth).fit_transform(X), want, atol=1e-8)


@pytest.mark.parametrize("n_neighbors", [None, 30])
@pytest.mark.parametrize("self_loops", [True, False])
@pytest.mark.parametrize("perplexity", [4.0, 15.0])
def test_bandwidth_has_the_average_perplexity_asked(X, perplexity, self_loops, n_neighbors):
    affinity = DoublyStochasticAffinity(perplexity=perplexity, self_loops=self_loops, n_neighbors=n_neighbors).fit(X)
    P = affinity.affinity_
    gap = abs((entropies(P) + dense(P).sum(axis=1)).mean() - np.log(perplexity) - 1.0)
    assert gap < 1e-7
    assert affinity.report_.entropy_gap == pytest.approx(gap, abs=1e-10)
    assert row_gap(P) < 1e-8
    np.testing.assert_array_equal(dense(P), dense(P).T)


@pytest.mark.parametrize("bandwidth", [1e-300, 1e-6, 1e300])
def test_extreme_bandwidths_with_self_loops_converge(X, bandwidth):
    affinity = DoublyStochasticAffinity(bandwidth).fit(X)
    assert affinity.report_.converged
    assert row_gap(affinity.affinity_) < 1e-8


@pytest.mark.parametrize("bandwidth", [1e-12, 1e-6, 1e-2])
def test_a_bandwidth_too_small_for_rows_without_self_loops_is_reported(X, bandwidth):
    """The limit is an assignment between points, which no scaling reaches: converge or report that it did not."""
    affinity = DoublyStochasticAffinity(bandwidth, self_loops=False, max_iter=20)
    said = fit_whatever_it_says(affinity, X)
    assert said == ([] if affinity.report_.converged else [ConvergenceWarning])
    assert np.isfinite(affinity.affinity_).all()


@pytest.mark.parametrize("bandwidth", [1e-4, 1e-2])
def test_a_small_bandwidth_without_self_loops_is_reached_in_leaps(X, bandwidth):
    affinity = DoublyStochasticAffinity(bandwidth, self_loops=False).fit(X)
    assert affinity.report_.converged
    assert row_gap(affinity.affinity_) < 1e-8


def test_verbose_shows_progress(X, capsys):
    DoublyStochasticAffinity(3.0, verbose=True).fit(X)
    assert "gap=" in capsys.readouterr().err


def test_dual_increases(X):
    values = DoublyStochasticAffinity(3.0).fit(X).report_.dual_values
    assert (np.diff(values) >= -1e-12 * np.abs(values).max()).all()
