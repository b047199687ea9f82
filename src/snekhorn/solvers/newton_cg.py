"""Projected Newton-CG for a concave function of two unknowns a row, one of them in a box.

Every step solves (H + mu D) d = rhs by conjugate gradient, H minus the Hessian and D its two-by-two
diagonal blocks, which are also the preconditioner. mu is the Levenberg-Marquardt damping.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .solve_report import Reason

if TYPE_CHECKING:
    from .few_rows import FewRows

Array: TypeAlias = NDArray[Any]  # of float64
Linear: TypeAlias = Callable[[Array], Array]  # a matrix, as the function that multiplies with it

MAX_CG_ITERATIONS = 60
MAX_PASSES = 1000  # a problem that is not solved by then is not going to be
LOOSEST_CG, TIGHTEST_CG, CG_POWER = 0.3, 1e-3, 0.7  # relative residual asked of CG: a power of the gap
SMALLEST_SHRINK = 0.2  # a boxed unknown keeps at least this share of its value in one step
FIRST_DAMPING, DAMPING_GROWTH, LARGEST_DAMPING = 1.0, 4.0, 1e12
LARGE_GAP = 1.0  # from which on the first step is damped: undamped, it would only be refused
SUFFICIENT_INCREASE = 0.05  # of the predicted one, to accept a step
GOOD_MODEL, POOR_MODEL = 0.7, 0.25  # ratios of actual to predicted increase that move the damping
TOO_FAR = 4.0  # growth of a row's gap, to above 1 at least, in a step that does not suit the row
FEW_ROWS = 0.1  # share of such rows, up to which they retreat; more of them need a damping of all
RETREAT, MAX_RETREATS = 0.2, 3  # what a retreat leaves of the row's step
NEAR = 0.1  # gap from which on Newton's method needs no help
SETTLED, STRAGGLERS, MAX_SETTLING = 1e-2, 0.05, 20  # gap of rows that can wait, share of the others, their iterations
ROUNDING = 1e-15  # relative size below which a change of the value is noise
LEAST_VARIANCE = 0.05  # blocks of rows that rest on a single pair are singular: see _blocks


@dataclass(frozen=True)
class Point:
    """The function and its derivatives at x = (free unknowns, boxed unknowns), an array (2, n)."""

    x: Array
    row_values: Array  # whose sum is the value; differences are taken row by row, where they round least
    magnitude: float  # sum of the absolute terms of the value: the scale of its rounding
    gradient: Array
    rhs: Array  # right-hand side of the Newton system: the gradient, or a better-scaled residual
    blocks: tuple[Array, Array, Array]  # diagonal, off-diagonal, diagonal of the blocks of H
    held: NDArray[np.bool_]  # rows whose boxed unknown is at a bound it is pushed against
    marginal_gap: float
    entropy_gap: float

    @property
    def value(self) -> float:
        return float(self.row_values.sum())

    @property
    def gap(self) -> float:
        return max(self.marginal_gap, self.entropy_gap)

    @property
    def row_gaps(self) -> Array:
        """What every row misses; NaN where it is not known."""
        return np.maximum(np.abs(self.gradient[0]), np.where(self.held, 0.0, np.abs(self.gradient[1])))

    def unsolved(self, tol: float) -> NDArray[np.intp]:
        """Rows that keep the gap at tol or above."""
        return np.flatnonzero(~(self.row_gaps < tol))  # NaN is off, too


class Problem(Protocol):
    lower: Array | float
    upper: Array | float

    def evaluate(self, x: Array) -> Point: ...
    def hessian(self, x: Array) -> Linear: ...
    def project(self, x: Array) -> Array: ...

    def among(self, rows: NDArray[np.intp], x: Array) -> tuple[FewRows, Array] | None:
        """The problem in which these rows alone move, as its first ones, and its x; None where it saves nothing."""
        ...


@dataclass
class Outcome:
    """Where the loop ended, and how."""

    point: Point
    reason: Reason
    n_iter: int
    n_passes: int
    values: list[float]


@np.errstate(over="ignore", invalid="ignore")  # a trial step may overflow: its gap says so
def maximize(
    problem: Problem,
    point: Point,
    *,
    tol: float,
    max_iter: int,
    progress: Callable[[int, float], None] | None = None,
) -> Outcome:
    """Maximise from a point until both gaps are below tol."""
    values, passes, plain = [point.value], 0, False
    hessian: Linear | None = None  # at the point
    damping = FIRST_DAMPING if point.gap > LARGE_GAP else 0.0
    for n_iter in range(max_iter + 1):
        if progress is not None:
            progress(n_iter, point.gap)
        if point.gap < tol:
            return Outcome(point, Reason.CONVERGED, n_iter, passes, values)
        if not np.isfinite(point.gap):
            return Outcome(point, Reason.OVERFLOW, n_iter, passes, values)
        if n_iter == max_iter or passes >= MAX_PASSES:
            break
        if hessian is None:
            hessian = problem.hessian(point.x)
        step, predicted, used = _direction(problem, point, hessian, damping, tol, plain=plain)
        passes += used
        if predicted <= 0.0 and not plain:
            plain = True  # the rescaled residual gave no ascent direction: the gradient does
            continue
        trial, step, used = attempt(problem, point, step)
        passes += used
        noise = ROUNDING * point.magnitude
        increase = float(np.sum(trial.row_values - point.row_values))
        if used > 1:  # it is another step, of which the value decides: it need not go up
            predicted = max(_promise(point, step), 2.0 * noise)
        if predicted > noise:
            ratio = increase / predicted if np.isfinite(trial.gap) else -np.inf
            accepted = ratio > SUFFICIENT_INCREASE
        else:  # the value cannot tell any more: let the gaps decide
            accepted = trial.gap < point.gap
            ratio = GOOD_MODEL if accepted else -np.inf
        if accepted:
            point, plain, hessian = trial, False, None
            if point.gap > NEAR:
                point, used = _settle_stragglers(problem, point)
                passes += used
            values.append(point.value)
        if ratio >= GOOD_MODEL:
            damping = damping / 10 if damping > 1e-3 else 0.0
        elif ratio < POOR_MODEL:
            damping = max(DAMPING_GROWTH * damping, FIRST_DAMPING)
        if damping > LARGEST_DAMPING or (not accepted and predicted <= noise and damping > 1.0):
            reason = Reason.ROUNDING if predicted <= noise else Reason.STALLED
            return Outcome(point, reason, n_iter + 1, passes, values)
    return Outcome(point, Reason.MAX_ITER if n_iter == max_iter else Reason.MAX_PASSES, n_iter, passes, values)


def _direction(
    problem: Problem, point: Point, hessian: Linear, damping: float, tol: float, *, plain: bool
) -> tuple[Array, float, int]:
    """Newton direction, the increase it promises, and the passes it took."""
    a, b, c, ridge = _blocks(point)
    free = ~point.held
    determinant = np.maximum(a * c - b * b, 1e-12 * a * c + np.finfo(float).tiny)

    def precondition(r: Array, free: Array) -> Array:
        both = np.stack([c * r[0] - b * r[1], a * r[1] - b * r[0]]) / determinant
        return np.where(free, both, np.stack([r[0] / a, np.zeros_like(a)])) / (1.0 + damping)

    def apply(v: Array, free: Array) -> Array:
        h = hessian(v)
        h[1] += ridge * v[1]
        h += damping * np.stack([a * v[0] + b * v[1], b * v[0] + c * v[1]])
        h[1] *= free
        return h

    rhs = (point.gradient if plain else point.rhs).copy()
    rhs[1] *= free
    # No tighter than the tolerance needs, nor than Newton's method can use so far from the end.
    accuracy = max(TIGHTEST_CG, point.gap**CG_POWER, 0.3 * tol / point.gap)
    enough = min(LOOSEST_CG, accuracy) ** 2 * float(np.sum(rhs * precondition(rhs, free)))
    step, passes = conjugate_gradient(partial(apply, free=free), partial(precondition, free=free), rhs, enough)
    reached = _reach(problem, point, step)
    stopped = free & (reached != point.x[1] + step[1])
    if stopped.any():  # these rows cannot go so far: let the others take that into account
        step[1] = reached - point.x[1]
        moving = free & ~stopped
        rest = rhs - apply(step, moving)
        rest[1] *= moving
        more, used = conjugate_gradient(partial(apply, free=moving), partial(precondition, free=moving), rest, enough)
        step += more
        passes += 1 + used
    return step, _promise(point, step), passes


def _promise(point: Point, step: Array) -> float:
    """The increase that a step promises: half the slope, as of a quadratic up to its top."""
    return 0.5 * float(np.sum(point.gradient[0] * step[0]) + np.sum((point.gradient[1] * step[1])[~point.held]))


def attempt(problem: Problem, point: Point, step: Array) -> tuple[Point, Array, int]:
    """Where a step leads, the step, and the passes used; few rows that go much too far go a part of their way only.

    One row in a thousand in trouble would else have all others damped, for many iterations.
    """
    before = np.maximum(point.row_gaps, LARGE_GAP)
    trial = problem.evaluate(_limit(problem, point, step))
    for used in range(1, MAX_RETREATS + 1):
        too_far = ~(trial.row_gaps < TOO_FAR * before)  # NaN is, too
        if not 0.0 < too_far.mean() < FEW_ROWS:
            return trial, step, used
        step = np.where(too_far, RETREAT, 1.0) * step
        trial = problem.evaluate(_limit(problem, point, step))
    return trial, step, MAX_RETREATS + 1


def _settle_stragglers(problem: Problem, point: Point) -> tuple[Point, int]:
    """The point, and the passes used: rows that are far off where most are not come closer, the others waiting."""
    rows = point.unsolved(SETTLED)
    some = problem.among(rows, point.x) if 0 < rows.size < STRAGGLERS * point.x.shape[1] else None
    if some is None:
        return point, 0
    few, x = some
    found = maximize(few, few.evaluate(x), tol=SETTLED, max_iter=MAX_SETTLING)
    passes = 1 + int(np.ceil(few.share * (1 + found.n_passes)))
    x = point.x.copy()
    x[:, rows] = found.point.x[:, : rows.size]
    settled = problem.evaluate(x)
    better = np.isfinite(settled.gap) and np.sum(settled.row_values - point.row_values) > 0.0
    return (settled if better else point), passes


def _blocks(point: Point) -> tuple[Array, Array, Array, Array]:
    """Blocks of H, their last entry raised where the row's variance vanishes.

    A row whose mass rests on one pair has a singular block and would take an endless step. The ridge
    bounds it, and fades with the gap so that the last steps are Newton's own.
    """
    a, b, c = point.blocks
    a = np.maximum(a, np.finfo(float).tiny)
    variance = np.maximum(c / a - (b / a) ** 2, 0.0)
    ridge = a * np.maximum(0.0, LEAST_VARIANCE * min(1.0, point.gap) - variance)
    return a, b, c + ridge, ridge


def _limit(problem: Problem, point: Point, step: Array) -> Array:
    """The step, projected row by row: one bad row must not hold back the others."""
    return problem.project(np.stack([point.x[0] + step[0], _reach(problem, point, step)]))


def _reach(problem: Problem, point: Point, step: Array) -> Array:
    """Where the boxed unknowns may go."""
    boxed = point.x[1]
    lowest = np.maximum(problem.lower, SMALLEST_SHRINK * boxed)
    return np.clip(boxed + step[1], lowest, problem.upper)


def conjugate_gradient(
    apply: Callable[[Array], Array], precondition: Callable[[Array], Array], rhs: Array, enough: float
) -> tuple[Array, int]:
    """Solve apply(x) = rhs until the squared residual, in the preconditioner's norm, is `enough`."""
    x, residual = np.zeros_like(rhs), rhs.copy()
    z = precondition(residual)
    direction, energy = z.copy(), float(np.sum(residual * z))
    if energy <= enough:
        return x, 0
    for n_iter in range(1, MAX_CG_ITERATIONS + 1):
        product = apply(direction)
        curvature = float(np.sum(direction * product))
        if not curvature > 0.0:
            return x, n_iter
        step = energy / curvature
        x += step * direction
        residual -= step * product
        z = precondition(residual)
        previous, energy = energy, float(np.sum(residual * z))
        if energy <= enough:
            break
        direction = z + (energy / previous) * direction
    return x, n_iter
