"""From what the user hands in to costs: a full matrix, or a neighbour graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import VALID_METRICS

from .costs import DenseCost, GraphCost, symmetrize_in_place
from .kernels.distances import dense_squared_distances
from .kernels.threads import run_rows
from .memory import require
from .neighbors import DIRECT, Neighbors, find_neighbors, from_squared, unit_rows
from .validation import check_cost_matrix, check_count, check_points, check_range

NEIGHBORS_PER_PERPLEXITY = 3


def build_cost(
    X: Any, *, metric: str, n_neighbors: int | str | None, perplexity: float, n_threads: int
) -> DenseCost | GraphCost:
    """Costs between the points of X.

    X is an array of features; with metric="precomputed" it is a full cost matrix, a sparse neighbour
    graph as `KNeighborsTransformer` writes it, or a pair (indices, distances).
    """
    if metric == "precomputed":
        if isinstance(X, tuple):
            return _graph_of_lists(X, n_threads)
        if sparse.issparse(X):
            return _graph_of_matrix(X, n_threads)
        cost = DenseCost(check_cost_matrix(X), n_threads)
        k = count_neighbors(n_neighbors, cost.n_points, perplexity)
        return cost if k is None else _nearest_of_matrix(cost, k)
    check_metric(metric)
    if isinstance(X, tuple):
        raise ValueError(f"X is a tuple, (indices, distances) needs metric='precomputed'; got metric={metric!r}.")
    X = check_points(X)
    k = count_neighbors(n_neighbors, X.shape[0], perplexity)
    if k is None:
        cost = DenseCost(_dense(X, metric, n_threads), n_threads)
        check_range(cost.matrix, X)
        return cost
    graph = find_neighbors(X, k, metric, n_threads).graph(n_threads)
    check_range(graph.values, X)
    return graph


def count_neighbors(n_neighbors: int | str | None, n: int, perplexity: float) -> int | None:
    """Number of neighbours asked for, None for the full matrix."""
    if n_neighbors is None:
        return None
    if isinstance(n_neighbors, str):
        if n_neighbors != "auto":
            raise ValueError(f"n_neighbors must be None, 'auto' or a whole number, got {n_neighbors!r}.")
        return min(n - 1, int(np.ceil(NEIGHBORS_PER_PERPLEXITY * perplexity)))
    return min(n - 1, check_count(n_neighbors, "n_neighbors"))


def check_metric(metric: Any) -> None:
    known = sorted({*VALID_METRICS["brute"], "sqeuclidean", "precomputed"})
    if not isinstance(metric, str) or metric not in known:
        raise ValueError(f"metric must be one of {', '.join(known)}; got {metric!r}.")


def _dense(X, metric, n_threads):
    n = X.shape[0]
    remedy = "set n_neighbors='auto' for a sparse affinity, whose memory grows with n only"
    require(2.0 * n * n * X.dtype.itemsize, f"a full {n} x {n} cost matrix and its affinity", remedy)
    if metric in DIRECT and not sparse.issparse(X):
        out = np.empty((n, n), dtype=X.dtype)
        points = np.ascontiguousarray(unit_rows(X) if metric == "cosine" else X)
        run_rows(dense_squared_distances, (n + 1) // 2, n * n, n_threads, points, out)
        return from_squared(out, metric)
    squared = metric == "sqeuclidean"
    out = pairwise_distances(X, metric="euclidean" if squared else metric, n_jobs=n_threads)
    if squared:
        np.square(out, out=out)
    out = symmetrize_in_place(out.astype(X.dtype, copy=False))  # rounding leaves some metrics slightly asymmetric
    np.maximum(out, 0.0, out=out)  # or negative
    np.fill_diagonal(out, 0.0)
    return out


def _nearest_of_matrix(cost, k):
    matrix = cost.matrix.copy()
    np.fill_diagonal(matrix, np.inf)
    indices = np.argsort(matrix, axis=1, kind="stable")[:, :k]
    return Neighbors(indices, np.take_along_axis(matrix, indices, 1), 1.0).graph(cost.n_threads)


def _graph_of_lists(X, n_threads):
    if len(X) != 2:
        raise ValueError(f"a precomputed tuple must be (indices, distances), got {len(X)} items.")
    indices, distances = np.asarray(X[0]), np.asarray(X[1])
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
    distances = np.asarray(distances, dtype=np.result_type(distances, np.float32))
    return _graph(indptr, indices.ravel(), distances.ravel(), n_threads)


def _graph_of_matrix(X, n_threads):
    if X.shape[0] != X.shape[1]:
        raise ValueError(f"a precomputed neighbour graph must be square, X has shape {X.shape}.")
    X = sparse.csr_matrix(X)
    values = np.asarray(X.data, dtype=np.result_type(X.data, np.float32))
    return _graph(X.indptr, X.indices, values, n_threads)


def _graph(indptr, indices, values, n_threads):
    """A neighbour graph from compressed rows, checked, without its diagonal."""
    n = indptr.size - 1
    if n < 2:
        raise ValueError(f"the precomputed graph has {n} points: an affinity needs at least 2.")
    if not (good := np.isfinite(values) & (values >= 0.0)).all():
        raise ValueError(
            f"the precomputed graph has a distance of {values[~good][0]}: NaN, infinite and negative ones "
            "mean nothing; drop these edges."
        )
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


def _few(rows):
    return ", ".join(map(str, rows[:5])) + (", ..." if rows.size > 5 else "")
