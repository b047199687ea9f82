"""Dual ascent by Adam, SGD and L-BFGS as in the paper, for comparison with Newton's method."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.optimize import Bounds, minimize

from ..runtime.progress import Progress
from .concave_problems import Array, Outcome, Problem
from .descent_steps import Adam
from .solve_report import Reason

AscentSolver: TypeAlias = Literal["adam", "sgd", "lbfgs"]
LEARNING_RATE = 0.1
LIMIT_REACHED = 1  # status of SciPy after too many iterations or evaluations


@np.errstate(over="ignore", invalid="ignore")  # too large a learning rate may overflow; the outcome reports it
def ascend(
    problem: Problem,
    x: Array,
    *,
    solver: AscentSolver,
    squared: bool,
    learning_rate: float | None,
    tol: float,
    max_iter: int,
    progress: Progress | None = None,
) -> Outcome:
    """Maximise by first-order steps on the boxed unknowns or on their square roots.

    Unknowns are measured in units of the median boxed unknown, so the learning rate does not depend on the scale of the
    data.
    """
    x = problem.project(x)
    unit = float(np.median(x[1]))
    parameters = x / unit
    if squared:
        parameters[1] = np.sqrt(parameters[1])
    tracker = _Tracker(problem, unit, tol, progress, squared=squared)
    if solver == "lbfgs":
        return _lbfgs(tracker, parameters, max_iter)
    rate = LEARNING_RATE if learning_rate is None else learning_rate
    adam = Adam(parameters.shape)
    for n_iter in range(max_iter):
        gradient = tracker(parameters)
        if tracker.finished:
            return tracker.outcome(n_iter)
        parameters = parameters + (adam.update(gradient, rate) if solver == "adam" else rate * gradient)
        if not squared:
            parameters[1] = np.maximum(parameters[1], problem.lower / unit)
    tracker(parameters)
    return tracker.outcome(max_iter)


class _Tracker:
    """Evaluates the problem, keeps the last finite point, and detects when to stop."""

    def __init__(
        self,
        problem: Problem,
        unit: float,
        tol: float,
        progress: Progress | None,
        *,
        squared: bool,
    ) -> None:
        self.problem, self.unit, self.tol, self.progress, self.squared = problem, unit, tol, progress, squared
        self.n_passes = 0
        self.values: list[float] = []

    def __call__(self, parameters: Array) -> Array:
        x = np.stack([parameters[0], parameters[1] ** 2]) if self.squared else parameters
        point = self.problem.evaluate(self.unit * x)
        self.diverged = not np.isfinite(point.gap)
        if self.diverged and self.n_passes:
            return np.zeros_like(parameters)  # keep the last finite point as the result
        self.point = point
        if self.progress is not None:
            self.progress(self.n_passes, self.point.gap)
        self.n_passes += 1
        self.values.append(self.point.value)
        gradient: Array = self.point.gradient.copy()
        if self.squared:
            gradient[1] *= 2.0 * parameters[1]
        return gradient

    @property
    def finished(self) -> bool:
        return self.diverged or self.point.gap < self.tol

    def outcome(self, n_iter: int, stopped: Reason = Reason.MAX_ITER) -> Outcome:
        gap = self.point.gap
        reason = Reason.DIVERGED if self.diverged else Reason.CONVERGED if gap < self.tol else stopped
        return Outcome(self.point, reason, n_iter, self.n_passes, self.values)


class _Stop(Exception):
    """Signal to leave SciPy's loop."""


def _lbfgs(tracker: _Tracker, parameters: Array, max_iter: int) -> Outcome:
    shape = parameters.shape

    def negative(flat: Array) -> tuple[float, Array]:
        gradient = tracker(flat.reshape(shape))
        if tracker.finished:
            raise _Stop
        return -tracker.point.value / tracker.unit, -gradient.ravel()

    lower = np.full(shape, -np.inf)
    if not tracker.squared:
        lower[1] = tracker.problem.lower / tracker.unit
    bounds = Bounds(lower.ravel(), np.inf)
    n_iter = 0

    def count(_: Array) -> None:
        nonlocal n_iter
        n_iter += 1

    stopped = Reason.LINE_SEARCH
    try:
        options = {"maxiter": max_iter, "maxfun": 10 * max_iter, "ftol": 0.0, "gtol": 0.0}
        how: dict[str, Any] = {"method": "L-BFGS-B", "bounds": bounds, "callback": count, "options": options}
        found = minimize(negative, parameters.ravel(), jac=True, **how)
        if found.status == LIMIT_REACHED:
            stopped = Reason.MAX_ITER
        tracker(found.x.reshape(shape))
    except _Stop:
        n_iter += tracker.n_passes > 1  # the iteration that found the point; the starting point needs none
    return tracker.outcome(n_iter, stopped)
