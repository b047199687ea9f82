"""Statistics of the columns of X, and what they serve for: filling in missing values, and standardising."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..errors import InputError

# Rows converted to float64 at a time, so that a memory-mapped file is never copied whole. Checkpoints hash such blocks.
# Pieces of points on a cluster end at multiples of it, so it must be a multiple of `point_clusters.ASSIGNED_AT_ONCE`.
ROWS_PER_BLOCK = 4096

CONSTANT = 4.0  # rounding errors of a value that count as none; computed constants differ by a few

Array = NDArray[Any]


def spreads(X: Any) -> Array:
    """Return the standard deviations of the columns without missing values; 0 if values differ only by rounding."""
    if not sparse.issparse(X) and X.dtype.kind == "f" and np.isnan(X).any():
        deviations = np.asarray(np.nanstd(X, axis=0, dtype=float))
    else:
        deviations = column_moments(X)[1]
    low, high = _ranges(X)
    precision = np.finfo(X.dtype if X.dtype.kind == "f" else float).eps
    constant = high - low <= CONSTANT * precision * np.maximum(np.abs(low), np.abs(high))
    return np.where(constant, 0.0, deviations)


def _ranges(X: Any) -> tuple[Array, Array]:
    """Return the smallest and the largest known values of the columns."""
    if sparse.issparse(X):
        low, high = (np.asarray(values.toarray(), dtype=float).ravel() for values in (X.min(axis=0), X.max(axis=0)))
    else:
        low, high = (np.asarray(find.reduce(X, axis=0), dtype=float) for find in (np.fmin, np.fmax))
    return low, high


def column_medians(X: Array, names: Sequence[str] | None = None) -> Array:
    """Return the medians of the known values of each column; raise if a column has none."""
    medians = np.empty(X.shape[1])
    for j in range(X.shape[1]):
        known = X[:, j][~np.isnan(X[:, j])]
        if not known.size:
            column = f"column {names[j]!r}" if names is not None else f"column {j} of X"
            raise InputError(f"{column} has no values, so it has no median; leave out this column.")
        medians[j] = np.median(known)
    return medians


def filled(X: Array, medians: Array) -> Array:
    """Replace NaN by the medians of the columns; return X itself if there are none."""
    holes = np.isnan(X)
    return np.where(holes, medians.astype(X.dtype), X) if holes.any() else X


def check_not_infinite(X: Array) -> None:
    """Raise if X contains infinity; NaN is allowed."""
    found = np.argwhere(np.isinf(X))
    if len(found):
        row, column = found[0]
        raise InputError(
            f"X contains {X[row, column]} at row {row}, column {column}; infinity is not a missing value. "
            "Replace it by NaN, or drop the row."
        )


def standardized(X: Any, mean: Array, scale: Array) -> Array:
    """Compute (X - mean) / scale; constant columns become 0."""
    factors = inverse(scale)
    if sparse.issparse(X):
        return np.asarray(X.multiply(factors).toarray() - mean * factors)
    out = np.empty(X.shape)
    for rows, block in row_blocks(X):
        out[rows] = (block - mean) * factors
    return out


def inverse(scale: Array) -> Array:
    """Return 1 / scale, or 0 for constant columns."""
    return np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0.0)


def column_means(X: Any) -> Array:
    """Return the means of the columns."""
    return np.asarray(sum(block.sum(axis=0) for _, block in row_blocks(X)) / X.shape[0])


def column_moments(X: Any) -> tuple[Array, Array]:
    """Return the means and standard deviations of the columns."""
    if sparse.issparse(X):
        X = X.astype(float)
        mean = np.asarray(X.mean(axis=0)).ravel()
        return mean, np.sqrt(np.maximum(np.asarray(X.multiply(X).mean(axis=0)).ravel() - mean**2, 0.0))
    mean = column_means(X)
    return mean, np.sqrt(sum(((block - mean) ** 2).sum(axis=0) for _, block in row_blocks(X)) / X.shape[0])


def row_blocks(X: Any) -> Iterator[tuple[slice, Array]]:
    """Yield blocks of consecutive rows of X as dense float64 copies, with their slices."""
    for start in range(0, X.shape[0], ROWS_PER_BLOCK):
        rows = slice(start, start + ROWS_PER_BLOCK)
        block = X[rows]
        if sparse.issparse(block):
            yield rows, block.astype(float).toarray()
        else:  # always in C order, because sums round differently in other orders
            yield rows, np.array(block, dtype=float, order="C")
