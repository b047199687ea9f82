"""Write coordinates and metadata to the page as compressed blocks.

A block is deflated and base64-encoded, in an element that browsers do not run. There are four kinds of metadata
columns. A "category" has a list of distinct values and, for each point, the index of its value; the index after the
last value marks a missing value. Text columns are also categories. Categories of an AnnData object may have colours.
A "number", a "time" (milliseconds since 1970) and a "duration" (seconds) are floating-point numbers, NaN if missing,
with a colour scale that has the same limits as in a picture.
"""

from __future__ import annotations

import json
import zlib
from binascii import b2a_base64
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..colors import DISTINCT, color_limits

CHUNK_BYTES = 1 << 18
CHUNK_VALUES = 1 << 16
COMPRESSION_LEVEL = 6  # a higher level takes longer and hardly reduces the file size
Palette = Mapping[str, str]
LARGEST_EXACT = {"f4": 2**24, "f8": 2**53}  # all integers up to this value are exact


def write_column(out: BinaryIO, key: str, column: Any, palette: Palette | None = None) -> dict[str, Any]:
    """Write a column and return the description that the page needs to read it.

    The palette has the colours of its categories, by their names.
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return _write_times(out, key, column)
    if pa.types.is_duration(kind) or pa.types.is_time(kind):
        return _write_durations(out, key, column)
    if pa.types.is_integer(kind):
        return _write_integers(out, key, column, palette)
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _write_floats(out, key, column, palette)
    return _write_category(out, key, column if pa.types.is_boolean(kind) else _as_text(column), palette)


def _write_integers(out: BinaryIO, key: str, column: Any, palette: Palette | None) -> dict[str, Any]:
    largest = max((abs(bound) for bound in pc.min_max(column).as_py().values() if bound is not None), default=0)
    if largest > LARGEST_EXACT["f8"]:
        return _write_category(out, key, column.cast(pa.string()), palette)  # browsers would round such large integers
    if _has_few_values(column):
        return _write_category(out, key, column, palette)
    dtype = next(dtype for dtype, limit in LARGEST_EXACT.items() if largest <= limit)
    return _write_numbers(out, key, _to_numpy(column, pa.float64()).astype(dtype), kind="number", whole=True)


def _write_floats(out: BinaryIO, key: str, column: Any, palette: Palette | None) -> dict[str, Any]:
    narrow = column.type in (pa.float16(), pa.float32())
    numbers = _to_numpy(column, pa.float32() if narrow else pa.float64())
    present = numbers[~np.isnan(numbers)]
    if np.isfinite(present).all() and (present == np.floor(present)).all():  # integers stored with missing values
        classes = pa.chunked_array([pa.array(numbers, from_pandas=True)])
        if _has_few_values(classes):
            return _write_category(out, key, classes.cast(pa.int64(), safe=False), palette)
    return _write_numbers(out, key, numbers, kind="number", whole=False)


def _write_times(out: BinaryIO, key: str, column: Any) -> dict[str, Any]:
    zoned = pa.types.is_timestamp(column.type) and column.type.tz is not None
    ticks = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64())  # browsers have no finer resolution
    counts = ticks.drop_null().to_numpy()
    digits = 6 if (counts % 1000).any() else 3 if (counts % 1_000_000).any() else 0
    days = not zoned and not (counts % 86_400_000_000).any()
    numbers = _to_numpy(ticks, pa.float64()) / 1000.0
    return _write_numbers(out, key, numbers, kind="time", digits=digits, days=days, zoned=zoned)


def _write_durations(out: BinaryIO, key: str, column: Any) -> dict[str, Any]:
    """Write durations, or times of day as the duration since midnight, in seconds."""
    clock = pa.types.is_time(column.type)
    ticks = (column.cast(pa.time64("ns")) if clock else column).cast(pa.int64())
    unit = 9 if clock else {"s": 0, "ms": 3, "us": 6, "ns": 9}[column.type.unit]  # digits of a second
    counts = ticks.drop_null().to_numpy()
    digits = next((d for d in (0, 3) if not (counts % 10 ** max(unit - d, 0)).any()), 6)
    numbers = _to_numpy(ticks, pa.float64()) / 10**unit
    return _write_numbers(out, key, numbers, kind="duration", digits=digits, clock=clock)


def _write_numbers(out: BinaryIO, key: str, numbers: NDArray[Any], **header: Any) -> dict[str, Any]:
    write_array(out, f"numbers-{key}", numbers)
    finite = numbers[np.isfinite(numbers)].astype(np.float64)
    scale = color_limits(finite) if finite.size else None
    ends = None if scale is None else [float(finite.min()), *scale, float(finite.max())]
    return {**header, "type": numbers.dtype.str[1:], "scale": ends}


def _write_category(out: BinaryIO, key: str, column: Any, palette: Palette | None) -> dict[str, Any]:
    encoded = pa.chunked_array(column.dictionary_encode().chunks or [pa.array([], column.type).dictionary_encode()])
    encoded = encoded.unify_dictionaries()
    values = encoded.chunk(0).dictionary
    write_block(out, f"values-{key}", _json_chunks(values))
    codes = np.concatenate([_codes(chunk, len(values)) for chunk in encoded.chunks])
    header = {"kind": "category", "size": len(values), "text": pa.types.is_string(values.type)}
    if palette:
        header["colors"] = [
            palette[name][:7] if (name := str(value)) in palette else None for value in values.to_pylist()
        ]
    if len(values) == len(codes) and not column.null_count:
        return {**header, "type": None}  # every value occurs once, so the codes are the row numbers
    write_array(out, f"codes-{key}", codes)
    return {**header, "type": codes.dtype.str[1:]}


def _codes(chunk: Any, missing: int) -> NDArray[Any]:
    return np.asarray(chunk.indices.fill_null(missing).to_numpy(zero_copy_only=False), dtype=smallest_type(missing))


def smallest_type(largest: int) -> Any:
    """Return the smallest type of whole numbers from 0 to `largest`."""
    return next(t for t in (np.uint8, np.uint16, np.uint32) if largest <= np.iinfo(t).max)


def _json_chunks(values: Any) -> Iterator[bytes]:
    """Yield the values as one JSON list, in chunks."""
    yield b"["
    for start in range(0, len(values), CHUNK_VALUES):
        text = json.dumps(values.slice(start, CHUNK_VALUES).to_pylist(), ensure_ascii=False, separators=(",", ":"))
        yield (("," if start else "") + text[1:-1]).encode()
    yield b"]"


def _has_few_values(column: Any) -> bool:
    """Return whether whole numbers count as classes: there is a colour for each distinct value."""
    return int(pc.count_distinct(column, mode="only_valid").as_py()) <= len(DISTINCT)


def _to_numpy(column: Any, kind: Any) -> NDArray[Any]:
    """Convert to an array, with NaN for missing values."""
    return np.asarray(column.cast(kind, safe=False).to_numpy())


def _as_text(column: Any) -> Any:
    try:
        return column.cast(pa.string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):  # lists, structures, bytes
        texts = [None if value is None else str(value) for value in column.to_pylist()]
        return pa.chunked_array([pa.array(texts, pa.string())])


def write_array(out: BinaryIO, key: str, values: NDArray[Any]) -> None:
    """Write an array as one block of little-endian numbers."""
    values = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
    write_block(out, key, _byte_planes(values))


def _byte_planes(values: NDArray[Any]) -> Iterator[bytes]:
    """Yield the first byte of every number, then the second, and so on, which makes files a fifth smaller."""
    size = values.dtype.itemsize
    table = values.view(np.uint8).reshape(-1, size)
    for plane in range(size):
        for start in range(0, len(table), CHUNK_BYTES):
            yield table[start : start + CHUNK_BYTES, plane].tobytes()


def write_block(out: BinaryIO, key: str, chunks: Iterable[bytes]) -> None:
    """Write chunks as one block that the page finds by its key."""
    out.write(f'<script type="text/plain" id="{key}">'.encode())
    rest = b""
    for piece in _deflated(chunks):
        data = rest + piece
        whole = len(data) - len(data) % 3  # base64 turns three bytes into four letters
        out.write(b2a_base64(data[:whole], newline=False))
        rest = data[whole:]
    out.write(b2a_base64(rest, newline=False) + b"</script>\n")


def _deflated(chunks: Iterable[bytes]) -> Iterator[bytes]:
    # Use the zlib format: the gzip header names the operating system, so the same page would differ between systems.
    deflate = zlib.compressobj(COMPRESSION_LEVEL)
    for chunk in chunks:
        yield deflate.compress(chunk)
    yield deflate.flush()
