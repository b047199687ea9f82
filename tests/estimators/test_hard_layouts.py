"""Layouts that are wide, that overflow on the way, or that are interrupted at the end."""

import signal

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from snekhorn import SNE, SNEkhorn, TSNEkhorn
from snekhorn.embedding import charge_grid, mesh_size
from snekhorn.embedding.objective import Objective
from snekhorn.errors import NumericalOverflowError
from snekhorn.estimators import point_placement

from ..helpers import clusters
from .cases import divergence, each_estimator, each_method, latent_affinity, quick, stops_early

N = 60
FAR_APART = 1e10 * np.random.default_rng(0).normal(size=(N, 2))


@pytest.fixture
def X():
    return clusters(N)


def _points(name, n):
    rng = np.random.default_rng(0)
    if name == "spiral":
        t = 12.0 * np.sqrt(rng.uniform(size=n))
        return np.stack([t * np.cos(t), t * np.sin(t)], axis=1) + 0.1 * rng.normal(size=(n, 2))
    X = rng.normal(size=(n, 5))
    X[0] += 100.0 * (name == "outlier")
    return X


@stops_early
@pytest.mark.parametrize(
    ("name", "n", "d", "perplexity"),
    [("spiral", 5, 2, 2.5), ("cloud", 30, 2, 5.0), ("outlier", 5, 1, 2.5), ("outlier", 10, 2, 5.5)],
)
def test_the_default_learning_rate_is_safe_without_latent_self_loops(name, n, d, perplexity):
    estimator = SNEkhorn(d, perplexity=perplexity, latent_self_loops=False, n_jobs=1)
    estimator.fit(_points(name, n))
    sums = latent_affinity(estimator).sum(axis=1)
    assert estimator.report_.marginal_gap == pytest.approx(np.abs(sums - 1.0).max(), rel=1e-3)
    assert estimator.report_.marginal_gap <= 1e-2
    assert estimator.kl_divergence_ == pytest.approx(divergence(estimator), abs=0.02)
    assert estimator.kl_divergence_ < np.log(n)


@stops_early
def test_the_default_learning_rate_is_safe_on_a_spiral_in_one_dimension():
    t = np.linspace(0.0, 4.0 * np.pi, 250)
    estimator = SNE(1, perplexity=2.0, n_jobs=1, max_iter=600).fit(np.stack([t * np.cos(t), t * np.sin(t)], axis=1))
    assert np.ptp(estimator.embedding_) < 300.0
    assert estimator.kl_divergence_ < 2.0
    assert max(estimator.report_.losses) > 10.0  # steps were too long, otherwise the case would test nothing


@pytest.mark.parametrize(
    ("parameters", "advice"),
    [
        ({"learning_rate": 1e99}, r"overflowed; lower learning_rate=1e\+99, or set it to 'auto'\.$"),
        (
            {"init": FAR_APART},
            r"; scale init to a standard deviation of 1 or less, or set learning_rate to a value below 1, which is "
            r"what 'auto' means\.$",
        ),
        ({"init": FAR_APART, "learning_rate": 2.0}, "scale init .* or lower learning_rate=2, or set it to"),
    ],
)
def test_the_advice_after_an_overflow_fits_the_parameters(X, parameters, advice):
    with pytest.raises(NumericalOverflowError, match=advice):
        quick(TSNEkhorn, **parameters).fit(X)


def _fit_or_fail(estimator, X):
    try:
        estimator.fit(X)
    except KeyboardInterrupt:
        pytest.fail("the interrupt ended the fit")


def _interrupt_once(function):
    def interrupted(*args, **kwargs):
        signal.raise_signal(signal.SIGINT)
        return function(*args, **kwargs)

    return interrupted


