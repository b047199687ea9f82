"""How Q is made of the latent kernel, and the repulsion that follows from it.

All three need nothing but potentials of charges, without a point's own where Q has no self-loops.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from .potentials import Array, Potential

WARM_UP = 12  # Sinkhorn steps on the first layout; with self-loops, each halves the error


class Normalization(Protocol):
    """What the objective asks of a normalisation."""

    sums: Potential

    def repulsion(self, Z: Array, rows: Array) -> Array:
        """n times the gradient (n, d) of what the normalisation adds to the loss; `rows` are the row sums of P."""

    def value(self, Z: Array, rows: Array) -> float:
        """n times what it adds to the loss; `rows` are the row sums of P."""

    def shift(self, mass: Array) -> float:
        """n times the divergence less the loss, at the last layout; `mass` is the mean of row and column sums of P."""

    def permute(self, order: Any) -> None:
        """Follow the points into another order."""


class DoublyStochastic:
    """Q_ij = exp(f_i + f_j) k_ij with rows that sum to 1 (SNEkhorn, t-SNEkhorn).

    The loss is the joint objective <P, C> - 2 <f, 1> + sum Q, convex in f, whose minimum over f makes Q doubly
    stochastic. Its gradient in Z is exact at any f, so f may lag: one Sinkhorn step a gradient. What is kept are the
    charges q = e^f: the step f <- (f - log phi) / 2 is q <- sqrt(q / phi).

    Parameters
    ----------
    sums : Potential
    self_loops : bool
        Whether the diagonal is part of Q.
    """

    def __init__(self, sums: Potential, *, self_loops: bool = True) -> None:
        self.sums = sums
        self.self_loops = self_loops
        self.charges: Array | None = None

    @property
    def f(self) -> Array | None:
        """Logarithms of the charges; None before the first layout."""
        return None if self.charges is None else np.log(self.charges)

    def repulsion(self, Z: Array, rows: Array) -> Array:
        if not self.self_loops:  # one step may overshoot: nothing keeps the eigenvalues of Q from being negative
            self.balance(Z, tol=0.1, max_steps=WARM_UP)
        charges = self._warm(Z)
        phi, slope = self._potential(Z, charges)
        self.charges = _sinkhorn_step(charges, phi)
        return (2.0 * charges)[:, None] * slope

    def value(self, Z: Array, rows: Array) -> float:
        charges = self._warm(Z)
        total = np.sum(charges * self._potential(Z, charges)[0])
        return float(total - 2.0 * np.sum(np.log(charges)) - charges.size)

    def shift(self, mass: Array) -> float:
        """The joint objective is the divergence only where P is doubly stochastic too."""
        return 0.0 if self.charges is None else float(2.0 * np.sum(np.log(self.charges) * (1.0 - mass)))

    def balance(self, Z: Array, tol: float, max_steps: int) -> float:
        """Sinkhorn steps at a fixed layout, until the worst row sum is within tol of 1; return its distance."""
        charges = self._warm(Z)
        for step in range(max_steps + 1):
            phi, _ = self._potential(Z, charges)
            gap = float(np.max(np.abs(charges * phi - 1.0)))
            if gap <= tol or step == max_steps:
                break
            charges = _sinkhorn_step(charges, phi)
        self.charges = charges
        return gap

    def permute(self, order: Any) -> None:
        if self.charges is not None:
            self.charges = self.charges[order]

    def _potential(self, Z: Array, charges: Array) -> tuple[Array, Array]:
        if not self.self_loops:
            return self.sums.others(Z, charges)
        phi, slope = self.sums(Z, charges)
        return np.maximum(phi, charges), slope  # a point's own term is the least that it can be

    def _warm(self, Z: Array) -> Array:
        if self.charges is None:
            self.charges = np.full(Z.shape[0], Z.shape[0] ** -0.5)  # exact where all points are one
            self.balance(Z, tol=0.1, max_steps=WARM_UP)
        return self.charges


def _sinkhorn_step(charges: Array, phi: Array) -> Array:
    return np.sqrt(charges) / np.sqrt(phi)  # the ratio itself may overflow


class TotalSum:
    """Q_ij = n k_ij / sum_{k != l} k_kl, without diagonal (t-SNE, symmetric SNE)."""

    def __init__(self, sums: Potential) -> None:
        self.sums = sums

    def repulsion(self, Z: Array, rows: Array) -> Array:
        phi, slope = self.sums.others(Z, np.ones(Z.shape[0]))
        return (2.0 * Z.shape[0] / np.sum(phi)) * slope

    def value(self, Z: Array, rows: Array) -> float:
        phi, _ = self.sums.others(Z, np.ones(Z.shape[0]))
        return float(np.sum(rows)) * float(np.log(np.sum(phi) / Z.shape[0]))

    def shift(self, mass: Array) -> float:
        return 0.0

    def permute(self, order: Any) -> None:
        """Nothing depends on the order."""


class RowSums:
    """Q_ij = k_ij / sum_{l != i} k_il, without diagonal (SNE)."""

    def __init__(self, sums: Potential) -> None:
        self.sums = sums

    def repulsion(self, Z: Array, rows: Array) -> Array:
        phi, slope = self.sums.others(Z, np.ones(Z.shape[0]))
        charges = rows / phi
        return charges[:, None] * slope + self.sums(Z, charges)[1]

    def value(self, Z: Array, rows: Array) -> float:
        phi, _ = self.sums.others(Z, np.ones(Z.shape[0]))
        return float(np.sum(rows * np.log(phi)))

    def shift(self, mass: Array) -> float:
        return 0.0

    def permute(self, order: Any) -> None:
        """Nothing depends on the order."""
