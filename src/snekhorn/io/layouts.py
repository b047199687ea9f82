"""Layouts as files: coordinates first, metadata after them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..errors import InputError
from .read import read_table
from .write import write_table

TABLES = (".parquet", ".csv", ".tsv", ".arrow", ".feather")
SUFFIXES = (*TABLES, ".npy")
AXES = ("x", "y", "z")
COORDINATE = re.compile(r"^([xyz])(?:_(.+))?$")


@dataclass
class Layouts:
    """One layout or several of the same points.

    Attributes
    ----------
    layouts : dict of str to ndarray of shape (n, d)
        By what tells them apart, such as the perplexity; "" if there is one.
    metadata : pyarrow.Table
        What else is known of the points.
    """

    layouts: dict[str, NDArray[Any]]
    metadata: pa.Table

    @property
    def only(self) -> NDArray[Any]:
        return next(iter(self.layouts.values()))


def write_layouts(found: Layouts, path: Path) -> None:
    """Write coordinates and metadata; NPY holds the coordinates of one layout."""
    if path.suffix.lower() == ".npy":
        with open(path, "wb") as stream:
            np.save(stream, found.only)
        return
    columns: dict[str, Any] = {}
    for key, Z in found.layouts.items():
        for axis, values in zip(AXES, Z.T, strict=False):
            columns[f"{axis}_{key}" if key else axis] = pa.array(np.ascontiguousarray(values))
    for name in found.metadata.column_names:
        columns[_free_name(name, columns, found.layouts)] = found.metadata.column(name)
    write_table(pa.table(columns), path)


def coordinate_columns(names: list[str]) -> list[str]:
    """Columns at the start of a table that are one layout or several: x, y, z, alone or with a common ending."""
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


def _free_name(name: str, taken: dict[str, Any], keys: Any) -> str:
    """The name, marked as the input's where it could be taken for a coordinate."""
    match = COORDINATE.match(name)
    clashes = name in taken or (match is not None and (match[2] or "") in {"", *keys})
    return _free_name(f"input_{name}", taken, keys) if clashes else name


def read_layouts(path: Path, *, columns: list[str] | None = None) -> Layouts:
    """What `write_layouts` wrote, or any table that begins with columns x and y; `columns` names others."""
    plain = path.suffix.lower() == ".npy" or columns is not None
    table = read_table(path, columns=columns, leading=None if plain else coordinate_columns)
    if plain:
        return Layouts({"": _checked(path, np.asarray(table.X))}, table.metadata)
    keys = dict.fromkeys(map(_key, table.columns))
    layouts = {key: table.X[:, [_key(name) == key for name in table.columns]] for key in keys}
    return Layouts({key: _checked(path, Z) for key, Z in layouts.items()}, table.metadata)


def _key(name: str) -> str:
    match = COORDINATE.match(name)
    return (match and match.group(2)) or ""


def _checked(path: Path, Z: NDArray[Any]) -> NDArray[Any]:
    if not 1 <= Z.shape[1] <= 3:
        raise InputError(f"{path} has {Z.shape[1]} coordinates; a layout has 1 to 3. Name them with --coordinates.")
    return Z
