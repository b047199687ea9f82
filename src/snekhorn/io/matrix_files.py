"""Read matrices with accompanying metadata: NPZ, Matrix Market and AnnData (H5AD)."""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import io as scipy_io
from scipy import sparse

from ..errors import InputError, did_you_mean, first_few
from ..geometry.point_blocks import LARGE, ROWS_AT_ONCE, PointBlocks, as_blocks
from ..runtime.memory import require_memory
from ..runtime.sparse_format import check_sparse
from .h5_scan import check_h5
from .npz_archive import LARGEST_RATIO, NpzArchive, open_bounded
from .table import PALETTE, Table, Wanted, no_metadata, reading

DEFAULT_REP = "X_pca"
HEX_COLOR = re.compile(r"#[0-9a-fA-F]{6}([0-9a-fA-F]{2})?")  # with or without opacity
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
        arrays = {name: archive.read_array(name) for name in archive.names}
    if "format" in arrays:
        return as_table(path, _sparse_matrix(arrays), {}, wanted)
    tables = [name for name, array in arrays.items() if array.ndim == 2 and array.dtype.kind in "biuf"]
    name = "X" if "X" in tables else tables[0] if len(tables) == 1 else None
    if name is None:
        raise InputError(
            f"{path} has {len(tables)} two-dimensional numeric arrays among {', '.join(arrays)}; "
            "name the one that holds the points X."
        )
    X = arrays.pop(name)
    columns = {name: array for name, array in arrays.items() if array.shape == (X.shape[0],)}
    return as_table(path, X, columns, wanted)


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
    return as_table(path, X, {"barcode": np.array(barcodes)}, replace(wanted, id=wanted.id or "barcode"))


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
    for name in (wanted.label, wanted.id):
        if name is not None and name not in columns:
            raise InputError(f"{path} has no column {name!r}; {did_you_mean(name, columns)}")
    names = numbered_names(X.shape[1])
    if wanted.columns is not None:
        chosen = [_position(path, name, names, wanted) for name in wanted.columns]
        X, names = _select(X, chosen), [names[i] for i in chosen]
    check_finite_values(path, X, names, wanted.remedy)
    metadata, notes = _arrow_columns(path, columns, wanted)
    return Table(X, names, pa.table(metadata) if metadata else no_metadata(X.shape[0]), wanted.id, wanted.label, notes)


def numbered_names(n: int) -> list[str]:
    """Return the names of the columns of an array."""
    return [f"column_{i + 1}" for i in range(n)]


def _select(X: Any, columns: list[int]) -> Any:
    return X.select(columns) if isinstance(X, PointBlocks) else X[:, columns]


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
    """Raise an error if a value is not a finite number; blocks are checked when they are read."""
    if X.dtype.kind != "f" or isinstance(X, PointBlocks):
        return
    if sparse.issparse(X):
        if np.isfinite(X.data).all():
            return
        entries = X.tocoo()
        at = np.flatnonzero(~np.isfinite(entries.data))[0]
        row, column = entries.row[at], entries.col[at]
    else:
        starts = range(0, X.shape[0], ROWS_AT_ONCE)
        start = next((row for row in starts if not np.isfinite(X[row : row + ROWS_AT_ONCE]).all()), None)
        if start is None:
            return
        row, column = np.argwhere(~np.isfinite(X[start : start + ROWS_AT_ONCE]))[0] + (start, 0)
    raise InputError(f"{path}: the value in row {row + 1}, column {names[column]!r} is {X[row, column]}; {remedy}.")


def read_h5ad(path: Path, wanted: Wanted, rep: str | None = None) -> Table:
    """Read an AnnData file: by default obsm["X_pca"] if it exists, otherwise X; obs becomes the metadata."""
    try:
        from anndata import read_h5ad as read
    except ImportError:
        raise InputError(f"reading {path} needs anndata; install it with: pip install 'snekhorn[anndata]'.") from None
    check_h5(path)
    adata = read(path, backed="r")
    try:
        table = _anndata_table(path, adata, wanted, rep)
    except BaseException:
        adata.file.close()
        raise
    if not isinstance(table.X, PointBlocks):  # blocks are read from the open file
        adata.file.close()
    return table


