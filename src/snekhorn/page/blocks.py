"""Blocks of data in a page: deflated, base64, in elements that browsers do not run."""

import zlib
from binascii import b2a_base64
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

BYTES_AT_ONCE = 1 << 18
LEVEL = 6


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


def write_array(out: BinaryIO, key: str, values: NDArray[Any]) -> None:
    """Write an array of little-endian numbers as one block."""
    values = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
    write_block(out, key, _planes(values))


def _planes(values: NDArray[Any]) -> Iterator[bytes]:
    """First bytes of all numbers, then second bytes, and so on: like bytes together deflate by a fifth more."""
    size = values.dtype.itemsize
    table = values.view(np.uint8).reshape(-1, size)
    for plane in range(size):
        for start in range(0, len(table), BYTES_AT_ONCE):
            yield table[start : start + BYTES_AT_ONCE, plane].tobytes()


def _deflated(chunks: Iterable[bytes]) -> Iterator[bytes]:
    # zlib's own format: a gzip header would name the operating system, and the same page would differ.
    deflate = zlib.compressobj(LEVEL)
    for chunk in chunks:
        yield deflate.compress(chunk)
    yield deflate.flush()
