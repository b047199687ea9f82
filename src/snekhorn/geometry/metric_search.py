"""Compute distances with scikit-learn, for sparse points and for metrics other than Euclidean and cosine distances.

Rows are computed in blocks of a fixed size, each on one thread, so results do not depend on the number of threads.
Neighbours are selected from full rows of distances, by cost, then by index.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..errors import InputError
from ..runtime.execution import Execution, one_openmp_thread, run_in_blocks
from .distance_metrics import SAME_DIRECTION, Array

Indices: TypeAlias = NDArray[np.integer[Any]]

DISTANCES_AT_ONCE = 2**21  # per block; more take more memory per thread, fewer keep scikit-learn busy with its checks
MOST_ROWS = 256  # per block; with larger blocks, fewer threads are busy if there are few points


def all_distances(X: Any, metric: str, execution: Execution) -> Array:
    """Return the distances between all rows of X in the precision of X."""
    n = X.shape[0]
    out = np.empty((n, n), dtype=X.dtype)

    def fill(rows: slice) -> None:
        out[rows] = distances_between(X[rows], X, metric)

    run_in_blocks(execution, fill, n, MOST_ROWS, n * n)
    return out


def distances_between(A: Any, B: Any, metric: str) -> Array:
    """Return the distances between the rows of A and those of B; NaN where the metric is undefined."""
    from sklearn.metrics import pairwise_distances  # imported here because it is slow to load

    squared = metric == "sqeuclidean"
    with one_openmp_thread(), np.errstate(over="ignore", invalid="ignore"):  # callers find distances that overflow
        try:
            found: Array = pairwise_distances(A, B, metric="euclidean" if squared else metric)
        except (TypeError, ValueError) as error:  # some metrics need data of a certain kind
            raise InputError(
                f"metric={metric!r} cannot be computed for points with {A.shape[1]} features ({error}); choose another "
                "metric, or other features."
            ) from error
        if squared:
            found = np.square(found)
    if metric == "cosine":
        found[found <= SAME_DIRECTION * np.finfo(found.dtype).eps] = 0.0
    return np.maximum(found, 0.0, out=found)  # rounding makes some metrics slightly negative


def nearest_rows(X: Any, queries: Any, k: int, metric: str, execution: Execution) -> tuple[Indices, Array]:
    """Return indices and costs (m, k) of the rows of X nearest to each query, nearest first, then by index.

    With queries=None, every row is a query, and is not its own neighbour. Undefined costs come last and are NaN.
    """
    own = queries is None
    new = X if own else queries
    m, n = new.shape[0], X.shape[0]
    indices, costs = np.empty((m, k), dtype=np.int64), np.empty((m, k))

    def search(rows: slice) -> None:
        found = distances_between(new[rows], X, metric)
        if own:
            found[np.arange(len(found)), np.arange(rows.start, rows.stop)] = np.nan
        for i, row in enumerate(found, rows.start):
            last = np.partition(row, k - 1)[k - 1]  # NaN sorts behind all numbers
            near = np.flatnonzero(~(row > last))
            indices[i] = near[np.argsort(row[near], kind="stable")[:k]]
            costs[i] = row[indices[i]]

    run_in_blocks(execution, search, m, min(MOST_ROWS, max(1, DISTANCES_AT_ONCE // n)), m * n)
    return indices, costs


class FirstEqualRow:
    """Find the first of the rows of X that equals a query; metrics may round the distance between equal rows.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, p)
    """

    def __init__(self, X: Any) -> None:
        self.first: dict[bytes, int] = {}
        for i, key in enumerate(_keys(X)):
            self.first.setdefault(key, i)

    def __call__(self, queries: Any) -> NDArray[np.int64]:
        """Return the index of the first equal row for every query, or -1."""
        return np.array([self.first.get(key, -1) for key in _keys(queries)])


def _keys(X: Any) -> list[bytes]:
    """Return a key for each row; equal rows, of either precision, have equal keys."""
    if sparse.issparse(X):
        X = sparse.csr_matrix(X, dtype=float, copy=True)
        X.sum_duplicates()
        X.eliminate_zeros()
        where, values = X.indices.astype(np.int64), X.data
        return [where[a:b].tobytes() + values[a:b].tobytes() for a, b in zip(X.indptr, X.indptr[1:], strict=False)]
    return [row.tobytes() for row in np.asarray(X, dtype=float, order="C") + 0.0]  # adding 0 turns -0 into 0
