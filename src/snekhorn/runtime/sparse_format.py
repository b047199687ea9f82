"""Check the index arrays of sparse matrices, which compiled loops use without checking them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..errors import InputError

Indices = NDArray[np.integer[Any]]


def check_sparse(X: Any, name: str) -> None:
    """Raise if X is a sparse matrix whose arrays do not match its shape; accept anything else."""
    if not sparse.issparse(X):
        return
    if len(X.shape) != 2:
        raise InputError(f"{name} is a {len(X.shape)}-dimensional sparse array; pass a two-dimensional one.")
    if problem := _problem(X):
        raise InputError(
            f"{name} is a corrupt sparse matrix of shape {X.shape[0]} x {X.shape[1]} in {X.format.upper()} format: "
            f"{problem}; create it again."
        )


def check_graph(indptr: Indices, indices: Indices, costs: NDArray[Any], name: str) -> None:
    """Raise if compressed rows are not a graph whose edges lead to its own points."""
    n = indptr.size - 1
    if problem := _problem_of_rows(indptr, indices, costs, (n, n)):
        raise InputError(f"{name} is a corrupt graph of {n} points: {problem}; create it again.")


def _problem(X: Any) -> str | None:
    if X.format == "csr":
        return _problem_of_rows(X.indptr, X.indices, X.data, X.shape)
    if X.format == "csc":
        return _problem_of_rows(X.indptr, X.indices, X.data, X.shape[::-1])
    if X.format == "bsr":
        height, width = X.blocksize
        return _problem_of_rows(X.indptr, X.indices, X.data, (X.shape[0] // height, X.shape[1] // width))
    if X.format == "coo":
        if not len(X.row) == len(X.col) == len(X.data):
            return f"it has {len(X.row)} rows, {len(X.col)} columns and {len(X.data)} values"
        return _problem_of_indices(X.row, X.shape[0]) or _problem_of_indices(X.col, X.shape[1])
    if X.format == "dia" and X.data.shape[:1] != X.offsets.shape:
        return f"it has {X.offsets.size} offsets for {len(X.data)} diagonals"
    if X.format == "lil":
        if len(X.rows) != X.shape[0] or list(map(len, X.rows)) != list(map(len, X.data)):
            return "its lists of columns and of values differ in length"
        return _problem_of_indices(np.array([j for row in X.rows for j in row], dtype=np.int64), X.shape[1])
    return None  # SciPy checks the indices when it converts a matrix of another format


def _problem_of_rows(indptr: Indices, indices: Indices, data: NDArray[Any], shape: tuple[int, int]) -> str | None:
    """Return what is wrong with compressed rows, or None."""
    n_rows, n_columns = shape
    if indptr.shape != (n_rows + 1,) or indptr.dtype.kind not in "iu":
        return f"it needs {n_rows + 1} whole numbers in indptr, but has {indptr.dtype} of shape {indptr.shape}"
    if indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        return "indptr does not increase from 0"
    n_entries = int(indptr[-1])
    if indices.ndim != 1 or n_entries > min(len(indices), len(data)):
        return f"it needs {n_entries} entries, but has {indices.size} indices and {len(data)} values"
    return _problem_of_indices(indices[:n_entries], n_columns)


def _problem_of_indices(indices: Indices, n: int) -> str | None:
    if indices.dtype.kind not in "iu":
        return f"indices must be whole numbers, got {indices.dtype}"
    if indices.size and (indices.min() < 0 or indices.max() >= n):
        return f"indices must lie between 0 and {n - 1}, got {indices.min()} to {indices.max()}"
    return None
