"""Costs between all pairs of points, and the interface that affinities use for dense and sparse costs.

Costs are independent of any affinity. They provide loops over the pairs of every row (`over_rows`, `in_order`), a map
over all pairs (`map_pairs`), and a few row-wise quantities. `DenseCost` and `NeighborGraph` have the same interface.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..kernels import RowLoop
from ..kernels.squared_distances import dense_squared_distances
from ..runtime.execution import Execution, Threads
from .distance_metrics import DIRECT_METRICS, Array, from_squared, unit_rows
from .inputs import MATRIX_ROWS_AT_ONCE
from .metric_search import all_distances

Matrix: TypeAlias = Any  # a dense array or a CSR matrix
PairFormula: TypeAlias = Callable[[Array, Any, Any], Array]  # costs, rows i and columns j -> entries


# Units are powers of two to a multiple of this. If it is larger, squares of costs overflow inside the solvers; if it is
# smaller, costs of ordinary size are copied for nothing.
UNIT_STEP = 400
LARGEST_STEP = 2  # the next one is out of the range of float64
LARGEST_EXPONENT = 1000  # of a cost in its own unit; a little below the range of float64
UNIT_SAMPLE = 32  # rows of a matrix, or edges of a graph, that set the unit; more take longer


@dataclass(frozen=True)
class DenseCost:
    """Full symmetric cost matrix with zero diagonal.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
    execution : Execution
        Where loops over rows run.
    unit : float
        Unit of the costs: those of the user are `unit` times `matrix`.
    """

    matrix: Array
    execution: Execution = field(default_factory=Threads)
    unit: float = 1.0

    @property
    def n_points(self) -> int:
        return len(self.matrix)

    @property
    def n_pairs(self) -> int:
        return self.matrix.size

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.matrix.dtype

    @property
    def degrees(self) -> NDArray[np.intp]:
        """Number of neighbours of every point."""
        return np.full(self.n_points, self.n_points - 1)

    def over_rows(self, loop: RowLoop, *args: Any) -> None:
        """Run a compiled loop over the pairs of every row, on all threads."""
        assert loop.dense is not None
        self.execution.run(loop.dense, self.n_points, self.n_pairs, self.matrix, *args)

    def in_order(self, loop: RowLoop, *args: Any) -> Any:
        """Run a compiled loop that visits the rows one after another; return the largest value that it finds."""
        assert loop.dense is not None
        return self.execution.run_in_order(loop.dense, 0, self.n_points, self.matrix, *args)

    def arranged(self, x: Array) -> Array:
        """Return m values per point, an array (m, n), in the memory layout that is fastest for the loops."""
        return x

    def new_entries(self) -> Array:
        """Return an empty array with one value per pair."""
        return np.empty_like(self.matrix)

    def as_matrix(self, entries: Array, diagonal: Array | None) -> Array:
        """Return the entries of all pairs as a matrix; they already include the diagonal."""
        return entries

    def map_pairs(self, formula: PairFormula, *, self_loops: bool) -> Array:
        """Compute a matrix from ``formula(C_ij, i, j)``, in blocks of rows; without self-loops, C_ii is infinite."""
        out = np.empty_like(self.matrix)
        columns = np.arange(self.n_points)[None]
        for block in row_blocks(self.n_points):
            costs = self.matrix[block]
            if not self_loops:
                costs = costs.copy()
                np.fill_diagonal(costs[:, block.start :], np.inf)
            out[block] = formula(costs, columns[0, block, None], columns)
        return out

    def kth_smallest(self, k: int) -> Array:
        """Return the cost of every point to its k-th nearest other point."""
        out = np.empty(self.n_points)
        for block in row_blocks(self.n_points):
            out[block] = np.partition(self.matrix[block], k, axis=1)[:, k]  # position 0 is the point itself
        return out

    def smallest_positive(self) -> float:
        """Return the smallest positive cost, or 1 if all points are equal."""
        rows = (self.matrix[block] for block in row_blocks(self.n_points))
        return min((float(C[C > 0.0].min()) for C in rows if C.any()), default=1.0)

    def in_local_order(self) -> tuple[DenseCost, None]:
        """Return the costs unchanged, and None: rows are read from end to end, so the order does not matter."""
        return self, None

    def symmetrized(self) -> DenseCost:
        """Return the costs themselves, which are already symmetric."""
        return self

    def in_own_units(self) -> DenseCost:
        """Return the same costs in a unit in which their squares neither overflow nor underflow."""
        unit = own_unit(self.matrix)
        return self if unit == 1.0 else replace(self, matrix=self.matrix / unit, unit=unit * self.unit)


def own_unit(costs: Array) -> float:
    """Return a power of two as the unit of these costs: 1 unless a typical cost is very large or very small.

    Dividing by it changes no digit of a cost.
    """
    sample = costs[np.linspace(0, len(costs) - 1, min(len(costs), UNIT_SAMPLE)).astype(np.intp)]
    positive = sample[sample > 0.0]
    if positive.size == 0:
        positive = costs[costs > 0.0]
    return unit_for(positive, costs.max)


def unit_for(positive: Array, largest: Callable[[], Any]) -> float:
    """Return the unit of costs from the positive ones in a sample, and from the largest cost if that is needed."""
    if positive.size == 0:
        return 1.0
    middle = positive.size // 2
    typical = np.partition(positive, middle)[middle]  # unlike a mean of two middle costs, it cannot overflow
    step = round(_exponent(typical) / UNIT_STEP)
    if step:  # the largest cost must stay finite
        step = max(step, math.ceil((_exponent(largest()) - LARGEST_EXPONENT) / UNIT_STEP))
    return float(2.0 ** (UNIT_STEP * int(np.clip(step, -LARGEST_STEP, LARGEST_STEP))))


def _exponent(value: Any) -> int:
    return int(np.frexp(value)[1])


def row_blocks(n: int) -> Iterator[slice]:
    """Yield slices of a few rows; a temporary copy of the whole matrix would double the memory."""
    for start in range(0, n, MATRIX_ROWS_AT_ONCE):
        yield slice(start, min(start + MATRIX_ROWS_AT_ONCE, n))


def dense_costs(X: Any, metric: str, execution: Execution) -> Array:
    """Compute the costs between all pairs of rows of X."""
    n = X.shape[0]
    if metric in DIRECT_METRICS and not sparse.issparse(X):
        out = np.empty((n, n), dtype=X.dtype)
        points = np.ascontiguousarray(unit_rows(X) if metric == "cosine" else X)
        execution.run(dense_squared_distances, (n + 1) // 2, n * n, points, out)
        return from_squared(out, metric)
    out = symmetrize_in_place(all_distances(X, metric, execution))  # rounding makes some metrics slightly asymmetric
    np.fill_diagonal(out, 0.0)
    return out


def symmetrize_in_place(matrix: Array) -> Array:
    """Replace a matrix M with (M + M^T) / 2, block by block."""
    for block in row_blocks(matrix.shape[0]):
        rest = slice(block.start, None)
        mean = (matrix[block, rest] + matrix[rest, block].T) / 2
        matrix[block, rest] = mean
        matrix[rest, block] = mean.T
    return matrix
