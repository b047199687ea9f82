"""Where the symmetric solvers start."""

from __future__ import annotations

import numpy as np

from ..costs import DenseCost, GraphCost
from ..kernels.entropic import BANDWIDTH, LOG_NORMALIZER, NEAREST
from ..optim.newton import Array, Point
from .dual import SymmetricDual

MAX_SWEEPS = 6
SLACK = 0.5  # rows whose log mass is within this are left alone
FAR, SETTLE_STEPS = 5.0, 5  # a gap from which Sinkhorn steps are cheaper than Newton's, and how many
REFILL_STEPS, SMALLEST_MASS = 20, 1e-300
ENOUGH = 1.0  # worst log mass at which Newton's method takes over


def entropic_start(cost: DenseCost | GraphCost, log_perplexity: Array | float, *, self_loops: bool) -> Array:
    """(lambda, gamma) of the ordinary entropic affinity: P starts as a geometric mean of P^e and its transpose."""
    return entropic_duals(cost.rows(self_loops=self_loops, entropy=log_perplexity))


def entropic_duals(rows: Array) -> Array:
    """(lambda, epsilon) with which the rows are exp((lambda_i - C_ij) / epsilon_i)."""
    return np.stack([rows[:, NEAREST] - rows[:, BANDWIDTH] * rows[:, LOG_NORMALIZER], rows[:, BANDWIDTH]])


def balance(cost: DenseCost | GraphCost, x: Array) -> int:
    """Give the rows of a P without self-loops their mass back, in place; return the passes used.

    The geometric mean leaves outliers, whose neighbours have small bandwidths, with next to no mass.
    """
    n_sweeps = 0
    while n_sweeps < MAX_SWEEPS:
        n_sweeps += 1
        if cost.sweep(x[0], x[1], SLACK) < ENOUGH:
            break
    return n_sweeps


def settle(dual: SymmetricDual, x: Array) -> tuple[Point, int]:
    """The point to start Newton's method from, and the passes used: near hubs, x itself is too far away."""
    point = dual.evaluate(dual.project(x))
    if not FAR < point.gap < np.inf:
        return point, 1
    return _scale(dual, point, SETTLE_STEPS), 1 + SETTLE_STEPS


def refill(dual: SymmetricDual, x: Array) -> tuple[Array, int]:
    """Give rows whose mass has vanished it back, by Sinkhorn steps at fixed bandwidths; with the passes used.

    Where duplicates have more entropy than asked for whatever their bandwidth, its way down to the floor can leave
    them without mass, and with it without a Hessian by which to come back: they are put there at once.
    """
    lower = np.broadcast_to(dual.lower, x[1].shape)
    for _ in range(2):
        point = _scale(dual, dual.evaluate(x), REFILL_STEPS)
        x, above = point.x, point.gradient[1] < 0.0
        x = np.stack([np.where(above, x[0] * lower / x[1], x[0]), np.where(above, lower, x[1])])
    return x, 2 * (1 + REFILL_STEPS)


def _scale(dual: SymmetricDual, point: Point, n_steps: int) -> Point:
    """The point after so many Sinkhorn steps, every one of which scales all rows at once towards a sum of one."""
    for _ in range(n_steps):
        mass = np.maximum(1.0 - point.gradient[0], SMALLEST_MASS)
        lam, gam = point.x
        point = dual.evaluate(dual.project(np.stack([lam - gam * np.log(mass), gam])))
    return point
