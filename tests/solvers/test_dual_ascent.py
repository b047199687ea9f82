import numpy as np
import pytest

from snekhorn.solvers.dual_ascent import ascend
from snekhorn.solvers.solve_report import Reason

from .quadratics import Quadratic


def _ascend(problem, **changes):
    options = {"solver": "adam", "squared": False, "learning_rate": None, "tol": 1e-6, "max_iter": 20_000}
    return ascend(problem, problem.start, **{**options, **changes})


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


@pytest.mark.filterwarnings("ignore:overflow|invalid value:RuntimeWarning")  # of the quadratic itself
def test_a_step_too_long_ends_at_the_last_finite_point():
    outcome = _ascend(Quadratic.random(), solver="sgd", learning_rate=1e3)
    assert outcome.reason is Reason.DIVERGED
    assert np.isfinite(outcome.point.x).all()
    assert np.isfinite(outcome.point.gap)
