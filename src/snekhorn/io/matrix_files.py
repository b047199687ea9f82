"""Read matrices with accompanying metadata: NPZ and Matrix Market."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import io as scipy_io
from scipy import sparse

from ..errors import InputError, did_you_mean, first_few, option_text
from ..geometry.point_blocks import select_columns
from ..runtime.memory import require_memory
from ..runtime.sparse_format import check_sparse
from .column_choice import choose_features
from .npz_archive import LARGEST_RATIO, NpzArchive, open_bounded
from .table import Table, Wanted, no_metadata

ZIP_SIGNATURE, NPY_SIGNATURE = b"PK\x03\x04", b"\x93NUMPY"
MOST_EMPTY = 1 << 20  # columns without entries, as many as feature hashing makes; the name of each takes 80 bytes
SHORTEST_ENTRY = {"coordinate": 4, "array": 2}  # bytes of an entry of a Matrix Market file: "1 1\n", "1\n"
BYTES_PER_ENTRY = 24  # of a Matrix Market file in memory: row, column and value


def read_npz(path: Path, wanted: Wanted) -> Table:
    """Read a two-dimensional array with metadata columns, or a sparse matrix."""
    if starts_with(path, NPY_SIGNATURE):
        raise InputError(f"{path} is an NPY file, not an NPZ file as its suffix suggests; rename it to end in .npy.")
    with open_bounded(path) as file:
        archive = NpzArchive(file, compressed=True)
        if archive.is_model:
            raise InputError(
                f"{path} is a saved model, which only 'snekhorn transform' and snekhorn.load take; pass a file of "
                "points, or the table of a layout."
            )
        arrays = {name: archive.read_array(name) for name in archive.names}
    if "format" in arrays:
        if wanted.vector is not None:
            raise InputError(
                f"{path} is one sparse matrix, so --vector {wanted.vector} does not apply; omit the option."
            )
        return as_table(path, _sparse_matrix(arrays), {}, wanted)
    name = _array_of_points(path, arrays, wanted)
    X = arrays.pop(name)
    notes = []
    if X.ndim > 2:
        size = " x ".join(map(str, X.shape[1:]))
        X = X.reshape(len(X), -1)
        notes.append(f"each point of {name!r} is an array of {size}; it becomes {X.shape[1]:,} columns")
    columns = {other: array.ravel() for other, array in arrays.items() if array.shape in ((len(X),), (len(X), 1))}
    if ignored := [other for other in arrays if other not in columns]:
        notes.append(f"ignored {first_few(ignored)}: not one value per row of {name!r}")
    table = as_table(path, X, columns, wanted)
    table.notes[:0] = notes
    return table


def _array_of_points(path: Path, arrays: dict[str, NDArray[Any]], wanted: Wanted) -> str:
    """Return the name of the array that holds the points: the requested one, X, or the only one with rows."""
    offered = [name for name, array in arrays.items() if array.ndim >= 2 and array.dtype.kind in "biuf"]
    if wanted.vector is not None:
        if wanted.vector not in arrays:
            raise InputError(f"{path} has no array {wanted.vector!r}; {did_you_mean(wanted.vector, arrays)}")
        if wanted.vector not in offered:
            array = arrays[wanted.vector]
            raise InputError(
                f"{wanted.vector!r} of {path} is an array of {array.dtype} with shape {array.shape}; choose numbers "
                "with one row per point with --vector."
            )
        return wanted.vector
    tables = [name for name in offered if arrays[name].ndim == 2]
    if "X" in tables or len(tables) == 1:
        return "X" if "X" in tables else tables[0]
    if len(offered) == 1:
        return offered[0]
    shapes = [f"{name!r} ({' x '.join(map(str, arrays[name].shape))})" for name in tables or offered]
    if not shapes:
        names = first_few(list(arrays))
        raise InputError(f"{path} has no 2-D array of numbers with one row per point; its arrays are {names}.")
    raise InputError(
        f"{path} has {len(shapes)} arrays that could be the points: {', '.join(shapes[:8])}; choose one with --vector, "
        f"such as {option_text('--vector', (tables or offered)[0])}."
    )


def starts_with(path: Path, signature: bytes) -> bool:
    """Return whether a file starts with these bytes."""
    with open(path, "rb") as file:
        return file.read(len(signature)) == signature


def _sparse_matrix(arrays: dict[str, NDArray[Any]]) -> Any:
    """Build the sparse matrix that `scipy.sparse.save_npz` wrote as these arrays."""
    form = arrays["format"].item()
    form = form.decode() if isinstance(form, bytes) else str(form)
    shape = tuple(map(int, arrays["shape"]))
    if form == "coo":
        parts: tuple[Any, ...] = (arrays["data"], (arrays["row"], arrays["col"]))
    elif form == "dia":
        parts = (arrays["data"], arrays["offsets"])
    else:
        parts = (arrays["data"], arrays["indices"], arrays["indptr"])
    _check_empty_columns(shape, arrays["data"].size)
    for name in ("indices", "indptr", "row", "col", "offsets"):  # SciPy would round others
        if name in arrays and arrays[name].dtype.kind not in "iu":
            raise ValueError(f"{name} must be whole numbers, got {arrays[name].dtype}")
    return getattr(sparse, f"{form}_matrix")(parts, shape=shape)


def _check_empty_columns(shape: tuple[int, ...], n_entries: int) -> None:
    """Raise if a sparse matrix declares far more rows or columns than can have entries."""
    if max(shape) > max(MOST_EMPTY, 10 * n_entries):
        raise ValueError(f"it declares {' x '.join(map(str, shape))} values, but has only {n_entries} entries")


def read_matrix_market(path: Path, wanted: Wanted) -> Table:
    """Read a matrix with one row per point, or one column per point if that matches barcodes.tsv next to it."""
    with _open_matrix_market(path) as file:
        n, p, n_entries, form, _, symmetry = scipy_io.mminfo(_EndingInNewline(file))
    n_stored = n * (n - 1) // 2 if form == "array" and symmetry != "general" else n_entries  # one triangle
    packed = LARGEST_RATIO if path.suffix.lower() == ".gz" else 1
    if n_stored * SHORTEST_ENTRY[form] > packed * path.stat().st_size:
        raise ValueError(f"it declares {n_stored} entries, more than its size allows")
    _check_empty_columns((n, p), n_entries)
    n_expanded = 2 * n_entries if form == "coordinate" and symmetry != "general" else n_entries
    require_memory(BYTES_PER_ENTRY * n_expanded, f"{path}", "use fewer rows or columns")
    with _open_matrix_market(path) as file:
        X = scipy_io.mmread(_EndingInNewline(file))
    check_sparse(X, str(path))
    X = X.tocsr() if sparse.issparse(X) else np.asarray(X)
    barcodes = _read_barcodes(path.parent)
    if barcodes is None:
        return as_table(path, X, {}, wanted)
    if len(barcodes) not in X.shape:
        raise InputError(
            f"{path} has {X.shape[0]} rows and {X.shape[1]} columns, but barcodes.tsv next to it has {len(barcodes)} "
            "lines; use files from the same data set."
        )
    X = X if X.shape[0] == len(barcodes) else X.T.tocsr() if sparse.issparse(X) else X.T
    id = "barcode" if wanted.id is None or wanted.id in wanted.elsewhere else wanted.id
    return as_table(path, X, {"barcode": np.array(barcodes)}, replace(wanted, id=id))


def _open_matrix_market(path: Path) -> Any:
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else open(path, "rb")


class _EndingInNewline:
    """File with a line break after its end; SciPy crashes if a file ends inside a number, as in "6.3E-"."""

    def __init__(self, file: Any) -> None:
        self._file, self._ended = file, False

    def read(self, size: int = -1) -> bytes:
        content: bytes = self._file.read(size)
        if len(content) == size or self._ended:
            return content
        self._ended = True
        return content + b"\n"


def _read_barcodes(folder: Path) -> list[str] | None:
    """Return the first column of barcodes.tsv, plain or compressed, if the folder contains it."""
    for path, opened in ((folder / "barcodes.tsv", open), (folder / "barcodes.tsv.gz", gzip.open)):
        if path.exists():
            with opened(path, "rt") as file:
                return [line.split("\t")[0].strip() for line in file if line.strip()]
    return None


def as_table(path: Path, X: Any, columns: dict[str, NDArray[Any]], wanted: Wanted) -> Table:
    """Return a matrix without column names, or its blocks, as a table with these metadata columns."""
    check_sparse(X, str(path))
    if sparse.issparse(X) and X.format not in ("csr", "csc"):
        X = X.tocsr()
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise InputError(
            f"{path} contains an array of {X.dtype} with shape {X.shape}; pass a 2-D array with one row per point."
        )
    if 0 in X.shape:
        size = f"{X.shape[0]} rows and {X.shape[1]} columns"
        raise InputError(f"{path} has {size}; pass a file with at least one row and one column.")
    wanted.check_roles(path, columns)
    X, names = select_features(path, X, numbered_names(X.shape[1]), wanted)
    metadata, notes = _arrow_columns(path, columns, wanted)
    table = pa.table(metadata) if metadata else no_metadata(X.shape[0])
    id, label = (name if name in columns else None for name in (wanted.id, wanted.label))
    return Table(X, names, table, id, label, notes)


def numbered_names(n: int) -> list[str]:
    """Return the names of the columns of an array."""
    return [f"column_{i + 1}" for i in range(n)]


def select_features(path: Path, X: Any, names: list[str], wanted: Wanted) -> tuple[Any, list[str]]:
    """Return the requested columns of a matrix, or its blocks, and their names."""
    if wanted.columns is None and wanted.exclude is None:
        return X, names
    chosen = choose_features(path, names, names, wanted)
    places = {name: place for place, name in enumerate(names)}
    columns = [places[name] for name in chosen]
    return select_columns(X, columns), chosen


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
