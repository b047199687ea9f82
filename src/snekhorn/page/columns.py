"""Columns of metadata as blocks of data: codes with their values, or numbers.

Every column becomes one of three kinds. A "category" has distinct values and, for each point, the code of its value,
where the number of values stands for a missing one; text is of this kind too. A "number" and a "time" (milliseconds
since 1970) are floating-point numbers, NaN where missing.
"""

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .blocks import write_array, write_block

MOST_COLORS = 40  # whole numbers with up to as many values are classes
VALUES_AT_ONCE = 1 << 16
LARGEST_WHOLE = {"f4": 2**24, "f8": 2**53}  # up to which every whole number is exact


def write_column(out: BinaryIO, key: str, column: Any) -> dict[str, Any]:
    """Write a column and return what the page needs to read it."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return _write_time(out, key, column)
    if pa.types.is_integer(kind):
        return _write_integers(out, key, column)
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _write_floats(out, key, column)
    return _write_category(out, key, column if pa.types.is_boolean(kind) else _as_text(column))


def _write_integers(out: BinaryIO, key: str, column: Any) -> dict[str, Any]:
    largest = max((abs(bound) for bound in pc.min_max(column).as_py().values() if bound is not None), default=0)
    if largest > LARGEST_WHOLE["f8"]:
        return _write_category(out, key, column.cast(pa.string()))  # browsers would round them
    if _is_class(column):
        return _write_category(out, key, column)
    dtype = next(dtype for dtype, limit in LARGEST_WHOLE.items() if largest <= limit)
    return _write_numbers(out, key, _with_nan(column, pa.float64()).astype(dtype), kind="number", whole=True)


def _write_floats(out: BinaryIO, key: str, column: Any) -> dict[str, Any]:
    narrow = column.type in (pa.float16(), pa.float32())
    numbers = _with_nan(column, pa.float32() if narrow else pa.float64())
    present = numbers[~np.isnan(numbers)]
    if np.isfinite(present).all() and (present == np.floor(present)).all():  # integers that missing ones made floats
        classes = pa.chunked_array([pa.array(numbers, from_pandas=True)])
        if _is_class(classes):
            return _write_category(out, key, classes.cast(pa.int64(), safe=False))
    return _write_numbers(out, key, numbers, kind="number", whole=False)


def _write_time(out: BinaryIO, key: str, column: Any) -> dict[str, Any]:
    zoned = pa.types.is_timestamp(column.type) and column.type.tz is not None
    ticks = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64())  # browsers have no finer ones
    counts = ticks.drop_null().to_numpy()
    digits = 6 if (counts % 1000).any() else 3 if (counts % 1_000_000).any() else 0
    days = not zoned and not (counts % 86_400_000_000).any()
    numbers = _with_nan(ticks, pa.float64()) / 1000.0
    return _write_numbers(out, key, numbers, kind="time", digits=digits, days=days, zoned=zoned)


def _write_numbers(out: BinaryIO, key: str, numbers: NDArray[Any], **header: Any) -> dict[str, Any]:
    write_array(out, f"numbers-{key}", numbers)
    return {**header, "type": numbers.dtype.str[1:]}


def _write_category(out: BinaryIO, key: str, column: Any) -> dict[str, Any]:
    encoded = pa.chunked_array(column.dictionary_encode().chunks or [pa.array([], column.type).dictionary_encode()])
    encoded = encoded.unify_dictionaries()
    values = encoded.chunk(0).dictionary
    write_block(out, f"values-{key}", _json_chunks(values))
    codes = np.concatenate([_codes(chunk, len(values)) for chunk in encoded.chunks])
    header = {"kind": "category", "size": len(values), "text": pa.types.is_string(values.type)}
    if len(values) == len(codes) and not column.null_count:
        return {**header, "type": None}  # every value once, in order: nothing to look up
    write_array(out, f"codes-{key}", codes)
    return {**header, "type": codes.dtype.str[1:]}


def _codes(chunk: Any, missing: int) -> NDArray[Any]:
    dtype = next(t for t in (np.uint8, np.uint16, np.uint32) if missing <= np.iinfo(t).max)
    return chunk.indices.fill_null(missing).to_numpy(zero_copy_only=False).astype(dtype)


def _json_chunks(values: Any) -> Iterator[bytes]:
    """The values as one JSON list, in pieces."""
    yield b"["
    for start in range(0, len(values), VALUES_AT_ONCE):
        text = json.dumps(values.slice(start, VALUES_AT_ONCE).to_pylist(), ensure_ascii=False, separators=(",", ":"))
        yield (("," if start else "") + text[1:-1]).encode()
    yield b"]"


def _is_class(column: Any) -> bool:
    return pc.count_distinct(column, mode="only_valid").as_py() <= MOST_COLORS


def _with_nan(column: Any, kind: Any) -> NDArray[Any]:
    return column.cast(kind, safe=False).to_numpy()


def _as_text(column: Any) -> Any:
    try:
        return column.cast(pa.string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):  # lists, structures, bytes
        texts = [None if value is None else str(value) for value in column.to_pylist()]
        return pa.chunked_array([pa.array(texts, pa.string())])
