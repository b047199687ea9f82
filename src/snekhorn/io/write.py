"""Files that are whole or not there: written beside their place, then moved to it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from pyarrow import csv as arrow_csv
from pyarrow import ipc, parquet

from ..errors import InputError


def check_output(path: Path, suffixes: tuple[str, ...], *, force: bool) -> None:
    """Raise, before any work, where a file cannot be written."""
    if not path.name.lower().endswith(suffixes):
        raise InputError(f"{path} must end in {' or '.join(suffixes)}.")
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file in it.")
    if not path.parent.is_dir():
        raise InputError(f"{path} cannot be written: the folder {path.parent} does not exist; make it first.")
    if path.exists() and not force:
        raise InputError(f"{path} exists already; say --force to replace it, or choose another name.")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}); choose another folder.") from error


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file to write to, which takes the place of `path` when all went well."""
    handle, name = tempfile.mkstemp(prefix=".snekhorn-", suffix=path.suffix.lower(), dir=path.parent)
    os.close(handle)
    written = Path(name)
    try:
        yield written
        os.chmod(written, 0o666 & ~_umask())  # a temporary file is its owner's alone
        os.replace(written, path)
    except OSError as error:
        raise InputError(f"{path} could not be written ({error.strerror or error}); nothing is left of it.") from error
    finally:
        written.unlink(missing_ok=True)


def write_table(table: pa.Table, file: Path) -> None:
    """A table in the format of its suffix."""
    suffix = file.suffix.lower()
    if suffix == ".parquet":
        parquet.write_table(table, file)
    elif suffix in (".arrow", ".feather"):
        with ipc.new_file(str(file), table.schema) as sink:
            sink.write_table(table)
    else:
        options = arrow_csv.WriteOptions(delimiter="\t" if suffix == ".tsv" else ",", quoting_style="needed")
        arrow_csv.write_csv(table, file, options)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
