"""Costs between points, dense or on a neighbour graph: two forms of one contract."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..kernels import bandwidth_search as entropic
from ..kernels import graph_rows as graphs
from ..kernels import row_balancing as sweep
from ..kernels import symmetric_sums as symmetric
from ..runtime.execution import run_rows

Array: TypeAlias = NDArray[Any]  # of float64, or float32 where the input is

ROWS_AT_ONCE = 256  # of a dense matrix, where a temporary of the whole would double the memory
MANY_POINTS = 100_000  # of a graph, whose passes are then bound by memory
LAST_DIGITS = 64.0  # rounding of a cost, in units of its last digit
ROUNDING = 1e-5  # of the largest cost of a graph, whatever its type: many neighbour searches work in float32


class _Cost:
    """What both forms share: loops over rows on threads, and the shapes of their results."""

    n_threads: int

    @property
    def n_points(self) -> int:
        raise NotImplementedError

    @property
    def n_pairs(self) -> int:
        raise NotImplementedError

    def rows(self, *, self_loops: bool, entropy: Any = 0.0, bandwidth: Any = None) -> Array:
        """Bandwidth, nearest cost, log normaliser and entropy of every row of exp(-C / bandwidth), normalised.

        Without a bandwidth, the one whose row entropy is `entropy` is searched.
        """
        n = self.n_points
        inverse, target = np.zeros(n), np.empty(n)
        if bandwidth is not None:
            inverse[:] = 1.0 / np.asarray(bandwidth, dtype=float)
        target[:] = entropy
        rows = np.empty((n, entropic.N_COLUMNS))
        arrays, kernel = self._row_kernel()
        rounding = LAST_DIGITS * float(np.finfo(arrays[-1].dtype).eps)
        self._run(kernel, *arrays, self_loops, inverse, target, rounding, rows)
        _choose_bandwidths(rows)
        return rows

    def _row_kernel(self) -> tuple[tuple[Array, ...], Any]:
        raise NotImplementedError

    def _run(self, kernel: Any, *args: Any) -> None:
        run_rows(kernel, self.n_points, self.n_pairs, self.n_threads, *args)


def _choose_bandwidths(rows: Array) -> None:
    """Rows whose costs are all equal have the same affinities at any bandwidth: give them a usual one of these data."""
    bandwidth = rows[:, entropic.BANDWIDTH]
    free = np.isinf(bandwidth)
    for usual in (bandwidth[~free], rows[:, entropic.NEAREST]):
        if free.any() and usual.size and (median := np.median(usual)) > 0.0:
            bandwidth[free] = median
            return
    bandwidth[free] = 1.0  # all points are one


@dataclass(frozen=True)
class DenseCost(_Cost):
    """A full symmetric cost matrix with zero diagonal."""

    matrix: Array
    n_threads: int = 1

    @property
    def n_points(self) -> int:
        return self.matrix.shape[0]

    @property
    def n_pairs(self) -> int:
        return self.matrix.size

    @property
    def degrees(self) -> NDArray[np.intp]:
        return np.full(self.n_points, self.n_points - 1)

    def _row_kernel(self) -> tuple[tuple[Array, ...], Any]:
        return (self.matrix,), entropic.dense_rows

    def terms(self, lam: Array, gam: Array, *, self_loops: bool) -> Array:
        """Row sums that make up the symmetric dual and its derivatives (see kernels.symmetric)."""
        terms = np.empty((self.n_points, symmetric.N_TERMS))
        self._run(symmetric.dense_terms, self.matrix, lam, gam, self_loops, terms)
        return terms

    def hessian(self, lam: Array, gam: Array, *, self_loops: bool) -> Callable[[Array], Array]:
        """Minus the Hessian of the symmetric dual, as the function that multiplies it with (u, v).

        Its weights are computed for every product: to keep them would take two more matrices.
        """

        def product(step: Array) -> Array:
            out = np.empty((2, self.n_points))
            self._run(symmetric.dense_product, self.matrix, lam, gam, *step, self_loops, out)
            return out

        return product

    def sweep(self, lam: Array, gam: Array, slack: float) -> float:
        """Balance the rows in place, one after the other; return the worst |log mass| met."""
        return sweep.dense_sweep(self.matrix, lam, gam, slack)

    def symmetric_affinity(self, lam: Array, gam: Array, *, self_loops: bool) -> Array:
        """exp((lambda_i + lambda_j - 2 C_ij) / (gamma_i + gamma_j))"""
        out = np.empty_like(self.matrix)
        self._run(symmetric.dense_affinity, self.matrix, lam, gam, self_loops, out)
        return out

    def kernel_affinity(self, inverse: Array, nearest: Array, log_normalizer: Array, *, self_loops: bool) -> Array:
        """exp(-(C_ij - nearest_i) inverse_i - log_normalizer_i)"""
        out = np.empty_like(self.matrix)
        for start in range(0, self.n_points, ROWS_AT_ONCE):
            block = slice(start, start + ROWS_AT_ONCE)
            excess = self.matrix[block] - nearest[block, None]
            exponent = -excess * inverse[block, None] - log_normalizer[block, None]
            if not self_loops:  # the diagonal has cost 0 and would overflow
                np.fill_diagonal(exponent[:, start:], -np.inf)
            np.exp(exponent, out=out[block], casting="same_kind")
        return out

    def scaled_affinity(self, scale: Array, *, self_loops: bool) -> Array:
        """exp(-C_ij / (scale_i scale_j))"""
        out = np.empty_like(self.matrix)
        for start in range(0, self.n_points, ROWS_AT_ONCE):
            block = slice(start, start + ROWS_AT_ONCE)
            exponent = scale[block, None] * -scale
            np.divide(self.matrix[block], exponent, out=exponent)
            if not self_loops:
                np.fill_diagonal(exponent[:, start:], -np.inf)
            np.exp(exponent, out=out[block], casting="same_kind")
        return out

    def kth_smallest(self, k: int) -> Array:
        """Cost of every point to its k-th nearest other point."""
        out = np.empty(self.n_points)
        for start in range(0, self.n_points, ROWS_AT_ONCE):
            block = slice(start, start + ROWS_AT_ONCE)
            out[block] = np.partition(self.matrix[block], k, axis=1)[:, k]  # the point itself comes first
        return out

    def symmetrized(self) -> DenseCost:
        return self


@dataclass(frozen=True)
class GraphCost(_Cost):
    """Costs on the edges of a graph without self-loops, as compressed rows.

    Row i may list its own neighbours only (a directed graph), which is all that row-wise affinities need;
    `symmetrized` gives the graph that the symmetric ones need.
    """

    indptr: NDArray[np.integer[Any]]
    indices: NDArray[np.integer[Any]]
    values: Array
    n_threads: int = 1
    recall: float | None = None  # of the search; a graph that was handed in has none
    among: Callable[[Array, int], Any] | None = None  # finds the nearest neighbours among some of the points
    symmetric: bool = False  # known to be: what `symmetrized` returned

    def __post_init__(self) -> None:
        # One type of index, SciPy's, whatever the graph comes from: every other one would be compiled for anew.
        kind = sparse.get_index_dtype(maxval=max(self.n_points, self.n_pairs))
        for name in ("indptr", "indices"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=kind))
        object.__setattr__(self, "values", np.ascontiguousarray(self.values))

    @property
    def n_points(self) -> int:
        return self.indptr.size - 1

    @property
    def n_pairs(self) -> int:
        return self.values.size

    @property
    def degrees(self) -> NDArray[np.intp]:
        return np.diff(self.indptr)

    def _row_kernel(self) -> tuple[tuple[Array, ...], Any]:
        return (self.indptr, self.values), entropic.graph_rows

    def terms(self, lam: Array, gam: Array, *, self_loops: bool) -> Array:
        terms = np.empty((self.n_points, symmetric.N_TERMS))
        x = np.stack([lam, gam], axis=1)
        self._run(symmetric.graph_terms, self.indptr, self.indices, self.values, x, self_loops, terms)
        return terms

    def hessian(self, lam: Array, gam: Array, *, self_loops: bool) -> Callable[[Array], Array]:
        weights, x = np.empty((2, self.n_pairs)), np.stack([lam, gam], axis=1)
        self._run(symmetric.graph_weights, self.indptr, self.indices, self.values, x, weights)

        def product(step: Array) -> Array:
            out, y = np.empty((2, self.n_points)), np.stack([*step], axis=1)
            self._run(symmetric.graph_product, self.indptr, self.indices, weights, x, y, self_loops, out)
            return out

        return product

    def sweep(self, lam: Array, gam: Array, slack: float) -> float:
        return sweep.graph_sweep(self.indptr, self.indices, self.values, lam, gam, slack)

    def symmetric_affinity(self, lam: Array, gam: Array, *, self_loops: bool) -> sparse.csr_matrix:
        out = np.empty_like(self.values)
        self._run(symmetric.graph_affinity, self.indptr, self.indices, self.values, lam, gam, out)
        return self._matrix(out, np.exp(lam / gam) if self_loops else None)

    def kernel_affinity(
        self, inverse: Array, nearest: Array, log_normalizer: Array, *, self_loops: bool
    ) -> sparse.csr_matrix:
        row = np.repeat(np.arange(self.n_points), self.degrees)
        exponent = -(self.values - nearest[row]) * inverse[row] - log_normalizer[row]
        return self._matrix(np.exp(exponent), np.exp(nearest * inverse - log_normalizer) if self_loops else None)

    def scaled_affinity(self, scale: Array, *, self_loops: bool) -> sparse.csr_matrix:
        row = np.repeat(np.arange(self.n_points), self.degrees)
        exponent = self.values / (scale[row] * -scale[self.indices])
        return self._matrix(np.exp(exponent), np.ones(self.n_points) if self_loops else None)

    def kth_smallest(self, k: int) -> Array:
        return np.array([np.partition(row, k - 1)[k - 1] for row in np.split(self.values, self.indptr[1:-1])])

    def symmetrized(self) -> GraphCost:
        """The graph with an edge wherever one of its two directions has one.

        Where both have, their costs are the same up to rounding, and the smaller is taken.
        """
        if self.symmetric:
            return self
        if self.recall is None:  # a graph that was handed in: what we compute differs by rounding only
            self._check_both_directions()
        return self._both_ways()

    def _both_ways(self) -> GraphCost:
        there = self._sorted()
        back = there.tocsc()  # whose compressed columns are the rows of the transpose
        return replace(self._union(there, back), symmetric=True)

    def _check_both_directions(self) -> None:
        """Raise where a pair of points has an edge in both directions, of different costs."""
        # Positions instead of costs, from 1: these operations drop zeros, which are the costs of duplicates.
        edges = self._as_matrix(np.arange(1, self.n_pairs + 1))
        reverse = edges.T.tocsr()
        there, back = edges.multiply(reverse.astype(bool)).tocsr(), reverse.multiply(edges.astype(bool)).tocsr()
        for positions in (there, back):
            positions.sort_indices()
        difference = np.abs(self.values[there.data - 1] - self.values[back.data - 1])
        if difference.size == 0 or difference.max() <= ROUNDING * float(self.values.max()):
            return
        worst = int(difference.argmax())
        row, column = np.searchsorted(there.indptr, worst, side="right") - 1, there.indices[worst]
        costs = " and ".join(f"{self.values[way.data[worst] - 1]:.3g}" for way in (there, back))
        raise ValueError(
            f"the precomputed graph X is not symmetric: between points {row} and {column} it has costs of {costs}, "
            "one in each direction; use X.maximum(X.T) if that is what you mean."
        )

    def joined(self, other: GraphCost) -> GraphCost:
        """The graph with the edges of both."""
        return replace(self._union(self._sorted(), other._sorted()), symmetric=self.symmetric and other.symmetric)

    def _union(self, first: Any, second: Any) -> GraphCost:
        """The graph with the edges of two, given by their compressed and sorted rows."""
        rows, others = (first.indptr, first.indices), (second.indptr, second.indices)
        counts = np.empty(self.n_points, dtype=np.int64)
        self._run(graphs.count_union, *rows, *others, counts)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        union, costs = np.empty(indptr[-1], dtype=self.indices.dtype), np.empty(indptr[-1], dtype=self.values.dtype)
        self._run(graphs.fill_union, *rows, first.data, *others, second.data, indptr, union, costs)
        return replace(self, indptr=indptr, indices=union, values=costs)

    def local_order(self) -> NDArray[np.intp] | None:
        """An order of the points in which neighbours are near, so that memory has them ready; None if they are few."""
        if self.n_points < MANY_POINTS:
            return None
        order = np.empty(self.n_points, dtype=np.intp)
        graphs.breadth_first(self.indptr, self.indices, order)
        return order

    def around(self, rows: NDArray[np.intp]) -> tuple[GraphCost, NDArray[np.intp]]:
        """The edges of some points of a symmetric graph, with the points: these, then their other neighbours."""
        counts = self.degrees[rows]
        ends = np.cumsum(counts)
        edges = np.repeat(self.indptr[rows] - (ends - counts), counts) + np.arange(ends[-1])
        near = self.indices[edges]
        points = np.concatenate([rows, np.setdiff1d(near, rows)])
        places = np.empty(self.n_points, dtype=np.intp)
        places[points] = np.arange(points.size)
        indptr = np.concatenate([[0], ends, np.full(points.size - rows.size, ends[-1])])
        return GraphCost(indptr, places[near], self.values[edges], self.n_threads)._both_ways(), points

    def permuted(self, order: NDArray[np.intp]) -> GraphCost:
        """The graph of the points in another order."""
        places = np.empty_like(self.indices, shape=order.size)
        places[order] = np.arange(order.size)
        indptr = np.concatenate([[0], np.cumsum(self.degrees[order])]).astype(self.indptr.dtype)
        new = (np.empty_like(self.indices), np.empty_like(self.values))
        self._run(graphs.permute_rows, order, places, self.indptr, self.indices, self.values, indptr, *new)
        return GraphCost(indptr, *new, self.n_threads, self.recall, symmetric=self.symmetric)

    def _sorted(self) -> sparse.csr_matrix:
        return _sorted_rows(self._as_matrix(self.values))

    def _as_matrix(self, data: Array) -> sparse.csr_matrix:
        return sparse.csr_matrix((data, self.indices, self.indptr), shape=(self.n_points, self.n_points))

    def _matrix(self, data: Array, diagonal: Array | None) -> sparse.csr_matrix:
        matrix = self._as_matrix(data.astype(self.values.dtype, copy=False))
        if diagonal is not None:
            matrix = (matrix + sparse.diags(diagonal.astype(matrix.dtype))).tocsr()
        return _sorted_rows(matrix)


def _sorted_rows(matrix: sparse.csr_matrix) -> sparse.csr_matrix:
    """Every row in the order of its indices; not in place, where others may look."""
    return matrix if matrix.has_sorted_indices else matrix.sorted_indices()


def symmetrize_in_place(matrix: Array) -> Array:
    """(M + M^T) / 2, block by block."""
    for start in range(0, matrix.shape[0], ROWS_AT_ONCE):
        block = slice(start, start + ROWS_AT_ONCE)
        mean = (matrix[block, start:] + matrix[start:, block].T) / 2
        matrix[block, start:] = mean
        matrix[start:, block] = mean.T
    return matrix
