import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from snekhorn.affinities import EntropicAffinity, SymmetricEntropicAffinity
from snekhorn.geometry import inputs
from snekhorn.geometry.costs import NeighborGraph
from snekhorn.solvers.solve_report import Reason, advice

from ..helpers import clusters, dense, entropies, fit_whatever_it_says, jittered_circle, row_gap, squared_distances

ROUNDING = 1e-12  # of the dual value, relative


@pytest.mark.parametrize("n_neighbors", [None, 45])
@pytest.mark.parametrize("perplexity", [2.0, 5.0, 15.0, 40.0])
def test_is_symmetric_doubly_stochastic_and_of_constant_entropy(X, perplexity, n_neighbors):
    affinity = SymmetricEntropicAffinity(perplexity, n_neighbors=n_neighbors).fit(X)
    P, report = dense(affinity.affinity_), affinity.report_
    np.testing.assert_array_equal(P, P.T)
    assert row_gap(P) < 1e-8
    above = entropies(P) - np.log(perplexity)
    assert above.min() > -2e-8  # H counts the row's sum as well: two gaps of at most 1e-8
    assert np.sum(above > 2e-8) <= report.n_floor_rows
    assert report.converged
    assert max(report.marginal_gap, report.entropy_gap) < 1e-8


@pytest.mark.parametrize("self_loops", [True, False])
def test_is_the_formula_at_its_duals(X, self_loops):
    affinity = SymmetricEntropicAffinity(15.0, self_loops=self_loops).fit(X)
    lam, gam = affinity.marginal_dual_, affinity.entropy_dual_
    want = np.exp((lam[:, None] + lam - 2.0 * squared_distances(X)) / (gam[:, None] + gam))
    if not self_loops:
        np.fill_diagonal(want, 0.0)
    np.testing.assert_allclose(affinity.affinity_, want, rtol=1e-10, atol=1e-300)
    assert (gam > 0.0).all()


@pytest.mark.parametrize("n_neighbors", [None, 30])
@pytest.mark.parametrize("self_loops", [True, False])
@pytest.mark.parametrize("perplexity", [5.0, 12.0])
def test_dual_increases_at_every_accepted_step(perplexity, self_loops, n_neighbors):
    affinity = SymmetricEntropicAffinity(perplexity, self_loops=self_loops, n_neighbors=n_neighbors)
    fit_whatever_it_says(affinity, clusters(150))
    values = affinity.report_.dual_values
    assert len(values) > 3
    assert (np.diff(values) >= -ROUNDING * np.abs(values).max()).all()


@pytest.mark.parametrize("seed", [248, 3, 11, 40])
def test_dual_does_not_fall_on_heavy_tails(seed):
    X = np.random.default_rng(seed).standard_t(1.5, size=(200, 10))
    affinity = SymmetricEntropicAffinity(3.0, n_neighbors=9, self_loops=False, tol=1e-6)
    fit_whatever_it_says(affinity, X)
    values = affinity.report_.dual_values
    assert (np.diff(values) >= -ROUNDING * np.abs(values).max()).all()


def test_strong_duality():
    """At the solution, the dual value is the cost of P."""
    X = jittered_circle(40)
    affinity = SymmetricEntropicAffinity(15.0).fit(X)
    assert affinity.report_.n_floor_rows == 0
    cost = np.sum(affinity.affinity_ * squared_distances(X))
    assert affinity.report_.dual_values[-1] == pytest.approx(cost, rel=1e-7)


def test_rows_at_the_floor_have_more_than_the_perplexity():
    affinity = SymmetricEntropicAffinity(8.0, self_loops=False).fit(clusters(40))
    above = entropies(affinity.affinity_) - np.log(8.0)
    assert affinity.report_.n_floor_rows == np.sum(above > 2e-8) > 0
    assert above.min() > -2e-8


@pytest.mark.parametrize("self_loops", [True, False])
def test_all_neighbours_give_the_full_matrix(self_loops):
    X = clusters(40)
    full = SymmetricEntropicAffinity(12.0, self_loops=self_loops, tol=1e-11).fit_transform(X)
    graph = SymmetricEntropicAffinity(12.0, self_loops=self_loops, tol=1e-11, n_neighbors=39).fit_transform(X)
    np.testing.assert_allclose(dense(graph), full, rtol=0.0, atol=1e-9)


