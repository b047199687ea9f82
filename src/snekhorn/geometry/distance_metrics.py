"""Check distance metrics, and derive some of them from squared Euclidean distances."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..errors import InputError, nearest_name, shown
from ..runtime.execution import Execution
from .row_products import row_products

Array: TypeAlias = NDArray[Any]  # float64, or float32 if the input is float32

# Metrics computed from squared differences: "minkowski" has order 2, and "nan_euclidean" never sees NaN here.
DIRECT_METRICS = ("sqeuclidean", "euclidean", "l2", "minkowski", "nan_euclidean", "cosine")
# Metrics in which columns with large values count more. The others compare ranks, signs or equal values, or scale the
# columns themselves.
UNIT_METRICS = (
    *DIRECT_METRICS,
    *("l1", "manhattan", "cityblock", "chebyshev", "braycurtis", "correlation"),
)
SAME_DIRECTION = 4.0  # units in the last place; rounding separates multiples of one row by no more
SMALLEST_DEVIATION = float(np.sqrt(np.finfo(float).tiny))  # the square of a smaller one loses digits
SCALED_METRICS = ("seuclidean", "mahalanobis")  # their scales are estimated from the data


def check_metric(metric: Any) -> None:
    """Raise if scikit-learn does not support the metric."""
    if isinstance(metric, str) and metric in (*DIRECT_METRICS, "precomputed"):
        return
    if not isinstance(metric, str):
        got = f"the function {metric.__name__!r}" if hasattr(metric, "__name__") else shown(metric)
        raise InputError(
            f"metric must be the name of a metric, such as 'sqeuclidean', got {got}; for other costs, compute those "
            "between all pairs of points, set metric='precomputed' and pass them as X."
        )
    from sklearn.neighbors import VALID_METRICS  # imported here and below because it is slow to load

    known = sorted({*VALID_METRICS["brute"], "sqeuclidean", "precomputed"})
    if metric not in known:
        near = nearest_name(metric, known)
        hint = f" Did you mean {near!r}?" if near else ""
        raise InputError(f"metric must be one of {', '.join(known)}; got {shown(metric)}.{hint}")


def unit_rows(X: Array) -> Array:
    """Scale the rows of X to unit norm; their cosine distance is then half the squared Euclidean distance."""
    check_directions(X)
    X = X / np.abs(X).max(axis=1, keepdims=True)  # so that squares neither overflow nor underflow
    return np.asarray(X / np.linalg.norm(X, axis=1, keepdims=True))


def check_directions(X: Any) -> None:
    """Raise if a row of X, dense or sparse, is zero, because it has no cosine."""
    zero = np.flatnonzero((X != 0.0).sum(axis=1) == 0)
    if zero.size:
        raise InputError(f"row {zero[0]} of X is zero, so metric='cosine' is undefined for it; drop it.")


def from_squared(squared: Array, metric: str) -> Array:
    """Convert squared Euclidean distances to one of the DIRECT_METRICS, in place."""
    if metric == "cosine":
        squared /= 2
    elif metric != "sqeuclidean":
        np.sqrt(squared, out=squared)
    return squared


def whitened(X: Any, metric: str, execution: Execution) -> tuple[Any, str]:
    """Replace a metric that has scales with the Euclidean metric on points that are scaled accordingly.

    Other metrics are returned unchanged. The scales are computed from all of X, whichever part is searched later.
    """
    if sparse.issparse(X):
        _check_sparse_metric(metric)
        if metric == "cosine":
            check_directions(X)
    if metric not in SCALED_METRICS:
        return X, metric
    return Whitening(X, metric).apply(X, execution), "euclidean"


class Whitening:
    """Scale points so that their Euclidean distances are those of one of the SCALED_METRICS.

    Parameters
    ----------
    X : array of shape (n, p)
        Points from which the scales are estimated.
    metric : {"seuclidean", "mahalanobis"}
    """

    def __init__(self, X: Array, metric: str) -> None:
        constant = np.flatnonzero(X.max(axis=0) == X.min(axis=0))
        if constant.size:
            raise InputError(
                f"column {constant[0]} of X is constant, so metric={metric!r} is undefined; drop the column."
            )
        with np.errstate(over="ignore", invalid="ignore"):
            self.mean, deviations = X.mean(axis=0, dtype=float), X.std(axis=0, dtype=float, ddof=1)
        _check_deviations(X, deviations, metric)
        self.dtype, self.deviations = X.dtype, deviations
        self.axes: Array | None = None
        if metric == "mahalanobis":
            covariance = np.atleast_2d(np.cov(self._standardized(X), rowvar=False))
            rank = np.linalg.matrix_rank(covariance, hermitian=True)
            if rank < X.shape[1]:
                raise InputError(
                    f"metric='mahalanobis' needs a covariance matrix of full rank, but X has rank {rank} in "
                    f"{X.shape[1]} dimensions; reduce X by PCA first."
                )
            self.axes = np.linalg.inv(np.linalg.cholesky(covariance))

    def apply(self, X: Array, execution: Execution) -> Array:
        """Return the whitened rows of X, each independent of the others."""
        points = self._standardized(X)
        if self.axes is not None:
            points = row_products(points, np.zeros(X.shape[1]), self.axes, execution)
        return points.astype(self.dtype, order="C")

    def _standardized(self, X: Array) -> Array:
        return np.asarray((X - self.mean) / self.deviations)


def _check_deviations(X: Array, deviations: Array, metric: str) -> None:
    """Raise if the squared differences behind a standard deviation overflow, or are too small to be precise."""
    out_of_range = ~((deviations > SMALLEST_DEVIATION) & (deviations < np.inf))
    if out_of_range.any():
        column = np.flatnonzero(out_of_range)[0]
        small = deviations[column] <= SMALLEST_DEVIATION
        raise InputError(
            f"column {column} of X has entries as large as {np.abs(X[:, column]).max():.3g} in absolute value, so "
            f"their squared differences {'underflow' if small else 'overflow'} for metric={metric!r}; scale the column "
            f"{'up' if small else 'down'}."
        )


def _check_sparse_metric(metric: str) -> None:
    from sklearn.neighbors import VALID_METRICS_SPARSE

    known = sorted({*VALID_METRICS_SPARSE["brute"], "sqeuclidean"} - {"precomputed"})
    if metric not in known:
        raise InputError(
            f"metric={metric!r} does not support sparse X; pass X.toarray(), or use one of {', '.join(known)}."
        )
