"""Distance metrics: which there are, and how squared Euclidean distances give some of them."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..errors import InputError

Array: TypeAlias = NDArray[Any]  # of float64, or of float32 if the input is

# Metrics that squared differences give: "minkowski" has order 2, and "nan_euclidean" meets no NaN here.
DIRECT_METRICS = ("sqeuclidean", "euclidean", "l2", "minkowski", "nan_euclidean", "cosine")
SCALED_METRICS = ("seuclidean", "mahalanobis")  # they take their scales from the data


def check_metric(metric: Any) -> None:
    """Raise if scikit-learn knows no such metric."""
    if isinstance(metric, str) and metric in (*DIRECT_METRICS, "precomputed"):
        return
    from sklearn.neighbors import VALID_METRICS  # imported here and below: it takes time to load

    known = sorted({*VALID_METRICS["brute"], "sqeuclidean", "precomputed"})
    if not isinstance(metric, str) or metric not in known:
        raise InputError(f"metric must be one of {', '.join(known)}; got {metric!r}.")


def unit_rows(X: Array) -> Array:
    """Scale the rows of X to norm one; on them, the cosine distance is half the squared Euclidean one."""
    largest = np.abs(X).max(axis=1, keepdims=True)
    if not largest.all():
        raise InputError(
            f"row {np.flatnonzero(largest == 0)[0]} of X is zero, where metric='cosine' is undefined; drop it."
        )
    X = X / largest  # the squares of what is left neither overflow nor vanish
    return np.asarray(X / np.linalg.norm(X, axis=1, keepdims=True))


def from_squared(squared: Array, metric: str) -> Array:
    """Turn squared Euclidean distances into one of the DIRECT_METRICS, in place."""
    if metric == "cosine":
        squared /= 2
    elif metric != "sqeuclidean":
        np.sqrt(squared, out=squared)
    return squared


def whitened(X: Any, metric: str) -> tuple[Any, str]:
    """Replace a metric with scales of its own by the Euclidean one, on points that are scaled accordingly.

    Other metrics are returned as they are. The scales are those of all of X, whatever part of it is searched later.
    """
    if sparse.issparse(X):
        _check_sparse_metric(metric)
    if metric not in SCALED_METRICS:
        return X, metric
    constant = np.flatnonzero(X.max(axis=0) == X.min(axis=0))
    if constant.size:
        raise InputError(f"column {constant[0]} of X is constant, where metric={metric!r} is undefined; drop it.")
    points = (X - X.mean(axis=0, dtype=float)) / X.std(axis=0, dtype=float, ddof=1)
    if metric == "mahalanobis":
        covariance = np.atleast_2d(np.cov(points, rowvar=False))
        rank = np.linalg.matrix_rank(covariance, hermitian=True)
        if rank < X.shape[1]:
            raise InputError(
                f"metric='mahalanobis' needs a covariance of full rank; that of X has rank {rank} in {X.shape[1]} "
                "dimensions. Reduce X by PCA first."
            )
        points = np.linalg.solve(np.linalg.cholesky(covariance), points.T).T
    return points.astype(X.dtype, order="C"), "euclidean"


def scales_of(X: Any, metric: str) -> dict[str, Any] | None:
    """Return the scales that scikit-learn needs for a metric that takes them from the data."""
    if metric == "seuclidean":
        return {"V": np.var(X, axis=0, ddof=1, dtype=float)}
    if metric == "mahalanobis":
        return {"VI": np.linalg.inv(np.atleast_2d(np.cov(X, rowvar=False, dtype=float)))}
    return None


def _check_sparse_metric(metric: str) -> None:
    from sklearn.neighbors import VALID_METRICS_SPARSE

    known = sorted({*VALID_METRICS_SPARSE["brute"], "sqeuclidean"} - {"precomputed"})
    if metric not in known:
        raise InputError(
            f"metric={metric!r} does not support a sparse X, only {', '.join(known)} do; pass X.toarray()."
        )
