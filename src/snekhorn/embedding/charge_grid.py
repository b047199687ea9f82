"""Compute sums of charges on a grid in time linear in n: spread the charges, convolve by FFT, gather the field.

The grid cannot resolve details of the kernel that are finer than its cells. This error is largest for the field of a
charge at its own position. There it is known, so it is subtracted.

Some points would decide the accuracy of all others, so their pairs are summed directly: points too far away for the
grid to reach, charges so large that their rounding errors hide other charges, and points whose own field is lost in
rounding errors. If there are too many of them, the sums are `rough`.
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
from .charge_sums import OVERFLOW, Array, DirectSums, Field, Kernel
from .convolution import WINDOW, WINDOW_SLOPE, Convolution, choose_convolution, window_slopes, window_weights
from .far_points import outside_densest_box

FEWEST_CELLS = 32  # along the layout's widest axis; with fewer, small layouts would fall into a handful of cells
MOST_CELLS = {1: 2**20, 2: 3000}  # per axis, by dimension; more take more time and memory, fewer reach less far
MOST_PAIRS = 2**27  # pairs summed directly, in the time of a step on the largest grid; with fewer, more sums are rough
SMALLEST_CELL = 1e-4  # smaller cells would only add rounding errors
ROUNDING = 1e-12  # smallest cell relative to the largest coordinate; smaller cells would be lost to rounding
LARGEST = 1e100  # larger coordinates could overflow when squared
SLACK = 1.08  # room for the layout to grow; smaller rebuilds the grid more often, larger makes it larger
TABLE_SIZE = 64  # fractions of a cell per axis at which the field of a charge at its own position is tabulated
HEAVIEST = 1e4  # charge of a point on the grid, relative to the median; larger ones leave errors of 0.001 in float32
LARGEST_CHARGE = 1e30  # on the grid; sums of larger ones could overflow in float32
FAINT = {np.float32: 1e-4, np.float64: 1e-8}  # fields below this fraction of the largest field are mostly grid error
# Student fields of the others, relative to a point's own charge. Below this, they are off by 0.5 % and more, because
# the error of the own term remains. If it is larger, more points are summed directly.
FAINT_BESIDE_OWN = {np.float32: 2e-3, np.float64: 1e-5}
NOISE = {np.float32: 1e-6, np.float64: 1e-9}  # rounding error relative to the largest field; a smaller field is noise


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
Indices = NDArray[np.intp]
NO_POINTS: Indices = np.empty(0, dtype=np.intp)
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
        self.rough = False
        self._direct = DirectSums(kernel, execution)
        self._mesh: Mesh | None = None
        self._n_far = 0  # number of points that the mesh left out when it was built

    def __call__(self, Z: Array, charges: Array) -> tuple[Array, Array]:
        mesh, apart = self._divide(Z, charges)
        phi, slope = self._sums_on_mesh(mesh, apart, Z, charges)
        if apart.size:
            phi[apart], slope[apart] = self._direct.freeze(Z, charges).at(Z[apart])
        return phi, slope

    def of_others(self, Z: Array, charges: Array) -> tuple[Array, Array]:
        mesh, apart = self._divide(Z, charges)
        phi, slope = self._sums_on_mesh(mesh, apart, Z, charges)
        largest = float(self.execution.max(phi))
        phi = phi - charges
        phi[apart] = -1.0
        noise = NOISE[self.accuracy.dtype] * largest
        limit = np.full(phi.shape, FAINT[self.accuracy.dtype] * largest)
        if self.kernel is Kernel.STUDENT:
            limit = np.maximum(limit, FAINT_BESIDE_OWN[self.accuracy.dtype] * charges)
        faint = np.flatnonzero(phi < limit)  # including the points apart
        if not self._can_sum_directly(faint, Z):
            faint = np.flatnonzero(phi < noise)
        phi = np.maximum(phi, noise)
        if not self._can_sum_directly(faint, Z):
            self.rough, faint = True, apart
        if faint.size:
            phi[faint], slope[faint] = self._direct.of_others(Z, charges, faint)
        return phi, slope

    def freeze(self, Z: Array, charges: Array) -> Field:
        mesh, apart = self._divide(Z, charges)
        near = _without(apart, len(Z))
        return _GridField(
            mesh,
            nodes=mesh.field_of(mesh.sort(Z[near], charges[near])),
            constant=mesh.constant(charges[near]),
            of_apart=self._direct.freeze(Z[apart], charges[apart]) if apart.size else None,
            of_all=self._direct.freeze(Z, charges),
            rough=self.rough,
        )

    def refined(self) -> GridSums:
        return GridSums(self.kernel, self.execution, TIGHT)

    def _sums_on_mesh(self, mesh: Mesh, apart: Indices, Z: Array, charges: Array) -> tuple[Array, Array]:
        """Return phi and its gradient at the points of the mesh, and zeros at the points apart."""
        if not apart.size:
            return mesh.sums(Z, charges)
        phi, slope, near = np.zeros(len(Z)), np.zeros(Z.shape), _without(apart, len(Z))
        phi[near], slope[near] = mesh.sums(Z[near], charges[near])
        of_apart, slope_of_apart = self._direct.freeze(Z[apart], charges[apart]).at(Z[near])
        phi[near] += of_apart
        slope[near] += slope_of_apart
        return phi, slope

    def _divide(self, Z: Array, charges: Array) -> tuple[Mesh, Indices]:
        """Return a mesh, and the points to keep apart from it; note whether the sums will be rough."""
        mesh, far = self._fit_mesh(Z)
        apart = far
        heaviest = float(self.execution.max(charges))
        if heaviest > LARGEST_CHARGE or heaviest > HEAVIEST * self.execution.min(charges):
            limit = min(HEAVIEST * float(np.median(charges)), LARGEST_CHARGE)
            apart = np.union1d(far, np.flatnonzero(charges > limit))
        affordable = self._can_sum_directly(apart, Z)
        self.rough = mesh.coarse or not affordable
        return mesh, apart if affordable else far

    def _fit_mesh(self, Z: Array) -> tuple[Mesh, Indices]:
        """Return a mesh with cells as narrow as the kernel needs, and the points too far away for it.

        Keep the last mesh if it suits. If too many points are far, the mesh holds them all, in cells that are too wide.
        """
        low, high = _corners(Z, self.execution)
        side = _widest_cell(self.accuracy, Z) * MOST_CELLS[Z.shape[1]] / SLACK
        far = NO_POINTS
        if float((high - low).max()) > side:
            if self._mesh is not None:
                far = self._mesh.outside(Z)
                if far.size <= self._n_far and self._mesh.suits(*_corners(Z[_without(far, len(Z))], self.execution)):
                    return self._mesh, far
            far = np.flatnonzero(outside_densest_box(Z, side))
            far = far if self._can_sum_directly(far, Z) else NO_POINTS
        elif self._mesh is not None and self._mesh.suits(low, high):
            return self._mesh, far
        near = Z[_without(far, len(Z))] if far.size else Z
        self._mesh, self._n_far = Mesh.around(near, self.kernel, self.accuracy, self.execution), far.size
        return self._mesh, far

    def _can_sum_directly(self, points: Indices, Z: Array) -> bool:
        return points.size * len(Z) <= MOST_PAIRS


def _without(points: Indices, n: int) -> NDArray[np.bool_]:
    """Return a mask of n points that is False for these points."""
    mask = np.ones(n, dtype=bool)
    mask[points] = False
    return mask


@dataclass(frozen=True)
class _GridField:
    """Field stored at the nodes; positions outside the mesh need a direct sum."""

    mesh: Mesh
    nodes: Array
    constant: float
    of_apart: Field | None  # field of the points that are not on the mesh
    of_all: Field
    rough: bool

    @property
    def kernel(self) -> Kernel:
        return self.of_all.kernel

    def at(self, positions: Array) -> tuple[Array, Array]:
        inside = np.clip(positions, self.mesh.low, self.mesh.high)
        phi, slope = self.mesh.gather(self.mesh.sort(inside, np.zeros(len(positions))), self.nodes)
        phi = phi + self.constant
        if self.of_apart is not None:
            of_apart, slope_of_apart = self.of_apart.at(positions)
            phi, slope = phi + of_apart, slope + slope_of_apart
        outside = np.flatnonzero((inside != positions).any(axis=1))
        if outside.size:
            phi[outside], slope[outside] = self.of_all.at(positions[outside])
        return phi, slope


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
    coarse: bool  # whether the cells are too wide for the accuracy

    @classmethod
    def around(cls, Z: Array, kernel: Kernel, accuracy: Accuracy, execution: Execution) -> Mesh:
        """Build a mesh that fits the layout, with some room around it."""
        low, high = _corners(Z, execution)
        extent = (high - low) * SLACK
        widest = float(extent.max())
        farthest = float(np.maximum(np.abs(low), np.abs(high)).max())
        widest_cell = _widest_cell(accuracy, Z)
        spacing = min(widest_cell, max(widest / FEWEST_CELLS, SMALLEST_CELL))
        spacing = max(spacing, widest / MOST_CELLS[Z.shape[1]], ROUNDING * farthest)
        n_cells = tuple(int(cells) + 1 for cells in extent / spacing)
        offset = float(kernel(np.sum(extent**2))) if spacing < widest_cell else 0.0
        nodes = tuple(cells + WIDTH - 1 for cells in n_cells)
        convolve = choose_convolution(kernel, offset, spacing, nodes, accuracy.dtype)
        excess = _self_field_excess(convolve, spacing).astype(accuracy.dtype)
        centred = (low + high - np.array(n_cells) * spacing) / 2
        dtype, coarse = np.dtype(accuracy.dtype), spacing > widest_cell
        return cls(centred, n_cells, spacing, offset, convolve, excess, dtype, execution, coarse)

    def suits(self, low: Array, high: Array) -> bool:
        """Return whether a layout with these corners fits into the mesh and is too large for a finer one."""
        low, high = self._in_cells(low), self._in_cells(high)
        fits = bool((low >= 0.0).all() and (high < self.n_cells).all())
        return fits and float((high - low).max()) * SLACK**3 >= max(self.n_cells)

    @property
    def inverse(self) -> float:
        """Number of cells per unit of length."""
        return 1.0 / self.spacing

    @property
    def high(self) -> Array:
        """Upper corner, just inside the mesh."""
        return self.low + self.spacing * (np.array(self.n_cells) - 1e-3)

    def outside(self, positions: Array) -> Indices:
        """Return the indices of the positions outside the mesh."""
        in_cells = self._in_cells(positions)
        return np.flatnonzero(~((in_cells >= 0.0) & (in_cells < self.n_cells)).all(axis=1))

    def _in_cells(self, positions: Array) -> Array:
        """Return positions in units of cells, rounded as the compiled loops round them: they do not check bounds."""
        return (positions - self.low) * self.inverse

    def sums(self, Z: Array, charges: Array) -> tuple[Array, Array]:
        """Return phi and its gradient at points inside the mesh."""
        points = self.sort(Z, charges)
        phi, slope = self.gather(points, self.field_of(points))
        return phi + self.constant(charges), slope

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
        mesh = (self.low, self.inverse, points.first)
        out = (points.order, points.cell, points.fraction, points.charge)
        self.execution.run_in_order(count_rows, Z, *mesh)
        self.execution.run_in_order(sort_by_row, Z, np.minimum(charges, LARGEST_CHARGE), *mesh, *out)
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


def _widest_cell(accuracy: Accuracy, Z: Array) -> float:
    return accuracy.spacing * (ON_A_LINE if Z.shape[1] == 1 else 1.0)


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
