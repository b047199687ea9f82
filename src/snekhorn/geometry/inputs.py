"""Check the arrays that users hand in; every error names the input, the value received and the remedy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array, column_or_1d

ROWS_AT_ONCE = 256
# Metrics that grow with the unit of X and tell all points apart: zero between different rows has underflowed.
WITH_UNITS = (
    *("sqeuclidean", "euclidean", "l2", "nan_euclidean"),
    *("l1", "manhattan", "cityblock", "minkowski", "chebyshev"),
)


def check_points(X: Any, *, name: str = "X") -> Any:
    """X as a two-dimensional float array (float32 stays float32) or CSR matrix, finite, of two rows or more."""
    X = check_array(
        X,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        ensure_all_finite=False,
        ensure_min_samples=0,
        ensure_min_features=0,
        input_name=name,
    )
    n, p = X.shape
    if n < 2 or p < 1:
        raise ValueError(f"{name} has shape {n} x {p}: at least 2 points (rows) and 1 feature are needed.")
    check_finite(X, name)
    return X


def check_finite(X: Any, name: str) -> None:
    """Raise where X, dense or sparse, has an entry that is not a finite number."""
    values = X.data[None] if sparse.issparse(X) else X
    for start in range(0, values.shape[0], ROWS_AT_ONCE):
        block = values[start : start + ROWS_AT_ONCE]
        if not np.isfinite(block).all():
            row, column = np.argwhere(~np.isfinite(block))[0]
            where = "" if sparse.issparse(X) else f" at row {start + row}, column {column}"
            raise ValueError(
                f"{name} contains {block[row, column]}{where}; NaN and infinite values have no distance: "
                "drop these rows or impute them."
            )


def check_cost_matrix(C: Any) -> NDArray[np.floating[Any]]:
    """C as a full cost matrix: square, finite, non-negative, symmetric, with zero diagonal."""
    C = check_points(C, name="the precomputed cost matrix X")
    if C.shape[0] != C.shape[1]:
        raise ValueError(
            f"metric='precomputed' needs a square cost matrix, X has shape {C.shape}; "
            "pass the pairwise distances, or another metric for raw features."
        )
    if (lowest := float(C.min())) < 0.0:
        raise ValueError(
            f"the precomputed cost matrix X has negative entries (smallest {lowest:.3g}); "
            "costs are non-negative: pass distances, not similarities."
        )
    if (diagonal := float(np.abs(np.diag(C)).max())) > 0.0:
        raise ValueError(
            f"the precomputed cost matrix X has a non-zero diagonal (largest {diagonal:.3g}); "
            "the cost of a point to itself is 0: use numpy.fill_diagonal(X, 0)."
        )
    worst = _asymmetry(C)
    if worst > float(C.max()) * (1e-5 if C.dtype == np.float32 else 1e-10):
        raise ValueError(
            f"the precomputed cost matrix X is not symmetric (largest difference {worst:.3g}); "
            "use (X + X.T) / 2 if that is what you mean."
        )
    return _mean_with_transpose(C) if worst else C


def _asymmetry(C: Any) -> float:
    """Largest difference of C, dense or sparse, from its transpose; a block of rows at a time."""
    if sparse.issparse(C):
        return float(abs(C - C.T).max())
    blocks = (slice(start, start + ROWS_AT_ONCE) for start in range(0, C.shape[0], ROWS_AT_ONCE))
    return max(float(np.abs(C[block] - C[:, block].T).max()) for block in blocks)


def _mean_with_transpose(C: NDArray[Any]) -> NDArray[Any]:
    out = np.empty_like(C)
    for start in range(0, C.shape[0], ROWS_AT_ONCE):
        block = slice(start, start + ROWS_AT_ONCE)
        out[block] = (C[block] + C[:, block].T) / 2
    return out


def check_range(costs: NDArray[Any], X: Any, *, metric: str, near: NDArray[Any] | None = None, name: str = "X") -> None:
    """Costs that the metric defines, within the range of their type: neither overflowed nor all but vanished.

    Costs have a row for every point. `near` has, beside every cost, the point to which it is; None where every
    point is compared with all.
    """
    limits = np.finfo(costs.dtype)
    largest = float(costs.max())
    if not largest < limits.max:
        extreme = float(abs(X).max())
        if np.isnan(largest) and extreme < np.sqrt(limits.max / X.shape[1]):  # no sum of squares has overflowed
            row = np.isnan(costs).sum(axis=1).argmax()
            raise ValueError(
                f"metric={metric!r} is undefined for row {row} of {name}; drop it or choose another metric."
            )
        raise ValueError(
            f"{name} has entries up to {extreme:.3g}, whose costs overflow {costs.dtype}; scale {name} down."
        )
    # Zeros are right between duplicates, and for metrics that know no unit.
    if largest < limits.tiny / limits.eps and (largest > 0.0 or (metric in WITH_UNITS and _differ(X, near))):
        raise ValueError(f"the costs of {name}, at most {largest:.3g}, underflow {costs.dtype}; scale {name} up.")


def _differ(X: Any, near: NDArray[Any] | None) -> bool:
    """Whether any row of X is not that of a point near it; of any point, where `near` is None."""
    if near is None:
        return bool(abs(X.max(axis=0) - X.min(axis=0)).max() > 0.0)
    return any(abs(X - X[others]).max() > 0.0 for others in near.T)


def check_classes(y: Any, n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Classes as numbers from 0, and how many points each has."""
    y = column_or_1d(y)
    if y.size != n:
        raise ValueError(f"y has {y.size} classes for {n} points; pass one class a point.")
    try:
        missing = bool((y != y).any())
        _, labels, sizes = np.unique(y, return_inverse=True, return_counts=True)
    except TypeError:  # None or pandas.NA among strings, or strings among numbers
        missing = True
    if missing:
        raise ValueError(
            "y has missing classes, or mixes numbers and strings; drop these points, or use y.astype(str)."
        )
    return labels, sizes


