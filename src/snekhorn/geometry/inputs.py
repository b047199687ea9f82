"""Check user-supplied arrays; every error names the input, the value received and the remedy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.validation import check_is_fitted

from ..errors import InputError, reported_as_input_errors
from ..runtime.user_warnings import warn
from .unreadable_points import check_no_mask, is_frame, not_finite, place_of, reading

MATRIX_ROWS_AT_ONCE = 256  # of a full matrix; a temporary copy of all rows would double the memory
FEWEST_TRIANGLES = 10  # points; among fewer, affinities may satisfy the triangle inequality by chance
LEAST_RANGE = 4.0  # ratio of the largest to the smallest distance; below 2, every matrix satisfies the inequality
# Metrics that scale with X and are positive for distinct points: a zero between distinct rows is an underflow.
WITH_UNITS = (
    *("sqeuclidean", "euclidean", "l2", "nan_euclidean"),
    *("l1", "manhattan", "cityblock", "minkowski", "chebyshev"),
)


class UnfittedError(NotFittedError, InputError):  # type: ignore[misc]
    """Use of an estimator before `fit`."""


def check_fitted(model: Any) -> None:
    """Raise unless `fit` of the estimator has been called."""
    try:
        check_is_fitted(model)
    except NotFittedError as error:
        raise UnfittedError(str(error)) from error


def check_points(X: Any, *, name: str = "X") -> Any:
    """Return X as a finite 2-D float array or CSR matrix with at least two rows; float32 stays float32."""
    frame = X if is_frame(X) else None
    with reading(X, name):
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
        raise InputError(f"{name} has shape {n} x {p}; pass at least 2 points (rows) and 1 feature.")
    return check_finite(X, name, frame=frame)


def as_array(values: Any, name: str, *, dtype: Any = None) -> NDArray[Any]:
    """Return the values as an array, of any type unless one is given."""
    try:
        return np.asarray(values, dtype=dtype)
    except (TypeError, ValueError) as error:  # text instead of numbers, or rows of different lengths
        of_numbers = "" if dtype is None else " of numbers"
        raise InputError(
            f"{name} is not an array{of_numbers} ({error}); pass a list or an array{of_numbers}."
        ) from error


def check_finite(X: Any, name: str, *, frame: Any = None) -> Any:
    """Raise if X, dense or sparse, contains NaN or infinity; return it without duplicate or unsorted sparse entries.

    If X comes from a data frame, the error gives the names of the row, if rows have names, and the column.

    SciPy would sort the entries of the caller's matrix in place, which fails if its arrays are read-only.
    """
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    values = X.data[None] if sparse.issparse(X) else X
    for start in range(0, values.shape[0], MATRIX_ROWS_AT_ONCE):
        block = values[start : start + MATRIX_ROWS_AT_ONCE]
        if not np.isfinite(block).all():
            row, column = np.argwhere(~np.isfinite(block))[0]
            value = block[row, column]
            row, column = _place_of_entry(X, column) if sparse.issparse(X) else (start + row, column)
            raise InputError(not_finite(name, value, place_of(row, column, frame)))
    return X


def _place_of_entry(X: Any, stored: int) -> tuple[int, int]:
    """Return row and column of an entry, given its place among the stored ones."""
    entries = X.tocoo()
    return int(entries.row[stored]), int(entries.col[stored])


def largest_entry(X: Any) -> float:
    """Return the largest absolute value in X, dense or sparse."""
    return max(float(X.max()), -float(X.min()))


def check_squares(X: Any) -> None:
    """Raise if the squared differences between entries of X, dense or sparse, could overflow when summed."""
    check_largest(largest_entry(X), X.shape)


def check_largest(largest: float, shape: tuple[int, int]) -> None:
    """Raise if the squared differences between entries up to this size could overflow when summed."""
    if largest > np.sqrt(float(np.finfo(float).max) / shape[0] / shape[1]) / 2.0:
        raise InputError(
            f"X has entries as large as {largest:.3g} in absolute value, so their squares overflow; scale X down."
        )


def check_cost_matrix(C: Any) -> NDArray[np.floating[Any]]:
    """Return C as a full cost matrix: square, finite, non-negative, symmetric, with zero diagonal."""
    C = check_points(C, name="the precomputed cost matrix X")
    if C.shape[0] != C.shape[1]:
        raise InputError(
            f"metric='precomputed' needs a square cost matrix, but X has shape {C.shape}; "
            "pass pairwise distances, or use another metric for features."
        )
    if (lowest := float(C.min())) < 0.0:
        raise InputError(
            f"the precomputed cost matrix X has negative entries (smallest {lowest:.3g}); "
            "pass distances, not similarities."
        )
    if (diagonal := float(np.abs(np.diag(C)).max())) > 0.0:
        raise InputError(
            f"the precomputed cost matrix X has a non-zero diagonal (largest {diagonal:.3g}); "
            "set it to zero with numpy.fill_diagonal(X, 0)."
        )
    worst = _asymmetry(C)
    if worst > float(C.max()) * (1e-5 if C.dtype == np.float32 else 1e-10):
        raise InputError(
            f"the precomputed cost matrix X is not symmetric (largest difference {worst:.3g}); "
            "pass (X + X.T) / 2 if that is what you mean."
        )
    return _mean_with_transpose(C) if worst else C


def _asymmetry(C: Any) -> float:
    """Return the largest difference between C, dense or sparse, and its transpose, computed in blocks of rows."""
    if sparse.issparse(C):
        return float(abs(C - C.T).max())
    blocks = (slice(start, start + MATRIX_ROWS_AT_ONCE) for start in range(0, C.shape[0], MATRIX_ROWS_AT_ONCE))
    return max(float(np.abs(C[block] - C[:, block].T).max()) for block in blocks)


def _mean_with_transpose(C: NDArray[Any]) -> NDArray[Any]:
    out = np.empty_like(C)
    for start in range(0, C.shape[0], MATRIX_ROWS_AT_ONCE):
        block = slice(start, start + MATRIX_ROWS_AT_ONCE)
        out[block] = (C[block] + C[:, block].T) / 2
    return out


def check_range(costs: NDArray[Any], X: Any, *, metric: str, near: NDArray[Any] | None = None, name: str = "X") -> None:
    """Raise if the metric is undefined for a point, or if costs overflow or underflow.

    Costs have one row per point. `near` holds the other point of each pair, in the shape of `costs`; None means that
    every point is compared with all points.
    """
    limits = np.finfo(costs.dtype)
    largest = float(costs.max())
    if not largest < limits.max:
        extreme = float(abs(X).max())
        if np.isnan(largest) and extreme < np.sqrt(limits.max / X.shape[1]):  # no sum of squares has overflowed
            row = np.isnan(costs).sum(axis=1).argmax()
            raise InputError(
                f"metric={metric!r} is undefined for row {row} of {name}; drop it or choose another metric."
            )
        raise InputError(
            f"{name} has entries as large as {extreme:.3g} in absolute value, so the costs overflow {costs.dtype}; "
            f"scale {name} down."
        )
    # Zeros are correct between duplicates, and for metrics that do not depend on the scale of X.
    if largest < limits.tiny / limits.eps and (largest > 0.0 or (metric in WITH_UNITS and _differ(X, near))):
        raise InputError(f"the costs of {name}, at most {largest:.3g}, underflow {costs.dtype}; scale {name} up.")


def _differ(X: Any, near: NDArray[Any] | None) -> bool:
    """Return whether any point differs from one of its neighbours, or from any other point if `near` is None."""
    if near is None:
        return bool(abs(X.max(axis=0) - X.min(axis=0)).max() > 0.0)
    return any(abs(X - X[others]).max() > 0.0 for others in near.T)


def check_classes(y: Any, n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Encode classes as integers starting at 0, and count the points of each class."""
    check_no_mask(y, "y")
    with reported_as_input_errors():
        y = column_or_1d(y)
    if y.size != n:
        raise InputError(f"y has {y.size} labels for {n} points; pass one label per point.")
    try:
        missing = bool((y != y).any())
        _, labels, sizes = np.unique(y, return_inverse=True, return_counts=True)
    except TypeError:  # None or pandas.NA among strings, or strings among numbers
        missing = True
    if missing:
        raise InputError(
            "y has missing labels, or mixes numbers and strings; drop these points, or pass y.astype(str)."
        )
    is_real = y.dtype.kind == "f" and bool((y != np.round(y)).any())
    if is_real and 2 * (sizes == 1).sum() > n:
        raise InputError(
            f"y has {sizes.size} different real numbers for {n} points, which are not classes; pass classes, such as "
            "numpy.digitize(y, numpy.quantile(y, [0.25, 0.5, 0.75]))."
        )
    return labels, sizes


