"""Neighbour graph: the sparse costs that the neighbour search passes to the affinity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..errors import InputError
from ..kernels import RowLoop, graph_rows
from ..runtime.execution import Execution, Threads
from ..runtime.memory import left_bytes
from ..runtime.memory_budget import keeps_weights
from .dense_cost import PairFormula, own_unit
from .distance_metrics import Array
from .graph_unions import Rows, both_ways, joined

MANY_POINTS = 100_000  # passes over larger graphs are memory-bound, so a local order of the points pays off
ROUNDING = 1e-5  # relative to the largest cost, for any dtype: many neighbour searches work in float32
MAPPED_AT_ONCE = 2**13  # rows mapped by a formula at a time; more take more memory, fewer more calls


@dataclass(frozen=True)
class NeighborGraph:
    """Costs on the edges of a graph without self-loops, as compressed rows.

    The graph may be directed, which is enough for row-wise affinities. `symmetrized` returns the undirected graph that
    symmetric affinities need.

    Parameters
    ----------
    indptr, indices, costs : ndarray
        Row i has the neighbours ``indices[indptr[i] : indptr[i + 1]]``; `costs` holds their costs in the same order.
    execution : Execution
        Where loops over rows run.
    recall : float or None
        Measured fraction of true neighbours found; None for a user-supplied graph.
    search_among : callable or None
        ``search_among(points, k)`` returns the graph of the k nearest neighbours of these points among themselves. None
        if there is no data to search.
    checked : bool
        Whether the two costs of a pair are known to differ by rounding at most, as in our own searches.
    symmetric : bool
        Whether the graph is known to be symmetric.
    unit : float
        Unit of the costs: those of the user are `unit` times `costs`.
    """

    indptr: NDArray[np.integer[Any]]
    indices: NDArray[np.integer[Any]]
    costs: Array
    execution: Execution = field(default_factory=Threads)
    recall: float | None = None
    search_among: Callable[[NDArray[np.intp], int], NeighborGraph] | None = None
    checked: bool = False
    symmetric: bool = False
    unit: float = 1.0

    def __post_init__(self) -> None:
        # Always use SciPy's index type: loops would be compiled again for every other type.
        kind = sparse.get_index_dtype(maxval=max(self.n_points, self.n_pairs))
        for name in ("indptr", "indices"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=kind))
        object.__setattr__(self, "costs", np.ascontiguousarray(self.costs))

    @classmethod
    def from_lists(cls, indices: Array, costs: Array, execution: Execution, **known: Any) -> NeighborGraph:
        """Build a graph from neighbour lists of equal length, given as two arrays (n, k)."""
        n, k = indices.shape
        return cls(np.arange(0, n * k + 1, k), indices.ravel(), costs.ravel(), execution, **known)

    @property
    def n_points(self) -> int:
        return self.indptr.size - 1

    @property
    def n_pairs(self) -> int:
        return self.costs.size

    @property
    def rows(self) -> Rows:
        """Compressed rows."""
        return self.indptr, self.indices, self.costs

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.costs.dtype

    @property
    def degrees(self) -> NDArray[np.intp]:
        """Number of neighbours of every point."""
        return np.diff(self.indptr)

    def over_rows(self, loop: RowLoop, *args: Any) -> None:
        """Run a compiled loop over the pairs of every row, on all threads."""
        assert loop.graph is not None
        self._run(loop.graph, self.indptr, self.indices, self.costs, *args)

    def in_order(self, loop: RowLoop, *args: Any) -> Any:
        """Run a compiled loop that visits the rows one after the other; return the largest value that it finds."""
        assert loop.graph is not None
        return self.execution.run_in_order(loop.graph, 0, self.n_points, self.indptr, self.indices, self.costs, *args)

    def arranged(self, x: Array) -> Array:
        """Return m values per point, an array (m, n), with the values of each point adjacent in memory."""
        return np.stack([*x], axis=1)

    def new_entries(self) -> Array:
        """Return an empty array with one value per edge."""
        return np.empty_like(self.costs)

    def new_weights(self) -> tuple[Array, bool]:
        """Return an array for two weights per edge, and whether there is memory for it; if not, it is empty."""
        kept = keeps_weights(self.n_points, self.n_pairs, self.dtype.itemsize, left_bytes())
        return np.empty((2, self.n_pairs if kept else 0), self.dtype), kept

    def as_matrix(self, entries: Array, diagonal: Array | None) -> sparse.csr_matrix:
        """Return the entries of the edges, and of any self-loops, as a sparse matrix."""
        matrix = self._csr(entries.astype(self.costs.dtype, copy=False))
        if diagonal is not None:
            matrix = (matrix + sparse.diags(diagonal.astype(matrix.dtype))).tocsr()
        return _sorted_rows(matrix)

    def map_pairs(self, formula: PairFormula, *, self_loops: bool) -> sparse.csr_matrix:
        """Compute a sparse matrix from ``formula(C_ij, i, j)`` on the edges; a self-loop costs 0."""
        points, degrees, entries = np.arange(self.n_points), self.degrees, self.new_entries()
        for start in range(0, self.n_points, MAPPED_AT_ONCE):
            block = slice(start, start + MAPPED_AT_ONCE)
            edges = slice(self.indptr[start], self.indptr[points[block][-1] + 1])
            rows = np.repeat(points[block], degrees[block])
            entries[edges] = formula(self.costs[edges], rows, self.indices[edges])
        diagonal = formula(np.zeros(self.n_points), points, points) if self_loops else None
        return self.as_matrix(entries, diagonal)

    def kth_smallest(self, k: int) -> Array:
        """Return the cost of every point to its k-th nearest neighbour."""
        return np.array([np.partition(row, k - 1)[k - 1] for row in np.split(self.costs, self.indptr[1:-1])])

    def smallest_positive(self) -> float:
        """Return the smallest positive cost, or 1 if all neighbours are equal."""
        positive = self.costs[self.costs > 0.0]
        return float(positive.min()) if positive.size else 1.0

    def nearest(self, k: int, *, at_least: bool) -> NeighborGraph:
        """Keep the k nearest neighbours of each row; with `at_least`, raise if a row has fewer."""
        degrees = self.degrees
        if at_least and (fewest := int(degrees.min())) < k:
            raise InputError(
                f"n_neighbors={k}, but the precomputed graph has fewer edges in row {degrees.argmin()} ({fewest}); "
                "lower n_neighbors, or set it to None to use every edge."
            )
        row = np.repeat(np.arange(self.n_points), degrees)
        by_cost = np.lexsort((self.costs, row))
        rank = np.arange(self.n_pairs) - self.indptr[row]
        kept = np.sort(by_cost[rank < k])
        indptr = np.concatenate([[0], np.cumsum(np.minimum(degrees, k))])
        return replace(self, indptr=indptr, indices=self.indices[kept], costs=self.costs[kept])

    def symmetrized(self) -> NeighborGraph:
        """Add the missing directions of edges.

        If both directions exist, their costs are equal up to rounding, and the smaller one is kept.
        """
        if self.symmetric:
            return self
        if not self.checked:
            self._check_both_directions()
        indptr, indices, costs = both_ways(self.rows, self.execution)
        return replace(self, indptr=indptr, indices=indices, costs=costs, symmetric=True)

    def in_own_units(self) -> NeighborGraph:
        """Return the same costs in a unit in which their squares neither overflow nor underflow."""
        unit = own_unit(self.costs)
        return self if unit == 1.0 else replace(self, costs=self.costs / unit, unit=unit * self.unit)

    def joined(self, other: NeighborGraph) -> NeighborGraph:
        """Return the graph with the edges of both graphs."""
        indptr, indices, costs = joined(self.rows, other.rows, self.execution)
        checked, symmetric = self.checked and other.checked, self.symmetric and other.symmetric
        return replace(self, indptr=indptr, indices=indices, costs=costs, checked=checked, symmetric=symmetric)

    def with_more_edges(self, points: NDArray[np.intp], k: int) -> NeighborGraph:
        """Connect each of these points to its k nearest neighbours among them, using `search_among`."""
        assert self.search_among is not None
        found = self.search_among(points, k)
        degrees = np.zeros(self.n_points, dtype=np.intp)
        degrees[points] = found.degrees
        indptr = np.concatenate([[0], np.cumsum(degrees)])
        edges = (indptr, points[found.indices], found.costs / self.unit)
        return self.joined(NeighborGraph(*edges, found.execution, checked=found.checked).symmetrized())

    def local_order(self) -> NDArray[np.intp] | None:
        """Return an order of the points that keeps neighbours close in memory; None if there are few points."""
        if self.n_points < MANY_POINTS:
            return None
        order = np.empty(self.n_points, dtype=np.intp)
        self.execution.run_in_order(graph_rows.breadth_first, self.indptr, self.indices, order)
        return order

    def in_local_order(self) -> tuple[NeighborGraph, NDArray[np.intp] | None]:
        """Return the graph in its local order, and this order; if there are few points, the graph itself and None."""
        order = self.local_order()
        return (self, None) if order is None else (self.permuted(order), order)

    def permuted(self, order: NDArray[np.intp]) -> NeighborGraph:
        """Apply the permutation `order` to the points."""
        places = np.empty_like(self.indices, shape=order.size)
        places[order] = np.arange(order.size)
        indptr = np.concatenate([[0], np.cumsum(self.degrees[order])]).astype(self.indptr.dtype)
        new = (np.empty_like(self.indices), np.empty_like(self.costs))
        self._run(graph_rows.permute_rows, order, places, *self.rows, -np.inf, 1.0, indptr, *new)
        known: dict[str, Any] = {"checked": self.checked, "symmetric": self.symmetric, "unit": self.unit}
        return NeighborGraph(indptr, *new, self.execution, self.recall, **known)

    def around(self, rows: NDArray[np.intp]) -> tuple[NeighborGraph, NDArray[np.intp]]:
        """Return the subgraph of the edges of `rows`, and its points: `rows` first, then their neighbours."""
        near, costs = self._edges_of(rows)
        ends = np.cumsum(self.degrees[rows])
        points = np.concatenate([rows, np.setdiff1d(near, rows)])
        places = np.empty(self.n_points, dtype=near.dtype)
        places[points] = np.arange(points.size)
        indptr = np.concatenate([[0], ends, np.full(points.size - rows.size, near.size)])
        here = Threads(self.execution.n_threads)
        return NeighborGraph(indptr, places[near], costs, here, checked=True).symmetrized(), points

    def _edges_of(self, rows: NDArray[np.intp]) -> tuple[NDArray[np.integer[Any]], Array]:
        """Return the indices and costs of the edges of some rows, row after row."""
        edges = edges_of_rows(self.indptr, rows)
        return self.indices[edges], self.costs[edges]

    def _run(self, loop: Callable[..., None], *args: Any) -> None:
        self.execution.run(loop, self.n_points, self.n_pairs, *args)

    def _check_both_directions(self) -> None:
        """Raise if the two directions of an edge have different costs."""
        # Use positions, starting at 1, instead of costs: SciPy drops zeros here, and duplicates have zero cost.
        edges = self._csr(np.arange(1, self.n_pairs + 1))
        reverse = edges.T.tocsr()
        there, back = edges.multiply(reverse.astype(bool)).tocsr(), reverse.multiply(edges.astype(bool)).tocsr()
        for positions in (there, back):
            positions.sort_indices()
        difference = np.abs(self.costs[there.data - 1] - self.costs[back.data - 1])
        if difference.size == 0 or difference.max() <= ROUNDING * float(self.costs.max()):
            return
        worst = int(difference.argmax())
        row, column = np.searchsorted(there.indptr, worst, side="right") - 1, there.indices[worst]
        costs = " and ".join(f"{self.costs[way.data[worst] - 1]:.3g}" for way in (there, back))
        raise InputError(
            f"the precomputed graph X is not symmetric: the two costs between points {row} and {column} are {costs}; "
            "pass X.maximum(X.T) if that is what you mean."
        )

    def _csr(self, data: Array) -> sparse.csr_matrix:
        return sparse.csr_matrix((data, self.indices, self.indptr), shape=(self.n_points, self.n_points))


def edges_of_rows(indptr: NDArray[np.integer[Any]], rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the positions of the edges of some rows, row after row."""
    counts = np.diff(indptr)[rows]
    ends = np.cumsum(counts)
    total = int(ends[-1]) if ends.size else 0
    return np.asarray(np.repeat(indptr[rows] - (ends - counts), counts) + np.arange(total), dtype=np.intp)


def _sorted_rows(matrix: sparse.csr_matrix) -> sparse.csr_matrix:
    """Sort every row by index, but not in place, because the arrays may be shared."""
    return matrix if matrix.has_sorted_indices else matrix.sorted_indices()
