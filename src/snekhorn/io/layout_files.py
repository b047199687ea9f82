"""Read and write layouts as tables: coordinate columns first, then metadata."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import csv as arrow_csv
from pyarrow import ipc, parquet
from scipy import sparse

from ..errors import InputError, did_you_mean, first_few
from ..registry import METHODS
from .h5ad_files import read_entries
from .h5ad_layouts import H5AD
from .table_files import TEXT_SUFFIXES, check_input, read_table
from .text_columns import NUMBER

TABLE_SUFFIXES = (".parquet", ".csv", ".tsv", ".arrow", ".feather")
LAYOUT_SUFFIXES = (*TABLE_SUFFIXES, ".npy")
FORMULA = re.compile(r"^[=+\-@\t\r]")
AXES = ("x", "y", "z")
ENTRY = re.compile(rf"(X_(?:{'|'.join(METHODS)}))(?:_(.+))?")  # of obsm, as written by write_h5ad
COORDINATE = re.compile(r"^([xyz])(?:_(.+))?$")


@dataclass
class Layouts:
    """One or several layouts of the same points.

    Attributes
    ----------
    layouts : dict of str to ndarray of shape (n, d)
        The layouts by key, such as the perplexity. The key of a single layout is "".
    metadata : pyarrow.Table
        Metadata of the points.
    notes : list of str
        Decisions made while reading that the user may want to know about.
    """

    layouts: dict[str, NDArray[Any]]
    metadata: pa.Table
    notes: list[str] = field(default_factory=list)

    @property
    def only(self) -> NDArray[Any]:
        """The first layout; usually the only one."""
        return next(iter(self.layouts.values()))


def write_layouts(found: Layouts, path: Path, *, escape_formulas: bool = False) -> None:
    """Write coordinates and metadata to a table; an NPY file holds only the coordinates of the first layout.

    Coordinate columns are called x, y and z, followed by the key if there are several layouts: x_30, y_30. Metadata
    columns whose names look like coordinates get the prefix "input_".

    With `escape_formulas`, text in CSV and TSV files that a spreadsheet would run as a formula gets the prefix "'". By
    default it is written as it is, as in pandas and Polars.
    """
    if path.suffix.lower() == ".npy":
        with open(path, "wb") as stream:
            np.save(stream, found.only)
        return
    columns: dict[str, Any] = {}
    for key, Z in found.layouts.items():
        for axis, values in zip(AXES, Z.T, strict=False):
            columns[f"{axis}_{key}" if key else axis] = pa.array(np.ascontiguousarray(values))
    fields = [pa.field(name, column.type) for name, column in columns.items()]
    for stored, column in zip(found.metadata.schema, found.metadata.columns, strict=True):
        name = _free_name(stored.name, columns, found.layouts)
        fields.append(stored.with_name(name))  # with the colours of its categories
        columns[name] = column
    table = pa.table(list(columns.values()), schema=pa.schema(fields))
    if escape_formulas and path.suffix.lower() in TEXT_SUFFIXES:
        table = _without_formulas(table)
    _write_table(table, path)


def _without_formulas(table: pa.Table) -> pa.Table:
    """Put an apostrophe before text that starts like a formula and is not a number."""
    names = ["'" + name if FORMULA.match(name) else name for name in table.column_names]
    columns = []
    for column in table.columns:
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            starts = pc.match_substring_regex(column, FORMULA.pattern)
            formula = pc.and_not(starts, pc.match_substring_regex(column, NUMBER))
            mark, nothing = (pa.scalar(text, column.type) for text in ("'", ""))
            column = pc.if_else(formula, pc.binary_join_element_wise(mark, column, nothing), column)
        columns.append(column)
    return pa.table(columns, names=names)


def _write_table(table: pa.Table, file: Path) -> None:
    """Write a table in the format given by the suffix."""
    suffix = file.suffix.lower()
    if suffix == ".parquet":
        parquet.write_table(table, file, write_page_checksum=True)
    elif suffix in (".arrow", ".feather"):
        with ipc.new_file(str(file), table.schema) as sink:
            sink.write_table(table)
    else:
        options = arrow_csv.WriteOptions(delimiter="\t" if suffix == ".tsv" else ",", quoting_style="needed")
        arrow_csv.write_csv(table, file, options)


def read_layouts(path: Path, *, columns: list[str] | None = None, colors: Iterable[str] = ()) -> Layouts:
    """Read a file written by `write_layouts`, or any table that starts with columns x and y.

    `columns` lists the coordinate columns if they have other names. The layouts of an H5AD file are the entries of
    obsm that are named after a method, or those listed in `columns`. Its genes become metadata if `colors` has them.
    """
    if path.is_dir():
        raise InputError(f"{path} is a folder; pass the name of a file.")
    if path.suffix.lower() == H5AD:
        return _read_cells(path, columns, colors)
    single = path.suffix.lower() == ".npy" or columns is not None
    table = read_table(path, columns=columns, leading=None if single else leading_coordinates)
    if single:
        return Layouts({"": _check_dimension(path, np.asarray(table.X))}, table.metadata)
    keys = dict.fromkeys(map(_key, table.columns))
    layouts = {key: table.X[:, [_key(name) == key for name in table.columns]] for key in keys}
    return Layouts({key: _check_dimension(path, Z) for key, Z in layouts.items()}, table.metadata)


def _read_cells(path: Path, names: list[str] | None, colors: Iterable[str]) -> Layouts:
    """Read layouts from the entries of obsm; if all are of one method, their keys are those of a table."""
    check_input(path)
    entries, metadata, notes = read_entries(path, partial(_layout_entries, path, names), colors)
    parts = {name: (match[1], match[2] or "") if (match := ENTRY.fullmatch(name)) else (name, "") for name in entries}
    several = len({start for start, _ in parts.values()}) > 1
    layouts: dict[str, NDArray[Any]] = {}
    for name, Z in entries.items():
        _check_dimension(path, Z)
        Z = Z.toarray() if sparse.issparse(Z) else Z
        if not np.isfinite(Z).all():
            raise InputError(f"obsm[{name!r}] of {path} has values that are missing or infinite; compute it again.")
        layouts[name if several else parts[name][1]] = Z
    if len({Z.shape[1] for Z in layouts.values()}) > 1:
        raise InputError(
            f"{path} has layouts of different dimensions, {first_few(list(entries))}; choose some with --coordinates."
        )
    return Layouts(layouts, metadata, notes)


def _layout_entries(path: Path, names: list[str] | None, known: list[str]) -> list[str]:
    """Return the entries of obsm to read; numbers in their names are in order, unlike in the file."""
    for name in names or ():
        if name not in known:
            raise InputError(f"{path} has no obsm[{name!r}]; {did_you_mean(name, known)}")
    found = names or sorted(filter(ENTRY.fullmatch, known), key=_by_number)
    if not found:
        remedy = f"choose entries with --coordinates (available: {first_few(known)})"
        raise InputError(
            f"{path} has no layout in obsm that is named after a method, such as 'X_tsnekhorn'; "
            f"{remedy if known else 'compute one with snekhorn embed'}."
        )
    return found


def _by_number(name: str) -> list[tuple[float, str]]:
    parts = re.split(r"(\d+(?:\.\d+)?)", name)  # text and numbers in turn
    return [(float(part), "") if i % 2 else (0.0, part) for i, part in enumerate(parts)]


def leading_coordinates(names: list[str]) -> list[str]:
    """Return the leading columns of a table that are coordinates: x, y, z, with or without a common suffix."""
    parts = [(match[1], match[2] or "") if (match := COORDINATE.match(name)) else ("", "") for name in names]
    if not parts or parts[0][0] != "x":
        return []
    axes = next(d for d in (3, 2, 1) if parts[:d] == [(axis, parts[0][1]) for axis in AXES[:d]])
    found = 0
    while parts[found : found + axes] == [(axis, parts[found][1]) for axis in AXES[:axes]]:
        found += axes
        if found >= len(parts):
            break
    return names[:found]


def _free_name(name: str, taken: dict[str, Any], keys: Iterable[str]) -> str:
    """Return the name of a metadata column, prefixed if it could be mistaken for a coordinate."""
    match = COORDINATE.match(name)
    clashes = name in taken or (match is not None and (match[2] or "") in {"", *keys})
    return _free_name(f"input_{name}", taken, keys) if clashes else name


def _key(name: str) -> str:
    match = COORDINATE.match(name)
    return (match and match.group(2)) or ""


def _check_dimension(path: Path, Z: NDArray[Any]) -> NDArray[Any]:
    if not 1 <= Z.shape[1] <= 3:
        raise InputError(
            f"{path} has {Z.shape[1]} coordinate columns, but a layout has 1 to 3; select them with --coordinates."
        )
    return Z
