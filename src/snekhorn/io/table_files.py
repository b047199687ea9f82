"""Read a table from any supported format, chosen by the suffix; this module reads Parquet and Arrow files itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from pyarrow import ipc, parquet

from ..errors import InputError, option_text
from .block_files import block_files, has_named_columns, is_zarr, read_folder, read_npy
from .column_hints import column_notes, label_notes, long_integers_note, too_long_integers, unused_notes
from .csv_files import read_csv
from .h5ad_files import read_h5ad
from .matrix_files import read_matrix_market, read_npz
from .metadata_files import join_metadata
from .missing_values import Rule, settle_missing
from .row_names import settle_ids
from .table import Table, Wanted, assemble, plan_columns, reading
from .transposed import transposed

CHUNK_ROWS = 1 << 16
TEXT_SUFFIXES = (".csv", ".tsv")
TABULAR_SUFFIXES = (*TEXT_SUFFIXES, ".csv.gz", ".tsv.gz", ".parquet", ".arrow", ".feather")
ARRAY_SUFFIXES = (".npy", ".npz", ".mtx", ".mtx.gz")  # formats whose columns have no names
VECTOR_SUFFIXES = (".parquet", ".arrow", ".feather", ".npz")
FOLDER = ""  # stands for the suffix of a folder
SIGNATURES = {
    b"PAR1": "Parquet",
    b"ARROW1": "Arrow",
    b"\x93NUMPY": "NPY",
    b"PK\x03\x04": "NPZ (or another ZIP)",
    b"\x89HDF": "H5AD (or another HDF5)",
    b"%%MatrixMarket": "MTX",
}


def read_table(  # noqa: PLR0913
    path: Path | str,
    *,
    columns: list[str] | None = None,
    exclude: list[str] | None = None,
    label: str | None = None,
    id: str | None = None,
    rep: str | None = None,
    vector: str | None = None,
    metadata: Path | str | None = None,
    missing: Rule = "error",
    transpose: bool = False,
    colors: Sequence[str] = (),
    leading: Callable[[list[str]], list[str]] | None = None,
    of_model: bool = False,
) -> Table:
    """Read points and their metadata from a file.

    Parameters
    ----------
    path : Path or str
        CSV, TSV, Parquet, Arrow, NPY, NPZ, MTX or H5AD file; the suffix determines the format. CSV, TSV and MTX files
        may be compressed (.gz). A folder of NPY or Parquet files, or a Zarr array, is read by blocks.
    columns, exclude : list of str or None, default=None
        Numeric columns to use as features, and columns not to use, which become metadata: names, or patterns such as
        "gene*". By default, all numeric columns except the label and the id are features. If the columns of the file
        are the points, `exclude` leaves out points and features.
    label, id : str or None, default=None
        Columns that hold the classes and the names of the points. If the columns of the file are the points, an id in
        this file names the features.
    rep : str or None, default=None
        For H5AD files, the entry of obsm to use, or "X".
    vector : str or None, default=None
        Column of a Parquet or Arrow file whose values are lists of numbers, or array of an NPZ file: the points.
    metadata : Path, str or None, default=None
        CSV, TSV, Parquet or Arrow file with more columns, matched by the id, or by row if there is none.
    missing : {"error", "drop", "median"}, default="error"
        What to do with missing features: raise an error, leave out their rows, or keep them as NaN, to be filled in by
        `snekhorn.geometry.preprocessing.Preprocessing`.
    transpose : bool, default=False
        Whether the columns of the file are the points.
    colors : sequence of str, default=()
        For H5AD files, genes to add to the metadata.
    leading : callable or None, default=None
        Chooses the features, given the names of all columns.
    of_model : bool, default=False
        Whether `columns` are the features of a saved model, all of which are needed.

    Returns
    -------
    table : Table
    """
    path = Path(path)
    suffix = check_input(path)
    _check_options(path, suffix, rep=rep, vector=vector, transpose=transpose)
    described = None if metadata is None else read_metadata(Path(metadata), id)
    elsewhere = frozenset[str]() if described is None else frozenset(described.metadata.column_names)
    wanted = Wanted(
        columns, label, id, leading, of_model, exclude, vector, missing, colors=tuple(colors), elsewhere=elsewhere
    )
    if transpose:
        names_features = None if id in elsewhere else id
        table = _read(path, suffix, Wanted(id=names_features, transpose=True), rep)
        table = transposed(path, table, wanted, named=not has_numbered_columns(path))
        wanted = wanted if names_features is None else replace(wanted, id=None)
    else:
        table = _read(path, suffix, wanted, rep)
    automatic = columns is None and leading is None and not of_model and vector is None and not transpose
    by_column = automatic and suffix in TABULAR_SUFFIXES
    if by_column and (ids := too_long_integers(table)):
        wanted = replace(wanted, exclude=[*(exclude or ()), *ids])  # read again, as metadata, which are not rounded
        del table  # both would not fit into memory
        table = _read(path, suffix, wanted, rep)
        table.notes.append(long_integers_note(ids))
    if described is not None:
        join_metadata(path, table, Path(str(metadata)), described, wanted)
    settle_ids(path, table, wanted)
    if by_column:
        if len(table.columns) == 1:
            lists = [f" To lay out lists of numbers, pass {option_text('--vector', name)}." for name in table.lists[:1]]
            raise InputError(
                f"{path} has only one numeric column, {table.columns[0]!r}, but a layout normally needs at least two. "
                f"To use only this one, pass it to --columns.{''.join(lists)}"
            )
        notes, table.doubtful = column_notes(table, wanted)  # of all rows, because row numbers may lose some below
        notes += unused_notes(table, wanted)
    elif leading is None and not of_model:
        can_be_labels = automatic and suffix != ".h5ad"  # elsewhere, --label would fail
        notes = label_notes(table, wanted, table.columns if can_be_labels else ())
    else:
        notes = []
    settle_missing(path, table, wanted)
    table.notes += notes
    return table


def read_metadata(path: Path, id: str | None) -> Table:
    """Read all columns of a file as metadata.

    Ids are not checked here: the file may have rows of other points, and no column `id` if the points have one.
    """
    if path.is_dir():
        raise InputError(f"{path} is a folder; pass a file to --metadata.")
    if not path.name.lower().endswith(TABULAR_SUFFIXES):
        raise InputError(f"--metadata must end in one of {', '.join(TABULAR_SUFFIXES)}, got {path}.")
    suffix = check_input(path)
    _check_options(path, suffix, rep=None, vector=None, transpose=False)
    return _read(path, suffix, Wanted(columns=[], id=id, elsewhere=frozenset(() if id is None else (id,))), None)


def _read(path: Path, suffix: str, wanted: Wanted, rep: str | None) -> Table:
    kind, read = ("Zarr", read_folder) if suffix == FOLDER else READERS[suffix]
    with reading(path, kind):
        return read_h5ad(path, wanted, rep) if suffix == ".h5ad" else read(path, wanted)


def _check_options(path: Path, suffix: str, *, rep: str | None, vector: str | None, transpose: bool) -> None:
    """Raise if an option does not apply to the format of a file."""
    if suffix in TEXT_SUFFIXES:
        _check_is_text(path)
    if rep is not None and suffix != ".h5ad":
        raise InputError(f"--rep applies only to H5AD files, but {path} is not one; omit the option.")
    if vector is not None and not can_have_lists(path):
        raise InputError(
            f"--vector applies only to {', '.join(VECTOR_SUFFIXES)} files and folders of Parquet files, but {path} is "
            "not one; omit the option, or save the lists in a Parquet file."
        )
    if transpose and (suffix in (".h5ad", FOLDER) or vector is not None):
        what = "with --vector" if vector is not None else f"to {path}"
        raise InputError(f"--transpose does not apply {what}; omit the option.")


def check_input(path: Path) -> str:
    """Check that a file exists and is not empty, or that a folder has blocks, and return the suffix."""
    if path.is_dir():
        if not is_zarr(path):
            block_files(path)
        return FOLDER
    if not path.exists():
        raise InputError(f"{path} does not exist; check the name and the folder.")
    suffix = suffix_of(path, tuple(READERS))
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty; pass a file with points.")
    return suffix


def has_numbered_columns(path: Path) -> bool:
    """Return whether the columns of a file or a folder have numbers instead of names."""
    return not has_named_columns(path) if path.is_dir() else path.name.lower().endswith(ARRAY_SUFFIXES)


def can_have_lists(path: Path) -> bool:
    """Return whether a file or a folder has a format in which `vector` can name the points."""
    return has_named_columns(path) if path.is_dir() else path.name.lower().endswith(VECTOR_SUFFIXES)


def suffix_of(path: Path, known: tuple[str, ...]) -> str:
    """Return the longest known suffix of the path."""
    name = path.name.lower()
    fitting = [suffix for suffix in known if name.endswith(suffix)]
    if not fitting:
        raise InputError(f"{path} must end in one of {', '.join(known)}.")
    return max(fitting, key=len)


def _check_is_text(path: Path) -> None:
    with open(path, "rb") as file:
        start = file.read(16)
    for signature, kind in SIGNATURES.items():
        if start.startswith(signature):
            raise InputError(f"{path} contains {kind} data, not text as its suffix suggests; rename it.")


def read_parquet(path: Path, wanted: Wanted) -> Table:
    """Read a Parquet file in batches."""
    with parquet.ParquetFile(path, page_checksum_verification=True) as file:
        plan = plan_columns(path, file.schema_arrow, wanted)
        return assemble(path, file.iter_batches(CHUNK_ROWS, columns=plan.read_columns), plan)


def read_arrow(path: Path, wanted: Wanted) -> Table:
    """Read an Arrow (Feather) file or stream in batches."""
    with pa.memory_map(str(path)) as source:
        try:
            reader = ipc.open_file(source)
            batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
        except pa.ArrowInvalid:
            source.seek(0)
            batches = iter(reader := ipc.open_stream(source))
        return assemble(path, batches, plan_columns(path, reader.schema, wanted))


READERS: dict[str, tuple[str, Callable[[Path, Wanted], Table]]] = {
    ".csv": ("text", read_csv),
    ".tsv": ("text", read_csv),
    ".csv.gz": ("compressed text", read_csv),
    ".tsv.gz": ("compressed text", read_csv),
    ".parquet": ("Parquet", read_parquet),
    ".arrow": ("Arrow", read_arrow),
    ".feather": ("Arrow", read_arrow),
    ".npy": ("NPY", read_npy),
    ".npz": ("NPZ", read_npz),
    ".mtx": ("Matrix Market", read_matrix_market),
    ".mtx.gz": ("Matrix Market", read_matrix_market),
    ".h5ad": ("H5AD", read_h5ad),
}
