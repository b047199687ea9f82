"""Read NPY files, and folders of points that are read by blocks: .npy files, Parquet files, or a Zarr array.

The headers of all blocks are read and compared first, so a block that does not fit is found before any long work. The
points themselves are read when they are needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet

from ..errors import InputError, first_few
from ..geometry.point_blocks import LARGE, PointBlocks, as_blocks, piece_bounds, piece_rows
from ..runtime.natural_order import natural_key
from .matrix_files import ZIP_SIGNATURE, as_table, numbered_names, starts_with
from .table import Plan, Table, Wanted, as_numbers, no_metadata, plan_columns, reading
from .vector_columns import vector_names, vector_values, vector_width

BLOCK_SUFFIXES = (".npy", ".parquet")
HIDDEN = (".", "_")  # first letters of files that are not blocks, such as _SUCCESS and ._part-1.parquet
ZARR_FILES = ("zarr.json", ".zarray", ".zgroup")
BUFFER_BYTES = 1 << 16  # for each column of a Parquet file; a larger buffer takes more memory if there are many columns
FIRST_ROWS = 1024  # of a column of lists, which show how long they are
TRUNCATED = ("mmap length", "EOF: reading")  # errors of NumPy about a file that ends in its values or in its header
SAME_COLUMNS = "all blocks need the same columns."
SAME_TYPE = "convert all blocks to one type."
SINGLE = (pa.float16(), pa.float32())  # read as float32


def read_npy(path: Path, wanted: Wanted) -> Table:
    """Read one array: memory-mapped, or by blocks if it is large."""
    if starts_with(path, ZIP_SIGNATURE):
        raise InputError(f"{path} is an NPZ file, not an NPY file as its suffix suggests; rename it to end in .npz.")
    X = _open_npy(path)
    large = X.size > LARGE and X.ndim == 2 and X.dtype.kind in "biuf"
    return _npy_table(path, [path], wanted) if large else as_table(path, X, {}, wanted)


def read_folder(folder: Path, wanted: Wanted) -> Table:
    """Open the blocks in a folder, in the order of their names, or a Zarr array."""
    if is_zarr(folder):
        return _zarr_table(folder, wanted)
    files = block_files(folder)
    read = _npy_table if files[0].suffix.lower() == ".npy" else _parquet_table
    return read(folder, files, wanted)


def has_named_columns(folder: Path) -> bool:
    """Return whether the blocks in a folder have column names."""
    return not is_zarr(folder) and block_files(folder)[0].suffix.lower() == ".parquet"


def is_zarr(folder: Path) -> bool:
    """Return whether a folder is a Zarr array or group."""
    return any((folder / name).exists() for name in ZARR_FILES)


def block_files(folder: Path) -> list[Path]:
    """Return the blocks in a folder, with the numbers in their names sorted by value."""
    found = [
        file
        for file in folder.iterdir()
        if file.suffix.lower() in BLOCK_SUFFIXES and not file.name.startswith(HIDDEN) and file.is_file()
    ]
    if not found:
        raise InputError(
            f"{folder} is a folder without blocks; pass a folder of .npy or .parquet files, a Zarr array, or the name "
            "of a file."
        )
    files = sorted(found, key=lambda file: natural_key(file.name))
    for file in files:
        if file.suffix.lower() != files[0].suffix.lower():
            raise InputError(f"{folder} has blocks of two kinds, {files[0].name} and {file.name}; keep only one kind.")
    return files


def _npy_table(path: Path, files: list[Path], wanted: Wanted) -> Table:
    """Open NPY files, which are divided into pieces."""
    pieces: list[tuple[Path, int, int]] = []
    shape, dtype = (0, 0), np.dtype(float)
    for file in files:
        with reading(file, "NPY"):
            X = _open_npy(file)
        if X.ndim != 2 or X.dtype.kind not in "biuf":
            raise InputError(f"{file} has {X.dtype} of shape {X.shape}; every block must be a 2-D array of numbers.")
        if not pieces:
            shape, dtype = X.shape, X.dtype
        if X.shape[1] != shape[1]:
            raise InputError(f"{file} has {X.shape[1]} columns, but {files[0].name} has {shape[1]}; {SAME_COLUMNS}")
        if X.dtype != dtype:
            raise InputError(f"{file} has numbers of type {X.dtype}, but {files[0].name} has {dtype}; {SAME_TYPE}")
        bounds = piece_bounds(len(X), X.shape[1] * X.dtype.itemsize)
        pieces += [(file, start, stop) for start, stop in pairwise(bounds)]

    def load(i: int) -> NDArray[Any]:
        file, start, stop = pieces[i]
        with reading(file, "NPY"):
            return np.array(_open_npy(file)[start:stop])  # a copy, because mapped pages would stay in memory

    sizes, places = [stop - start for _, start, stop in pieces], [(str(file), start) for file, start, _ in pieces]
    names = numbered_names(shape[1])
    return as_table(path, PointBlocks(sizes, shape[1], dtype, load, places=places, names=names), {}, wanted)


def _open_npy(path: Path) -> Any:
    """Map an NPY file into memory; raise if its size is not the declared one."""
    try:
        X = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        if str(error).startswith(TRUNCATED):
            raise InputError(f"{path} is truncated; write it again.") from error
        if "pickle" in str(error):  # NumPy takes anything else for a pickle, and offers to load it
            raise ValueError("it does not begin like one") from error
        raise
    n_bytes = path.stat().st_size - X.offset
    if X.nbytes != n_bytes:
        raise ValueError(f"it declares {X.nbytes} bytes of data, but has {n_bytes}")
    return X


def _zarr_table(folder: Path, wanted: Wanted) -> Table:
    """Open a Zarr array, or the array X of a Zarr group."""
    try:
        import zarr
    except ImportError:
        raise InputError(f"reading {folder} needs zarr; install it with: pip install 'snekhorn[zarr]'.") from None
    X: Any = zarr.open(str(folder), mode="r")
    if not hasattr(X, "chunks"):
        names = sorted(X.array_keys())
        if "X" not in names:
            raise InputError(
                f"{folder} is a Zarr group without an array X (its arrays: {first_few(names) or 'none'}); pass the "
                "folder of an array."
            )
        X = X["X"]
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise InputError(f"{folder} has {X.dtype} of shape {X.shape}; pass a 2-D array of numbers.")
    blocks = as_blocks(X)
    assert blocks is not None
    named = blocks.in_file(str(folder), numbered_names(X.shape[1]), partial(reading, folder, "Zarr"))
    return as_table(folder, named, {}, wanted)


def _parquet_table(folder: Path, files: list[Path], wanted: Wanted) -> Table:
    """Open Parquet files; columns that are not features are read at once."""
    schema, plan, pieces, others = pa.schema([]), None, [], []
    for file in files:
        with reading(file, "Parquet"), _open_parquet(file) as opened:
            if plan is None:
                schema = opened.schema_arrow
                plan = _with_width(file, opened, plan_columns(folder, schema, wanted))
            _check_schema(file, opened.schema_arrow, files[0], schema)
            first = 0
            for group in range(opened.num_row_groups):
                n_rows = opened.metadata.row_group(group).num_rows
                bounds = piece_bounds(n_rows, 8.0 * len(plan.features))
                pieces += [(file, group, start, stop, first + start) for start, stop in pairwise(bounds)]
                first += n_rows
            others.append(opened.read(columns=plan.metadata))
            others[-1].validate(full=True)  # loops of Arrow trust the offsets and indices of a file
    assert plan is not None
    n = sum(stop - start for _, _, start, stop, _ in pieces)
    if n == 0:
        raise InputError(f"{folder} has 0 rows; pass blocks with points.")
    metadata = pa.concat_tables(others).replace_schema_metadata(None) if plan.metadata else no_metadata(n)
    kinds = [schema.field(name).type for name in ([plan.vector] if plan.vector else plan.features)]
    single = all((kind.value_type if plan.vector else kind) in SINGLE for kind in kinds)
    blocks = PointBlocks(
        [stop - start for _, _, start, stop, _ in pieces],
        len(plan.features),
        np.float32 if single else np.float64,
        _ParquetPieces(pieces, plan),
        places=[(str(file), row) for file, _, _, _, row in pieces],
        names=plan.features,
    )
    return Table(blocks, plan.features, metadata, plan.id, plan.label, plan.notes, lists=plan.lists)


def _with_width(file: Path, opened: parquet.ParquetFile, plan: Plan) -> Plan:
    """Name the features of a column of lists after its first rows."""
    if plan.vector is None:
        return plan
    batch = next(opened.iter_batches(FIRST_ROWS, columns=[plan.vector]), None)
    width = None if batch is None else vector_width(file, plan.vector, batch.column(plan.vector))
    if width is None:
        raise InputError(f"{file} starts without lists in column {plan.vector!r}; drop the rows without a list.")
    return replace(plan, features=vector_names(plan.vector, width))


def _open_parquet(file: Path) -> parquet.ParquetFile:
    """Open a file so that its pages are read one after the other, not all columns of a row group at once."""
    return parquet.ParquetFile(file, page_checksum_verification=True, pre_buffer=False, buffer_size=BUFFER_BYTES)


def _check_schema(file: Path, schema: pa.Schema, first: Path, expected: pa.Schema) -> None:
    """Raise unless a block has the columns of the first one, in any order."""
    if missing := [name for name in expected.names if name not in schema.names]:
        raise InputError(f"{file} has no column {missing[0]!r}, but {first.name} has; {SAME_COLUMNS}")
    if extra := [name for name in schema.names if name not in expected.names]:
        raise InputError(f"{file} has a column {extra[0]!r}, but {first.name} has not; {SAME_COLUMNS}")
    for name in expected.names:
        found, wanted = schema.field(name).type, expected.field(name).type
        if found != wanted:
            raise InputError(
                f"column {name!r} of {file} has the type {found}, but that of {first.name} has {wanted}; {SAME_TYPE}"
            )


class _ParquetPieces:
    """Pieces of the row groups of Parquet files; consecutive pieces are read without starting anew."""

    def __init__(self, pieces: list[tuple[Path, int, int, int, int]], plan: Plan) -> None:
        self._pieces, self._plan = pieces, plan
        self._step = piece_rows(8.0 * len(plan.features))
        self._next = -1  # piece that the open file yields next
        self._batches: Iterator[pa.RecordBatch] = iter(())

    def __call__(self, i: int) -> NDArray[Any]:
        file, group, start, _, first = self._pieces[i]
        features, vector = self._plan.features, self._plan.vector
        with reading(file, "Parquet"):
            if i != self._next or start == 0:
                self._batches = self._batches_of(file, group)
                for _ in range(start // self._step):
                    next(self._batches)
            batch = next(self._batches)
            self._next = i + 1
            if vector is not None:
                batch.validate(full=True)  # loops of Arrow trust the offsets of a file
                return vector_values(file, vector, batch.column(vector), len(features), first)
            return np.stack([as_numbers(batch.column(name)) for name in features], axis=1)

    def _batches_of(self, file: Path, group: int) -> Iterator[pa.RecordBatch]:
        with _open_parquet(file) as opened:
            plan = self._plan
            columns = plan.features if plan.vector is None else [plan.vector]
            yield from opened.iter_batches(self._step, row_groups=[group], columns=columns)
