"""The potential of charges: one primitive under every objective, with two implementations.

Charges q_j at points z_j and a radial kernel k give the potential phi(z) = sum_j q_j k(|z - z_j|^2). Both
implementations return phi and its gradient at the points, with the charge's own k(0) = 1 or without.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..kernels.direct_sums import direct_sums, others_sums
from ..runtime.execution import run_rows

SMALLEST = 1e-300  # potential of a point that nothing reaches: its logarithm stays finite

Array = NDArray[np.floating[Any]]


class Kernel(str, Enum):
    """Radial kernels of the latent side, as functions of the squared distance."""

    STUDENT = "student"
    GAUSSIAN = "gaussian"

    def __call__(self, squared: Any) -> Any:
        return 1.0 / (1.0 + squared) if self is Kernel.STUDENT else np.exp(-squared)


class Field(Protocol):
    """The potential of charges that stay where they are."""

    @property
    def kernel(self) -> Kernel: ...

    def at(self, places: Array) -> tuple[Array, Array]:
        """phi (m,) and its gradient (m, d) at any places (m, d)."""


class Potential(Protocol):
    """Sums of charges under a kernel."""

    kernel: Kernel

    def __call__(self, Z: Array, charges: Array) -> tuple[Array, Array]:
        """phi (n,) and its gradient (n, d) at the points Z (n, d)."""

    def others(self, Z: Array, charges: Array) -> tuple[Array, Array]:
        """The same without the point's own charge; phi is positive, however far the others are."""

    def freeze(self, Z: Array, charges: Array) -> Field:
        """The potential of these charges, for use at other places."""


@dataclass
class DirectSum:
    """Every pair, in float64, without an n x n array."""

    kernel: Kernel
    n_threads: int = 1

    def __call__(self, Z: Array, charges: Array) -> tuple[Array, Array]:
        return self.freeze(Z, charges).at(Z)

    def others(self, Z: Array, charges: Array) -> tuple[Array, Array]:
        n, d = Z.shape
        out = np.empty((n, 4))
        arguments = (_columns(Z), np.ascontiguousarray(charges, dtype=float), self.kernel is Kernel.STUDENT, out)
        run_rows(others_sums, n, n * n, self.n_threads, *arguments)
        return np.maximum(out[:, 0], SMALLEST), out[:, 1 : d + 1]

    def freeze(self, Z: Array, charges: Array) -> Field:
        return _DirectField(self.kernel, self.n_threads, _columns(Z), np.ascontiguousarray(charges, dtype=float))


@dataclass
class _DirectField:
    kernel: Kernel
    n_threads: int
    points: Array
    charges: Array

    def at(self, places: Array) -> tuple[Array, Array]:
        m, d = places.shape
        out = np.empty((m, 4))
        arguments = (self.points, self.charges, _columns(places), self.kernel is Kernel.STUDENT, out)
        run_rows(direct_sums, m, m * self.charges.size, self.n_threads, *arguments)
        return out[:, 0], out[:, 1 : d + 1]


def _columns(Z: Array) -> Array:
    """Z as three rows of coordinates, the missing ones zero."""
    columns = np.zeros((3, Z.shape[0]))
    columns[: Z.shape[1]] = Z.T
    return columns
