"""Store P as compressed rows for the descent: the attraction between similar points, its energy, and sums of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..geometry.graph_unions import Rows, mean_with_transpose
from ..kernels import row_measures
from ..kernels.attraction import attract, attract_packed, energy, pack
from ..kernels.graph_rows import count_at_least, permute_rows
from ..runtime.execution import Execution
from .charge_sums import Array

PRECISE = 2.0**12  # coordinates from which float32 is too coarse for distances; a smaller value costs time
NEGLIGIBLE = 1e-6  # fraction of a row's mass that may be dropped; a larger value would affect the loss noticeably
MANY = 0.05  # fraction of negligible entries above which dropping them saves time
ENTRIES_AT_ONCE = 2**22  # entries of P per block; larger blocks take more memory in addition to P


class ScaledRows(Protocol):
    """Scaled rows of P, as the descent uses them."""

    def attract(self, Z: Array, largest: float, factor: float, gradient: Array, *, student: bool) -> None:
        """Add `factor` times sum_j P_ij dC/dr^2 (z_i - z_j) to every row i; `largest` is the largest coordinate."""

    def energies(self, Z: Array, largest: float, *, student: bool) -> Array:
        """Return sum_j P_ij C_ij for every row i."""

    def permuted(self, order: NDArray[np.intp]) -> ScaledRows:
        """Apply the permutation `order` to the points."""


@dataclass(frozen=True)
class AffinityRows:
    """Rows of a non-negative P without explicit structure: indices of the columns and entries, row after row.

    Parameters
    ----------
    indptr, indices, data : ndarray
        Row i has the entries ``data[indptr[i] : indptr[i + 1]]`` in the columns ``indices[indptr[i] : indptr[i + 1]]``.
    execution : Execution
        Where loops over rows run.
    """

    indptr: NDArray[np.integer[Any]]
    indices: NDArray[np.integer[Any]]
    data: Array
    execution: Execution

    @classmethod
    def of(cls, P: Any, execution: Execution) -> AffinityRows:
        """Return the rows of a matrix, dense or sparse."""
        P = sparse.csr_matrix(P)
        return cls(P.indptr, P.indices, P.data, execution)

    @property
    def n_points(self) -> int:
        """Number of points."""
        return int(self.indptr.size - 1)

    @property
    def n_pairs(self) -> int:
        """Number of stored entries."""
        return int(self.data.size)

    def sums_and_entropies(self) -> tuple[Array, Array]:
        """Return sum_j P_ij and -sum_j P_ij log P_ij of every row i, in float64."""
        measures = np.empty((self.n_points, row_measures.N_MEASURES))
        self._run(row_measures.graph_measures, self.indptr, self.data, measures)
        return measures[:, row_measures.SUM].copy(), measures[:, row_measures.ENTROPY].copy()

    def symmetric_part(self) -> AffinityRows:
        """Return (P + P^T) / 2."""
        shape = (self.n_points, self.n_points)
        P = sparse.csr_matrix((self.data, self.indices, self.indptr), shape=shape)
        return AffinityRows.of(mean_with_transpose(P, self.execution), self.execution)

    def scaled(self, scale: np.float64, dtype: Any) -> ScaledRows:
        """Return `scale` times P in this type, as the loops expect it.

        If there are many entries that together hold less than the fraction NEGLIGIBLE of a row, they are dropped.
        """
        smallest = negligible_below(scale, self.n_points)
        if sum(np.count_nonzero(block < smallest) for block in _blocks(self.data)) < MANY * self.n_pairs:
            smallest = np.float64(0.0)
        return OrderedRows(self, scale, np.dtype(dtype), smallest, np.arange(self.n_points))

    def attract(self, Z: Array, largest: float, factor: float, gradient: Array, *, student: bool) -> None:
        """Add `factor` times sum_j P_ij dC/dr^2 (z_i - z_j) to every row i; `largest` is the largest coordinate."""
        loop, positions = attract, np.ascontiguousarray(Z, dtype=float)
        if self.data.dtype == np.float32 and largest < PRECISE:
            loop, positions = attract_packed, self._packed(Z)
        self._run(loop, self.indptr, self.indices, self.data, positions, student, factor, gradient)

    def energies(self, Z: Array, largest: float, *, student: bool) -> Array:
        """Return sum_j P_ij C_ij for every row i."""
        energies = np.empty(self.n_points)
        single = student and largest < PRECISE  # Gaussian costs are squares, whose rounding errors would add up
        positions = np.ascontiguousarray(Z, dtype=self.data.dtype if single else np.float64)
        self._run(energy, self.indptr, self.indices, self.data, positions, student, energies)
        return energies

    def _run(self, loop: Callable[..., None], *args: Any) -> None:
        self.execution.run(loop, self.n_points, self.n_pairs, *args)

    def _packed(self, Z: Array) -> NDArray[np.uint64]:
        """Return positions in float32, two coordinates per word."""
        packed = np.empty((len(Z), 2 if Z.shape[1] < 3 else 4), np.float32)
        self.execution.run(pack, len(Z), Z.size, Z, packed)
        return packed.view(np.uint64).ravel()


@dataclass(frozen=True)
class OrderedRows:
    """Scaled rows of P, without small entries, in an order of the points.

    P fills much of the memory. It is kept as it was given, and copied in one order at a time, when it is first used.

    Parameters
    ----------
    source : AffinityRows
    scale : float
        Factor of the entries.
    dtype : float32 or float64
        Precision of the scaled entries.
    smallest : float
        Smallest entry of P that is kept.
    order : ndarray of shape (n,)
    """

    source: AffinityRows
    scale: np.float64
    dtype: np.dtype[Any]
    smallest: np.float64
    order: NDArray[np.intp]

    def attract(self, Z: Array, largest: float, factor: float, gradient: Array, *, student: bool) -> None:
        self.rows.attract(Z, largest, factor, gradient, student=student)

    def energies(self, Z: Array, largest: float, *, student: bool) -> Array:
        return self.rows.energies(Z, largest, student=student)

    def permuted(self, order: NDArray[np.intp]) -> OrderedRows:
        return replace(self, order=self.order[order])

    @cached_property
    def rows(self) -> AffinityRows:
        """The copy of P."""
        P, places = self.source, np.empty(self.source.n_points, dtype=np.uint32)
        places[self.order] = np.arange(places.size, dtype=np.uint32)
        how = (self.order, places, self.smallest, self.scale, self.dtype)
        return AffinityRows(*scaled_rows((P.indptr, P.indices, P.data), *how, P.execution), P.execution)


def negligible_below(scale: np.float64, n_points: int) -> np.float64:
    """Return the value below which entries hold less than NEGLIGIBLE of a row, even if the row were full of them."""
    least: np.float64 = NEGLIGIBLE / n_points / scale
    return least


def scaled_rows(
    P: Rows,
    order: NDArray[np.intp],
    places: NDArray[np.uint32],
    smallest: np.float64,
    scale: np.float64,
    dtype: Any,
    execution: Execution,
) -> Rows:
    """Return the rows `order` of P as the loops of the descent expect them, with unsigned indices of the columns.

    Column j becomes ``places[j]``, entries below `smallest` are dropped, and the others are multiplied by `scale`.
    """
    starts, columns, entries = P[0].astype(np.int64, copy=False), P[1].astype(np.int32, copy=False), P[2]
    n, work = order.size, entries.size
    counts = np.empty(n, dtype=np.int64)
    execution.run(count_at_least, n, work, order, starts, entries, smallest, counts)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    indices, data = np.empty(indptr[-1], dtype=np.uint32), np.empty(indptr[-1], dtype=dtype)
    old = (order, places, starts, columns, entries, smallest, float(scale))
    execution.run(permute_rows, n, work, *old, indptr, indices, data)
    return indptr, indices, data


def strongest_neighbors(P: Any, rows: NDArray[np.intp], k: int) -> tuple[NDArray[np.intp], Array]:
    """Return the k largest entries of some rows, largest first and scaled to a sum of 1, after their columns.

    The diagonal does not count. A row with fewer entries repeats its first column, with zeros. Only a row without any
    entries does not sum to 1.
    """
    block = sparse.csr_matrix(P[rows]).astype(float)
    row = np.repeat(np.arange(len(rows)), np.diff(block.indptr))
    block.data[block.indices == rows[row]] = 0.0
    order = np.lexsort((-block.data, row))
    rank = np.arange(order.size) - block.indptr[row]
    kept = rank < k
    row, rank, order = row[kept], rank[kept], order[kept]
    indices, p = np.full((len(rows), k), -1, dtype=np.intp), np.zeros((len(rows), k))
    indices[row, rank], p[row, rank] = block.indices[order], block.data[order]
    indices = np.where(p > 0.0, indices, indices[:, :1])
    sums = p.sum(axis=1, keepdims=True)
    return indices, p / np.where(sums > 0.0, sums, 1.0)


def _blocks(data: Array) -> list[Array]:
    """Return consecutive views of the entries, so that computations with them take little memory."""
    return [data[start : start + ENTRIES_AT_ONCE] for start in range(0, data.size, ENTRIES_AT_ONCE)]
