"""Training data kept for later questions: the nearest training points of new ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..kernels.squared_distances import squared_distances_to
from ..runtime.execution import run_rows
from .costs import Array
from .neighbor_search import DIRECT, Index, from_squared, unit_rows

SPARE = 8  # candidates beyond the neighbours asked for: float32 may confuse the order of the last ones


class Reference:
    """The points of a layout. Every answer depends on the question alone, not on those asked with it.

    Parameters
    ----------
    X : what an affinity was computed of
    metric : str
    """

    def __init__(self, X: Any, metric: str) -> None:
        self.X: Any = None if metric == "precomputed" else X
        self.metric = metric
        self.dtype = np.dtype(getattr(X, "dtype", np.float64))
        self._index: Index | None = None

    def query(self, X: Any, k: int, n_threads: int) -> tuple[NDArray[np.integer[Any]], Array]:
        """Indices and costs (m, k) of the nearest points of the layout, nearest first, then by index."""
        if self.metric == "precomputed":
            return _nearest_costs(X, k)
        if sparse.issparse(X) != sparse.issparse(self.X):
            X = sparse.csr_matrix(X) if sparse.issparse(self.X) else X.toarray()
        if sparse.issparse(self.X) or self.metric not in DIRECT:
            return self._query_sklearn(X, k, n_threads)
        index, new = self._index_for(k, n_threads), np.ascontiguousarray(X)  # sums of a row round by its layout
        if self.metric == "cosine":
            new = unit_rows(new)
        found = index.search(new, n_threads)
        squared = np.empty(found.shape)
        run_rows(_squared_distances, len(new), found.size, n_threads, index.X, new, found, squared)
        indices, squared = _sorted(found, squared)
        return indices[:, :k], from_squared(np.ascontiguousarray(squared[:, :k]), self.metric)

    def _index_for(self, k: int, n_threads: int) -> Index:
        """The index for k neighbours: one tuned for another number would answer differently."""
        n_candidates = min(k + SPARE, len(self.X))
        if self._index is None or self._index.k != n_candidates:
            points = np.ascontiguousarray(unit_rows(self.X) if self.metric == "cosine" else self.X)
            self._index = Index(points, n_candidates, n_threads)
        return self._index

    def _query_sklearn(self, X: Any, k: int, n_threads: int) -> tuple[Array, Array]:
        from sklearn.neighbors import NearestNeighbors

        squared = self.metric == "sqeuclidean"
        search = NearestNeighbors(
            n_neighbors=k,
            metric="euclidean" if squared else self.metric,
            metric_params=self._scales(),
            n_jobs=None if self.metric == "mahalanobis" else n_threads,  # other threads would not know of errstate
        )
        with np.errstate(invalid="ignore"):  # rounding may leave the root of a negative number at distance zero
            costs, indices = search.fit(self.X).kneighbors(X)
        costs = np.nan_to_num(costs)
        costs = costs.astype(float) ** (2 if squared else 1)
        for column in range(min(k, SPARE)):  # some metrics round the distance of a point to itself
            costs[_equal_rows(self.X[indices[:, column]], X), column] = 0.0
        return _sorted(indices, costs)

    def _scales(self) -> dict[str, Any] | None:
        """Of the metrics that have some: those of the training data."""
        if self.metric == "seuclidean":
            return {"V": np.var(self.X, axis=0, ddof=1, dtype=float)}
        if self.metric == "mahalanobis":
            return {"VI": np.linalg.inv(np.atleast_2d(np.cov(self.X, rowvar=False, dtype=float)))}
        return None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_index": None}  # made again when needed


def _nearest_costs(C: Any, k: int) -> tuple[Array, Array]:
    """The k smallest of every row of costs, and where they are."""
    if sparse.issparse(C):
        raise ValueError(
            "metric='precomputed' places new points by their costs to all points of the layout; "
            f"pass a dense array of shape (m, n), got {type(C).__name__}."
        )
    if (lowest := float(C.min())) < 0.0:
        raise ValueError(
            f"the precomputed costs X have negative entries (smallest {lowest:.3g}); "
            "costs are non-negative: pass distances, not similarities."
        )
    order = np.argsort(C, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(C, order, 1).astype(float)


def _squared_distances(start: int, stop: int, own: Array, new: Array, found: Array, out: Array) -> None:
    squared_distances_to(own, new, np.arange(start, stop), found[start:stop], out[start:stop])


def _equal_rows(A: Any, B: Any) -> NDArray[np.bool_]:
    differs = A != B
    if sparse.issparse(differs):
        return np.diff(sparse.csr_matrix(differs).indptr) == 0
    return ~differs.any(axis=1)


def _sorted(indices: Array, costs: Array) -> tuple[Array, Array]:
    order = np.lexsort((indices, costs), axis=1)
    return np.take_along_axis(indices, order, 1), np.take_along_axis(costs, order, 1)