def _anndata_table(path: Path, adata: Any, wanted: Wanted, rep: str | None) -> Table:
    if wanted.columns is not None:
        raise InputError(f"--columns does not apply to {path}; choose X or an entry of obsm with --rep.")
    if rep is None:
        rep = DEFAULT_REP if DEFAULT_REP in adata.obsm else "X"
    if rep != "X" and rep not in adata.obsm:
        raise InputError(f"{path} has no obsm[{rep!r}]; {did_you_mean(rep, ['X', *adata.obsm])}")
    if rep == "X" and not _has_x(adata):
        entries = first_few(list(adata.obsm))
        if not entries:
            raise InputError(f"{path} has neither X nor any entry in obsm; pass a file with data.")
        raise InputError(f"{path} has no X; choose an entry of obsm with --rep (available: {entries}).")
    source = "X" if rep == "X" else f"obsm[{rep!r}]"
    X = _matrix(path, source, adata.X) if rep == "X" else _as_numbers(path, source, adata.obsm[rep])
    names = list(map(str, adata.var_names)) if rep == "X" else [f"{rep}_{i + 1}" for i in range(X.shape[1])]
    if 0 in X.shape:
        size = f"{X.shape[0]} cells and {X.shape[1]} features"
        raise InputError(f"{path} has {size}; pass a file with at least one cell and one feature.")
    if isinstance(X, PointBlocks):
        X = X.in_file(str(path), names, partial(reading, path, "H5AD"))
    check_finite_values(path, X, names, "fill it in or drop the cell")
    obs = {str(name): _obs_column(adata.obs[name]) for name in adata.obs.columns}
    cell = "cell" if "cell" not in obs else "cell name"
    id = wanted.id or cell
    columns = {cell: pa.array(list(map(str, adata.obs_names))), **obs}
    for name in (wanted.label, id):
        if name is not None and name not in columns:
            raise InputError(f"{path} has no obs column {name!r}; {did_you_mean(name, columns)}")
    metadata = _with_colors(pa.table(columns), adata)
    return Table(X, names, metadata, id, wanted.label, [f"using {source} as features"], rep)


def _with_colors(metadata: pa.Table, adata: Any) -> pa.Table:
    """Attach the colours of categories that scanpy keeps in uns to their columns; ignore anything else in uns."""
    for name in adata.obs.columns:
        column, found = adata.obs[name], adata.uns.get(f"{name}_colors")
        if column.dtype.name != "category" or found is None or np.ndim(found) != 1:
            continue
        if len(found) < len(column.cat.categories) or not all(HEX_COLOR.fullmatch(str(color)) for color in found):
            continue
        pairs = zip(column.cat.categories, found, strict=False)  # scanpy allows more colours than categories
        palette = json.dumps({str(category): str(color)[:7] for category, color in pairs})
        place = metadata.column_names.index(str(name))
        field = metadata.schema.field(place).with_metadata({PALETTE: palette})
        metadata = metadata.set_column(place, field, metadata.column(place))
    return metadata


def _has_x(adata: Any) -> bool:
    try:
        return adata.X is not None
    except KeyError:  # anndata looks X up in the file without checking that it is there
        return False


def _matrix(path: Path, source: str, X: Any) -> Any:
    """Read X into memory, or by blocks if it is large."""
    n_values = X.group["data"].shape[0] if hasattr(X, "group") else X.size
    blocks = as_blocks(X) if n_values > LARGE else None
    if blocks is not None:
        return blocks
    return _as_numbers(path, source, X.to_memory() if hasattr(X, "to_memory") else X[:])


def _as_numbers(path: Path, source: str, values: Any) -> Any:
    """Return X or an entry of obsm as a matrix of numbers."""
    check_sparse(values, f"{source} of {path}")
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
