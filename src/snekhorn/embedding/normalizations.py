"""Normalise the latent kernel to obtain Q, and compute the resulting repulsion.

All three normalisations need only sums of charges, without the points' own terms if Q has no diagonal.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ..kernels.sinkhorn import sinkhorn_step
from ..runtime.execution import Execution
from .charge_sums import SMALLEST, Array, ChargeSums, log_of_others

WARM_UP = 12  # maximum number of Sinkhorn steps on the first layout; with self-loops, each at least halves the error
WARM_GAP = 0.1  # row-sum error that ends the warm-up; later steps reduce it, so a smaller value only costs time
LARGEST_CHARGE = 1e150  # of a point that no other point reaches; the product of two larger ones could overflow


class Normalization(Protocol):
    """Interface between the objective and a normalisation."""

    sums: ChargeSums
    charges: Array | None

    @property
    def potential(self) -> Array | None:
        """Potential f; None if Q has none, and before the first layout."""

    def repulsion(self, Z: Array, row_sums: Array) -> Array:
        """Return n times the gradient (n, d) of the loss term of the normalisation; `row_sums` belong to P."""

    def value(self, Z: Array, row_sums: Array) -> float:
        """Return n times the loss term of the normalisation; `row_sums` belong to P."""

    def refine(self) -> None:
        """Compute sums more accurately from now on, if Q has a potential."""

    def solve_potential(self, Z: Array, tol: float, max_steps: int) -> float | None:
        """Bring the row sums of Q within `tol` of 1; return the largest deviation, or None if Q has no potential."""

    def permute(self, order: Any) -> None:
        """Apply the permutation `order` to the points."""

    def reset(self) -> None:
        """Forget the layouts so far."""


class DoublyStochastic:
    """Doubly stochastic Q_ij = exp(f_i + f_j) k_ij (SNEkhorn, t-SNEkhorn).

    The loss is the joint objective <P, C> - 2 <f, 1> + sum Q. It is convex in f, and minimising it over f makes Q
    doubly stochastic. Its gradient with respect to Z is valid for any f, not only for the optimal one, so one Sinkhorn
    step per gradient is enough. The state consists of the charges q = e^f, for which the step
    f <- (f - log phi) / 2 becomes q <- sqrt(q / phi).

    Parameters
    ----------
    sums : ChargeSums
    self_loops : bool
        Whether the diagonal is part of Q.
    """

    def __init__(self, sums: ChargeSums, *, self_loops: bool = True) -> None:
        self.sums = sums
        self.self_loops = self_loops
        self.charges: Array | None = None

    @property
    def potential(self) -> Array | None:
        """Potential f, the logarithm of the charges; None before the first layout."""
        return None if self.charges is None else np.log(self.charges)

    def repulsion(self, Z: Array, row_sums: Array) -> Array:
        if not self.self_loops:  # Q may then have negative eigenvalues, and a single step may overshoot
            self.solve_potential(Z, tol=WARM_GAP, max_steps=WARM_UP)
        charges = self.warm_charges(Z)
        phi, slope = self.sums(Z, charges) if self.self_loops else self.sums.of_others(Z, charges)
        self.charges, repulsion = step_of_charges(charges, phi, slope, self.sums.execution, self_loops=self.self_loops)
        return repulsion

    def value(self, Z: Array, row_sums: Array) -> float:
        charges = self.warm_charges(Z)
        execution = self.sums.execution
        total = execution.sum(charges * self._field(Z, charges)[0])
        return float(total - 2.0 * execution.sum(np.log(charges)) - charges.size)

    def refine(self) -> None:
        self.sums = self.sums.refined()

    def solve_potential(self, Z: Array, tol: float, max_steps: int) -> float:
        """Take Sinkhorn steps until every row sum of Q is within `tol` of 1; return the largest deviation from 1."""
        charges = self.warm_charges(Z)
        for step in range(max_steps + 1):
            phi, _ = self._field(Z, charges)
            row_sums = np.where(phi > SMALLEST, charges * phi, 0.0)  # SMALLEST stands for a field that has vanished
            gap = float(self.sums.execution.max(np.abs(row_sums - 1.0)))
            if gap <= tol or step == max_steps:
                break
            charges = np.minimum(np.sqrt(charges) / np.sqrt(phi), LARGEST_CHARGE)  # the ratio itself could overflow
        self.charges = charges
        return gap

    def permute(self, order: Any) -> None:
        if self.charges is not None:
            self.charges = self.charges[order]

    def reset(self) -> None:
        self.charges = None

    def _field(self, Z: Array, charges: Array) -> tuple[Array, Array]:
        if not self.self_loops:
            return self.sums.of_others(Z, charges)
        phi, slope = self.sums(Z, charges)
        return np.maximum(phi, charges), slope  # the field is at least the point's own term

    def warm_charges(self, Z: Array) -> Array:
        """Return the charges; before the first layout, take Sinkhorn steps to find them."""
        if self.charges is None:
            self.charges = np.full(Z.shape[0], Z.shape[0] ** -0.5)  # exact if all points coincide
            self.solve_potential(Z, tol=WARM_GAP, max_steps=WARM_UP)
        return self.charges


def step_of_charges(
    charges: Array, phi: Array, slope: Array, execution: Execution, *, self_loops: bool
) -> tuple[Array, Array]:
    """Take a Sinkhorn step of points with these charges and fields; return the new charges and the repulsion."""
    new_charges, repulsion = np.empty_like(charges), np.empty(slope.shape)
    arrays = (charges, phi, slope, self_loops, LARGEST_CHARGE, new_charges, repulsion)
    execution.run(sinkhorn_step, len(charges), slope.size, *arrays)
    return new_charges, repulsion


class WithoutState:
    """Base class of normalisations that depend on the layout alone: no potential, and nothing to remember."""

    charges: Array | None = None
    potential: Array | None = None

    def __init__(self, sums: ChargeSums) -> None:
        self.sums = sums

    def refine(self) -> None:
        """Do nothing."""

    def solve_potential(self, Z: Array, tol: float, max_steps: int) -> None:
        """Do nothing."""

    def permute(self, order: Any) -> None:
        """Do nothing."""

    def reset(self) -> None:
        """Do nothing."""


class TotalNormalized(WithoutState):
    """Q_ij = n k_ij / sum_{k != l} k_kl, without a diagonal (t-SNE, symmetric SNE)."""

    def repulsion(self, Z: Array, row_sums: Array) -> Array:
        phi, slope = self.sums.of_others(Z, np.ones(Z.shape[0]))
        scale = 2.0 * Z.shape[0] / float(self.sums.execution.sum(phi))
        return np.asarray(scale * slope)

    def value(self, Z: Array, row_sums: Array) -> float:
        phi, _ = self.sums.of_others(Z, np.ones(Z.shape[0]))
        execution = self.sums.execution
        largest, total = 0.0, execution.sum(phi)
        if total < 2.0 * SMALLEST * phi.size:  # the kernel underflows for all pairs
            log_phi = log_of_others(Z, phi, self.sums)
            largest = float(execution.max(log_phi))
            total = execution.sum(np.exp(log_phi - largest))
        return float(execution.sum(row_sums)) * (largest + float(np.log(total / Z.shape[0])))


class RowNormalized(WithoutState):
    """Q_ij = k_ij / sum_{l != i} k_il, without a diagonal (SNE)."""

    def repulsion(self, Z: Array, row_sums: Array) -> Array:
        phi, slope = self.sums.of_others(Z, np.ones(Z.shape[0]))
        charges = row_sums / phi
        return charges[:, None] * slope + self.sums(Z, charges)[1]

    def value(self, Z: Array, row_sums: Array) -> float:
        phi, _ = self.sums.of_others(Z, np.ones(Z.shape[0]))
        return float(self.sums.execution.sum(row_sums * log_of_others(Z, phi, self.sums)))