def check_affinity_matrix(P: Any, *, symmetric: bool) -> Any:
    """Return P as a square, finite, non-negative matrix, dense or CSR, without empty rows; check symmetry if asked."""
    P = check_points(P, name="the precomputed affinity X")
    if P.shape[0] != P.shape[1]:
        raise InputError(
            f"affinity='precomputed' needs a square matrix, but X has shape {P.shape}; pass the affinity matrix as X."
        )
    if (lowest := float(P.min())) < 0.0:
        raise InputError(f"the precomputed affinity X has negative entries (smallest {lowest:.3g}); pass values >= 0.")
    check_no_empty_row(P)
    if not sparse.issparse(P) and _looks_like_distances(P):
        warn(
            "the precomputed affinity X looks like a matrix of distances; pass these with metric='precomputed' instead."
        )
    if symmetric and (worst := _asymmetry(P)) > 1e-5 * float(P.max()):
        raise InputError(
            f"the precomputed affinity X is not symmetric (largest difference {worst:.3g}), which this method needs; "
            "pass (X + X.T) / 2 if that is what you mean."
        )
    return P


def _looks_like_distances(P: NDArray[Any]) -> bool:
    """Return whether P has a zero diagonal and varies, but satisfies the triangle inequality, or its root does.

    In an affinity, a point that is far from two near neighbours has a small affinity to both, and violates it.
    """
    n = len(P)
    if n < FEWEST_TRIANGLES or np.diag(P).any():
        return False
    rows = np.unique(np.linspace(0, n - 1, MATRIX_ROWS_AT_ONCE).astype(int))
    sides = np.asarray(P[rows], dtype=float)
    furthest = sides.argmax(axis=1)
    longest, others = sides.max(axis=1), np.asarray(P[furthest], dtype=float)
    sides[np.arange(rows.size), rows] = longest
    least, largest = sides.min(), longest.max()
    for power in (1.0, 0.5):
        varies = 0.0 < least**power < largest**power / LEAST_RANGE
        if varies and (sides**power + others**power >= (1.0 - 1e-6) * longest[:, None] ** power).all():
            return True
    return False


def check_no_empty_row(P: Any) -> None:
    """Raise if a point has no affinity to any other point."""
    if (empty := np.flatnonzero(np.asarray(P.sum(axis=1)).ravel() == 0.0)).size:
        raise InputError(f"row {empty[0]} of the affinity is zero; remove points without neighbours.")


def check_layout(init: Any, shape: tuple[int, int]) -> NDArray[np.floating[Any]]:
    """Return `init` as a finite float array with the shape of the layout."""
    check_no_mask(init, "init")
    try:
        Z = np.array(init, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"init is not an array of numbers ({error}); pass one of shape {shape}.") from error
    if Z.shape != shape:
        raise InputError(f"init has shape {Z.shape}, but the layout has shape {shape}; pass an array of that shape.")
    if not np.isfinite(Z).all():
        raise InputError(f"init contains {Z[~np.isfinite(Z)][0]}; an initial layout must be finite.")
    if len(Z) > 2 and not np.ptp(Z, axis=0).any():
        raise InputError("init puts all points at the same position, so no force can separate them; add some noise.")
    return Z
