"""Neighbour graph whose edges are in pieces on the workers of a Dask cluster.

The solver of an affinity runs in the process of the client, as on one machine. Its loops over edges run on the workers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..geometry.dense_cost import UNIT_SAMPLE, unit_for
from ..geometry.neighbor_graph import MANY_POINTS, NeighborGraph
from ..kernels import RowLoop, row_measures
from ..kernels.graph_rows import append_unseen
from . import graph_tasks
from .row_shuffle import permuted_pieces
from .workers import Array, EdgeArray, Pieces, RowStarts, Workers

FRONTIER_AT_ONCE = 100_000  # points whose neighbours are fetched at once; more take more memory in the client


@dataclass(frozen=True)
class PiecedMatrix:
    """Sparse matrix in pieces on the workers, with as much of the interface of a CSR matrix as affinities need."""

    shape: tuple[int, int]
    nnz: int
    indptr: RowStarts
    indices: EdgeArray
    data: EdgeArray
    execution: Workers

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.data.dtype

    def tocsr(self) -> PiecedMatrix:
        """Return the matrix itself."""
        return self

    def sum(self) -> float:
        """Return the sum of all entries."""
        measures = np.empty((self.shape[0], row_measures.N_MEASURES))
        self.execution.run(row_measures.graph_measures, self.shape[0], self.nnz, self.indptr, self.data, measures)
        return float(measures[:, row_measures.SUM].sum())


@dataclass(frozen=True)
class PiecedGraph(NeighborGraph):
    """Neighbour graph in pieces on the workers; `indptr` is in this process, too."""

    indices: Any
    costs: Any
    starts: RowStarts = field(kw_only=True)

    def __post_init__(self) -> None:
        """Keep the arrays as they are, unlike a graph on one machine."""

    @property
    def workers(self) -> Workers:
        """Execution of the loops."""
        assert isinstance(self.execution, Workers)
        return self.execution

    @property
    def n_pairs(self) -> int:
        return int(self.indptr[-1])

    def over_rows(self, loop: RowLoop, *args: Any) -> None:
        assert loop.graph is not None
        self._run(loop.graph, *self._edges, *args)

    def in_order(self, loop: RowLoop, *args: Any) -> Any:
        assert loop.graph is not None
        x, *rest = args
        return self.workers.run_over_pieces(loop.graph, self.n_points, x, [*self._edges, *rest])

    def arranged(self, x: Array) -> Any:
        return self.workers.share(super().arranged(x))

    def new_entries(self) -> Any:
        return EdgeArray(self.dtype)

    def new_weights(self) -> tuple[Any, bool]:
        return EdgeArray(self.dtype, rows=2), True

    def as_matrix(self, entries: Any, diagonal: Array | None) -> Any:
        shape, n_entries, starts, indices = (self.n_points,) * 2, self.n_pairs, self.starts, self.indices
        if diagonal is not None:
            arrays = (starts, indices, entries, self.workers.share(diagonal), self.n_points)
            parts = self.workers.split(self.workers.map_pieces(graph_tasks.with_diagonal, *arrays), 3)
            starts, indices, entries = (
                RowStarts(parts[0]),
                replace(indices, parts=parts[1]),
                replace(entries, parts=parts[2]),
            )
            n_entries += self.n_points
        return PiecedMatrix(shape, n_entries, starts, indices, entries, self.workers)

    def symmetrized(self) -> PiecedGraph:
        if self.symmetric:
            return self
        ranges = list(self.workers.ranges)
        cut = self.workers.map_pieces(graph_tasks.cut_columns, *self._edges, self.n_points, ranges)
        columns = Pieces(self.workers.split(cut, len(ranges)))
        return self._united(graph_tasks.united_with_transpose, columns, symmetric=True)

    def joined(self, other: NeighborGraph) -> PiecedGraph:
        matrix = other.as_matrix(other.costs, None)
        parts = Pieces([matrix[rows] for rows in self.workers.ranges])
        return self._united(graph_tasks.united, parts, symmetric=self.symmetric and other.symmetric)

    def in_own_units(self) -> PiecedGraph:
        workers = self.workers
        positions = np.linspace(0, self.n_pairs - 1, min(self.n_pairs, UNIT_SAMPLE)).astype(np.intp)
        firsts = [self.indptr[rows.start] for rows in workers.ranges]
        owner = np.searchsorted(firsts, positions, side="right") - 1
        wanted = Pieces([positions[owner == i] - first for i, first in enumerate(firsts)])
        sample = np.concatenate(workers.fetch(workers.map_pieces(graph_tasks.values_at, self.costs, wanted)))
        positive = sample[sample > 0.0]
        if positive.size == 0:  # which is rare
            positive = np.concatenate(workers.fetch(workers.map_pieces(graph_tasks.positive_of, self.costs)))
        unit = unit_for(positive, lambda: max(workers.fetch(workers.map_pieces(graph_tasks.largest_of, self.costs))))
        if unit == 1.0:
            return self
        costs = replace(self.costs, parts=workers.map_pieces(graph_tasks.divided, self.costs, unit))
        return replace(self, costs=costs, unit=unit * self.unit)

    def local_order(self) -> NDArray[np.intp] | None:
        """Return the points in breadth-first order, like a graph on one machine; None if there are few points."""
        if self.n_points < MANY_POINTS:
            return None
        order, seen = np.empty(self.n_points, dtype=np.intp), np.zeros(self.n_points, dtype=bool)
        head = tail = 0
        while head < self.n_points:
            if head == tail:  # first point of a component
                order[tail] = np.argmin(seen)
                seen[order[tail]] = True
                tail += 1
            frontier = order[head : min(tail, head + FRONTIER_AT_ONCE)]
            head += frontier.size
            tail = append_unseen(self._unseen_neighbors(frontier, seen), seen, order, tail)
        return order

    def permuted(self, order: NDArray[np.intp]) -> PiecedGraph:
        starts, indices, costs = permuted_pieces(self.workers, self.starts, self.indices, self.costs, order)
        indptr = np.concatenate([[0], np.cumsum(self.degrees[order])]).astype(self.indptr.dtype)
        known: dict[str, Any] = {"checked": self.checked, "symmetric": self.symmetric, "unit": self.unit}
        return PiecedGraph(indptr, indices, costs, self.execution, self.recall, starts=starts, **known)

    def _edges_of(self, rows: NDArray[np.intp]) -> tuple[NDArray[np.integer[Any]], Array]:
        """Return the indices and costs of the edges of some rows, which are in increasing order."""
        wanted = Pieces(self._cut(rows))
        found = self.workers.fetch(self.workers.map_pieces(graph_tasks.edges_of, *self._edges, wanted))
        near, costs = zip(*found, strict=True)
        return np.concatenate(near), np.concatenate(costs)

    @property
    def _edges(self) -> tuple[Any, ...]:
        return self.starts, self.indices, self.costs

    def _united(self, task: Callable[..., Any], others: Pieces, *, symmetric: bool) -> PiecedGraph:
        united = self.workers.map_pieces(task, *self._edges, self.n_points, others)
        starts, indices, costs = self.workers.split(united, 3)
        degrees = np.concatenate([np.diff(part.indptr) for part in self.workers.fetch(starts)])
        indptr = np.concatenate([[0], np.cumsum(degrees)])
        new = {"indices": replace(self.indices, parts=indices), "costs": replace(self.costs, parts=costs)}
        return replace(self, indptr=indptr, starts=RowStarts(starts), symmetric=symmetric, **new)

    def _cut(self, rows: NDArray[np.intp]) -> list[NDArray[np.intp]]:
        """Return the rows of every piece."""
        return [rows[(rows >= own.start) & (rows < own.stop)] for own in self.workers.ranges]

    def _unseen_neighbors(self, frontier: NDArray[np.intp], seen: NDArray[np.bool_]) -> Array:
        """Return the neighbours of these points that have not been seen, in the order of the points."""
        wanted, shared = Pieces(self._cut(frontier)), self.workers.share(seen)
        arrays = (self.starts, self.indices, wanted, shared)
        found = self.workers.fetch(self.workers.map_pieces(graph_tasks.unseen_neighbors, *arrays))
        owners = np.concatenate(
            [np.flatnonzero((frontier >= own.start) & (frontier < own.stop)) for own in self.workers.ranges]
        )
        owner = np.repeat(owners, np.concatenate([counts for counts, _ in found]))
        near = np.concatenate([near for _, near in found])
        return near[np.argsort(owner, kind="stable")]
