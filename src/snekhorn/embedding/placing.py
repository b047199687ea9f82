"""Place new points in a finished layout, each independently of the others.

A new point with affinities p_j to the points of the layout is placed at the minimum of its own divergence

    L(z) = sum_j p_j C(z, z_j) + log phi(z),    phi(z) = sum_j e^{f_j} k(z, z_j),

where phi normalises its row of Q. The layout and its charges are fixed, so new points do not affect each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..kernels.placement_sums import add_log, placement_sums
from ..runtime.execution import Execution
from .charge_sums import Array, Field, Kernel
from .latent import Latent, SumMethod, make_charge_sums

CANDIDATES = 8  # nearest neighbours tried as starting positions; with fewer, poor local minima are more likely
MAX_STEPS = 60  # per point; few points need this many
SHORTEST_STEP = 1e-3  # fraction of the full step at which a point stops; smaller takes longer and gains little
STILL = 1e-6  # a point that moves by less than this has converged


def frozen_field(Z: Array, log_charges: Array | None, latent: Latent, method: SumMethod, execution: Execution) -> Field:
    """Return the field of a fitted layout.

    Parameters
    ----------
    Z : array of shape (n, d)
    log_charges : array of shape (n,) or None
        Potential f, if Q is doubly stochastic; None for unit charges.
    latent : Latent
    method : {"exact", "fft"}
        Method used to fit the layout.
    execution : Execution
    """
    Z = np.asarray(Z, dtype=float)
    _check_layout(Z, log_charges)
    charges = np.ones(len(Z)) if log_charges is None else np.exp(log_charges)
    return make_charge_sums(method, latent.kernel, execution).freeze(Z, charges)


def place(field: Field, Z: Array, indices: Any, p: Array, execution: Execution) -> Array:
    """Return the positions (m, d) of new points.

    Parameters
    ----------
    field : Field
        Field of the layout.
    Z : array of shape (n, d)
        The layout.
    indices : array of shape (m, k)
        Neighbours of the new points in the layout, nearest first.
    p : array of shape (m, k)
        Affinities to these neighbours.
    execution : Execution
    """
    if indices.min() < 0 or indices.max() >= len(Z):
        raise InputError(
            f"the layout has {len(Z)} points, but neighbours are numbered up to {indices.max()}; its size has been "
            "changed, so fit the model again."
        )
    problem = _PlacementLoss(field, Z, indices, p, execution)
    starts = [Z[indices[:, k]] for k in range(min(CANDIDATES, indices.shape[1]))]
    everyone = np.arange(len(indices))
    losses = np.stack([problem.evaluate(everyone, start)[0] for start in starts])
    positions: Array = np.stack(starts)[np.argmin(losses, axis=0), everyone]
    loss, move = problem.evaluate(everyone, positions)
    step = np.ones(len(positions))
    for _ in range(MAX_STEPS):
        rows = np.flatnonzero((step > SHORTEST_STEP) & (np.abs(step[:, None] * move).max(axis=1) > STILL))
        if not rows.size:
            break
        tried = positions[rows] + step[rows, None] * move[rows]
        new_loss, new_move = problem.evaluate(rows, tried)
        better = (new_loss < loss[rows]) & (new_loss > -np.inf)  # the loss is -inf if the field is 0, which is noise
        step[rows] = np.where(better, np.minimum(1.0, 2.0 * step[rows]), step[rows] / 2)
        rows = rows[better]
        positions[rows], move[rows], loss[rows] = tried[better], new_move[better], new_loss[better]
    return positions


def _check_layout(Z: Array, log_charges: Array | None) -> None:
    """Raise if a layout or its potential has been changed to something that compiled loops cannot read."""
    if Z.ndim != 2 or not 1 <= Z.shape[1] <= 3 or not np.isfinite(Z).all():
        raise InputError(
            f"embedding_ must be finite and have shape (n, 1), (n, 2) or (n, 3), but has shape {Z.shape}"
            f"{'' if np.isfinite(Z).all() else ' and values that are not finite'}; fit the model again."
        )
    if log_charges is not None and (log_charges.shape != Z.shape[:1] or not np.isfinite(log_charges).all()):
        raise InputError(
            f"potential_ must be finite and have one value for each of the {len(Z)} points, but has shape "
            f"{log_charges.shape}{'' if np.isfinite(log_charges).all() else ' and values that are not finite'}; fit "
            "the model again."
        )


class _PlacementLoss:
    """Loss L of the new points, and a step that decreases it."""

    def __init__(self, field: Field, Z: Array, indices: Any, p: Array, execution: Execution) -> None:
        self.field, self.execution = field, execution
        self.Z = np.ascontiguousarray(Z, dtype=float)
        self.indices, self.p = np.ascontiguousarray(indices), np.ascontiguousarray(p, dtype=float)

    def evaluate(self, rows: NDArray[np.intp], positions: Array) -> tuple[Array, Array]:
        """Return L for some of the points, and minus its gradient divided by twice the weight of the attraction.

        Without repulsion, this step would move a point to the weighted mean of its neighbours.
        """
        positions = np.ascontiguousarray(positions)
        m, d = positions.shape
        sums = np.empty((m, 2 + d))
        student = self.field.kernel is Kernel.STUDENT
        arrays = (rows, self.indices, self.p, self.Z, positions, student, sums)
        self.execution.run(placement_sums, m, m * self.p.shape[1], *arrays)
        phi, slope = self.field.at(positions)
        loss = sums[:, 0].copy()
        self.execution.run(add_log, m, m, phi, loss)
        return loss, -(sums[:, 2:] + slope / phi[:, None] / 2) / sums[:, 1:2]
