import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from snekhorn.affinities import DoublyStochasticAffinity, GaussianAffinity

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


@pytest.mark.parametrize("p", [2, 5])
def test_a_small_perplexity_without_self_loops_takes_a_limited_number_of_passes(p):
    """P is then nearly singular. The limit holds for all bandwidths together."""
    X = np.random.default_rng(0).normal(size=(300, p))
    affinity = DoublyStochasticAffinity(perplexity=2.0, self_loops=False)
    fit_whatever_it_says(affinity, X)
    assert affinity.report_.n_passes < 2000
    assert row_gap(affinity.affinity_) < 1e-4
    assert np.exp(entropies(affinity.affinity_).mean()) == pytest.approx(2.0, abs=1e-4)


@pytest.mark.parametrize("self_loops", [True, False])
def test_the_bandwidth_takes_few_solves(X, self_loops):
    report = DoublyStochasticAffinity(perplexity=15.0, self_loops=self_loops).fit(X).report_
    assert report.converged
    assert report.n_passes < 100


@pytest.mark.parametrize("self_loops", [True, False])
@pytest.mark.parametrize("perplexity", [5.0, 998.0])  # which some rows reach, and which none does
def test_rows_too_short_for_the_perplexity_end_and_say_how(perplexity, self_loops):
    X = np.random.default_rng(0).normal(size=(1000, 2))
    affinity = DoublyStochasticAffinity(perplexity=perplexity, n_neighbors=2, self_loops=self_loops)
    fit_whatever_it_says(affinity, X)
    report, P = affinity.report_, dense(affinity.affinity_)
    assert "overflow" not in report.reason
    assert report.n_passes < 2500
    assert report.marginal_gap == pytest.approx(row_gap(P), rel=1e-9)
    if self_loops:  # then the graph can be scaled at any bandwidth
        assert report.converged
        assert (report.unreachable_rows.size > 900) == (perplexity == 5.0)  # 998 is lowered to what rows allow


@pytest.mark.parametrize("below", [1e-3, 1e-4, 1e-6])
def test_a_target_just_below_what_short_rows_allow_is_reached(below):
    X = np.random.default_rng(0).normal(size=(40, 3))
    X[0] *= 3.0
    flat = DoublyStochasticAffinity(1e8, n_neighbors=6).fit(X).affinity_
    target = entropies(dense(flat)).mean() - below
    affinity = DoublyStochasticAffinity(perplexity=np.exp(target), n_neighbors=6).fit(X)
    assert affinity.report_.converged
    assert affinity.report_.unreachable_rows.size == 0
    assert entropies(dense(affinity.affinity_)).mean() == pytest.approx(target, abs=1e-8)


def _groups_of_two_sizes():
    """Tight groups of 5 and of 20 points, far apart: between the two scales, the average perplexity stays at 10."""
    group = np.repeat(np.arange(20), [5, 20] * 10)
    group[np.isin(group, np.arange(0, 20, 2))] += 100
    return 1e4 * group[:, None] + np.random.default_rng(0).normal(size=(250, 2))


@pytest.mark.parametrize("kind", [DoublyStochasticAffinity, GaussianAffinity])
@pytest.mark.parametrize("perplexity", [8.0, 15.0, 16.0, 25.0])
def test_a_bandwidth_is_found_beyond_a_plateau(kind, perplexity):
    affinity = kind(perplexity=perplexity).fit(_groups_of_two_sizes())
    assert affinity.report_.converged
    assert np.exp(entropies(affinity.affinity_).mean()) == pytest.approx(perplexity, rel=1e-6)
    assert affinity.report_.floor_rows.size == affinity.report_.unreachable_rows.size == 0


@pytest.mark.parametrize("bandwidth", [None, 1e-8, 1e-2])
@pytest.mark.parametrize("seed", range(5))
def test_a_graph_that_cannot_be_scaled_is_no_overflow(seed, bandwidth):
    """Points that share their only neighbour cannot all give it their mass."""
    X = np.random.default_rng(seed).normal(size=(5, 3))
    affinity = DoublyStochasticAffinity(bandwidth, perplexity=1.005, n_neighbors=1, self_loops=False)
    fit_whatever_it_says(affinity, X)
    assert np.isfinite(dense(affinity.affinity_)).all()
    assert "overflow" not in affinity.report_.reason
    assert affinity.report_.converged == (row_gap(affinity.affinity_) < 1e-8)
