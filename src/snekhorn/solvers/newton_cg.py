"""Projected Newton-CG for a concave function of two unknowns per row, one free and one box-constrained.

Each step solves (H + mu D) d = rhs by conjugate gradients, where H is minus the Hessian and D consists of its
two-by-two diagonal blocks, which also serve as preconditioner. mu is the Levenberg-Marquardt damping.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np

from ..runtime.execution import Execution
from ..runtime.progress import Progress
from .concave_problems import Array, Linear, Outcome, Point, Problem, RestrictedProblem
from .solve_report import Reason

Start: TypeAlias = Callable[[], "tuple[Point, int]"]  # returns the first point, and the passes used to find it

MAX_CG_ITERATIONS = 60
MAX_PASSES = 1000  # problems that are not solved by then never converge
LOOSEST_CG, TIGHTEST_CG, CG_POWER = 0.3, 1e-3, 0.7  # relative residual required of CG: clipped power of the gap
SMALLEST_SHRINK = 0.2  # a boxed unknown keeps at least this fraction of its value in one step
FIRST_DAMPING, DAMPING_GROWTH, DAMPING_DECAY = 1.0, 4.0, 10.0
SMALLEST_DAMPING, LARGEST_DAMPING = 1e-3, 1e12  # smaller damping becomes 0; with larger, the solver gives up
LARGE_GAP = 1.0  # above this gap the first step is damped, because an undamped one would be rejected
SUFFICIENT_INCREASE = 0.05  # fraction of the predicted increase that a step must reach to be accepted
GOOD_MODEL, POOR_MODEL = 0.7, 0.25  # ratios of actual to predicted increase that lower and raise the damping
TOO_FAR = 4.0  # a step is too long for a row if its gap grows by this factor and exceeds 1
FEW_ROWS = 0.1  # up to this fraction of such rows, only these retreat; otherwise all rows are damped
RETREAT, MAX_RETREATS = 0.2, 3  # fraction of the step that a retreating row keeps, and how often it may retreat
CLOSE = 1e-2  # below this gap, good steps reduce the gap
NEAR = 0.1  # below this gap Newton's method converges on its own
SETTLED, STRAGGLERS, MAX_SETTLING = 1e-2, 0.05, 20  # gap of settled rows, fraction and iterations of other rows
MAX_ROUNDS, HELPFUL = 3, 0.5  # settling is repeated this often, while the gap shrinks by this factor
ALMOST = 0.3  # gap of settled rows in the end, relative to the tolerance; with more, their neighbours exceed it again
ROUNDING = 1e-15  # relative changes of the value below this are noise
LEAST_VARIANCE = 0.05  # smaller variances make a block nearly singular (see `_blocks`)


@np.errstate(over="ignore", invalid="ignore")  # a trial step may overflow; its gap then shows it
def maximize(
    problem: Problem,
    start: Start,
    *,
    tol: float,
    max_iter: int,
    max_passes: int = MAX_PASSES,
    max_cg: int = MAX_CG_ITERATIONS,
    progress: Progress | None = None,
) -> Outcome:
    """Maximise until both gaps are below `tol`, with at most `max_cg` CG iterations per step.

    Points and vectors are as long as all rows together, so none is kept that is no longer needed. That is why `start`
    is a function: the first point would stay in memory if the caller held it.
    """
    point, passes = start()
    most_passes = passes + max_passes
    values, plain = [point.value], False
    hessian: Linear | None = None  # at the point
    damping = FIRST_DAMPING if point.gap > LARGE_GAP else 0.0
    for n_iter in range(max_iter + 1):
        if progress is not None:
            progress(n_iter, point.gap)
        if point.gap < tol:
            return Outcome(point, Reason.CONVERGED, n_iter, passes, values)
        if not np.isfinite(point.gap):
            return Outcome(point, Reason.OVERFLOW, n_iter, passes, values)
        if n_iter == max_iter or passes >= most_passes:
            break
        if hessian is None:
            hessian = problem.hessian(point.x)
        step, predicted, used = _direction(problem, point, hessian, damping, tol, plain=plain, max_cg=max_cg)
        passes += used
        if predicted <= 0.0 and not plain:
            plain = True  # the rescaled residual gave no ascent direction; the gradient does
            continue
        trial, step, used = try_step(problem, point, step)
        passes += used
        verdict = _judge(problem, point, trial, step, predicted, retreated=used > 1)
        if verdict.accepted:
            point, plain, hessian = trial, False, None
            if point.gap >= tol:
                point, used = _settle_stragglers(problem, point, SETTLED if point.gap > NEAR else ALMOST * tol)
                passes += used
            values.append(point.value)
        damping = _next_damping(damping, verdict.ratio)
        if damping > LARGEST_DAMPING or (verdict.by_gap and not verdict.accepted and damping > 1.0):
            reason = Reason.ROUNDING if verdict.by_gap else Reason.STALLED
            return Outcome(point, reason, n_iter + 1, passes, values)
        del trial, step
    return Outcome(point, Reason.MAX_ITER if n_iter == max_iter else Reason.MAX_PASSES, n_iter, passes, values)


def first_point(problem: Problem, x: Array) -> tuple[Point, int]:
    """Start from x itself."""
    return problem.evaluate(x), 1


class _Verdict(NamedTuple):
    """Judgement on a step."""

    accepted: bool
    ratio: float  # of the actual to the predicted increase, which decides the damping
    by_gap: bool  # whether only the gap decided, because the increase is below the rounding errors


def _judge(problem: Problem, point: Point, trial: Point, step: Array, predicted: float, *, retreated: bool) -> _Verdict:
    """Compare the increase that a step achieved with the predicted one; `retreated` if some rows took a shorter step.

    An increase that is lost in the rounding errors of the value is computed from slopes. Near the solution, a step is
    then judged by the gap instead.
    """
    noise = ROUNDING * point.magnitude
    if retreated:  # compare values, even if no increase is predicted
        shorter = _predicted_increase(problem, point, step)
        predicted = shorter if shorter > 0.0 else 2.0 * noise
    hidden = predicted <= noise
    if hidden and (point.gap < CLOSE or predicted <= 0.0):
        accepted = trial.gap < point.gap
        return _Verdict(accepted, GOOD_MODEL if accepted else -np.inf, by_gap=True)
    if not np.isfinite(trial.gap):
        return _Verdict(accepted=False, ratio=-np.inf, by_gap=False)
    if hidden:
        increase = increase_by_slopes(problem, point, trial)
    else:
        increase = float(problem.execution.sum(trial.row_values - point.row_values))
    ratio = increase / predicted
    return _Verdict(ratio > SUFFICIENT_INCREASE, ratio, by_gap=False)


def _next_damping(damping: float, ratio: float) -> float:
    """Return the damping of the next step: lower after a good prediction, higher after a poor one."""
    if ratio >= GOOD_MODEL:
        return damping / DAMPING_DECAY if damping > SMALLEST_DAMPING else 0.0
    if ratio < POOR_MODEL:
        return max(DAMPING_GROWTH * damping, FIRST_DAMPING)
    return damping


def _direction(
    problem: Problem, point: Point, hessian: Linear, damping: float, tol: float, *, plain: bool, max_cg: int
) -> tuple[Array, float, int]:
    """Return the Newton direction, the predicted increase, and the number of passes used."""
    a, b, c, ridge = _blocks(point)
    free = ~point.held
    determinant = np.maximum(a * c - b * b, 1e-12 * a * c + np.finfo(float).tiny)

    def precondition(r: Array, free: Array) -> Array:
        out = np.empty_like(r)  # row by row, because temporary arrays are as long as the number of points
        out[0] = np.where(free, (c * r[0] - b * r[1]) / determinant, r[0] / a)
        out[1] = np.where(free, (a * r[1] - b * r[0]) / determinant, 0.0)
        out /= 1.0 + damping
        return out

    def apply(v: Array, free: Array) -> Array:
        h = hessian(v)
        h[1] += ridge * v[1]
        h[0] += damping * (a * v[0] + b * v[1])
        h[1] += damping * (b * v[0] + c * v[1])
        h[1] *= free
        return h

    def solve(rhs: Array, free: Array) -> tuple[Array, int]:
        products = (partial(apply, free=free), partial(precondition, free=free))
        return conjugate_gradient(*products, rhs, enough, problem.execution, max_cg)

    def right_hand_side() -> Array:
        rhs: Array = (point.gradient if plain else point.rhs).copy()
        rhs[1] *= free
        return rhs

    rhs = right_hand_side()
    # No tighter than the tolerance requires, nor than is useful this far from the solution.
    accuracy = max(TIGHTEST_CG, point.gap**CG_POWER, 0.3 * tol / point.gap)
    enough = min(LOOSEST_CG, accuracy) ** 2 * float(problem.execution.sum(rhs * precondition(rhs, free)))
    step, passes = solve(rhs, free)  # overwrites rhs
    del rhs
    reached = _bounded(problem, point, step)
    stopped = free & (reached != point.x[1] + step[1])
    if problem.execution.max(stopped):  # these rows stop at a bound: solve again for the others
        step[1] = reached - point.x[1]
        moving = free & ~stopped
        rest = right_hand_side() - apply(step, moving)
        rest[1] *= moving
        more, used = solve(rest, moving)
        step += more
        passes += 1 + used
    return step, _predicted_increase(problem, point, step), passes


def _predicted_increase(problem: Problem, point: Point, step: Array) -> float:
    """Return half the slope along a step: the increase of a quadratic up to its maximum."""
    total = problem.execution.sum
    return 0.5 * float(total(point.gradient[0] * step[0]) + total((point.gradient[1] * step[1])[~point.held]))


def increase_by_slopes(problem: Problem, point: Point, trial: Point) -> float:
    """Return the increase from one point to another one, by the trapezoidal rule.

    The slopes show it where values do not, because a far outlier makes their rounding errors large.
    """
    slopes = point.gradient + trial.gradient
    slopes *= trial.x - point.x
    return 0.5 * float(problem.execution.sum(slopes))


def try_step(problem: Problem, point: Point, step: Array) -> tuple[Point, Array, int]:
    """Evaluate a step; if it is far too long for a few rows, shorten it for these rows.

    Otherwise a few rows in a thousand would cause damping of all rows for many iterations. Return the trial point, the
    step taken and the number of passes used.
    """
    before = np.maximum(point.row_gaps, LARGE_GAP)
    trial = problem.evaluate(_projected(problem, point, step))
    for used in range(1, MAX_RETREATS + 1):
        too_far = ~(trial.row_gaps < TOO_FAR * before)  # NaN also counts as too far
        if not 0.0 < problem.execution.sum(too_far) / too_far.size < FEW_ROWS:
            return trial, step, used
        del trial
        step = np.where(too_far, RETREAT, 1.0) * step
        trial = problem.evaluate(_projected(problem, point, step))
    return trial, step, MAX_RETREATS + 1


def _settle_stragglers(problem: Problem, point: Point, tol: float) -> tuple[Point, int]:
    """Improve a few rows with gaps above `tol` while the others are fixed; return the point and the passes used.

    Their neighbours may then exceed `tol`, so this is repeated as long as it helps.
    """
    passes = 0
    for _ in range(MAX_ROUNDS):
        rows = point.unsolved(tol)
        some = problem.restricted_to(rows, point.x) if 0 < rows.size < STRAGGLERS * point.x.shape[1] else None
        if some is None:
            break
        x = point.x.copy()
        x[:, rows], used = _solved_for(rows.size, *some, tol)
        del some
        passes += 1 + used
        settled = problem.evaluate(x)
        increase = float(problem.execution.sum(settled.row_values - point.row_values))
        near = point.gap <= NEAR  # increases are then mostly rounding errors, so compare gaps
        if not np.isfinite(settled.gap) or (settled.gap >= point.gap if near else increase <= 0.0):
            break
        helps, point = settled.gap < HELPFUL * point.gap, settled
        if not helps:
            break
    return point, passes


def _solved_for(n_rows: int, restricted: RestrictedProblem, x: Array, tol: float) -> tuple[Array, int]:
    """Solve a restricted problem; return x of its first rows, and the passes used, as passes over all pairs.

    In a function of its own, so that nothing else of the restricted problem stays in memory.
    """
    found = maximize(restricted, partial(first_point, restricted, x), tol=tol, max_iter=MAX_SETTLING)
    solution: Array = found.point.x[:, :n_rows].copy()
    return solution, int(np.ceil(restricted.share * found.n_passes))


def _blocks(point: Point) -> tuple[Array, Array, Array, Array]:
    """Return the blocks of H with a ridge on the last entry if the row's variance vanishes, and the ridge.

    A row whose mass rests on one pair has a singular block and would take an unbounded step. The ridge bounds the step,
    and fades with the gap so that the last steps are pure Newton steps.
    """
    a, b, c = point.blocks
    a = np.maximum(a, np.finfo(float).tiny)
    variance = np.maximum(c / a - (b / a) ** 2, 0.0)
    ridge = a * np.maximum(0.0, LEAST_VARIANCE * min(1.0, point.gap) - variance)
    return a, b, c + ridge, ridge


def _projected(problem: Problem, point: Point, step: Array) -> Array:
    """Apply a step, projected row by row, so that one bad row does not hold back the others."""
    x = np.empty_like(step)
    np.add(point.x[0], step[0], out=x[0])
    x[1] = _bounded(problem, point, step)
    return problem.project(x)


def _bounded(problem: Problem, point: Point, step: Array) -> Array:
    """Apply a step to the boxed unknowns, within the box and without shrinking them too much."""
    boxed = point.x[1]
    lowest = np.maximum(problem.lower, SMALLEST_SHRINK * boxed)
    return np.asarray(np.clip(boxed + step[1], lowest, problem.upper))


def conjugate_gradient(
    apply: Linear,
    precondition: Linear,
    rhs: Array,
    enough: float,
    execution: Execution,
    max_iter: int = MAX_CG_ITERATIONS,
) -> tuple[Array, int]:
    """Solve apply(x) = rhs until the squared residual, in the preconditioner's norm, is at most `enough`.

    `rhs` is overwritten, and so are the results of `apply` and `precondition`, because vectors are long.
    """
    x, residual = np.zeros_like(rhs), rhs
    direction = precondition(residual)
    energy = float(execution.sum(residual * direction))
    if energy <= enough:
        return x, 0
    for n_iter in range(1, max_iter + 1):
        product = apply(direction)
        curvature = float(execution.sum(direction * product))
        if not curvature > 0.0:
            return x, n_iter
        step = energy / curvature
        product *= step
        residual -= product
        x += np.multiply(step, direction, out=product)
        del product
        z = precondition(residual)
        previous, energy = energy, float(execution.sum(residual * z))
        if energy <= enough:
            break
        direction *= energy / previous
        direction += z
        del z
    return x, n_iter
