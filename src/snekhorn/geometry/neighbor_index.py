"""Nearest-neighbour index over the training data, for placing new points.

The result for a query does not depend on the other queries in the same batch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..errors import InputError
from ..runtime.execution import Execution, one_blas_thread
from .distance_metrics import DIRECT_METRICS, SCALED_METRICS, Array, Whitening, check_directions, from_squared
from .metric_search import FirstEqualRow, nearest_rows
from .point_search import Indices, PointSearch

EXACT_INDEX_LIMIT = 50_000  # points; finding clusters takes half a second, which pays off only above this


class NeighborIndex:
    """Index of the training points of a layout, to search for the ones nearest to new points.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, p)
        Input of the affinity. Not kept if `metric` is "precomputed", because new points then come with their costs.
    metric : str
        Cost between points.
    """

    def __init__(self, X: Any, metric: str) -> None:
        self.X: Any = None if metric == "precomputed" else X
        self.metric = metric
        self.dtype = np.dtype(getattr(X, "dtype", np.float64))
        self._whitening: Whitening | None = None
        self._search: PointSearch | None = None
        self._first_equal: FirstEqualRow | None = None

    @one_blas_thread()
    def query(self, X: Any, k: int, execution: Execution, first_row: int = 0) -> tuple[Indices, Array]:
        """Return indices and costs (m, k) of the nearest training points, nearest first, then by index.

        A query that equals training points has cost 0 to the first of them. `first_row` is the number of the first
        query in an error message.
        """
        if self.metric == "precomputed":
            return _nearest_costs(X, k)
        if sparse.issparse(X) != sparse.issparse(self.X):
            X = sparse.csr_matrix(X) if sparse.issparse(self.X) else X.toarray()
        if sparse.issparse(self.X) or self.metric not in (*DIRECT_METRICS, *SCALED_METRICS):
            indices, costs = self._query_metric(X, k, execution, first_row)
        else:
            indices, costs = self._query_points(X, k, execution)
        far = np.flatnonzero(np.isinf(costs).any(axis=1))
        if far.size:
            largest = abs(X[far[0]]).max()
            raise InputError(
                f"row {first_row + far[0]} of X has entries up to {largest:.3g}, whose costs to the points of the "
                "layout overflow; drop it, or check its units."
            )
        return indices, costs

    def outline(self, n: int) -> Any:
        """Return n points like the training points that take almost no memory, to estimate that of real ones."""
        zero, p = self.X.dtype.type(0), self.X.shape[1]
        if not sparse.issparse(self.X):
            return np.broadcast_to(zero, (n, p))
        n_values = self.X.nnz * n // self.X.shape[0]
        ends = np.arange(n + 1) * n_values // n
        column = sparse.get_index_dtype(maxval=max(n_values, p))(0)
        return sparse.csr_matrix((np.broadcast_to(zero, n_values), np.broadcast_to(column, n_values), ends), (n, p))

    def joined(self, X: Any) -> Any:
        """Return the training points and further points, in the type of the training points."""
        X = X.astype(self.dtype, copy=False)
        if sparse.issparse(self.X):
            return sparse.vstack([self.X, sparse.csr_matrix(X)], format="csr")
        return np.concatenate([self.X, X.toarray() if sparse.issparse(X) else X])

    def release_search(self) -> None:
        """Free the memory of the search; the next query prepares it again."""
        self._search = self._whitening = self._first_equal = None

    def check_queries(self, X: Any) -> None:
        """Raise if the metric is undefined for a query; done for all queries before the search in batches."""
        if self.metric == "cosine":
            check_directions(X)

    def _point_search(self, execution: Execution) -> PointSearch:
        """Return the search among the training points; whitened if the metric has scales."""
        if self._search is None:
            points, metric = self.X, self.metric
            if metric in SCALED_METRICS:
                self._whitening = Whitening(points, metric)
                points, metric = self._whitening.apply(points, execution), "euclidean"
            self._search = PointSearch(points, metric)
        return self._search

    def _query_points(self, X: Any, k: int, execution: Execution) -> tuple[Indices, Array]:
        """Search with squared Euclidean distances."""
        search = self._point_search(execution)
        with np.errstate(over="ignore"):  # the caller finds costs that overflow
            queries = search.prepared(X if self._whitening is None else self._whitening.apply(X, execution))
            find = search.exact if len(self.X) <= EXACT_INDEX_LIMIT else search.in_clusters
            indices, squared = find(queries, k, np.float64, execution)
        return indices, from_squared(squared, search.metric)

    def _query_metric(self, X: Any, k: int, execution: Execution, first_row: int) -> tuple[Indices, Array]:
        """Search with scikit-learn's metrics, which may round the distance between equal rows."""
        indices, costs = nearest_rows(self.X, X, k, self.metric, execution)
        if self.metric != "cosine":  # which has cost 0 for multiples of a row already
            if self._first_equal is None:
                self._first_equal = FirstEqualRow(self.X)
            _move_to_front(indices, costs, self._first_equal(X))
        undefined = np.flatnonzero(np.isnan(costs).any(axis=1))
        if undefined.size:
            raise InputError(
                f"metric={self.metric!r} is undefined for row {first_row + undefined[0]} of X; drop it or choose "
                "another metric."
            )
        return indices, costs

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_search": None, "_whitening": None, "_first_equal": None}  # rebuilt when needed


def _move_to_front(indices: Indices, costs: Array, first: Indices) -> None:
    """Put the point ``first[i]`` at the front of list i with cost 0, unless it is -1."""
    rows = np.flatnonzero(first >= 0)
    absent = rows[~(indices[rows] == first[rows, None]).any(axis=1)]
    indices[absent, -1] = first[absent]
    costs[rows] = np.where(indices[rows] == first[rows, None], -1.0, costs[rows])
    order = np.argsort(costs[rows], axis=1, kind="stable")
    indices[rows] = np.take_along_axis(indices[rows], order, axis=1)
    costs[rows] = np.maximum(np.take_along_axis(costs[rows], order, axis=1), 0.0)


def _nearest_costs(C: Any, k: int) -> tuple[Indices, Array]:
    """Return the indices and values of the k smallest costs of every row."""
    if sparse.issparse(C):
        raise InputError(
            "metric='precomputed' needs the costs from the new points to all points of the layout, but got a sparse "
            f"{type(C).__name__}; pass a dense array of shape (new points, points of the layout)."
        )
    if (lowest := float(C.min())) < 0.0:
        raise InputError(
            f"the precomputed costs X have negative entries (smallest {lowest:.3g}); pass distances, not similarities."
        )
    order = np.argsort(C, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(C, order, 1).astype(float)
