"""Compute the field of charges in a box: the smooth part of the kernel on a grid, the rest over near pairs of points.

The Student kernel 1 / (1 + s), with s the squared distance, is split at a radius r:

    x = 1 - (1 + s) / (1 + r^2)         near part  x^m / (1 + s) for s < r^2, and 0 beyond
                                        far part   (1 - x^m) / (1 + s) for s < r^2, and 1 / (1 + s) beyond

The far part is a polynomial in s inside the radius, and its first m - 1 derivatives are continuous at the radius, so
cells of a quarter of the radius resolve it. The near part is summed directly over pairs of points in boxes that are
near to each other. In small and dense layouts, and for the Gaussian kernel, there is no near part: the grid resolves
the whole kernel.

The grid is least accurate for the field of a charge at its own position. This error is known, so it is subtracted.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import NumericalOverflowError
from ..kernels.grid_sums import (
    count_points,
    gather_line,
    gather_plane,
    gather_space,
    sort_points,
    spread_line,
    spread_plane,
    spread_space,
    start_boxes,
)
from ..kernels.near_sums import near_sums
from ..runtime.execution import Execution
from .charge_sums import OVERFLOW, Array, Kernel
from .convolution import Convolution, Profile, Window
from .mesh_parts import FarPart, NearPart, SortedPoints
from .mesh_size import (
    PAIRS_PER_POINT,
    REACH,
    SLACK,
    Accuracy,
    affordable,
    boxes_per_radius,
    choose_radius,
    widest_cell,
)

FEWEST_CELLS = 32  # along the layout's widest axis; with fewer, small layouts would fall into a handful of cells
SMALLEST_CELL = 1e-4  # smaller cells would only add rounding errors
ROUNDING = 1e-12  # smallest cell relative to the largest coordinate; smaller cells would be lost to rounding
LARGEST = 1e100  # larger coordinates could overflow when squared
SHARP = 8  # exponent of the near part for TIGHT sums
CROWDED = 2.0  # factor by which the near pairs may grow before the radius is chosen again
PRECISE = 2.0**13  # width from which the mesh is in float64; in float32, positions are then off by more than 0.001
LARGEST_CHARGE = 1e30  # sums of larger ones could overflow in float32

Result = TypeVar("Result")

SPREAD = {1: spread_line, 2: spread_plane, 3: spread_space}
GATHER = {1: gather_line, 2: gather_plane, 3: gather_space}


@dataclass(frozen=True)
class MeshState:
    """What the mesh for the next layout depends on; the mesh itself can be built from it again.

    Attributes
    ----------
    low, high : tuple of float
        Corners of the layout for which the mesh was built.
    radius : float
        Radius of the near part.
    n_points : int
        Number of points on the mesh, which limits the size of the grid.
    n_pairs : float
        Number of near pairs of the first layout.
    crowded : bool
        Whether the last layout had many more near pairs.
    """

    low: tuple[float, ...]
    high: tuple[float, ...]
    radius: float
    n_points: int
    n_pairs: float = 0.0
    crowded: bool = False

    def noted(self, n_pairs: float) -> MeshState:
        """Return the state after a layout with this many near pairs."""
        first = self.n_pairs or n_pairs
        return replace(self, n_pairs=first, crowded=n_pairs > CROWDED * first)


class Mesh:
    """Grid over a box, with the convolution by the far part of the kernel.

    Parameters
    ----------
    low, high : array of shape (d,)
        Corners of the layout.
    radius : float
        Radius of the near part, or 0 if the grid resolves the whole kernel.
    n_points : int
        Number of points on the mesh, which limits the size of the grid.
    kernel : Kernel
    accuracy : Accuracy
    execution : Execution
    """

    def __init__(
        self,
        low: Array,
        high: Array,
        radius: float,
        n_points: int,
        kernel: Kernel,
        accuracy: Accuracy,
        execution: Execution,
    ) -> None:
        self.corners, self.radius, self.n_points, self.crowded = (low, high), radius, n_points, False
        self.n_pairs = 0.0  # number of near pairs of the first layout
        self.execution, self.same = execution, accuracy.same
        width = accuracy.of(kernel).width
        self.window, self.taps = Window(width), (0,) * width
        extent = (high - low) * SLACK
        self.dtype = np.dtype(accuracy.dtype if extent.max() < PRECISE else np.float64)
        farthest = float(np.maximum(np.abs(low), np.abs(high)).max())
        widest = widest_cell(kernel, accuracy, radius, low.size)
        spacing = max(float(extent.max()) / FEWEST_CELLS, SMALLEST_CELL)  # enough for small layouts
        spacing = widest if radius else min(widest, spacing)
        self.spacing = max(affordable(spacing, extent, n_points, kernel, accuracy), ROUNDING * farthest)
        self.coarse = self.spacing > widest
        self.n_cells = tuple(int(cells) + 1 for cells in extent / self.spacing)
        per_radius = boxes_per_radius(low.size)
        self.reach = (0,) * (3 - low.size) + per_radius
        self.sides = tuple(accuracy.cells / boxes for boxes in per_radius)
        if not radius and low.size > 1:  # low rows of boxes, so that few of them touch the rows of two threads
            self.sides = (1.0, *self.sides[1:])
        self.n_boxes = tuple(int(cells / side) + 1 for cells, side in zip(self.n_cells, self.sides, strict=True))
        self.low = (low + high - np.array(self.n_cells) * self.spacing) / 2
        self.shape = tuple(cells + width for cells in self.n_cells)
        # A constant is subtracted from the kernel for precision in small layouts, where the kernel hardly varies.
        small = self.spacing < widest_cell(kernel, accuracy, 0.0, low.size)
        self.offset = float(kernel(np.sum(extent**2))) if small else 0.0
        far = _far_part(kernel, radius, width, self.offset)
        reach = np.inf if self.offset else REACH[kernel]
        self.convolve = Convolution(far, self.window, self.spacing, self.shape, reach, self.dtype)

    @classmethod
    def around(cls, Z: Array, kernel: Kernel, accuracy: Accuracy, execution: Execution, *, keep: bool = False) -> Mesh:
        """Build the mesh that takes the least time for a layout; `keep` it so that `restored` need not build it."""
        low, high = corners(Z, execution)
        radius, _ = choose_radius(Z, low, high, kernel, accuracy, execution)
        if keep:
            return cls.restored(MeshState(_plain(low), _plain(high), radius, len(Z)), kernel, accuracy, execution)
        return cls(low, high, radius, len(Z), kernel, accuracy, execution)

    def suits(self, low: Array, high: Array) -> bool:
        """Return whether a layout with these corners fits into the mesh and needs no other one."""
        low, high = self._in_cells(low), self._in_cells(high)
        fits = bool((low >= 0.0).all() and (high < self.n_cells).all())
        return fits and not self.crowded and float((high - low).max()) * SLACK**3 >= max(self.n_cells)

    def outside(self, positions: Array) -> NDArray[np.intp]:
        """Return the indices of the positions outside the mesh."""
        return np.flatnonzero((self.clip(positions) != positions).any(axis=1))

    def clip(self, positions: Array) -> Array:
        """Move positions outside the mesh to its edge."""
        clipped: Array = np.clip(positions, self.low, self.low + self.spacing * (np.array(self.n_cells) - 1e-3))
        return clipped

    @classmethod
    def restored(cls, state: MeshState, kernel: Kernel, accuracy: Accuracy, execution: Execution) -> Mesh:
        """Build the mesh of this state, or copy one that was built before."""
        box = (state.low, state.high, state.radius, state.n_points)
        mesh = copy(_build(*box, kernel, accuracy, execution))  # type: ignore[arg-type]
        mesh.n_pairs, mesh.crowded = state.n_pairs, state.crowded
        return mesh

    @property
    def state(self) -> MeshState:
        """State from which the mesh can be restored."""
        low, high = self.corners
        return MeshState(_plain(low), _plain(high), self.radius, self.n_points, self.n_pairs, self.crowded)

    def sums(self, Z: Array, charges: Array) -> tuple[Array, Array]:
        """Return phi and its gradient at points inside the mesh."""
        points = self.sort(Z, charges)
        grid = self._spread(points)
        near, nodes = self.near_part(points, points, lambda: self._convolved(grid, beside_near_part=bool(self.radius)))
        self.note_pairs(near.n_pairs)
        return self.gather(near, self._far_part(points, nodes))

    def near_part_at(self, points: SortedPoints, targets: SortedPoints) -> NearPart:
        """Return the near part of the field of the points at the targets.

        If these are only some of the points, their near pairs do not tell whether the mesh is crowded. Those of all
        points do: see `MeshState.noted`.
        """
        near, _ = self.near_part(points, targets, lambda: None)
        return near

    def far_part(self, points: SortedPoints) -> FarPart:
        """Return the far part of the field of all points, without the padding of the grid."""
        nodes = self._convolved(self._spread(points))
        return self._far_part(points, np.ascontiguousarray(nodes[..., : self.shape[-1]]))

    def note_pairs(self, n_pairs: float) -> None:
        """Note the number of near pairs of a layout."""
        state = self.state.noted(n_pairs)
        self.n_pairs, self.crowded = state.n_pairs, state.crowded

    def freeze(self, Z: Array, charges: Array) -> MeshField:
        """Return the field of these charges."""
        points = self.sort(Z, charges)
        return MeshField(self, points, self._far_part(points, self._convolved(self._spread(points))))

    def sort(self, Z: Array, charges: Array) -> SortedPoints:
        """Sort the points by box."""
        n, d = Z.shape
        n_boxes = int(np.prod(self.n_boxes))
        box_of, order = np.empty(n, np.uint32), np.empty(n, np.uint32)
        n_chunks = max(1, min(self.execution.n_threads, n // n_boxes))  # with more, counting would take longer
        counts, first = np.empty((n_chunks, n_boxes), np.uint32), np.empty(n_boxes + 1, np.uint32)
        points = SortedPoints(np.empty((d, n), self.dtype), np.empty(n, self.dtype), order, first)
        mesh, run = (self.low, self.inverse), self.execution.run
        run(count_points, n_chunks, Z.size, Z, *mesh, self.sides, self.n_boxes, box_of, counts)
        self.execution.run_in_order(start_boxes, counts, first)
        arrays = (Z, charges, *mesh, LARGEST_CHARGE, box_of, counts, order, points.position, points.charge)
        run(sort_points, n_chunks, Z.size, *arrays)
        return points

    def near_part(
        self, points: SortedPoints, targets: SortedPoints, beside: Callable[[], Result]
    ) -> tuple[NearPart, Result]:
        """Return the near part of the field of the points at the targets, and what `beside` computes meanwhile."""
        d, n = targets.position.shape
        if not self.radius:
            return NearPart(targets, np.zeros((n, d + 1), self.dtype), 0.0), beside()
        near = np.empty((n, d + 1), self.dtype)
        n_boxes = (1,) * (3 - d) + self.n_boxes
        n_rows = n_boxes[0] * n_boxes[1]
        n_pairs = np.zeros(n_rows)
        sources, at = (points.first, points.position, points.charge), (targets.first, targets.position)
        split = (self.spacing, self.radius, self.same, self.window.width == SHARP)
        arrays = (n_boxes, self.reach, sources, at, split, near, n_pairs)
        other = self.execution.run_beside(beside, near_sums, n_rows, n * PAIRS_PER_POINT, *arrays)
        return NearPart(targets, near, float(self.execution.sum(n_pairs))), other

    def gather(self, near: NearPart, far: FarPart) -> tuple[Array, Array]:
        """Return phi and its gradient at the targets of the near part."""
        targets = near.targets
        d, n = targets.position.shape
        windows = (self.window.coefficients.astype(self.dtype), (self.window.slope * self.inverse).astype(self.dtype))
        out = np.empty((n, d + 1))
        fields = (far.nodes, far.excess, near.field)
        arrays = (self.taps, targets.order, targets.position, targets.charge, *windows, *fields, out)
        self.execution.run(GATHER[d], n, n * self.window.width**d, *arrays)
        if self.offset:
            out[:, 0] += far.constant
        return out[:, 0], out[:, 1:]

    def _far_part(self, points: SortedPoints, nodes: Array) -> FarPart:
        constant = self.offset * float(self.execution.sum(points.charge.astype(float))) if self.offset else 0.0
        return FarPart(nodes, self.convolve.excess, constant)

    def _spread(self, points: SortedPoints) -> Array:
        """Return the charges at the nodes."""
        grid = np.empty((*self.shape[:-1], self.convolve.lengths[-1]), self.dtype)
        first_of_row = points.first[:: int(np.prod(self.n_boxes[1:]))].copy()
        window = self.window.coefficients.astype(self.dtype)
        arrays = (self.taps, first_of_row, self.sides[0], points.position, points.charge, window, grid)
        work = points.charge.size * self.window.width**grid.ndim
        self.execution.run(SPREAD[grid.ndim], grid.shape[0], work, *arrays)
        return grid

    def _convolved(self, grid: Array, *, beside_near_part: bool = False) -> Array:
        """Return the far part of the field at the nodes, without its constant."""
        n_threads = self.execution.n_threads
        return self.convolve(grid, self.execution, max(1, n_threads // 2) if beside_near_part else n_threads)

    @property
    def inverse(self) -> float:
        """Number of cells per unit of length."""
        return 1.0 / self.spacing

    def _in_cells(self, positions: Array) -> Array:
        """Return positions in units of cells, rounded as the compiled loops round them: they do not check bounds."""
        return (positions - self.low) * self.inverse


@dataclass(frozen=True)
class MeshField:
    """Field of fixed charges on a mesh."""

    mesh: Mesh
    points: SortedPoints
    far: FarPart

    def at(self, positions: Array) -> tuple[Array, Array]:
        """Return phi and its gradient; positions outside the mesh get the values at its edge."""
        targets = self.mesh.sort(self.mesh.clip(positions), np.zeros(len(positions)))
        return self.mesh.gather(self.mesh.near_part_at(self.points, targets), self.far)

    def largest_far_part(self) -> float:
        """Return the largest value of the far part of the field at the nodes, without its constant."""
        return float(self.far.nodes.max(initial=0.0))


@lru_cache(maxsize=2)  # the last mesh, and the one before it; more take more memory
def _build(
    low: tuple[float, ...],
    high: tuple[float, ...],
    radius: float,
    n_points: int,
    kernel: Kernel,
    accuracy: Accuracy,
    execution: Execution,
) -> Mesh:
    """Build a mesh, which takes as long as several sums, or return the one that was built before."""
    return Mesh(np.array(low), np.array(high), radius, n_points, kernel, accuracy, execution)


def corners(Z: Array, execution: Execution) -> tuple[Array, Array]:
    """Return the corners of the layout; raise if it is not finite, because the compiled loops do not check bounds."""
    low = np.array([execution.min(column) for column in Z.T], dtype=float)  # one axis at a time, for speed
    high = np.array([execution.max(column) for column in Z.T], dtype=float)
    if not ((low > -LARGEST).all() and (high < LARGEST).all()):  # NaN also fails this test
        raise NumericalOverflowError(OVERFLOW)
    return low, high


def _plain(corner: Array) -> tuple[float, ...]:
    return tuple(map(float, corner))


def _far_part(kernel: Kernel, radius: float, m: int, offset: float) -> Profile:
    """Return the part of the kernel that the grid resolves, minus a constant."""

    def far(squared: Array) -> Array:
        part: Array = kernel(squared)
        if radius:
            near = np.maximum(1.0 - (1.0 + squared) / (1.0 + radius**2), 0.0)
            for _ in range(m.bit_length() - 1):  # m is a power of 2, and squares are faster than powers
                near *= near
            part *= 1.0 - near
        return part - offset

    return far