def check_affinity_matrix(P: Any, *, symmetric: bool) -> Any:
    """P as a square, finite, non-negative matrix, dense or CSR, with some mass, symmetric if it must be."""
    P = check_points(P, name="the precomputed affinity X")
    if P.shape[0] != P.shape[1]:
        raise ValueError(f"affinity='precomputed' needs a square matrix, X has shape {P.shape}; pass P itself.")
    if (lowest := float(P.min())) < 0.0:
        raise ValueError(f"the precomputed affinity X has negative entries (smallest {lowest:.3g}); they must be >= 0.")
    check_no_empty_row(P)
    if symmetric and (worst := _asymmetry(P)) > 1e-5 * float(P.max()):
        raise ValueError(
            f"the precomputed affinity X is not symmetric (largest difference {worst:.3g}), which this method needs; "
            "use (X + X.T) / 2 if that is what you mean."
        )
    return P


def check_no_empty_row(P: Any) -> None:
    """Raise where a point has affinity to none."""
    if (empty := np.flatnonzero(np.asarray(P.sum(axis=1)).ravel() == 0.0)).size:
        raise ValueError(f"row {empty[0]} of the affinity is zero; leave out points without neighbours.")


def check_layout(init: Any, shape: tuple[int, int]) -> NDArray[np.floating[Any]]:
    """init as a finite float array of the shape that the layout will have."""
    try:
        Z = np.array(init, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"init is no array of numbers ({error}); pass one of shape {shape}.") from error
    if Z.shape != shape:
        raise ValueError(f"init has shape {Z.shape}, the layout will have {shape}: pass an array of that shape.")
    if not np.isfinite(Z).all():
        raise ValueError(f"init contains {Z[~np.isfinite(Z)][0]}; a start must be finite.")
    if len(Z) > 2 and not np.ptp(Z, axis=0).any():
        raise ValueError("init has all points in one place, where no force moves them; add some noise.")
    return Z