def test_auto_takes_one_and_a_half_neighbours_for_each_unit_of_perplexity(many):
    auto = SymmetricEntropicAffinity(10.0, n_neighbors="auto").fit_transform(many)
    given = SymmetricEntropicAffinity(10.0, n_neighbors=15).fit_transform(many)
    np.testing.assert_array_equal(dense(auto), dense(given))


@pytest.mark.parametrize("n_neighbors", [None, 40])
@pytest.mark.parametrize("perplexities", [(5.0, 10.0, 15.0), (15.0, 10.0, 5.0), (2.0, 30.0)])
def test_a_warm_sweep_of_perplexities_gives_the_same_matrices(X, perplexities, n_neighbors):
    warm = SymmetricEntropicAffinity(warm_start=True, n_neighbors=n_neighbors)
    for perplexity in perplexities:
        cold = SymmetricEntropicAffinity(perplexity, n_neighbors=n_neighbors).fit_transform(X)
        P = warm.set_params(perplexity=perplexity).fit_transform(X)
        np.testing.assert_allclose(dense(P), dense(cold), rtol=0.0, atol=1e-7)


def test_a_warm_start_at_the_solution_has_nothing_to_do(X):
    warm = SymmetricEntropicAffinity(10.0, warm_start=True).fit(X)
    assert warm.fit(X).report_.n_iter == 0


@pytest.mark.parametrize("warm_start", [True, False])
def test_an_order_of_its_own_leaves_no_trace(monkeypatch, warm_start):
    X = clusters(150)
    parameters = {"self_loops": False, "n_neighbors": 30, "warm_start": warm_start}
    want = SymmetricEntropicAffinity(8.0, **parameters).fit(X)
    monkeypatch.setattr("snekhorn.geometry.neighbor_graph.MANY_POINTS", 100)
    orders, permuted = [], NeighborGraph.permuted
    monkeypatch.setattr(NeighborGraph, "permuted", lambda cost, order: orders.append(order) or permuted(cost, order))
    found = SymmetricEntropicAffinity(8.0, **parameters).fit(X)
    for _ in range(2):
        np.testing.assert_allclose(dense(found.affinity_), dense(want.affinity_), rtol=0.0, atol=1e-7)
        np.testing.assert_allclose(found.entropy_dual_, want.entropy_dual_, rtol=1e-4)
        np.testing.assert_array_equal(found.report_.floor_rows, want.report_.floor_rows)
        found.fit(X)
    assert want.report_.n_floor_rows > 0, "rows must be named in this test"
    assert any((order != np.arange(150)).any() for order in orders)
    assert (found.report_.n_iter == 0) == warm_start


def test_a_warm_start_on_other_points_starts_afresh(X):
    warm = SymmetricEntropicAffinity(10.0, warm_start=True).fit(X)
    cold = SymmetricEntropicAffinity(10.0).fit_transform(X[:40])
    np.testing.assert_array_equal(warm.fit_transform(X[:40]), cold)


@pytest.mark.parametrize("gamma_squared", [True, False])
@pytest.mark.parametrize("solver", ["adam", "sgd", "lbfgs"])
def test_dual_ascent_of_the_paper_reaches_the_solution_of_newton(solver, gamma_squared):
    X = jittered_circle(30)
    newton = SymmetricEntropicAffinity(10.0).fit_transform(X)
    rate = 0.05 if solver == "sgd" else None
    ascent = SymmetricEntropicAffinity(
        10.0, solver=solver, gamma_squared=gamma_squared, learning_rate=rate, tol=1e-6, max_iter=10_000
    ).fit(X)
    assert ascent.report_.converged
    np.testing.assert_allclose(ascent.affinity_, newton, rtol=0.0, atol=1e-5)


@pytest.mark.parametrize("solver", ["newton", "adam", "sgd", "lbfgs"])
def test_stopping_early_warns_and_leaves_a_finite_matrix(X, solver):
    affinity = SymmetricEntropicAffinity(10.0, solver=solver, max_iter=2)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        affinity.fit(X)
    report = affinity.report_
    assert not report.converged
    assert "max_iter" in report.reason
    assert max(report.marginal_gap, report.entropy_gap) > affinity.tol
    assert report.unsolved_rows.size > 0
    assert np.isfinite(affinity.affinity_).all()


@pytest.mark.parametrize("gamma_squared", [True, False])
def test_a_learning_rate_too_large_warns_and_leaves_a_finite_matrix(X, gamma_squared):
    affinity = SymmetricEntropicAffinity(10.0, solver="sgd", learning_rate=100.0, gamma_squared=gamma_squared)
    assert fit_whatever_it_says(affinity, X) == [ConvergenceWarning]
    assert np.isfinite(affinity.affinity_).all()


