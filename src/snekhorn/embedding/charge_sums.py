"""Compute sums of charges under a radial kernel, the building block of every objective.

Charges q_j at the points z_j and a kernel k give the field

    phi(z) = sum_j q_j k(|z - z_j|^2).

`DirectSums` visits every pair of points; `charge_grid.GridSums` takes time linear in the number of points. Both return
phi and its gradient at the points, with or without the point's own term q_i k(0) = q_i.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ..kernels.direct_sums import direct_sums, direct_sums_of_others, log_gaussian_sums_of_others
from ..runtime.execution import Execution

SMALLEST = 1e-300  # lower limit of the field, so that its logarithm is finite
OVERFLOW = "the layout overflowed"
ROUGH_SUMS = (
    "the layout is so wide that method='fft' cannot resolve it, so kl_divergence_, potential_ and the positions are "
    "rough; pass method='exact', or if init is an array, scale it to a standard deviation of 1 or less."
)

Array = NDArray[np.floating[Any]]


class Kernel(str, Enum):
    """Radial kernels of the layout, as functions of the squared distance."""

    STUDENT = "student"
    GAUSSIAN = "gaussian"

    def __call__(self, squared: Any) -> Any:
        """Return k = 1 / (1 + r^2) or k = exp(-r^2)."""
        return 1.0 / (1.0 + squared) if self is Kernel.STUDENT else np.exp(-squared)


class Field(Protocol):
    """Field of fixed charges at fixed positions."""

    @property
    def kernel(self) -> Kernel:
        """Kernel of the field."""

    @property
    def rough(self) -> bool:
        """Whether the field is less accurate than it should be, because the layout is too wide."""

    def at(self, positions: Array) -> tuple[Array, Array]:
        """Return phi (m,) and its gradient (m, d) at any positions (m, d)."""


class ChargeSums(Protocol):
    """Method of computing the field of charges."""

    @property
    def kernel(self) -> Kernel:
        """Kernel of the field."""

    @property
    def execution(self) -> Execution:
        """Execution of the loops over points."""

    @property
    def rough(self) -> bool:
        """Whether the last sums are less accurate than they should be, because the layout is too wide."""

    def __call__(self, Z: Array, charges: Array) -> tuple[Array, Array]:
        """Return phi (n,) and its gradient (n, d) at the points Z (n, d)."""

    def of_others(self, Z: Array, charges: Array) -> tuple[Array, Array]:
        """Return phi and its gradient at the points Z without each point's own term; phi is at least SMALLEST."""

    def freeze(self, Z: Array, charges: Array) -> Field:
        """Return the field of these charges, which can be evaluated anywhere."""

    def refined(self) -> ChargeSums:
        """Return sums of the same kind with the highest accuracy available."""


@dataclass(frozen=True)
class DirectSums:
    """Sums over every pair of points, in float64, without an n x n array.

    Parameters
    ----------
    kernel : Kernel
    execution : Execution
    """

    kernel: Kernel
    execution: Execution
    rough: ClassVar[bool] = False

    def __call__(self, Z: Array, charges: Array) -> tuple[Array, Array]:
        return self.freeze(Z, charges).at(Z)

    def of_others(self, Z: Array, charges: Array, rows: NDArray[np.intp] | None = None) -> tuple[Array, Array]:
        """Return the sums at all points, or at these rows."""
        n, d = Z.shape
        rows = np.arange(n) if rows is None else rows
        out = np.empty((rows.size, 4))
        arguments = (_columns(Z), np.ascontiguousarray(charges, dtype=float), self.kernel is Kernel.STUDENT, out)
        self.execution.run(direct_sums_of_others, rows.size, rows.size * n, rows, *arguments)
        return np.maximum(out[:, 0], SMALLEST), out[:, 1 : d + 1]

    def freeze(self, Z: Array, charges: Array) -> Field:
        return _DirectField(self.kernel, self.execution, _columns(Z), np.ascontiguousarray(charges, dtype=float))

    def refined(self) -> DirectSums:
        return self


@dataclass(frozen=True)
class _DirectField:
    kernel: Kernel
    execution: Execution
    points: Array
    charges: Array
    rough: ClassVar[bool] = False

    def at(self, positions: Array) -> tuple[Array, Array]:
        m, d = positions.shape
        out = np.empty((m, 4))
        arguments = (self.points, self.charges, _columns(positions), self.kernel is Kernel.STUDENT, out)
        self.execution.run(direct_sums, m, m * self.charges.size, *arguments)
        return np.maximum(out[:, 0], SMALLEST), out[:, 1 : d + 1]


def log_of_others(Z: Array, phi: Array, sums: ChargeSums) -> Array:
    """Return the logarithm of `phi`, the field of unit charges without each point's own term.

    A Gaussian field that has vanished, because the nearest point is more than 26 units away, is computed from the
    distances.
    """
    log_phi: Array = np.log(phi)
    lost = np.flatnonzero(phi <= SMALLEST)
    if lost.size and sums.kernel is Kernel.GAUSSIAN:
        found = np.empty(lost.size)
        sums.execution.run(log_gaussian_sums_of_others, lost.size, lost.size * len(Z), lost, _columns(Z), found)
        log_phi[lost] = found
    return log_phi


def _columns(Z: Array) -> Array:
    """Return Z as three rows of coordinates; missing coordinates are zero."""
    columns = np.zeros((3, Z.shape[0]))
    columns[: Z.shape[1]] = Z.T
    return columns