@stops_early
@each_estimator
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("where", ["the last evaluation of the loss", "the index of the training points"])
def test_an_interrupt_after_the_descent_keeps_the_layout(X, kind, where, monkeypatch):
    want = quick(kind).fit(X)
    if where == "the last evaluation of the loss":
        monkeypatch.setattr(Objective, "divergence", _interrupt_once(Objective.divergence))
    else:
        monkeypatch.setattr(point_placement, "NeighborIndex", _interrupt_once(point_placement.NeighborIndex))
    estimator = quick(kind)
    with pytest.warns(ConvergenceWarning, match="interrupted from the keyboard; the layout is the last one reached"):
        _fit_or_fail(estimator, X)
    np.testing.assert_array_equal(estimator.embedding_, want.embedding_)
    assert estimator.kl_divergence_ == want.kl_divergence_
    assert estimator.report_.interrupted
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    monkeypatch.undo()
    np.testing.assert_array_equal(estimator.transform(X), estimator.embedding_)


def _wide_start(distance, d=2):
    """A small layout, and one point far from it."""
    Z = np.random.default_rng(0).normal(size=(N, d))
    Z[0] = distance
    return Z


@each_estimator
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("distance", [3e3, 7e3, 1e4, 1e6, 1e8])
def test_a_far_point_leaves_the_results_of_the_grid_right(X, kind, d, distance, monkeypatch):
    monkeypatch.setattr(mesh_size, "MOST_NODES", 2**18)  # for speed, and for a mesh that reaches less far
    exact, grid = (
        quick(kind, n_components=d, max_iter=1, learning_rate=1e-9, init=_wide_start(distance, d), method=method).fit(X)
        for method in ("exact", "fft")
    )
    np.testing.assert_allclose(grid.embedding_, exact.embedding_, rtol=1e-5, atol=1e-5)
    assert grid.kl_divergence_ == pytest.approx(exact.kl_divergence_, rel=1e-3)
    if kind.latent.doubly_stochastic:
        np.testing.assert_allclose(grid.potential_, exact.potential_, atol=0.02)
    new = X[:9] + 0.05  # the first is a neighbour of the far point
    found, want = grid.transform(new), exact.transform(new)
    np.testing.assert_allclose(found[1:], want[1:], rtol=1e-6, atol=0.02)
    if d < 3:  # in space, the first has a flat circle of minima, far from all points
        np.testing.assert_allclose(found[0] - distance, want[0] - distance, rtol=1e-4, atol=0.1)


@each_method
def test_sums_that_are_rough_are_reported(X, method, monkeypatch, recwarn):
    monkeypatch.setattr(mesh_size, "MOST_NODES", 2**16)
    monkeypatch.setattr(mesh_size, "COSTLIEST", 0)
    monkeypatch.setattr(charge_grid, "MOST_PAIRS", 0)
    estimator = quick(TSNEkhorn, max_iter=1, learning_rate=1e-9, init=_wide_start(1e5), method=method)
    estimator.fit(X).transform(X[:2] + 0.1)
    rough = [w for w in recwarn if "method='fft' cannot resolve it" in str(w.message)]
    assert [w.category for w in rough] == [ConvergenceWarning] * (2 if method == "fft" else 0)


@pytest.mark.filterwarnings("ignore:.*(stopped at max_iter|row sums of Q)")
@pytest.mark.parametrize(
    ("parameters", "cause"),
    [
        ({"exaggeration": 1e6}, "exaggeration=1e+06; lower it"),
        ({"callbacks": lambda *found: True}, "the descent ended during early exaggeration; let it take more"),
        ({"init": 1e-300 * np.random.default_rng(0).normal(size=(200, 2))}, "init is so narrow; scale it"),
    ],
    ids=["exaggeration", "early stop", "init"],
)
def test_a_layout_that_collapses_is_told_with_the_cause(parameters, cause):
    X = np.random.default_rng(0).normal(size=(200, 10))
    with pytest.warns(UserWarning, match="collapsed to a single point, because") as said:
        TSNEkhorn(**parameters).fit(X)
    assert any(cause in str(warning.message) for warning in said)


def test_a_given_p_that_is_uniform_is_told_without_parameters_of_affinities():
    with pytest.warns(UserWarning, match="because P is nearly uniform; pass a P that differs between pairs"):
        TSNEkhorn(affinity="precomputed").fit(np.ones((20, 20)))
