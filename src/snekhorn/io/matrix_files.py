"""Read matrices with accompanying metadata: NPY, NPZ, Matrix Market and AnnData (H5AD)."""

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
from .table import Table, Wanted, no_metadata, unreadable

UNREADABLE = (ValueError, OSError, EOFError, BadZipFile, KeyError, TypeError, TokenError, zlib.error)
DEFAULT_REP = "X_pca"


def read_npy(path: Path, wanted: Wanted) -> Table:
    """Read one array, memory-mapped."""
    try:
        X = np.load(path, mmap_mode="r", allow_pickle=False)
    except UNREADABLE as error:
        raise unreadable(path, "NPY", error) from error
    if not isinstance(X, np.ndarray):
        raise InputError(f"{path} is an NPZ file, not an NPY file as its suffix suggests; rename it to end in .npz.")
    return _as_table(path, X, {}, wanted)


def read_npz(path: Path, wanted: Wanted) -> Table:
    """Read a two-dimensional array with metadata columns, or a sparse matrix."""
    try:
        opened = np.load(path, mmap_mode="r", allow_pickle=False)
        if isinstance(opened, np.ndarray):
            raise InputError(
                f"{path} is an NPY file, not an NPZ file as its suffix suggests; rename it to end in .npy."
            )
        with opened as file:
            arrays = {} if "format" in file.files else {name: file[name] for name in file.files}
        X = sparse.load_npz(path) if not arrays else None
    except InputError:
        raise
    except UNREADABLE as error:
        raise unreadable(path, "NPZ", error) from error
    if X is None:
        tables = [name for name, array in arrays.items() if array.ndim == 2 and array.dtype.kind in "biuf"]
        name = "X" if "X" in tables else tables[0] if len(tables) == 1 else None
        if name is None:
            raise InputError(
                f"{path} has {len(tables)} two-dimensional numeric arrays among {', '.join(arrays)}; "
                "name the one that holds the points X."
            )
        X = arrays.pop(name)
    columns = {name: array for name, array in arrays.items() if array.shape == (X.shape[0],)}
    return _as_table(path, X, columns, wanted)


def read_matrix_market(path: Path, wanted: Wanted) -> Table:
    """Read a matrix with one row per point, or one column per point if that matches barcodes.tsv next to it."""
    try:
        X = scipy_io.mmread(str(path))
    except (*UNREADABLE, StopIteration) as error:
        raise unreadable(path, "Matrix Market", error) from error
    X = X.tocsr() if sparse.issparse(X) else np.asarray(X)
    barcodes = _read_barcodes(path.parent)
    if barcodes is None:
        return _as_table(path, X, {}, wanted)
    if len(barcodes) not in X.shape:
        raise InputError(
            f"{path} has {X.shape[0]} rows and {X.shape[1]} columns, but barcodes.tsv next to it has {len(barcodes)} "
            "lines; use files from the same data set."
        )
    X = X if X.shape[0] == len(barcodes) else X.T.tocsr() if sparse.issparse(X) else X.T
    return _as_table(path, X, {"barcode": np.array(barcodes)}, replace(wanted, id=wanted.id or "barcode"))


def _read_barcodes(folder: Path) -> list[str] | None:
    """Return the first column of barcodes.tsv, plain or compressed, if the folder contains it."""
    for path, opened in ((folder / "barcodes.tsv", open), (folder / "barcodes.tsv.gz", gzip.open)):
        if path.exists():
            with opened(path, "rt") as file:
                return [line.split("\t")[0].strip() for line in file if line.strip()]
    return None


def _as_table(path: Path, X: Any, columns: dict[str, NDArray[Any]], wanted: Wanted) -> Table:
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise InputError(
            f"{path} contains an array of {X.dtype} with shape {X.shape}; pass a 2-D array with one row per point."
        )
    if 0 in X.shape:
        raise InputError(f"{path} has {X.shape[0]} rows and {X.shape[1]} columns; pass a file with points.")
    for name in (wanted.label, wanted.id):
        if name is not None and name not in columns:
            raise InputError(f"{path} has no column {name!r}; {did_you_mean(name, columns)}")
    names = [f"column_{i + 1}" for i in range(X.shape[1])]
    if wanted.columns is not None:
        chosen = [_position(path, name, names, wanted) for name in wanted.columns]
        X, names = X[:, chosen], [names[i] for i in chosen]
    check_finite_values(path, X, names, wanted.remedy)
    metadata, notes = _arrow_columns(path, columns, wanted)
    return Table(X, names, pa.table(metadata) if metadata else no_metadata(X.shape[0]), wanted.id, wanted.label, notes)


