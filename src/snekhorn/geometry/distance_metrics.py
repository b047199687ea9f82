"""Check distance metrics, and derive some of them from squared Euclidean distances."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..errors import InputError

Array: TypeAlias = NDArray[Any]  # float64, or float32 if the input is float32

# Metrics computed from squared differences: "minkowski" has order 2, and "nan_euclidean" never sees NaN here.
DIRECT_METRICS = ("sqeuclidean", "euclidean", "l2", "minkowski", "nan_euclidean", "cosine")
SMALLEST_DEVIATION = float(np.sqrt(np.finfo(float).tiny))  # the square of a smaller one loses digits
SCALED_METRICS = ("seuclidean", "mahalanobis")  # their scales are estimated from the data


def check_metric(metric: Any) -> None:
    """Raise if scikit-learn does not support the metric."""
    if isinstance(metric, str) and metric in (*DIRECT_METRICS, "precomputed"):
        return
    from sklearn.neighbors import VALID_METRICS  # imported here and below because it is slow to load

    known = sorted({*VALID_METRICS["brute"], "sqeuclidean", "precomputed"})
    if not isinstance(metric, str) or metric not in known:
        raise InputError(f"metric must be one of {', '.join(known)}; got {metric!r}.")


def unit_rows(X: Array) -> Array:
    """Scale the rows of X to unit norm; their cosine distance is then half the squared Euclidean distance."""
    largest = np.abs(X).max(axis=1, keepdims=True)
    if not largest.all():
        raise InputError(
            f"row {np.flatnonzero(largest == 0)[0]} of X is zero, so metric='cosine' is undefined for it; drop it."
        )
    X = X / largest  # so that squares neither overflow nor underflow
    return np.asarray(X / np.linalg.norm(X, axis=1, keepdims=True))


def from_squared(squared: Array, metric: str) -> Array:
    """Convert squared Euclidean distances to one of the DIRECT_METRICS, in place."""
    if metric == "cosine":
        squared /= 2
    elif metric != "sqeuclidean":
        np.sqrt(squared, out=squared)
    return squared


def whitened(X: Any, metric: str) -> tuple[Any, str]:
    """Replace a metric that has scales with the Euclidean metric on points that are scaled accordingly.

    Other metrics are returned unchanged. The scales are computed from all of X, whichever part is searched later.
    """
    if sparse.issparse(X):
        _check_sparse_metric(metric)
    if metric not in SCALED_METRICS:
        return X, metric
    constant = np.flatnonzero(X.max(axis=0) == X.min(axis=0))
    if constant.size:
        raise InputError(f"column {constant[0]} of X is constant, so metric={metric!r} is undefined; drop the column.")
    with np.errstate(over="ignore", invalid="ignore"):
        mean, deviations = X.mean(axis=0, dtype=float), X.std(axis=0, dtype=float, ddof=1)
    _check_deviations(X, deviations, metric)
    points = (X - mean) / deviations
    if metric == "mahalanobis":
        covariance = np.atleast_2d(np.cov(points, rowvar=False))
        rank = np.linalg.matrix_rank(covariance, hermitian=True)
        if rank < X.shape[1]:
            raise InputError(
                f"metric='mahalanobis' needs a covariance matrix of full rank, but X has rank {rank} in {X.shape[1]} "
                "dimensions; reduce X by PCA first."
            )
        points = np.linalg.solve(np.linalg.cholesky(covariance), points.T).T
    return points.astype(X.dtype, order="C"), "euclidean"


def scales_of(X: Any, metric: str) -> dict[str, Any] | None:
    """Return the scales that scikit-learn needs for a metric whose scales are estimated from the data."""
    if metric == "seuclidean":
        return {"V": np.var(X, axis=0, ddof=1, dtype=float)}
    if metric == "mahalanobis":
        return {"VI": np.linalg.inv(np.atleast_2d(np.cov(X, rowvar=False, dtype=float)))}
    return None


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
