"""Read points from one column of a typed file in which every value is a list of numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..errors import InputError, first_few


def is_vector(kind: pa.DataType) -> bool:
    """Return whether the values of a column of this type are lists of numbers."""
    lists = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    return bool(lists and (pa.types.is_integer(kind.value_type) or pa.types.is_floating(kind.value_type)))


def check_vector(path: Path, schema: pa.Schema, name: str) -> None:
    """Raise unless a column holds lists of numbers."""
    if not is_vector(schema.field(name).type):
        others = [field.name for field in schema if is_vector(field.type)]
        known = f"the columns that do are {first_few(others)}" if others else "no column does; use --columns"
        raise InputError(f"column {name!r} of {path} does not hold lists of numbers; {known}.")


def vector_names(name: str, width: int) -> list[str]:
    """Return the names of the features that a column of lists becomes."""
    return [f"{name}_{i + 1}" for i in range(width)]


def vector_width(path: Path, name: str, column: pa.Array) -> int | None:
    """Return the length of the first list of a column, or None if there is none."""
    lengths = pc.list_value_length(column).drop_null()
    if not len(lengths):
        return None
    if (width := int(lengths[0].as_py())) == 0:
        raise InputError(f"the first list in column {name!r} of {path} is empty; pass lists of numbers.")
    return width


def vector_values(path: Path, name: str, column: pa.Array, width: int, n_before: int) -> NDArray[Any]:
    """Return a column of lists as an array with NaN for missing lists and numbers; raise if lengths differ."""
    lengths = pc.list_value_length(column)
    wrong = pc.not_equal(lengths, width)  # unknown for a missing list
    if pc.any(wrong).as_py():
        at = pc.index(wrong, True).as_py()
        count = lengths[at].as_py()
        raise InputError(
            f"{path}: the list in row {n_before + at + 1} of column {name!r} has {count} numbers, but the first has "
            f"{width}; all lists must have the same length."
        )
    values = np.asarray(column.flatten().to_numpy(zero_copy_only=False))
    if not column.null_count:
        return values.reshape(len(column), width)
    out = np.full((len(column), width), np.nan)
    out[column.is_valid().to_numpy(zero_copy_only=False)] = values.reshape(-1, width)
    return out
