"""Where the symmetric solvers start."""

from __future__ import annotations

import numpy as np

from ..costs import DenseCost, GraphCost
from ..kernels.entropic import BANDWIDTH, LOG_NORMALIZER, NEAREST
from ..optim.newton import Array

MAX_SWEEPS = 6
SLACK = 0.5  # rows whose log mass is within this are left alone
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
