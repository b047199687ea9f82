"""Nearest-neighbour index over the training data, for placing new points.

The result for a query does not depend on the other queries in the same batch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..errors import InputError, reported_as_input_errors
from ..kernels.squared_distances import squared_distances_to
from ..runtime.execution import Execution
from .distance_metrics import DIRECT_METRICS, Array, from_squared, scales_of, unit_rows
from .neighbor_search import Indices, exact_index, faiss_row_by_row, faiss_threads, frame_of, in_frame, inverted_index

SPARE = 8  # extra candidates per query, because float32 may misorder the last ones; more take longer
EXACT_LIMIT = 50_000  # points; building an inverted file takes a second, which pays off only above this
FARTHEST = 1e12  # in half-widths of the data from its centre; queries farther away would overflow float32
RESOLVED = 2.0**-14  # relative to the norm; float32 rounds at 2^-24, so longer distances are accurate to a thousandth


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
        self._candidates: _CandidateIndex | None = None

    def query(self, X: Any, k: int, execution: Execution) -> tuple[Indices, Array]:
        """Return indices and costs (m, k) of the nearest training points, nearest first, then by index."""
        if self.metric == "precomputed":
            return _nearest_costs(X, k)
        if sparse.issparse(X) != sparse.issparse(self.X):
            X = sparse.csr_matrix(X) if sparse.issparse(self.X) else X.toarray()
        if sparse.issparse(self.X) or self.metric not in DIRECT_METRICS:
            return self._query_sklearn(X, k, execution)
        index, new = self._candidate_index(k, execution), np.ascontiguousarray(X)  # memory order affects rounding
        if self.metric == "cosine":
            new = unit_rows(new)
        found = index.search(new, execution)
        squared = np.empty(found.shape)
        execution.run(_squared_distances, len(new), found.size, index.X, new, found, squared)
        indices, squared = _sorted_by_cost(found, squared)
        return indices[:, :k], from_squared(np.ascontiguousarray(squared[:, :k]), self.metric)

    def check_queries(self, X: Any) -> None:
        """Raise if the metric is undefined for a query; done for all queries before the search in batches."""
        if self.metric != "cosine" or sparse.issparse(self.X):
            return
        largest = abs(X).max(axis=1).toarray() if sparse.issparse(X) else X.any(axis=1)
        zero = np.flatnonzero(largest == 0)
        if zero.size:
            raise InputError(f"row {zero[0]} of X is zero, so metric='cosine' is undefined for it; drop it.")

    def _candidate_index(self, k: int, execution: Execution) -> _CandidateIndex:
        """Return the index for k neighbours; an index tuned for another k would give different results."""
        n_candidates = min(k + SPARE, len(self.X))
        if self._candidates is None or self._candidates.k != n_candidates:
            points = np.ascontiguousarray(unit_rows(self.X) if self.metric == "cosine" else self.X)
            self._candidates = _CandidateIndex(points, n_candidates, execution)
        return self._candidates

    def _query_sklearn(self, X: Any, k: int, execution: Execution) -> tuple[Indices, Array]:
        from sklearn.neighbors import NearestNeighbors

        squared = self.metric == "sqeuclidean"
        search = NearestNeighbors(
            n_neighbors=k,
            metric="euclidean" if squared else self.metric,
            metric_params=scales_of(self.X, self.metric),
            # The errstate below does not apply to other threads.
            n_jobs=None if self.metric == "mahalanobis" else execution.n_threads,
        )
        # At distance zero, rounding may lead to the root of a negative number.
        with reported_as_input_errors(), np.errstate(invalid="ignore"):
            costs, indices = search.fit(self.X).kneighbors(X)
        costs = np.nan_to_num(costs)
        costs = costs.astype(float) ** (2 if squared else 1)
        for column in range(min(k, SPARE)):  # some metrics round the distance from a point to itself
            costs[_equal_rows(self.X[indices[:, column]], X), column] = 0.0
        return _sorted_by_cost(indices, costs)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_candidates": None}  # rebuilt when needed


class _CandidateIndex:
    """Faiss index that finds k candidates for each query.

    faiss works in float32. Queries with too few candidates, or whose last candidate is closer than float32 can
    resolve, are searched again by direct differences in float64, so a training point always finds itself.
    """

    def __init__(self, X: Array, k: int, execution: Execution) -> None:
        self.X, self.k = X, k
        self.centre, self.scale = frame_of(X)
        with faiss_threads(execution) as faiss:
            points = in_frame(X, self.centre, self.scale)
            exact = len(X) <= EXACT_LIMIT
            self.index = exact_index(faiss, points) if exact else inverted_index(faiss, points, k - 1)

    def search(self, queries: Array, execution: Execution) -> Indices:
        """Return indices (m, k) of the nearest points, accurate to a thousandth of the distance, in any order."""
        reach = FARTHEST * self.scale
        points = in_frame(np.clip(queries, self.centre - reach, self.centre + reach), self.centre, self.scale)
        with faiss_threads(execution) as faiss, faiss_row_by_row(faiss):
            squared, found = self.index.search(points, self.k)
        short = (found < 0).any(axis=1)  # the probed lists held fewer than k points
        blurred = np.sqrt(squared[:, -1]) <= RESOLVED * np.linalg.norm(points, axis=1)
        again = np.flatnonzero(short | blurred)
        if again.size:
            found[again] = self._search_by_differences(queries[again], execution)
        nearest: Indices = found
        return nearest

    def _search_by_differences(self, queries: Array, execution: Execution) -> Indices:
        """Search by brute force; identical queries, such as blank rows, are searched once."""
        different, which = np.unique(queries, axis=0, return_inverse=True)
        found = np.empty((len(different), self.k), dtype=np.int64)
        execution.run(_nearest_by_differences, len(found), len(found) * len(self.X), self.X, different, found)
        return found[which.ravel()]


def _nearest_by_differences(start: int, stop: int, X: Array, queries: Array, found: Array) -> None:
    """Find the points nearest to these queries; ties go to the lower index."""
    everyone = np.arange(len(X))[None]
    k = found.shape[1]
    squared = np.empty(everyone.shape)
    for row in range(start, stop):
        squared_distances_to(X, queries, np.array([row]), everyone, squared)
        near = np.flatnonzero(squared[0] <= np.partition(squared[0], k - 1)[k - 1])
        found[row] = near[np.argsort(squared[0, near], kind="stable")[:k]]


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


def _squared_distances(start: int, stop: int, own: Array, new: Array, found: Array, out: Array) -> None:
    squared_distances_to(own, new, np.arange(start, stop), found[start:stop], out[start:stop])


def _equal_rows(A: Any, B: Any) -> NDArray[np.bool_]:
    differs = A != B
    if sparse.issparse(differs):
        return np.asarray(np.diff(sparse.csr_matrix(differs).indptr) == 0)
    return np.asarray(~differs.any(axis=1))


def _sorted_by_cost(indices: Indices, costs: Array) -> tuple[Indices, Array]:
    order = np.lexsort((indices, costs), axis=1)
    return np.take_along_axis(indices, order, 1), np.take_along_axis(costs, order, 1)
