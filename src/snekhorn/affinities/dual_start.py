"""Where the symmetric solvers start."""

from __future__ import annotations

import numpy as np

from ..geometry.costs import DenseCost, GraphCost
from ..kernels.bandwidth_search import BANDWIDTH, LOG_NORMALIZER, NEAREST
from ..kernels.symmetric_sums import MASS
from ..solvers.newton_cg import Array, Point
from .symmetric_dual import SMALLEST_MASS, SymmetricDual

MAX_SWEEPS = 6
SLACK = 0.5  # rows whose log mass is within this are left alone
FAR, SETTLE_STEPS = 5.0, 5  # a gap from which Sinkhorn steps are cheaper than Newton's, and how many
REFILL_STEPS = 20
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
    settled = dual.evaluate(scale(dual, point.x, SETTLE_STEPS))
    better = settled.gap < np.inf and settled.value > point.value
    return (settled if better else point), 2 + SETTLE_STEPS


def refill(dual: SymmetricDual, x: Array) -> tuple[Array, int]:
    """Give rows whose mass has vanished it back, by Sinkhorn steps at fixed bandwidths; with the passes used.

    Where duplicates have more entropy than asked for whatever their bandwidth, its way down to the floor can leave
    them without mass, and with it without a Hessian by which to come back: they are put there at once.
    """
    lower = np.broadcast_to(dual.lower, x[1].shape)
    for _ in range(2):
        x = scale(dual, x, REFILL_STEPS)
        above = dual.evaluate(x).gradient[1] < 0.0
        x = np.stack([np.where(above, x[0] * lower / x[1], x[0]), np.where(above, lower, x[1])])
    return x, 2 * (1 + REFILL_STEPS)


def scale(dual: SymmetricDual, x: Array, n_steps: int) -> Array:
    """x after so many Sinkhorn steps, a pass each, which scale all rows at once towards a sum of one."""
    for _ in range(n_steps):
        mass = dual.cost.terms(*x, self_loops=dual.self_loops)[:, MASS]
        x = dual.project(np.stack([x[0] - x[1] * np.log(np.maximum(mass, SMALLEST_MASS)), x[1]]))
    return x
