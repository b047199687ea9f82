"""Turn X into costs: a full matrix, or a neighbour graph."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..errors import InputError
from ..runtime.checks import check_count, check_perplexity
from ..runtime.execution import Execution
from ..runtime.memory import left_bytes, require_memory
from ..runtime.memory_budget import GIVEN_EDGE, GraphSize, affinity_stages
from ..runtime.sparse_format import check_graph, check_sparse
from .dense_cost import DenseCost, Matrix, dense_costs, row_blocks
from .distance_metrics import Array, check_metric, whitened
from .inputs import check_cost_matrix, check_points, check_range
from .neighbor_graph import NeighborGraph
from .neighbor_search import find_neighbors, search_bytes

__all__ = ["Array", "Cost", "DenseCost", "Matrix", "NeighborGraph", "build_cost", "count_neighbors", "search_neighbors"]

Cost: TypeAlias = DenseCost | NeighborGraph

# More neighbours take proportionally more time and memory, and add only small affinities; with fewer, rows approach a
# uniform distribution over their neighbours.
NEIGHBORS_PER_PERPLEXITY = 1.5
SPARSE_REMEDY = "set n_neighbors='auto' for a sparse affinity, whose memory grows linearly with n"
GRAPH_REMEDIES = ("lower n_neighbors", "lower the perplexity")


def build_cost(X: Any, *, metric: str, n_neighbors: int | str | None, perplexity: float, execution: Execution) -> Cost:
    """Compute the costs between the points of X, or take them from X if metric="precomputed".

    X is an array of features. With metric="precomputed" it is a full cost matrix, a sparse neighbour graph such as the
    output of `KNeighborsTransformer`, a pair (indices, distances), or a `NeighborGraph`.
    """
    if isinstance(metric, str) and metric == "precomputed":
        return _precomputed_cost(X, n_neighbors, perplexity, execution)
    check_metric(metric)
    if isinstance(X, tuple):
        raise InputError(f"X is a tuple; (indices, distances) needs metric='precomputed', got metric={metric!r}.")
    X, metric = whitened(check_points(X), metric, execution)
    n = X.shape[0]
    k = count_neighbors(n_neighbors, n, perplexity)
    if k is not None:
        return search_neighbors(X, k, metric, execution)
    require_memory(2.0 * n * n * X.dtype.itemsize, f"a full {n} x {n} cost matrix and its affinity", SPARSE_REMEDY)
    cost = DenseCost(dense_costs(X, metric, execution), execution)
    check_range(cost.matrix, X, metric=metric)
    return cost


def check_neighbors(n_neighbors: Any) -> None:
    """Raise unless `n_neighbors` is None, "auto" or a whole number of at least 1."""
    if isinstance(n_neighbors, str):
        if n_neighbors != "auto":
            raise InputError(f"n_neighbors must be None, 'auto' or a whole number, got {n_neighbors!r}.")
    elif n_neighbors is not None:
        check_count(n_neighbors, "n_neighbors")


def count_neighbors(n_neighbors: int | str | None, n: int, perplexity: float) -> int | None:
    """Return the number of neighbours that `n_neighbors` asks for, or None for the full matrix."""
    check_neighbors(n_neighbors)
    if n_neighbors is None:
        return None
    if isinstance(n_neighbors, str):
        return int(min(n - 1.0, np.ceil(NEIGHBORS_PER_PERPLEXITY * check_perplexity(perplexity))))
    return min(n - 1, int(n_neighbors))


def graph_bytes(X: Any, k: int, metric: str, n_threads: int) -> float:
    """Estimate the peak memory of a graph of k neighbours and of its affinity, in addition to X."""
    graph = GraphSize(int(X.shape[0]), k, X.dtype.itemsize)
    return max(search_bytes(X, k, metric, n_threads), *affinity_stages(graph, n_threads, left_bytes()).values())


def search_neighbors(X: Any, k: int, metric: str, execution: Execution) -> NeighborGraph:
    """Find the k nearest neighbours of every row of a whitened X; raise if the affinity needs too much memory."""
    n = X.shape[0]
    what = f"a graph of {n:,} points with {k:,} neighbours each, and its affinity"
    require_memory(graph_bytes(X, k, metric, execution.n_threads), what, *GRAPH_REMEDIES)
    graph = find_neighbors(X, k, metric, execution)
    near = graph.indices.reshape(n, k)
    check_range(graph.costs.reshape(n, k), X, metric=metric, near=near)
    return graph


def _precomputed_cost(X: Any, n_neighbors: int | str | None, perplexity: float, execution: Execution) -> Cost:
    """Return precomputed costs, or the smallest ones of each row."""
    if isinstance(X, NeighborGraph | tuple) or sparse.issparse(X):
        if isinstance(X, NeighborGraph):
            check_graph(X.indptr, X.indices, X.costs, "the precomputed graph X")
        graph = X if isinstance(X, NeighborGraph) else _precomputed_graph(X, execution)
        k = count_neighbors(n_neighbors, graph.n_points, perplexity)
        return graph if k is None else graph.nearest(k, at_least=n_neighbors != "auto")
    cost = DenseCost(check_cost_matrix(X), execution)
    check_range(cost.matrix, cost.matrix, metric="precomputed")
    n = cost.n_points
    k = count_neighbors(n_neighbors, n, perplexity)
    if k is None:
        require_memory(cost.matrix.nbytes, f"the affinity of a full {n} x {n} cost matrix", SPARSE_REMEDY)
        return cost
    require_memory(GIVEN_EDGE * n * k, f"the affinity of {n:,} points with {k:,} neighbours each", *GRAPH_REMEDIES)
    return _nearest_of_matrix(cost.matrix, np.arange(n), k, execution)


def _nearest_of_matrix(matrix: Array, points: NDArray[np.intp], k: int, execution: Execution) -> NeighborGraph:
    """Find the k nearest neighbours of `points` among themselves, in blocks of rows, without copying the matrix."""
    n = points.size
    indices, costs = np.empty((n, k), dtype=np.intp), np.empty((n, k), dtype=matrix.dtype)
    for block in row_blocks(n):
        rows = matrix[np.ix_(points[block], points)]
        np.fill_diagonal(rows[:, block.start :], np.inf)
        indices[block] = np.argsort(rows, axis=1, kind="stable")[:, :k]
        costs[block] = np.take_along_axis(rows, indices[block], axis=1)

    def search_among(some: NDArray[np.intp], k: int) -> NeighborGraph:
        return _nearest_of_matrix(matrix, points[some], k, execution)

    return NeighborGraph.from_lists(indices, costs, execution, recall=1.0, search_among=search_among, checked=True)


def _precomputed_graph(X: Any, execution: Execution) -> NeighborGraph:
    """Check a user-supplied neighbour graph, and drop its diagonal and duplicate edges."""
    indptr, indices, costs = _lists_of_tuple(X) if isinstance(X, tuple) else _lists_of_matrix(X)
    n = indptr.size - 1
    if n < 2:
        raise InputError(f"the precomputed graph has {n} point{'s' * (n != 1)}; an affinity needs at least 2.")
    if not (good := np.isfinite(costs) & (costs >= 0.0)).all():
        raise InputError(
            f"the precomputed graph has a distance of {costs[~good][0]}; distances must be finite and non-negative. "
            "Drop such edges."
        )
    n_edges = costs.size
    require_memory(GIVEN_EDGE * n_edges, f"the affinity of a graph with {n_edges:,} edges", "pass a smaller graph")
    row = np.repeat(np.arange(n), np.diff(indptr))
    other = row != indices
    isolated = np.flatnonzero(np.bincount(row[other], minlength=n) == 0)
    if isolated.size:
        rows = "row" if isolated.size == 1 else "rows"
        few = ", ".join(map(str, isolated[:5])) + (", ..." if isolated.size > 5 else "")
        raise InputError(
            f"the precomputed graph has isolated points ({isolated.size} in total: {rows} {few}); "
            "give every point at least one neighbour, or leave these points out."
        )
    row, indices, costs = row[other], indices[other].astype(np.int64), costs[other]
    key = row * n + indices
    order = np.argsort(key, kind="stable")
    first = order[np.concatenate([[True], np.diff(key[order]) > 0])]  # a neighbour listed twice counts once
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row[first], minlength=n))])
    graph = NeighborGraph(indptr, indices[first], costs[first], execution)
    check_range(graph.costs, graph.costs, metric="precomputed")
    return graph


def _lists_of_tuple(X: tuple[Any, ...]) -> tuple[Array, Array, Array]:
    """Check a pair (indices, distances) of shape (n, k), and return it as compressed rows."""
    if len(X) != 2:
        raise InputError(f"a precomputed tuple must be (indices, distances), got a tuple of length {len(X)}.")
    indices, distances = _array_of(X[0], "indices"), _array_of(X[1], "distances")
    if indices.ndim != 2 or indices.shape != distances.shape:
        raise InputError(
            "a precomputed pair (indices, distances) needs two arrays of the same shape (n, k), "
            f"got {indices.shape} and {distances.shape}."
        )
    n, k = indices.shape
    if indices.size and not np.issubdtype(indices.dtype, np.integer):
        raise InputError(f"precomputed neighbour indices must be whole numbers, got {indices.dtype}.")
    if indices.min(initial=0) < 0 or indices.max(initial=0) >= n:
        raise InputError(
            f"precomputed neighbour indices must lie between 0 and {n - 1}, got {indices.min()} to {indices.max()}."
        )
    return k * np.arange(n + 1), indices.ravel(), _as_costs(distances).ravel()


def _lists_of_matrix(X: Any) -> tuple[Array, Array, Array]:
    """Check a square sparse matrix, and return its compressed rows."""
    check_sparse(X, "the precomputed graph X")
    if X.shape[0] != X.shape[1]:
        raise InputError(f"a precomputed neighbour graph must be square, but X has shape {X.shape}.")
    X = sparse.csr_matrix(X)
    return X.indptr, X.indices, _as_costs(X.data)


def _array_of(values: Any, what: str) -> Array:
    try:
        return np.asarray(values)
    except ValueError:
        raise InputError(
            f"the precomputed {what} have rows of different lengths; give every point the same number of neighbours, "
            "or pass a sparse neighbour graph."
        ) from None


def _as_costs(values: Array) -> Array:
    if values.dtype.kind not in "biuf":
        raise InputError(f"precomputed distances must be real numbers, got {values.dtype}; convert them to float.")
    return values.astype(np.float32 if np.can_cast(values.dtype, np.float32) else np.float64, copy=False)
