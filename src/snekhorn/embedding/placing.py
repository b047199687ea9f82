"""New points into a finished layout, each by itself.

A new point with affinities p_j to the points of the layout goes where it minimises its own divergence

    L(z) = sum_j p_j C(z, z_j) + log phi(z),    phi(z) = sum_j e^{f_j} k(z, z_j),

its row of Q being normalised by phi. The layout and its potential are frozen, so no new point sees another.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.placement_sums import add_log, pull_places
from ..runtime.execution import run_rows
from .potentials import Array, Field, Kernel

CANDIDATES = 8  # neighbours whose places are tried as starts
MAX_STEPS = 60
SHORTEST_STEP = 1e-3  # of the full step, below which a point is at its place
STILL = 1e-6  # a point that moves less than this has arrived


def place(field: Field, Z: Array, indices: Any, p: Array, n_threads: int) -> Array:
    """Places (m, d) of new points with neighbours `indices` (m, k), nearest first, and affinities p (m, k)."""
    problem = _Placement(field, Z, indices, p, n_threads)
    starts = [Z[indices[:, k]] for k in range(min(CANDIDATES, indices.shape[1]))]
    everyone = np.arange(len(indices))
    losses = np.stack([problem.evaluate(everyone, start)[0] for start in starts])
    places = np.stack(starts)[np.argmin(losses, axis=0), everyone]
    loss, move = problem.evaluate(everyone, places)
    step = np.ones(len(places))
    for _ in range(MAX_STEPS):
        rows = np.flatnonzero((step > SHORTEST_STEP) & (np.abs(step[:, None] * move).max(axis=1) > STILL))
        if not rows.size:
            break
        tried = places[rows] + step[rows, None] * move[rows]
        new_loss, new_move = problem.evaluate(rows, tried)
        better = (new_loss < loss[rows]) & (new_loss > -np.inf)  # a potential of 0 is noise
        step[rows] = np.where(better, np.minimum(1.0, 2.0 * step[rows]), step[rows] / 2)
        rows = rows[better]
        places[rows], move[rows], loss[rows] = tried[better], new_move[better], new_loss[better]
    return places


class _Placement:
    """L and a step down from it, for all new points at once."""

    def __init__(self, field: Field, Z: Array, indices: Any, p: Array, n_threads: int) -> None:
        self.field, self.Z, self.n_threads = field, np.ascontiguousarray(Z, dtype=float), n_threads
        self.indices, self.p = np.ascontiguousarray(indices), np.ascontiguousarray(p, dtype=float)

    def evaluate(self, rows: NDArray[np.intp], places: Array) -> tuple[Array, Array]:
        """L of some of the points, and minus its gradient over twice the attraction's weight.

        That would be the way to the fixed point if there were no repulsion.
        """
        places = np.ascontiguousarray(places)
        m, d = places.shape
        sums = np.empty((m, 2 + d))
        student = self.field.kernel is Kernel.STUDENT
        work = m * self.p.shape[1]
        run_rows(pull_places, m, work, self.n_threads, rows, self.indices, self.p, self.Z, places, student, sums)
        phi, slope = self.field.at(places)
        loss = sums[:, 0].copy()
        run_rows(add_log, m, m, 1, phi, loss)
        return loss, -(sums[:, 2:] + slope / phi[:, None] / 2) / sums[:, 1:2]
