"""From what the user hands in to costs: a full matrix, or a neighbour graph."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..kernels.squared_distances import dense_squared_distances
from ..runtime.checks import check_count, check_perplexity
from ..runtime.execution import run_rows
from ..runtime.memory import require
from .costs import ROWS_AT_ONCE, Array, DenseCost, GraphCost, symmetrize_in_place
from .inputs import check_cost_matrix, check_points, check_range
from .neighbor_search import DIRECT, Neighbors, find_neighbors, from_squared, unit_rows

NEIGHBORS_PER_PERPLEXITY = 3
BYTES_PER_EDGE = 130  # of a neighbour graph, made symmetric and turned into an affinity, at its peak
SPARSE_REMEDY = "set n_neighbors='auto' for a sparse affinity, whose memory grows with n only"
GRAPH_REMEDY = "lower n_neighbors or perplexity"


class FoundNeighbors(NamedTuple):
    """What `search` has found, as a precomputed pair that several affinities can share.

    Unlike a user's pair it can be searched again, for points that starve among hubs.
    """

    indices: Array
    costs: Array
    recall: float
    among: Any


def build_cost(
    X: Any, *, metric: str, n_neighbors: int | str | None, perplexity: float, n_threads: int
) -> DenseCost | GraphCost:
    """Costs between the points of X.

    X is an array of features; with metric="precomputed" it is a full cost matrix, a sparse neighbour
    graph as `KNeighborsTransformer` writes it, or a pair (indices, distances).
    """
    if metric == "precomputed":
        return _given_cost(X, n_neighbors, perplexity, n_threads)
    check_metric(metric)
    if isinstance(X, tuple):
        raise ValueError(f"X is a tuple, (indices, distances) needs metric='precomputed'; got metric={metric!r}.")
    X, metric = whitened(check_points(X), metric)
    n = X.shape[0]
    k = count_neighbors(n_neighbors, n, perplexity)
    if k is None:
        cost = DenseCost(_dense(X, metric, n_threads), n_threads)
        check_range(cost.matrix, X, metric=metric)
        return cost
    return Neighbors(*search(X, k, metric, n_threads)).graph(n_threads)


def _given_cost(X: Any, n_neighbors: int | str | None, perplexity: float, n_threads: int) -> DenseCost | GraphCost:
    """Precomputed costs, or the smallest of each row."""
    if isinstance(X, tuple) or sparse.issparse(X):
        graph = _given_graph(X, n_threads)
        k = count_neighbors(n_neighbors, graph.n_points, perplexity)
        return graph if k is None else _nearest_of_graph(graph, k, exactly=n_neighbors != "auto")
    cost = DenseCost(check_cost_matrix(X), n_threads)
    check_range(cost.matrix, cost.matrix, metric="precomputed")
    k = count_neighbors(n_neighbors, cost.n_points, perplexity)
    if k is None:
        n = cost.n_points
        require(cost.matrix.nbytes, f"the affinity of a full {n} x {n} cost matrix", SPARSE_REMEDY)
        return cost
    return _nearest_of_matrix(cost, k)


def search(X: Any, k: int, metric: str, n_threads: int) -> FoundNeighbors:
    """The k nearest neighbours of every point of a whitened X, for which there is memory, their costs told apart."""
    n = X.shape[0]
    require(BYTES_PER_EDGE * n * k, f"a graph of {k} neighbours of {n} points and its affinity", GRAPH_REMEDY)
    found = find_neighbors(X, k, metric, n_threads)
    check_range(found.costs, X, metric=metric, near=found.indices)
    return FoundNeighbors(found.indices, found.costs, found.recall, found.among)


def whitened(X: Any, metric: str) -> tuple[Any, str]:
    """X and metric as they are or, for metrics with scales of their own, points whose Euclidean distance it is.

    The scales are those of X as a whole, whatever part of it neighbours are searched in.
    """
    if sparse.issparse(X):
        _check_sparse_metric(metric)
    if metric not in ("seuclidean", "mahalanobis"):
        return X, metric
    constant = np.flatnonzero(X.max(axis=0) == X.min(axis=0))
    if constant.size:
        raise ValueError(f"column {constant[0]} of X is constant, where metric={metric!r} is undefined; drop it.")
    points = (X - X.mean(axis=0, dtype=float)) / X.std(axis=0, dtype=float, ddof=1)
    if metric == "mahalanobis":
        covariance = np.atleast_2d(np.cov(points, rowvar=False))
        rank = np.linalg.matrix_rank(covariance, hermitian=True)
        if rank < X.shape[1]:
            raise ValueError(
                f"metric='mahalanobis' needs a covariance of full rank, that of X has rank {rank} in {X.shape[1]} "
                "dimensions; reduce X by PCA."
            )
        points = np.linalg.solve(np.linalg.cholesky(covariance), points.T).T
    return points.astype(X.dtype, order="C"), "euclidean"


def count_neighbors(n_neighbors: int | str | None, n: int, perplexity: float) -> int | None:
    """Number of neighbours asked for, None for the full matrix."""
    if n_neighbors is None:
        return None
    if isinstance(n_neighbors, str):
        if n_neighbors != "auto":
            raise ValueError(f"n_neighbors must be None, 'auto' or a whole number, got {n_neighbors!r}.")
        return min(n - 1, int(np.ceil(NEIGHBORS_PER_PERPLEXITY * check_perplexity(perplexity))))
    return min(n - 1, check_count(n_neighbors, "n_neighbors"))


def check_metric(metric: Any) -> None:
    if isinstance(metric, str) and metric in (*DIRECT, "precomputed"):
        return
    from sklearn.neighbors import VALID_METRICS  # here and below where needed: it takes time to import

    known = sorted({*VALID_METRICS["brute"], "sqeuclidean", "precomputed"})
    if not isinstance(metric, str) or metric not in known:
        raise ValueError(f"metric must be one of {', '.join(known)}; got {metric!r}.")


def _check_sparse_metric(metric: str) -> None:
    from sklearn.neighbors import VALID_METRICS_SPARSE

    known = sorted({*VALID_METRICS_SPARSE["brute"], "sqeuclidean"} - {"precomputed"})
    if metric not in known:
        raise ValueError(f"metric={metric!r} does not take a sparse X, only {', '.join(known)} do; use X.toarray().")


def _dense(X: Any, metric: str, n_threads: int) -> Array:
    n = X.shape[0]
    require(2.0 * n * n * X.dtype.itemsize, f"a full {n} x {n} cost matrix and its affinity", SPARSE_REMEDY)
    if metric in DIRECT and not sparse.issparse(X):
        out = np.empty((n, n), dtype=X.dtype)
        points = np.ascontiguousarray(unit_rows(X) if metric == "cosine" else X)
        run_rows(dense_squared_distances, (n + 1) // 2, n * n, n_threads, points, out)
        return from_squared(out, metric)
    from sklearn.metrics import pairwise_distances

    squared = metric == "sqeuclidean"
    out = pairwise_distances(X, metric="euclidean" if squared else metric, n_jobs=n_threads)
    if squared:
        np.square(out, out=out)
    out = symmetrize_in_place(out.astype(X.dtype, copy=False))  # rounding leaves some metrics slightly asymmetric
    np.maximum(out, 0.0, out=out)  # or negative
    np.fill_diagonal(out, 0.0)
    return out


def _nearest_of_matrix(cost: DenseCost, k: int) -> GraphCost:
    n = cost.n_points
    require(BYTES_PER_EDGE * n * k, f"the affinity of {k} neighbours of {n} points", GRAPH_REMEDY)
    return _nearest_among(cost.matrix, np.arange(n), k).graph(cost.n_threads)


def _nearest_among(matrix: Array, points: Array, k: int) -> Neighbors:
    """The k nearest neighbours of some points among themselves; few rows at a time, not to copy the matrix."""
    n = points.size
    indices, values = np.empty((n, k), dtype=np.intp), np.empty((n, k), dtype=matrix.dtype)
    for start in range(0, n, ROWS_AT_ONCE):
        block = slice(start, start + ROWS_AT_ONCE)
        rows = matrix[np.ix_(points[block], points)]
        np.fill_diagonal(rows[:, start:], np.inf)
        indices[block] = np.argsort(rows, axis=1, kind="stable")[:, :k]
        values[block] = np.take_along_axis(rows, indices[block], axis=1)
    return Neighbors(indices, values, 1.0, among=lambda some, k: _nearest_among(matrix, points[some], k))


def _nearest_of_graph(graph: GraphCost, k: int, *, exactly: bool) -> GraphCost:
    """The k nearest neighbours of each row; fewer are an error, as in scikit-learn, where k was asked for `exactly`."""
    degrees = graph.degrees
    if exactly and (fewest := int(degrees.min())) < k:
        raise ValueError(
            f"n_neighbors={k}, but row {degrees.argmin()} of the precomputed graph has {fewest} neighbours; lower "
            "n_neighbors, or pass None to use every edge."
        )
    row = np.repeat(np.arange(graph.n_points), degrees)
    by_cost = np.lexsort((graph.values, row))
    rank = np.arange(graph.n_pairs) - graph.indptr[row]
    kept = np.sort(by_cost[rank < k])
    indptr = np.concatenate([[0], np.cumsum(np.minimum(degrees, k))])
    return replace(graph, indptr=indptr, indices=graph.indices[kept], values=graph.values[kept])


def _array_of(values: Any, what: str) -> Array:
    try:
        return np.asarray(values)
    except ValueError:
        raise ValueError(f"the precomputed {what} have rows of different lengths; pad them or pass a graph.") from None


def _as_costs(values: Array) -> Array:
    if values.dtype.kind not in "biuf":
        raise ValueError(f"precomputed distances must be real numbers, got {values.dtype}; convert them to float.")
    return values.astype(np.float32 if np.can_cast(values.dtype, np.float32) else np.float64, copy=False)


def _given_graph(X: Any, n_threads: int) -> GraphCost:
    if isinstance(X, FoundNeighbors):
        return Neighbors(*X).graph(n_threads)
    graph = _graph_of_lists(X, n_threads) if isinstance(X, tuple) else _graph_of_matrix(X, n_threads)
    check_range(graph.values, graph.values, metric="precomputed")
    return graph


def _graph_of_lists(X: tuple[Any, ...], n_threads: int) -> GraphCost:
    if len(X) != 2:
        raise ValueError(f"a precomputed tuple must be (indices, distances), got {len(X)} items.")
    indices, distances = _array_of(X[0], "indices"), _array_of(X[1], "distances")
    if indices.ndim != 2 or indices.shape != distances.shape:
        raise ValueError(
            "a precomputed pair (indices, distances) needs two arrays of one shape (n, k), "
            f"got {indices.shape} and {distances.shape}."
        )
    n, k = indices.shape
    if indices.size and not np.issubdtype(indices.dtype, np.integer):
        raise ValueError(f"precomputed neighbour indices must be whole numbers, got {indices.dtype}.")
    if indices.min(initial=0) < 0 or indices.max(initial=0) >= n:
        raise ValueError(
            f"precomputed neighbour indices must lie in 0 ... {n - 1}, got {indices.min()} to {indices.max()}."
        )
    indptr = k * np.arange(n + 1)
    return _graph(indptr, indices.ravel(), _as_costs(distances).ravel(), n_threads)


def _graph_of_matrix(X: Any, n_threads: int) -> GraphCost:
    if X.shape[0] != X.shape[1]:
        raise ValueError(f"a precomputed neighbour graph must be square, X has shape {X.shape}.")
    X = sparse.csr_matrix(X)
    return _graph(X.indptr, X.indices, _as_costs(X.data), n_threads)


def _graph(indptr: Array, indices: Array, values: Array, n_threads: int) -> GraphCost:
    """A neighbour graph from compressed rows, checked, without its diagonal."""
    n = indptr.size - 1
    if n < 2:
        raise ValueError(f"the precomputed graph has {n} points: an affinity needs at least 2.")
    if not (good := np.isfinite(values) & (values >= 0.0)).all():
        raise ValueError(
            f"the precomputed graph has a distance of {values[~good][0]}: NaN, infinite and negative ones "
            "mean nothing; drop these edges."
        )
    n_edges = values.size
    require(BYTES_PER_EDGE * n_edges, f"the affinity of a graph of {n_edges} edges", "pass a graph with fewer")
    row = np.repeat(np.arange(n), np.diff(indptr))
    other = row != indices
    degrees = np.bincount(row[other], minlength=n)
    isolated = np.flatnonzero(degrees == 0)
    if isolated.size:
        raise ValueError(
            f"the precomputed graph has {isolated.size} isolated points (rows {_few(isolated)}); "
            "give every point at least one neighbour, or leave these points out."
        )
    row, indices, values = row[other], indices[other].astype(np.int64), values[other]
    key = row * n + indices
    order = np.argsort(key, kind="stable")
    first = order[np.concatenate([[True], np.diff(key[order]) > 0])]  # a neighbour listed twice counts once
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row[first], minlength=n))])
    return GraphCost(indptr, indices[first], values[first], n_threads)


def _few(rows: Array) -> str:
    return ", ".join(map(str, rows[:5])) + (", ..." if rows.size > 5 else "")
