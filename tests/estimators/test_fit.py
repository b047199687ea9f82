"""Results of a fit: layout, report and divergence; and fits that end early."""

import inspect
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.manifold import trustworthiness
from sklearn.metrics import silhouette_score

from snekhorn import TSNE, SNEkhorn, TSNEkhorn
from snekhorn.affinities import EntropicAffinity
from snekhorn.embedding.normalizations import DoublyStochastic
from snekhorn.embedding.schedule import EARLY_ITER

from ..helpers import clusters, squared_distances
from .cases import DOUBLY_STOCHASTIC, divergence, each_estimator, each_method, latent_affinity, quick, stops_early

pytestmark = stops_early


@pytest.fixture(scope="module")
def points():
    return clusters(350, p=5)


@each_estimator
@each_method
@pytest.mark.parametrize("n_components", [1, 2])
def test_divergence(points, kind, method, n_components):
    estimator = quick(kind, n_components=n_components, method=method, max_iter=100).fit(points)
    assert estimator.report_.method == method
    want = divergence(estimator)
    assert abs(estimator.kl_divergence_ - want) < (1e-6 if method == "exact" else 1e-3 * want)


@each_estimator
def test_divergence_of_an_affinity_whose_rows_differ(points, kind):
    P = EntropicAffinity(8.0, symmetrize=True, self_loops=False).fit_transform(points)
    estimator = quick(kind, affinity="precomputed", method="exact").fit(P)
    if kind.__name__ == "SNE":
        estimator.affinity_ = P / P.sum(axis=1, keepdims=True)  # its rows are distributions
    assert abs(estimator.kl_divergence_ - divergence(estimator)) < 1e-6


@pytest.mark.parametrize("kind", DOUBLY_STOCHASTIC)
@each_method
@pytest.mark.parametrize("self_loops", [True, False])
@pytest.mark.parametrize("marginal_tol", [1e-2, 1e-6])
def test_rows_of_q_sum_to_one(points, kind, method, self_loops, marginal_tol):
    estimator = quick(kind, method=method, max_iter=150, latent_self_loops=self_loops, marginal_tol=marginal_tol).fit(
        points
    )
    gap = np.abs(latent_affinity(estimator).sum(axis=1) - 1.0).max()
    assert estimator.report_.marginal_gap <= marginal_tol
    assert gap < 1.5 * marginal_tol  # the grid has an error of its own


@each_estimator
@each_method
def test_report(points, kind, method):
    estimator = quick(kind, method=method, max_iter=400, tol=1e-9).fit(points)
    report = estimator.report_
    assert report.n_iter == estimator.n_iter_ <= 400
    checks = list(range(50, report.n_iter + 1, 50))
    assert report.iterations in (checks, [*checks, report.n_iter])  # the last one again after a return
    assert len(report.losses) == len(report.iterations)
    assert (report.marginal_gap is None) == (kind not in DOUBLY_STOCHASTIC)
    assert report.converged == report.reason.startswith("converged")
    assert estimator.affinity_report_.converged
    main = [loss for i, loss in zip(report.iterations, report.losses, strict=True) if i > EARLY_ITER]
    assert len(main) >= 3
    assert main[-1] < main[0] < report.losses[0]
    assert np.diff(main).max() < 0.02 * main[-1]
    assert abs(report.losses[-1] - estimator.kl_divergence_) < 0.02 * estimator.kl_divergence_ + 1e-3


def test_the_report_calls_the_loss_what_it_is(X):
    """If rows of P differ in mass, the loss of a doubly stochastic Q is not the divergence."""
    estimator = quick(TSNEkhorn, affinity=EntropicAffinity(8.0, symmetrize=True), max_iter=100).fit(X)
    loss = estimator.report_.losses[-1]
    assert abs(loss - estimator.kl_divergence_) > 0.01
    assert f"100 iterations, loss {loss:.4f}" in str(estimator.report_)
    assert "divergence" not in str(estimator.report_)


@each_estimator
@pytest.mark.parametrize("optimizer", ["momentum", "adam"])
def test_the_layout_is_better_than_its_start(points, kind, optimizer):
    seen = []
    estimator = quick(
        kind, optimizer=optimizer, max_iter=200, callbacks=lambda i, loss, Z: seen.append(loss), learning_rate=0.3
    ).fit(points)
    assert estimator.kl_divergence_ < 0.9 * seen[0]


def test_says_that_it_converged(X):
    estimator = quick(TSNEkhorn, max_iter=2000, tol=1e-3).fit(X)
    assert estimator.report_.converged
    assert estimator.report_.reason.startswith("converged")
    assert estimator.n_iter_ < 2000


