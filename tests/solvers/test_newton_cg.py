from dataclasses import replace
from functools import partial
from weakref import ref

import numpy as np
import pytest

from snekhorn.solvers.newton_cg import conjugate_gradient, first_point, increase_by_slopes, maximize, try_step
from snekhorn.solvers.solve_report import Reason

from .quadratics import Quadratic


def _start(problem):
    return partial(first_point, problem, problem.start)


@pytest.mark.parametrize("seed", range(5))
def test_finds_the_maximum_in_the_box(seed):
    problem = Quadratic.random(seed=seed)
    outcome = maximize(problem, _start(problem), tol=1e-10, max_iter=100)
    want = problem.solution()
    assert outcome.reason is Reason.CONVERGED
    np.testing.assert_allclose(outcome.point.x, want, atol=1e-7)
    assert (want[1] <= problem.lower + 1e-9).any(), "the box must matter in this test"


def test_every_accepted_step_increases_the_value():
    problem = Quadratic.random()
    values = maximize(problem, _start(problem), tol=1e-10, max_iter=100).values
    assert len(values) > 2
    assert (np.diff(values) >= -1e-13 * np.abs(values).max()).all()


def test_passes_count_every_look_at_the_problem():
    problem, looks = Quadratic.random(), []
    problem.hessian = lambda x: lambda v: looks.append(0) or Quadratic.hessian(problem, x)(v)
    problem.evaluate = lambda x: looks.append(0) or Quadratic.evaluate(problem, x)
    assert maximize(problem, _start(problem), tol=1e-10, max_iter=100).n_passes == len(looks)


def test_progress_is_told_every_iteration():
    problem, told = Quadratic.random(), []
    outcome = maximize(problem, _start(problem), tol=1e-8, max_iter=100, progress=lambda i, gap: told.append((i, gap)))
    assert [i for i, _ in told] == list(range(outcome.n_iter + 1))
    assert told[-1][1] < 1e-8


def test_stops_at_max_iter():
    problem = Quadratic.random()
    outcome = maximize(problem, _start(problem), tol=1e-12, max_iter=1)
    assert outcome.reason is Reason.MAX_ITER
    assert outcome.n_iter == 1


def test_a_value_that_is_not_finite_ends_the_loop():
    problem = Quadratic.random()
    problem.b = np.full_like(problem.b, np.nan)
    assert maximize(problem, _start(problem), tol=1e-8, max_iter=100).reason is Reason.OVERFLOW


def _with_stragglers(n=100):
    """Return a quadratic with its maximum at 2, and a point near it except for three rows."""
    problem = Quadratic.random(n=n)
    problem.A = np.eye(2 * n) + 1e-4 * problem.A  # one row is little to the others
    problem.b = 2.0 * problem.A.sum(axis=1)
    start = np.full((2, n), 2.0001)
    start[0, [5, 50, 70]] += 30.0
    return problem, start


def test_few_rows_that_are_far_off_are_solved_for_by_themselves():
    problem, x = _with_stragglers()
    few, some = problem.restricted_to(np.array([5, 50, 70]), x)
    outcome = maximize(few, partial(first_point, few, some), tol=1e-10, max_iter=50)
    assert outcome.reason is Reason.CONVERGED
    np.testing.assert_array_equal(outcome.point.x[:, 3:], some[:, 3:])
    gradient = few.whole.evaluate(outcome.point.x).gradient
    np.testing.assert_allclose(gradient[:, :3], 0.0, atol=1e-9)
    assert np.abs(gradient[:, 3:]).max() > 1e-6, "the others are not solved for"


def test_stragglers_are_settled_on_the_way(monkeypatch):
    problem, start = _with_stragglers()
    asked = []
    monkeypatch.setattr(
        problem, "restricted_to", lambda rows, x: asked.append(rows) or Quadratic.restricted_to(problem, rows, x)
    )
    outcome = maximize(problem, partial(first_point, problem, start), tol=1e-9, max_iter=100)
    monkeypatch.setattr(problem, "restricted_to", lambda rows, x: None)
    alone = maximize(problem, partial(first_point, problem, start), tol=1e-9, max_iter=100)
    assert outcome.reason is Reason.CONVERGED
    assert outcome.values[1] > alone.values[1] + 100.0
    assert asked
    assert {5, 50, 70}.issuperset(asked[0])
    np.testing.assert_allclose(outcome.point.x, 2.0, atol=1e-7)
    assert (np.diff(outcome.values) >= 0.0).all()


