"""Compute sums of charges on a grid in time linear in n: spread the charges, convolve by FFT, gather the field.

The grid cannot resolve details of the kernel that are finer than its cells. This error is largest for the field of a
charge at its own position. There it is known, so it is subtracted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import NumericalOverflowError
from ..kernels.grid_sums import (
    WIDTH,
    count_rows,
    gather_line,
    gather_plane,
    sort_by_row,
    spread_line,
    spread_plane,
)
from ..runtime.execution import Execution
from .charge_sums import OVERFLOW, Array, Field, Kernel
from .convolution import WINDOW, WINDOW_SLOPE, Convolution, choose_convolution, window_slopes, window_weights

FEWEST_CELLS = 32  # along the layout's widest axis; with fewer, small layouts would fall into a handful of cells
MOST_CELLS = {1: 2**20, 2: 3000}  # per axis, by dimension; larger layouts get wider cells, to limit time and memory
SMALLEST_CELL = 1e-4  # smaller cells would only add rounding errors
ROUNDING = 1e-12  # smallest cell relative to the largest coordinate; smaller cells would be lost to rounding
LARGEST = 1e100  # larger coordinates could overflow when squared
SLACK = 1.08  # room for the layout to grow; smaller rebuilds the grid more often, larger makes it larger
TABLE_SIZE = 64  # fractions of a cell per axis at which the field of a charge at its own position is tabulated
FAINTEST = {np.float32: 1e-6, np.float64: 1e-9}  # fields below this fraction of the largest field are noise


@dataclass(frozen=True)
class Accuracy:
    """Cell width, in units of the kernel width, and precision of the sums.

    The relative L2 errors of the field and its gradient are below 2e-4 and 5e-3 for DEFAULT, 1e-6 and 1e-5 for TIGHT.
    Wider cells are faster and less accurate.
    """

    spacing: float
    dtype: type[np.floating[Any]]


DEFAULT = Accuracy(0.38, np.float32)
TIGHT = Accuracy(0.18, np.float64)
ON_A_LINE = 0.9  # cells are narrower by this factor in one dimension, where errors cancel less and nodes are cheap


class GridSums:
    """Sums of charges in one or two dimensions, in time linear in n.

    Parameters
    ----------
    kernel : Kernel
    execution : Execution
    accuracy : Accuracy
    """

    def __init__(self, kernel: Kernel, execution: Execution, accuracy: Accuracy = DEFAULT) -> None:
        self.kernel = kernel
        self.execution = execution
        self.accuracy = accuracy
        self._mesh: Mesh | None = None

    def __call__(self, Z: Array, charges: Array) -> tuple[Array, Array]:
        if self._mesh is None or not self._mesh.suits(Z):
            self._mesh = Mesh.around(Z, self.kernel, self.accuracy, self.execution)
        points = self._mesh.sort(Z, charges)
        phi, slope = self._mesh.gather(points, self._mesh.field_of(points))
        return phi + self._mesh.constant(charges), slope

    def of_others(self, Z: Array, charges: Array) -> tuple[Array, Array]:
        phi, slope = self(Z, charges)
        faintest = FAINTEST[self.accuracy.dtype] * float(self.execution.max(phi))
        return np.maximum(phi - charges, faintest), slope

    def freeze(self, Z: Array, charges: Array) -> Field:
        mesh = Mesh.around(Z, self.kernel, self.accuracy, self.execution)
        return _GridField(self.kernel, mesh, mesh.field_of(mesh.sort(Z, charges)), mesh.constant(charges))

    def refined(self) -> GridSums:
        return GridSums(self.kernel, self.execution, TIGHT)


@dataclass(frozen=True)
class _GridField:
    """Field stored at the nodes; positions outside the mesh get the value at its edge."""

    kernel: Kernel
    mesh: Mesh
    nodes: Array
    constant: float

    def at(self, positions: Array) -> tuple[Array, Array]:
        inside = np.clip(positions, self.mesh.low, self.mesh.high)
        phi, slope = self.mesh.gather(self.mesh.sort(inside, np.zeros(len(positions))), self.nodes)
        return phi + self.constant, slope


@dataclass(frozen=True)
class SortedPoints:
    """Points sorted by row of cells, as the compiled loops expect them.

    Attributes
    ----------
    cell, fraction : array of shape (d, n)
        Cell of every point along every axis, and position within the cell, from 0 to 1.
    charge : array of shape (n,)
    order : array of shape (n,)
        Index of every sorted point in the layout.
    first : array of shape (rows + 1,)
        Start of every row of cells.
    """

    cell: NDArray[np.int32]
    fraction: Array
    charge: Array
    order: NDArray[np.int64]
    first: NDArray[np.int64]


@dataclass(frozen=True)
class Mesh:
    """Grid over a box, with the convolution by the kernel."""

    low: Array
    n_cells: tuple[int, ...]
    spacing: float
    offset: float  # constant subtracted from the kernel, for precision in small layouts, where the kernel hardly varies
    convolve: Convolution
    excess: Array
    dtype: np.dtype[Any]
    execution: Execution

    @classmethod
    def around(cls, Z: Array, kernel: Kernel, accuracy: Accuracy, execution: Execution) -> Mesh:
        """Build a mesh that fits the layout, with some room around it."""
        low, high = _corners(Z, execution)
        extent = (high - low) * SLACK
        widest = float(extent.max())
        farthest = float(np.maximum(np.abs(low), np.abs(high)).max())
        widest_cell = accuracy.spacing * (ON_A_LINE if Z.shape[1] == 1 else 1.0)
        spacing = min(widest_cell, max(widest / FEWEST_CELLS, SMALLEST_CELL))
        spacing = max(spacing, widest / MOST_CELLS[Z.shape[1]], ROUNDING * farthest)
        n_cells = tuple(int(cells) + 1 for cells in extent / spacing)
        offset = float(kernel(np.sum(extent**2))) if spacing < widest_cell else 0.0
        nodes = tuple(cells + WIDTH - 1 for cells in n_cells)
        convolve = choose_convolution(kernel, offset, spacing, nodes, accuracy.dtype)
        excess = _self_field_excess(convolve, spacing).astype(accuracy.dtype)
        centred = (low + high - np.array(n_cells) * spacing) / 2
        return cls(centred, n_cells, spacing, offset, convolve, excess, np.dtype(accuracy.dtype), execution)

    def suits(self, Z: Array) -> bool:
        """Return whether the layout fits into the mesh and is large enough not to need a finer one."""
        low, high = ((corner - self.low) / self.spacing for corner in _corners(Z, self.execution))
        fits = bool((low >= 0.0).all() and (high < self.n_cells).all())
        return fits and float((high - low).max()) * SLACK**3 >= max(self.n_cells)

    @property
    def high(self) -> Array:
        """Upper corner, just inside the mesh."""
        return self.low + self.spacing * (np.array(self.n_cells) - 1e-3)

    def sort(self, Z: Array, charges: Array) -> SortedPoints:
        """Assign the points to cells and sort them by row of cells."""
        n, d = Z.shape
        points = SortedPoints(
            cell=np.empty((d, n), np.int32),
            fraction=np.empty((d, n), self.dtype),
            charge=np.empty(n, self.dtype),
            order=np.empty(n, np.int64),
            first=np.empty(self.n_cells[0] + 1, np.int64),
        )
        mesh = (self.low, 1.0 / self.spacing, points.first)
        out = (points.order, points.cell, points.fraction, points.charge)
        self.execution.run_in_order(count_rows, Z, *mesh)
        self.execution.run_in_order(sort_by_row, Z, charges, *mesh, *out)
        return points

    def field_of(self, points: SortedPoints) -> Array:
        """Return the field at the nodes, without its constant part."""
        return self.convolve(self._spread(points), self.execution)

    def constant(self, charges: Array) -> float:
        """Return the constant part of the field, which the convolution omits."""
        return self.offset * float(self.execution.sum(charges))

    def _spread(self, points: SortedPoints) -> Array:
        """Return the charges at the nodes."""
        grid = np.empty(tuple(cells + WIDTH - 1 for cells in self.n_cells), self.dtype)
        arrays = (points.cell, points.fraction, points.charge, WINDOW.astype(self.dtype), grid)
        if grid.ndim == 1:
            self.execution.run_in_order(spread_line, *arrays)
        else:
            work = points.charge.size * WIDTH**2
            self.execution.run(spread_plane, grid.shape[0], work, points.first, *arrays)
        return grid

    def gather(self, points: SortedPoints, nodes: Array) -> tuple[Array, Array]:
        """Return the field, without its constant part, and its gradient at the points."""
        d, n = points.cell.shape
        out = np.empty((n, d + 1), self.dtype)
        windows = (WINDOW.astype(self.dtype), (WINDOW_SLOPE / self.spacing).astype(self.dtype))
        arrays = (points.order, points.cell, points.fraction, points.charge, *windows, nodes, self.excess, out)
        self.execution.run(gather_line if d == 1 else gather_plane, n, n * WIDTH**d, *arrays)
        found = out.astype(float)
        return found[:, 0], found[:, 1:]


def _corners(Z: Array, execution: Execution) -> tuple[Array, Array]:
    """Return the corners of the layout; raise if it is not finite, because the compiled loops do not check bounds."""
    low = np.array([execution.min(column) for column in Z.T], dtype=float)  # one axis at a time, for speed
    high = np.array([execution.max(column) for column in Z.T], dtype=float)
    if not ((low > -LARGEST).all() and (high < LARGEST).all()):  # NaN also fails this test
        raise NumericalOverflowError(OVERFLOW)
    return low, high


def _self_field_excess(convolve: Convolution, spacing: float) -> Array:
    """Tabulate by how much the grid overestimates the field of a unit charge at its own position."""
    u = (np.arange(TABLE_SIZE) + 0.5) / TABLE_SIZE
    weights = window_weights(u)
    shifted = np.stack([_shift(weights, int(d)) for d in np.arange(1 - WIDTH, WIDTH)])
    value = np.einsum("uk,duk->ud", weights, shifted)
    slope = np.einsum("uk,duk->ud", window_slopes(u) / spacing, shifted)
    near = convolve.near
    if near.ndim == 1:
        excess = np.stack([value @ near, slope @ near], axis=-1)
    else:
        pairs = ((value, value), (slope, value), (value, slope))
        excess = np.stack([down @ near @ across.T for down, across in pairs], axis=-1)
    excess[..., 0] -= convolve.near_at_zero
    return excess


def _shift(weights: Array, d: int) -> Array:
    """Move the weight of node k + d to node k; fill with zeros."""
    out = np.zeros_like(weights)
    if d >= 0:
        out[:, : WIDTH - d] = weights[:, d:]
    else:
        out[:, -d:] = weights[:, :d]
    return out