@each_estimator
def test_says_that_it_did_not(X, kind):
    estimator = quick(kind)
    with pytest.warns(ConvergenceWarning, match=f"{kind.__name__}: stopped at max_iter .*raise max_iter"):
        estimator.fit(X)
    assert not estimator.report_.converged
    assert estimator.n_iter_ == 60


@pytest.mark.parametrize("max_iter", [1, 2, 3, 49, 51])
def test_any_number_of_iterations(X, max_iter):
    assert quick(TSNEkhorn, max_iter=max_iter).fit(X).n_iter_ == max_iter


@each_estimator
@each_method
@pytest.mark.parametrize("learning_rate", [1e20, 1e200])
def test_steps_too_long_are_an_error(X, kind, method, learning_rate):
    estimator = quick(kind, learning_rate=learning_rate, method=method)
    with pytest.raises(FloatingPointError, match=r"lower learning_rate=1e\+\d+, or set it to 'auto'"):
        estimator.fit(X)
    assert not hasattr(estimator, "embedding_")


@each_estimator
@each_method
def test_callbacks_see_the_descent(X, kind, method):
    seen = []
    estimator = quick(kind, method=method, max_iter=150, callbacks=[lambda *call: seen.append(call), lambda *_: None])
    estimator.fit(X)
    assert [i for i, _, _ in seen] == [50, 100, 150] == estimator.report_.iterations
    assert [loss for _, loss, _ in seen] == estimator.report_.losses
    assert all(Z.shape == (60, 2) for _, _, Z in seen)


@each_estimator
def test_a_callback_stops(X, kind):
    estimator = quick(kind, max_iter=500, callbacks=[lambda *_: None, lambda i, loss, Z: i >= 100]).fit(X)
    assert estimator.report_.reason == "stopped by a callback"
    assert estimator.n_iter_ == 100
    assert not estimator.report_.converged
    assert np.isfinite(estimator.transform(X[:3] + 0.1)).all()


class Refusal(Exception):
    """Raised by a callback."""


def _refuse(*_):
    raise Refusal


@each_estimator
@pytest.mark.parametrize("before", ["fitted", "not fitted"])
def test_a_callback_that_raises(X, kind, before):
    estimator = quick(kind)
    if before == "fitted":
        estimator.fit(X)
    state = {name: value for name, value in vars(estimator).items() if name != "callbacks"}
    estimator.set_params(callbacks=_refuse)
    with pytest.raises(Refusal):
        estimator.fit(np.hstack([X, X]) + 1.0)
    assert {name: value for name, value in vars(estimator).items() if name != "callbacks"} == state
    if before == "fitted":
        np.testing.assert_array_equal(estimator.transform(X), estimator.embedding_)
    want = quick(kind).fit_transform(X)
    np.testing.assert_array_equal(estimator.set_params(callbacks=None).fit_transform(X), want)


@each_estimator
@each_method
@pytest.mark.parametrize("reorder_from", [20_000, 10])
def test_an_interrupt_keeps_the_layout(X, kind, method, reorder_from, monkeypatch):
    monkeypatch.setattr("snekhorn.embedding.descent.REORDER_FROM", reorder_from)
    seen = []

    def interrupt(i, loss, Z):
        if i == 150:
            seen.append(Z.copy())
            raise KeyboardInterrupt

    estimator = quick(kind, method=method, max_iter=300, callbacks=interrupt)
    with pytest.warns(ConvergenceWarning, match="interrupted from the keyboard; the layout is the last one reached"):
        estimator.fit(X)
    np.testing.assert_array_equal(estimator.embedding_, seen[0])
    assert estimator.n_iter_ == 150
    assert np.isfinite(estimator.kl_divergence_)
    assert np.isfinite(estimator.transform(X[:3] + 0.1)).all()


