"""Arrays as files: NPY, NPZ and Matrix Market."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import replace
from pathlib import Path
from tokenize import TokenError
from typing import Any
from zipfile import BadZipFile

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import io as scipy_io
from scipy import sparse

from ..errors import InputError, did_you_mean
from .table import Table, Wanted, no_metadata
from .unreadable import unlike

UNREADABLE = (ValueError, OSError, EOFError, BadZipFile, KeyError, TypeError, TokenError, zlib.error)


def read_npy(path: Path, wanted: Wanted) -> Table:
    """One array, mapped into memory rather than read."""
    try:
        X = np.load(path, mmap_mode="r", allow_pickle=False)
        if not isinstance(X, np.ndarray):
            raise ValueError("it is NPZ; rename it")
    except UNREADABLE as error:
        raise unlike(path, "NPY", error) from error
    return _table(path, X, {}, wanted)


def read_npz(path: Path, wanted: Wanted) -> Table:
    """Several arrays, one of them two-dimensional and the others a column each; or a sparse matrix."""
    try:
        if isinstance(np.load(path, mmap_mode="r", allow_pickle=False), np.ndarray):
            raise ValueError("it is NPY; rename it")
        with np.load(path, allow_pickle=False) as file:
            arrays = {} if "format" in file.files else {name: file[name] for name in file.files}
        X = sparse.load_npz(path) if not arrays else None
    except UNREADABLE as error:
        raise unlike(path, "NPZ", error) from error
    if X is None:
        tables = [name for name, array in arrays.items() if array.ndim == 2 and array.dtype.kind in "biuf"]
        name = "X" if "X" in tables else tables[0] if len(tables) == 1 else None
        if name is None:
            raise InputError(
                f"{path} has {len(tables)} tables of numbers among {', '.join(arrays)}; call one of them X."
            )
        X = arrays.pop(name)
    columns = {name: array for name, array in arrays.items() if array.shape == (X.shape[0],)}
    return _table(path, X, columns, wanted)


def read_matrix_market(path: Path, wanted: Wanted) -> Table:
    """A matrix in text; a row is a point, or a column where barcodes.tsv beside it says so."""
    try:
        X = scipy_io.mmread(str(path))
    except (*UNREADABLE, StopIteration) as error:
        raise unlike(path, "Matrix Market", error) from error
    X = X.tocsr() if sparse.issparse(X) else np.asarray(X)
    cells = _lines(path, "barcodes.tsv")
    if cells is None:
        return _table(path, X, {}, wanted)
    if len(cells) not in X.shape:
        raise InputError(f"{path} is {X.shape[0]} x {X.shape[1]}, but barcodes.tsv beside it names {len(cells)} cells.")
    X = X if X.shape[0] == len(cells) else X.T.tocsr() if sparse.issparse(X) else X.T
    return _table(path, X, {"barcode": np.array(cells)}, replace(wanted, id=wanted.id or "barcode"))


def _table(path: Path, X: Any, columns: dict[str, NDArray[Any]], wanted: Wanted) -> Table:
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise InputError(f"{path} holds an array of {X.dtype}, shape {X.shape}; points are the rows of a 2-D array.")
    if 0 in X.shape:
        raise InputError(f"{path} has {X.shape[0]} rows and {X.shape[1]} columns; there is nothing to lay out.")
    for name in (wanted.label, wanted.id):
        if name is not None and name not in columns:
            raise InputError(f"{path} has no column {name!r}; {did_you_mean(name, columns)}")
    names = [f"column_{i + 1}" for i in range(X.shape[1])]
    if wanted.columns is not None:
        chosen = [_position(path, name, names, wanted) for name in wanted.columns]
        X, names = X[:, chosen], [names[i] for i in chosen]
    check_finite(path, X, names, wanted.remedy)
    texts = {name: values.astype(str) if values.dtype.kind == "S" else values for name, values in columns.items()}
    metadata = pa.table({name: pa.array(values) for name, values in texts.items()})
    return Table(X, names, metadata if columns else no_metadata(X.shape[0]), wanted.id, wanted.label)


def _position(path: Path, name: str, names: list[str], wanted: Wanted) -> int:
    if name not in names:
        model = ", which the model was made with" if wanted.of_model else ""
        raise InputError(f"{path} has no column {name!r}{model}; its columns are column_1 to column_{len(names)}.")
    return names.index(name)


def check_finite(path: Path, X: Any, names: list[str], remedy: str) -> None:
    """Raise where an entry is not a finite number."""
    values = X.data if sparse.issparse(X) else X
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return
    if sparse.issparse(X):
        entries = X.tocoo()
        at = np.flatnonzero(~np.isfinite(entries.data))[0]
        row, column = entries.row[at], entries.col[at]
    else:
        row, column = np.argwhere(~np.isfinite(X))[0]
    raise InputError(f"{path}: row {row + 1}, column {names[column]!r} holds {X[row, column]}; {remedy}.")


def _lines(path: Path, name: str) -> list[str] | None:
    """The first cells of the lines of a file beside a matrix, plain or compressed."""
    for other, opened in ((path.parent / name, open), (path.parent / f"{name}.gz", gzip.open)):
        if other.exists():
            with opened(other, "rt") as file:
                return [line.split("\t")[0].strip() for line in file if line.strip()]
    return None
