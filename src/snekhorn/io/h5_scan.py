"""Walk through an HDF5 file in a process of its own, because a damaged one can make the HDF5 library loop or crash.

The file is visited as anndata will visit it: all attributes, text, and the places of all blocks of data. Blocks of
numbers are not read. This file runs as a program, and imports nothing from the package so that it starts quickly.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

DAMAGED = 3  # exit code; any other failure means that the scan itself was not possible
SECONDS, SECONDS_PER_BYTE = 4, 5e-8  # of processor time; a sound file of text takes a fifth of the latter
LARGEST_RATIO = 1032  # of deflate, the usual compression
LARGEST_GAP = 1 << 20  # bytes that a data set may declare without storing them, such as default values


def check_h5(path: Path) -> None:
    """Raise if the HDF5 library cannot visit a file, or does not come to an end."""
    if not sys.executable:  # the interpreter is embedded in another program
        return
    found = subprocess.run([sys.executable, __file__, str(path)], capture_output=True, text=True, check=False)
    if found.returncode == DAMAGED:
        raise ValueError(found.stdout.strip())
    if found.returncode < 0:
        raise ValueError("the HDF5 library does not come to an end, or crashes")


def scan(path: str) -> None:
    """Visit everything in a file; raise if a data set declares many more bytes than it has."""
    import h5py

    def visit(name: str, item: Any) -> None:
        dict(item.attrs)
        if not isinstance(item, h5py.Dataset):
            return
        declared, stored = (item.size or 0) * item.dtype.itemsize, item.id.get_storage_size()
        if declared > LARGEST_RATIO * stored + LARGEST_GAP:
            raise ValueError(f"{name} declares {declared} bytes, but has {stored}")
        if item.chunks is not None and hasattr(item.id, "chunk_iter"):  # absent before HDF5 1.10.10
            item.id.chunk_iter(lambda chunk: None)  # get_chunk_info for one chunk after the other is quadratic
        if h5py.check_string_dtype(item.dtype) is not None and item.size is not None:
            item[()]

    with h5py.File(path) as file:
        visit("/", file)
        file.visititems(visit)


def main() -> None:
    """Scan the file given on the command line."""
    path = sys.argv[1]
    try:
        import resource
    except ImportError:  # on Windows, a loop is not detected
        pass
    else:
        seconds = int(SECONDS + SECONDS_PER_BYTE * os.path.getsize(path))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    import h5py  # noqa: F401  # the scan is not possible without it

    try:
        scan(path)
    except Exception as error:
        print(" ".join(f"{type(error).__name__}: {error}".split())[:200])
        sys.exit(DAMAGED)


if __name__ == "__main__":
    main()
