"""Choose the radius of the near part and the cells of a mesh: as cheap as possible, and as fine as the kernel needs.

Costs are in units of near pairs, that is, of the time that one of them takes. A larger radius means wider cells, and so
a smaller grid, but more near pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..kernels.grid_sums import count_points
from ..runtime.execution import Execution
from .charge_sums import Array, Kernel
from .convolution import DECAY

MOST_NODES = 2**24  # of the padded grid; more take more memory
MOST_NODES_FOR_FEW = 2**20  # the same for few points; with more, wide layouts of few points would take minutes
NODES_PER_POINT = 8  # most nodes per point, if that is more than MOST_NODES; with fewer, points have more near pairs
MOST_NODES_FOR_MANY = 2**26  # for any number of points; with more, the workers of a cluster would wait for the grid
WIDER = 1.1  # factor by which cells are widened until the grid has few enough nodes
REACH = {Kernel.STUDENT: np.inf, Kernel.GAUSSIAN: 6.5}  # exp(-6.5^2) is below 1e-18
SLACK = 1.08  # room for the layout to grow; smaller rebuilds the grid more often, larger makes it larger
SMALLEST_RADIUS = 2.5  # with a smaller one, the cells would hardly be wider than without a radius
ROWS_PER_RADIUS = 1  # rows of boxes; more visit fewer pairs beyond the radius, but copy points more often
COLUMNS_PER_RADIUS = 2  # columns of boxes; more visit fewer pairs, but have more boxes to manage
MORE_RADIUS = 1.25  # factor between the radii that are tried; smaller tries more
PAIRS_PER_NODE = 18  # near pairs summed in the time that the transforms take for one node of the padded grid
PAIRS_PER_POINT = 70  # near pairs summed in the time that listing the near pairs of a point takes
COSTLIEST = 20_000  # near pairs per point; with more, cells become wider instead, and the sums rough


def most_nodes(n_points: int) -> int:
    """Return the largest number of nodes of the padded grid of a layout."""
    return max(MOST_NODES, min(NODES_PER_POINT * n_points, MOST_NODES_FOR_MANY))


class Resolution(NamedTuple):
    """Window and cells of a grid.

    Attributes
    ----------
    width : int
        Nodes that a point touches along an axis. It is also the exponent m of the near part.
    spacing : tuple of float
        Cell width without a near part, by dimension.
    """

    width: int
    spacing: tuple[float, ...]


@dataclass(frozen=True)
class Accuracy:
    """Resolution and precision of the sums. Wider cells are faster and less accurate; space has more of them.

    The relative L2 errors of the field and its gradient are below 2e-4 and 5e-3 for DEFAULT, 1e-6 and 1e-5 for TIGHT.

    Attributes
    ----------
    student, gaussian : Resolution
        Windows and cells for the two kernels. The Gaussian kernel needs a wider window: its field varies by many orders
        of magnitude, and the errors must stay far below the fields of lonely points.
    cells : float
        Number of cells per radius with a near part.
    same : float
        Distance below which points of a crowded place may be merged.
    dtype : float32 or float64
    """

    student: Resolution
    gaussian: Resolution
    cells: float
    same: float
    dtype: type[np.floating[Any]]

    def of(self, kernel: Kernel) -> Resolution:
        """Return the resolution for a kernel."""
        return self.student if kernel is Kernel.STUDENT else self.gaussian


DEFAULT = Accuracy(
    student=Resolution(4, (0.16, 0.16, 0.16, 0.22)),
    gaussian=Resolution(8, (0.38,) * 4),
    cells=4.0,
    same=1e-2,
    dtype=np.float32,
)
TIGHT = Accuracy(
    student=Resolution(8, (0.18,) * 4),
    gaussian=Resolution(8, (0.18,) * 4),
    cells=7.5,
    same=5e-4,
    dtype=np.float64,
)


def choose_radius(
    Z: Array, low: Array, high: Array, kernel: Kernel, accuracy: Accuracy, execution: Execution
) -> tuple[float, float]:
    """Return the radius with the lowest cost, or 0 if the grid alone is cheaper, and the cost, in near pairs.

    The cost is infinite if no mesh has few enough nodes and near pairs.
    """
    extent = (high - low) * SLACK
    best, lowest = 0.0, _cost_of_grid(extent, 0.0, len(Z), kernel, accuracy)
    if kernel is Kernel.GAUSSIAN or low.size == 1:
        return best, lowest
    sources = Z
    radius = SMALLEST_RADIUS
    while radius < float(extent.max()):
        cost = _cost_of_grid(extent, radius, len(Z), kernel, accuracy) + PAIRS_PER_POINT * len(Z)
        if cost < lowest:
            n_pairs = _near_pairs(Z, sources, low, extent, radius, execution)
            if n_pairs > COSTLIEST * len(Z) and sources is Z:  # look closer: points in one place are merged
                sources = _places(Z, low, accuracy.same)
                n_pairs = _near_pairs(Z, sources, low, extent, radius, execution)
            if n_pairs > min(lowest, COSTLIEST * len(Z)):  # as it will be for any larger radius
                break
            if cost + n_pairs < lowest:
                best, lowest = radius, cost + n_pairs
        radius *= MORE_RADIUS
    return best, lowest


def widest_extent(kernel: Kernel, accuracy: Accuracy, d: int, n_points: int) -> float:
    """Return the width of the widest layout for which a mesh needs neither wider cells nor a larger radius.

    For few points, the mesh has fewer nodes, because direct sums over the pairs of distant points take less time.
    """
    radius = 0.0 if kernel is Kernel.GAUSSIAN or d == 1 else SMALLEST_RADIUS
    spacing = widest_cell(kernel, accuracy, radius, d)
    n_nodes = min(most_nodes(n_points), max(MOST_NODES_FOR_FEW, n_points**2))
    side = n_nodes ** (1.0 / d) - (1 + DECAY) * accuracy.of(kernel).width
    cells = side / 2 if kernel is Kernel.STUDENT else side - REACH[kernel] / spacing
    return float(cells * spacing / SLACK)


def _cost_of_grid(extent: Array, radius: float, n_points: int, kernel: Kernel, accuracy: Accuracy) -> float:
    """Return the cost of the transforms in near pairs; infinite if the grid would be too large."""
    nodes = padded_nodes(extent, widest_cell(kernel, accuracy, radius, extent.size), kernel, accuracy)
    return PAIRS_PER_NODE * nodes if nodes <= most_nodes(n_points) else np.inf


def affordable(spacing: float, extent: Array, n_points: int, kernel: Kernel, accuracy: Accuracy) -> float:
    """Return the spacing, or a wider one if the grid would have too many nodes."""
    while padded_nodes(extent, spacing, kernel, accuracy) > most_nodes(n_points):
        spacing *= WIDER
    return spacing


def padded_nodes(extent: Array, spacing: float, kernel: Kernel, accuracy: Accuracy) -> float:
    """Estimate the number of nodes of a grid, with its padding."""
    width = accuracy.of(kernel).width
    cells = extent / spacing + width
    return float(np.prod(cells + np.minimum(cells, REACH[kernel] / spacing) + DECAY * width))


def _near_pairs(Z: Array, sources: Array, low: Array, extent: Array, radius: float, execution: Execution) -> float:
    """Return the number of pairs of points and sources that the near part visits."""
    targets = _count(Z, low, extent, radius, execution)
    near = targets if sources is Z else _count(sources, low, extent, radius, execution)
    for axis, boxes_near in enumerate(boxes_per_radius(low.size)):
        near = _windowed_sum(near, boxes_near, axis)
    return float(np.sum(targets * near))


def _count(Z: Array, low: Array, extent: Array, radius: float, execution: Execution) -> Array:
    """Return the number of points per box."""
    reach = boxes_per_radius(low.size)
    n_boxes = tuple(int(boxes) + 1 for boxes in extent / radius * reach)
    box_of, counts = np.empty(len(Z), np.uint32), np.empty((execution.n_threads, int(np.prod(n_boxes))), np.uint32)
    boxes = (low, 1.0 / radius, tuple(1.0 / boxes for boxes in reach), n_boxes)
    execution.run(count_points, len(counts), Z.size, Z, *boxes, box_of, counts)
    return np.asarray(counts.sum(axis=0, dtype=float).reshape(n_boxes))


def _places(Z: Array, low: Array, same: float) -> Array:
    """Return about as many points as remain if points that are less than `same` apart are merged."""
    _, one_each = np.unique(np.floor((Z - low) / same), axis=0, return_index=True)
    return np.ascontiguousarray(Z[one_each])


def _windowed_sum(values: Array, reach: int, axis: int) -> Array:
    """Return the sums over all entries up to `reach` away along an axis."""
    size = values.shape[axis]
    padding = [(reach + 1, reach) if other == axis else (0, 0) for other in range(values.ndim)]
    totals = np.cumsum(np.pad(values, padding), axis)
    ends = np.arange(size) + 2 * reach + 1
    sums: Array = np.take(totals, ends, axis) - np.take(totals, ends - 2 * reach - 1, axis)
    return sums


def boxes_per_radius(d: int) -> tuple[int, ...]:
    """Return the number of boxes per radius along every axis."""
    return (ROWS_PER_RADIUS,) * (d - 1) + (COLUMNS_PER_RADIUS,)


def widest_cell(kernel: Kernel, accuracy: Accuracy, radius: float, d: int) -> float:
    """Return the width of the widest cells that resolve the part of the kernel beyond the radius."""
    return radius / accuracy.cells if radius else accuracy.of(kernel).spacing[d]