def test_a_tighter_tolerance_is_reached(X):
    report = SymmetricEntropicAffinity(10.0, tol=1e-11).fit(X).report_
    assert report.converged
    assert max(report.marginal_gap, report.entropy_gap) < 1e-11


def test_the_gaps_of_the_report_are_those_of_the_matrix():
    with pytest.warns(ConvergenceWarning):
        affinity = SymmetricEntropicAffinity(10.0, max_iter=2).fit(jittered_circle(40))
    P = affinity.affinity_
    H = entropies(P) + P.sum(axis=1)
    assert affinity.report_.marginal_gap == pytest.approx(row_gap(P), rel=1e-10)
    assert affinity.report_.entropy_gap == pytest.approx(np.abs(H - np.log(10.0) - 1.0).max(), rel=1e-10)


@pytest.mark.parametrize("max_iter", [2, 5, 8])
def test_the_report_names_the_rows_that_are_not_solved(max_iter):
    tol = 1e-5  # halfway: at it some rows are solved and others are not
    affinity = SymmetricEntropicAffinity(10.0, tol=tol, max_iter=max_iter)
    said = fit_whatever_it_says(affinity, jittered_circle(40))
    P, report = affinity.affinity_, affinity.report_
    H = entropies(P) + P.sum(axis=1)
    off = np.maximum(np.abs(P.sum(axis=1) - 1.0), np.abs(H - np.log(10.0) - 1.0)) >= tol
    off[report.floor_rows] = False
    np.testing.assert_array_equal(report.unsolved_rows, np.flatnonzero(off))
    assert bool(said) == bool(off.any()) == (not report.converged)


def test_starts_from_the_entropic_affinity_and_needs_far_fewer_passes_than_dual_ascent(many):
    report = SymmetricEntropicAffinity(30.0).fit(many).report_
    assert report.n_iter < report.n_passes <= 60


@pytest.mark.parametrize("perplexity", [59.5, 59.99, 60.5])
def test_perplexities_of_nearly_uniform_rows_are_clamped(X, perplexity):
    with pytest.warns(UserWarning, match="is too large for 60 points; using 59"):
        affinity = SymmetricEntropicAffinity(perplexity).fit(X)
    assert affinity.report_.converged
    assert np.median(np.exp(entropies(affinity.affinity_))) == pytest.approx(59.0, rel=1e-6)


def test_two_points_without_self_loops_have_one_affinity():
    with pytest.warns(UserWarning, match="single entry"):
        P = SymmetricEntropicAffinity(self_loops=False).fit_transform([[0.0], [1.0]])
    np.testing.assert_allclose(P, [[0.0, 1.0], [1.0, 0.0]], atol=1e-8)


def test_points_are_checked_once(X, monkeypatch):
    calls = []
    check = inputs.check_array
    monkeypatch.setattr(inputs, "check_array", lambda X, **options: calls.append(X) or check(X, **options))
    SymmetricEntropicAffinity(5.0, n_neighbors=20).fit(X)
    assert len(calls) == 1


def test_verbose_shows_progress(X, capsys):
    SymmetricEntropicAffinity(10.0, verbose=True).fit(X)
    shown = capsys.readouterr().err
    assert "affinity" in shown
    assert "gap=" in shown
    assert "iterations=" in shown


def test_quiet_by_default(X, capsys):
    SymmetricEntropicAffinity(10.0).fit(X)
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_entropy_is_controlled_where_the_symmetrised_affinity_loses_it(X):
    lost = entropies(EntropicAffinity(10.0, symmetrize=True).fit_transform(X))
    kept = entropies(SymmetricEntropicAffinity(10.0).fit_transform(X))
    assert np.ptp(lost) > 1e4 * np.ptp(kept)


@pytest.mark.parametrize(("solver", "helps"), [("newton", False), ("lbfgs", False), ("sgd", True)])
def test_a_learning_rate_is_advised_only_to_solvers_that_have_one(solver, helps):
    affinity = SymmetricEntropicAffinity(5.0, solver=solver, learning_rate=0.01, max_iter=5)
    fit_whatever_it_says(affinity, jittered_circle(30))
    assert ("learning_rate" in advice(Reason.DIVERGED.value, affinity.effective_parameters())) == helps
