"""Write files completely or not at all: to a temporary file first, which then replaces the target."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import InputError


def check_output(path: Path, suffixes: tuple[str, ...], *, force: bool) -> None:
    """Raise an error if a file cannot be written, before any work is done."""
    if not path.name.lower().endswith(suffixes):
        raise InputError(f"{path} must end in {' or '.join(suffixes)}.")
    if path.is_dir():
        raise InputError(f"{path} is a folder; pass the name of a file.")
    if not path.parent.is_dir():
        raise InputError(f"{path} cannot be written: the folder {path.parent} does not exist; create it first.")
    if path.exists() and not force:
        raise InputError(f"{path} already exists; pass --force to replace it, or choose another name.")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}); choose another folder.") from error


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary file to write to, and move it to `path` unless an error occurs."""
    handle, name = tempfile.mkstemp(prefix=".snekhorn-", suffix=path.suffix.lower(), dir=path.parent)
    os.close(handle)
    written = Path(name)
    try:
        yield written
        os.chmod(written, 0o666 & ~_umask())  # temporary files are readable only by their owner
        os.replace(written, path)
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"{path} could not be written ({reason}); no partial file is left behind.") from error
    finally:
        written.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)  # the umask can only be read by setting it
    os.umask(mask)
    return mask
