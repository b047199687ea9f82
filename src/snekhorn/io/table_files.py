"""Read a table from any supported format, chosen by the suffix; this module reads Parquet and Arrow files itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from pyarrow import ipc, parquet

from ..errors import InputError
from .block_files import block_files, has_named_columns, is_zarr, read_folder, read_npy
from .csv_files import read_csv
from .matrix_files import read_h5ad, read_matrix_market, read_npz
from .table import Table, Wanted, assemble, check_ids, plan_columns, reading

CHUNK_ROWS = 1 << 16
TEXT_SUFFIXES = (".csv", ".tsv")
TABULAR_SUFFIXES = (*TEXT_SUFFIXES, ".csv.gz", ".tsv.gz", ".parquet", ".arrow", ".feather")
ARRAY_SUFFIXES = (".npy", ".npz", ".mtx", ".mtx.gz")  # formats whose columns have no names
FOLDER = ""  # stands for the suffix of a folder
SIGNATURES = {
    b"PAR1": "Parquet",
    b"ARROW1": "Arrow",
    b"\x93NUMPY": "NPY",
    b"PK\x03\x04": "NPZ (or another ZIP)",
    b"\x89HDF": "H5AD (or another HDF5)",
    b"%%MatrixMarket": "MTX",
}


def read_table(
    path: Path | str,
    *,
    columns: list[str] | None = None,
    label: str | None = None,
    id: str | None = None,
    rep: str | None = None,
    leading: Callable[[list[str]], list[str]] | None = None,
    of_model: bool = False,
) -> Table:
    """Read points and their metadata from a file.

    Parameters
    ----------
    path : Path or str
        CSV, TSV, Parquet, Arrow, NPY, NPZ, MTX or H5AD file; the suffix determines the format. CSV, TSV and MTX files
        may be compressed (.gz). A folder of NPY or Parquet files, or a Zarr array, is read by blocks.
    columns : list of str or None, default=None
        Numeric columns to use as features. None uses all except the label and the id.
    label, id : str or None, default=None
        Columns that hold the classes and the names of the points.
    rep : str or None, default=None
        For H5AD files, the entry of obsm to use, or "X".
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
    if suffix in TEXT_SUFFIXES:
        _check_is_text(path)
    if rep is not None and suffix != ".h5ad":
        raise InputError(f"--rep applies only to H5AD files, but {path} is not one; omit the option.")
    wanted = Wanted(columns, label, id, leading, of_model)
    kind, read = ("Zarr", read_folder) if suffix == FOLDER else READERS[suffix]
    with reading(path, kind):
        table = read_h5ad(path, wanted, rep) if suffix == ".h5ad" else read(path, wanted)
        check_ids(path, table)
    if columns is None and leading is None and suffix in TABULAR_SUFFIXES and len(table.columns) == 1:
        raise InputError(
            f"{path} has only one numeric column, {table.columns[0]!r}, but a layout normally needs at least two. "
            "To use only this one, pass it to --columns."
        )
    return table


def check_input(path: Path) -> str:
    """Check that a file exists and is not empty, or that a folder has blocks, and return the suffix."""
    if path.is_dir():
        if not is_zarr(path):
            block_files(path)
        return FOLDER
    suffix = suffix_of(path, tuple(READERS))
    if not path.exists():
        raise InputError(f"{path} does not exist; check the name and the folder.")
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty; pass a file with points.")
    return suffix


def has_numbered_columns(path: Path) -> bool:
    """Return whether the columns of a file or a folder have numbers instead of names."""
    return not has_named_columns(path) if path.is_dir() else path.name.lower().endswith(ARRAY_SUFFIXES)


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
        columns = [*plan.features, *plan.metadata]
        return assemble(path, file.iter_batches(CHUNK_ROWS, columns=columns), plan)


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