def _arrow_columns(path: Path, columns: dict[str, NDArray[Any]], wanted: Wanted) -> tuple[dict[str, Any], list[str]]:
    """Convert columns to Arrow; ignore, with a note, those of a type that Arrow does not have."""
    found: dict[str, Any] = {}
    notes: list[str] = []
    for name, values in columns.items():
        try:
            found[name] = pa.array(values.astype(str) if values.dtype.kind == "S" else values)
        except (pa.ArrowException, UnicodeDecodeError):
            if name in (wanted.label, wanted.id):
                raise InputError(
                    f"column {name!r} of {path} has the type {values.dtype}, which is not supported; "
                    "convert it to numbers or text."
                ) from None
            notes.append(f"ignored {name!r}: values of type {values.dtype} are not supported")
    return found, notes


def _position(path: Path, name: str, names: list[str], wanted: Wanted) -> int:
    if name not in names:
        model = ", which the model needs" if wanted.of_model else ""
        raise InputError(f"{path} has no column {name!r}{model}; its columns are column_1 to column_{len(names)}.")
    return names.index(name)


def check_finite_values(path: Path, X: Any, names: list[str], remedy: str) -> None:
    """Raise an error if a value is not a finite number."""
    values = X.data if sparse.issparse(X) else X
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return
    if sparse.issparse(X):
        entries = X.tocoo()
        at = np.flatnonzero(~np.isfinite(entries.data))[0]
        row, column = entries.row[at], entries.col[at]
    else:
        row, column = np.argwhere(~np.isfinite(X))[0]
    raise InputError(f"{path}: the value in row {row + 1}, column {names[column]!r} is {X[row, column]}; {remedy}.")


def read_h5ad(path: Path, wanted: Wanted, rep: str | None = None) -> Table:
    """Read an AnnData file: by default obsm["X_pca"] if it exists, otherwise X; obs becomes the metadata."""
    try:
        from anndata import read_h5ad as read
    except ImportError:
        raise InputError(f"reading {path} needs anndata; install it with: pip install 'snekhorn[anndata]'.") from None
    try:
        adata = read(path, backed="r")
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise unreadable(path, "H5AD", error) from error
    try:
        return _anndata_table(path, adata, wanted, rep)
    finally:
        adata.file.close()


def _anndata_table(path: Path, adata: Any, wanted: Wanted, rep: str | None) -> Table:
    if wanted.columns is not None:
        raise InputError(f"--columns does not apply to {path}; choose X or an entry of obsm with --rep.")
    if rep is None:
        rep = DEFAULT_REP if DEFAULT_REP in adata.obsm else "X"
    if rep != "X" and rep not in adata.obsm:
        raise InputError(f"{path} has no obsm[{rep!r}]; {did_you_mean(rep, ['X', *adata.obsm])}")
    if rep == "X" and not _has_x(adata):
        raise InputError(f"{path} has no X; choose an entry of obsm with --rep: {did_you_mean(rep, adata.obsm)}")
    source = "X" if rep == "X" else f"obsm[{rep!r}]"
    X = _as_numbers(path, source, adata.X[:] if rep == "X" else adata.obsm[rep])
    names = list(map(str, adata.var_names)) if rep == "X" else [f"{rep}_{i + 1}" for i in range(X.shape[1])]
    if 0 in X.shape:
        raise InputError(f"{path} has {X.shape[0]} cells and {X.shape[1]} features; pass a file with cells.")
    check_finite_values(path, X, names, "fill it in or drop the cell")
    obs = {str(name): _obs_column(adata.obs[name]) for name in adata.obs.columns}
    cell = "cell" if "cell" not in obs else "cell name"
    id = wanted.id or cell
    columns = {cell: pa.array(list(map(str, adata.obs_names))), **obs}
    for name in (wanted.label, id):
        if name is not None and name not in columns:
            raise InputError(f"{path} has no obs column {name!r}; {did_you_mean(name, columns)}")
    return Table(X, names, pa.table(columns), id, wanted.label, [f"using {source} as features"], rep)


def _has_x(adata: Any) -> bool:
    try:
        return adata.X is not None
    except KeyError:  # anndata looks X up in the file without checking that it is there
        return False


def _as_numbers(path: Path, source: str, values: Any) -> Any:
    """Return X or an entry of obsm as a matrix of numbers."""
    X = sparse.csr_matrix(values) if sparse.issparse(values) else np.asarray(values)
    if X.dtype.kind == "O":  # a data frame whose columns have different types
        try:
            X = X.astype(float)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"{source} of {path} does not contain only numbers ({error}); choose another entry with --rep."
            ) from None
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise InputError(
            f"{source} of {path} is an array of {X.dtype} with shape {X.shape}; "
            "choose a 2-D array of numbers with --rep."
        )
    return X


def _obs_column(values: Any) -> Any:
    """Convert a column of obs and its missing values to Arrow, as text if Arrow has no matching type."""
    try:
        return pa.array(values.astype(object) if values.dtype.name == "category" else values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None or value != value else str(value) for value in values.astype(object)])
