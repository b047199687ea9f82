"""Read and write NPZ archives without trusting them.

Nothing is allocated before the sizes that a file declares have been compared with the bytes it has, no pickle is
opened, and the checksum of every array is verified.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np
from numpy.typing import NDArray

from ..runtime.memory import require_memory

SIGNATURE = b"PK\x03\x04"
MODEL_HEADER = "header.json"  # entry of saved models and checkpoints
MAX_READ = 8 << 20  # bytes; zipfile reads the table of contents at once, and 47 bytes of it take 600 bytes of memory
MAX_HEADER = 10_000  # bytes of the description of an array, as in NumPy
LARGEST_RATIO = 1032  # of deflate, by its specification
SLACK = 1024  # bytes; the ratio does not hold for the smallest members
CHUNK = 1 << 20  # bytes read at once; more than MAX_READ is refused


class NpzArchive:
    """NPZ file that is open for reading.

    Anything that is wrong with the file raises an exception of any type; the caller reports it.

    Parameters
    ----------
    file : IO
        The file, opened by `open_bounded`.
    compressed : bool
        Whether arrays may be compressed. Without compression, all arrays together are no larger than the file.
    """

    def __init__(self, file: IO[bytes], *, compressed: bool) -> None:
        if file.read(len(SIGNATURE)) != SIGNATURE:
            raise BadZipFile("not an NPZ archive")
        n_bytes = file.seek(0, io.SEEK_END)
        self._zip = ZipFile(file)
        self._members = {info.filename: info for info in self._zip.infolist()}
        self.names = [name.removesuffix(".npy") for name in self._members if name.endswith(".npy")]
        if len(self._members) < len(self._zip.infolist()):
            raise BadZipFile("two entries have the same name")
        if sum(info.compress_size for info in self._members.values()) > n_bytes:
            raise BadZipFile("the entries are larger than the file")
        methods = (ZIP_STORED, ZIP_DEFLATED) if compressed else (ZIP_STORED,)
        for name, info in self._members.items():
            ratio = 1 if info.compress_type == ZIP_STORED else LARGEST_RATIO
            if info.compress_type not in methods or info.flag_bits & 0x1:
                raise BadZipFile(f"{name!r} is compressed or encrypted in a way that is not allowed here")
            if info.file_size > ratio * info.compress_size + (SLACK if ratio > 1 else 0):
                raise BadZipFile(f"{name!r} declares {info.file_size} bytes, but has only {info.compress_size}")

    @property
    def is_model(self) -> bool:
        """Whether the file is a saved model, not a file of arrays."""
        return MODEL_HEADER in self._members

    def read_bytes(self, name: str, limit: int) -> bytes:
        """Return an entry of at most `limit` bytes."""
        info = self._member(name)
        if info.file_size > limit:
            raise BadZipFile(f"{name!r} has {info.file_size} bytes, more than {limit}")
        with self._zip.open(info) as stream:
            return b"".join(iter(lambda: stream.read(CHUNK), b""))  # to the end, where the checksum is verified

    def read_array(self, name: str) -> NDArray[Any]:
        """Return an array, after comparing its declared shape with the size of the entry."""
        info = self._member(f"{name}.npy")
        with self._zip.open(info) as stream:
            head = stream.read(MAX_HEADER)
            dtype, shape, order, start = _parse_head(head)
            n_bytes = math.prod(shape) * dtype.itemsize
            if dtype.hasobject or min(shape, default=0) < 0 or start + n_bytes != info.file_size:
                declared = f"{dtype} of shape {shape}"
                raise ValueError(f"{name!r} is declared as {declared}, but has {info.file_size - start} bytes")
            if info.compress_type != ZIP_STORED:
                require_memory(n_bytes, f"the array {name!r}", "use a machine with more memory")
            buffer = np.empty(n_bytes, dtype=np.uint8)
            filled = min(len(head) - start, n_bytes)
            buffer[:filled] = np.frombuffer(head, np.uint8, filled, start)
            while chunk := stream.read(CHUNK):  # to the end, where the checksum is verified
                buffer[filled : filled + len(chunk)] = np.frombuffer(chunk, np.uint8)
                filled += len(chunk)
        if filled < n_bytes:
            raise EOFError(f"{name!r} ends after {filled} of {n_bytes} bytes")
        array: NDArray[Any] = np.ndarray(shape, dtype, buffer, order=order)
        return array

    def _member(self, name: str) -> ZipInfo:
        if name not in self._members:
            raise KeyError(f"there is no entry {name!r}")
        return self._members[name]


class _BoundedFile(io.BufferedReader):
    """File that refuses to read much at once."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > MAX_READ:
            raise BadZipFile("its table of contents is too large")
        return super().read(MAX_READ if size is None or size < 0 else size)


def open_bounded(path: Any) -> IO[bytes]:
    """Open a file for `NpzArchive`."""
    return _BoundedFile(io.FileIO(path))


def write_npz(path: Path, texts: Mapping[str, str], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write texts and arrays without compression; the same content gives the same bytes."""
    with ZipFile(path, "w", ZIP_STORED) as archive:
        for name, text in texts.items():
            archive.writestr(ZipInfo(name), text)
        for name, array in arrays.items():
            with archive.open(ZipInfo(f"{name}.npy"), "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, np.asanyarray(array), allow_pickle=False)


def _parse_head(head: bytes) -> tuple[np.dtype[Any], tuple[int, ...], Any, int]:
    """Return dtype, shape and memory order of an NPY file, and where its data start."""
    stream = io.BytesIO(head)
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"NPY version {version} is not supported")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(stream, max_header_size=MAX_HEADER)
    return dtype, shape, "F" if fortran else "C", stream.tell()
