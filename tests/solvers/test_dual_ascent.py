import numpy as np
import pytest
from scipy.optimize import minimize

from snekhorn.solvers import dual_ascent
from snekhorn.solvers.dual_ascent import ascend
from snekhorn.solvers.solve_report import Reason

from .quadratics import Quadratic


def _ascend(problem, start=None, **changes):
    options = {"solver": "adam", "squared": False, "learning_rate": None, "tol": 1e-6, "max_iter": 20_000}
    return ascend(problem, problem.start if start is None else start, **{**options, **changes})


@pytest.mark.parametrize("solver", ["adam", "sgd", "lbfgs"])
def test_finds_the_maximum_in_the_box(solver):
    problem = Quadratic.random()
    outcome = _ascend(problem, solver=solver)
    assert outcome.reason is Reason.CONVERGED
    np.testing.assert_allclose(outcome.point.x, problem.solution(), atol=1e-5)


@pytest.mark.parametrize("solver", ["adam", "sgd", "lbfgs"])
def test_squares_find_the_maximum_where_no_bound_is_active(solver):
    problem = Quadratic.random()
    problem.b = problem.A @ np.concatenate([np.linspace(-1, 1, 8), np.linspace(1, 2, 8)])
    outcome = _ascend(problem, solver=solver, squared=True, learning_rate=0.02)
    assert outcome.reason is Reason.CONVERGED
    np.testing.assert_allclose(outcome.point.x, problem.solution(), atol=1e-5)


@pytest.mark.parametrize("solver", ["adam", "sgd", "lbfgs"])
def test_stops_at_max_iter(solver):
    outcome = _ascend(Quadratic.random(), solver=solver, max_iter=2)
    assert outcome.reason is Reason.MAX_ITER
    assert outcome.n_iter == 2


def test_iterations_of_lbfgs_are_those_that_max_iter_limits():
    outcome = _ascend(Quadratic.random(), solver="lbfgs")
    assert 1 < outcome.n_iter < outcome.n_passes
    again = _ascend(Quadratic.random(), solver="lbfgs", max_iter=outcome.n_iter)
    assert (again.reason, again.n_iter) == (Reason.CONVERGED, outcome.n_iter)
    fewer = _ascend(Quadratic.random(), solver="lbfgs", max_iter=outcome.n_iter - 1)
    assert (fewer.reason, fewer.n_iter) == (Reason.MAX_ITER, outcome.n_iter - 1)


@pytest.mark.parametrize("solver", ["adam", "sgd", "lbfgs"])
def test_a_solution_needs_no_iteration(solver):
    problem = Quadratic.random()
    solution = _ascend(problem, solver="lbfgs", tol=1e-8).point.x
    assert _ascend(problem, solution, solver=solver).n_iter == 0


def test_too_many_evaluations_of_lbfgs_count_as_too_many_iterations(monkeypatch):
    def impatient(*arguments, options, **how):
        return minimize(*arguments, options={**options, "maxfun": 2}, **how)

    monkeypatch.setattr(dual_ascent, "minimize", impatient)
    outcome = _ascend(Quadratic.random(), solver="lbfgs")
    assert outcome.reason is Reason.MAX_ITER
    assert 0 < outcome.n_iter < 20_000


@pytest.mark.filterwarnings("ignore:overflow|invalid value:RuntimeWarning")  # of the quadratic itself
def test_a_step_too_long_ends_at_the_last_finite_point():
    outcome = _ascend(Quadratic.random(), solver="sgd", learning_rate=1e3)
    assert outcome.reason is Reason.DIVERGED
    assert np.isfinite(outcome.point.x).all()
    assert np.isfinite(outcome.point.gap)