@pytest.mark.parametrize("kind", DOUBLY_STOCHASTIC)
@each_method
@pytest.mark.parametrize("marginal_tol", [1e-2, 1e-6])
def test_an_interrupt_while_the_potential_is_solved_keeps_the_layout(X, kind, method, marginal_tol, monkeypatch):
    field = DoublyStochastic._field
    calls = []

    def interrupt(self, *args):
        calls.append(args)
        if len(calls) == 2:  # the second of the steps
            raise KeyboardInterrupt
        return field(self, *args)

    def solve_potential(self, Z, tol, max_steps):
        monkeypatch.setattr(DoublyStochastic, "_field", interrupt)
        return original(self, Z, 1e-12, max_steps)

    def finish(self, *args):
        monkeypatch.setattr(DoublyStochastic, "solve_potential", solve_potential)
        return original_finish(self, *args)

    original, original_finish = DoublyStochastic.solve_potential, kind._finish
    monkeypatch.setattr(kind, "_finish", finish)
    estimator = quick(kind, method=method, marginal_tol=marginal_tol)
    with pytest.warns(ConvergenceWarning, match="interrupted from the keyboard; the layout is the last one reached"):
        estimator.fit(X)
    assert estimator.n_iter_ == 60
    assert not estimator.report_.converged
    assert estimator.report_.marginal_gap is None
    assert abs(estimator.kl_divergence_ - divergence(estimator)) < 0.05 * divergence(estimator)
    assert np.isfinite(estimator.transform(X[:3] + 0.1)).all()
    monkeypatch.undo()
    np.testing.assert_array_equal(estimator.embedding_, quick(kind, method=method).fit_transform(X))


def test_attributes(X):
    estimator = quick(TSNEkhorn).fit(X)
    assert estimator.embedding_.shape == (60, 2)
    assert estimator.potential_.shape == (60,)
    assert estimator.affinity_.shape == (60, 60)
    assert np.diag(estimator.affinity_).max() == 0.0
    assert not hasattr(quick(TSNE).fit(X), "potential_")
    assert np.diag(quick(TSNEkhorn, self_loops=True).fit(X).affinity_).min() > 0.0


def test_a_given_start_is_used_as_it_is(X):
    start = 3.0 * X[:, :2]
    Z = quick(TSNEkhorn, init=start, max_iter=1, learning_rate=1e-9).fit_transform(X)
    np.testing.assert_allclose(Z, start, atol=1e-6)


@pytest.mark.parametrize(("scale", "lost"), [(1.0, False), (1e4, True)])
def test_a_start_so_wide_that_points_do_not_find_each_other_is_told(scale, lost):
    X = clusters(60)
    start = scale * np.random.default_rng(0).normal(size=(60, 2))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        TSNEkhorn(perplexity=10, init=start).fit(X)
    assert any("higher than if all points were in one place" in str(warning.message) for warning in said) == lost


@pytest.mark.parametrize("kind", [TSNEkhorn, SNEkhorn])
def test_says_where_a_layout_has_no_extent(kind):
    with (
        pytest.warns(UserWarning, match="perplexity=30 is too large for 3 points"),
        pytest.warns(UserWarning, match="collapsed to a single point"),
    ):
        estimator = kind().fit(np.eye(3))
    assert np.ptp(estimator.embedding_) < 1e-3
    assert estimator.perplexity_ == 1.5


@pytest.mark.parametrize(
    ("parameters", "advised"),
    [
        ({"self_loops": False}, True),
        ({"self_loops": True}, False),
        ({"self_loops": False, "affinity": EntropicAffinity(5.0)}, False),
        ({"self_loops": True, "affinity": EntropicAffinity(5.0, self_loops=False)}, True),
    ],
)
def test_self_loops_are_advised_only_where_there_are_none(parameters, advised):
    with pytest.warns(UserWarning, match="collapsed") as said:
        TSNEkhorn(perplexity=5, max_iter=20, tol=1e-2, **parameters).fit(np.zeros((30, 3)))
    message = next(str(warning.message) for warning in said if "collapsed" in str(warning.message))
    assert ("self-loops" in message) == advised


@each_estimator
def test_help_lists_the_parameters(kind):
    doc = inspect.getdoc(kind)
    assert all(f"\n{name} :" in doc for name in kind().get_params())
    assert "\nkl_divergence_ : float" in doc


def test_exaggeration_draws_clusters_together(points):
    label = np.arange(len(points)) % 3
    loose, tight = (
        quick(TSNEkhorn, exaggeration=exaggeration, max_iter=2000).fit_transform(points) for exaggeration in (1.0, 4.0)
    )
    assert _width(tight, label) < _width(loose, label)


def _width(Z, label):
    """Return the mean squared distance within clusters, relative to the one between all points."""
    squared = squared_distances(Z)
    return squared[label[:, None] == label].mean() / squared.mean()


def test_digits():
    X, y = load_digits(return_X_y=True)
    Z = TSNEkhorn().fit_transform(X)
    assert silhouette_score(Z, y) > 0.53
    assert trustworthiness(X, Z, n_neighbors=15) > 0.985