def _apart(n=40):
    """Return a problem with independent rows: minus the gradient is the distance to the maximum, at 1."""
    return Quadratic(np.eye(2 * n), np.ones(2 * n), lower=-np.inf, upper=np.inf)


def test_slopes_show_the_increase_of_a_quadratic():
    problem = Quadratic.random(n=20)
    point = problem.evaluate(problem.start)
    trial = problem.evaluate(np.random.default_rng(1).normal(size=(2, 20)))
    assert increase_by_slopes(problem, point, trial) == pytest.approx(trial.value - point.value, rel=1e-12)


def test_at_most_two_points_are_kept(monkeypatch):
    """Arrays as long as all rows fill the memory of large problems."""
    problem, x = _with_stragglers()
    points, kept = [], []

    def evaluate(problem, x):
        kept.append(sum(point() is not None for point in points))
        point = original(problem, x)
        points.append(ref(point))
        return point

    original = Quadratic.evaluate
    monkeypatch.setattr(Quadratic, "evaluate", evaluate)
    outcome = maximize(problem, partial(first_point, problem, x), tol=1e-9, max_iter=100)
    assert outcome.reason is Reason.CONVERGED
    assert len(kept) > 3
    assert max(kept) <= 2


def test_rows_that_stop_at_a_bound_leave_the_others_a_newton_step():
    n = 30
    problem = Quadratic.random(n)
    problem.lower = np.where(np.arange(n) < 3, 1.0 - 1e-5, 0.5)
    gradient = np.zeros((2, n))
    gradient[1, :3] = -1e-3  # these rows reach the bound at once
    gradient[0, 3:] = 1e-4
    problem.b = problem.A @ problem.start.ravel() + gradient.ravel()
    outcome = maximize(problem, _start(problem), tol=1e-9, max_iter=1)
    np.testing.assert_allclose(outcome.point.x[1, :3], 1.0 - 1e-5)
    others = np.delete(outcome.point.gradient, np.s_[:3], axis=1)
    assert np.abs(others).max() < 0.1 * 1e-4


def test_few_rows_that_go_much_too_far_go_a_part_of_their_way():
    problem = _apart()
    point, step = problem.evaluate(np.zeros((2, 40))), np.ones((2, 40))
    step[0, 3] = 50.0
    trial, taken, passes = try_step(problem, point, step)
    assert passes == 3
    assert taken[0, 3] == pytest.approx(50.0 / 25)
    assert taken[1, 3] == pytest.approx(1.0 / 25), "a row goes on its own line"
    np.testing.assert_array_equal(np.delete(taken, 3, axis=1), 1.0)
    np.testing.assert_array_equal(trial.x, taken)


def test_a_row_that_overflows_has_gone_too_far():
    problem = _apart()
    evaluate = problem.evaluate
    problem.evaluate = lambda x: replace(evaluate(x), gradient=np.where(x > 40.0, np.nan, evaluate(x).gradient))
    step = np.ones((2, 40))
    step[0, 3] = 50.0
    trial, taken, _ = try_step(problem, evaluate(np.zeros((2, 40))), step)
    assert taken[0, 3] < 40.0
    assert np.isfinite(trial.gradient).all()


def test_the_retreat_ends():
    step = np.ones((2, 40))
    step[0, 3] = 1e9
    _, taken, passes = try_step(_apart(), _apart().evaluate(np.zeros((2, 40))), step)
    assert passes == 4
    assert taken[0, 3] == pytest.approx(1e9 / 125)


def test_many_rows_that_go_too_far_are_left_to_the_damping():
    step = np.full((2, 40), 50.0)
    _, taken, passes = try_step(_apart(), _apart().evaluate(np.zeros((2, 40))), step)
    assert passes == 1
    np.testing.assert_array_equal(taken, 50.0)


@pytest.mark.parametrize("enough", [1e-2, 1e-20])
def test_conjugate_gradient_solves_to_the_residual_asked(enough):
    problem = Quadratic.random(n=20)
    product = problem.hessian(problem.start)
    rhs = problem.b.reshape(2, -1) / np.linalg.norm(problem.b)
    x, n_iter = conjugate_gradient(product, np.copy, rhs.copy(), enough, problem.execution)
    assert 1 < n_iter <= 60
    assert np.sum((rhs - product(x)) ** 2) <= enough * (1 + 1e-6)
