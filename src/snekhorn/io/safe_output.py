"""Write files completely or not at all: to a temporary file first, which then replaces the target."""

from __future__ import annotations

import io
import os
import secrets
import signal
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import InputError
from ..runtime.checks import check_path

TEMPORARY = ".snekhorn-"  # start of the names of files that are not complete yet
TERMINATION = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]  # Windows has one


def check_output(path: Path, suffixes: tuple[str, ...], *, force: bool) -> None:
    """Raise an error if a file cannot be written, before any work is done."""
    if not path.name.lower().endswith(suffixes):
        raise InputError(f"{path} must end in {' or '.join(suffixes)}.")
    try:
        _check_target(path)
        if path.exists() and not force:
            raise InputError(f"{path} already exists; pass --force to replace it, or choose another name.")
        with tempfile.TemporaryFile(dir=path.resolve().parent):
            pass
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}); choose another name or folder.") from error


@contextmanager
def replacing(path: Path, prefix: str = TEMPORARY) -> Iterator[Path]:
    """Yield a temporary file to write to, and move it to `path` unless an error occurs.

    An existing file keeps its permissions, and a symbolic link keeps pointing to its target, which is replaced. If the
    process is terminated, the temporary file, whose name starts with `prefix`, is removed.
    """
    try:
        _check_target(path)
        target = path.resolve()
        written = target.with_name(f"{prefix}{secrets.token_hex(8)}{path.suffix.lower()}")
        with _removed_on_termination(written):
            os.close(os.open(written, os.O_CREAT | os.O_EXCL, 0o600))
            try:
                yield written
                os.chmod(written, stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666 & ~_umask())
                os.replace(written, target)
            finally:
                written.unlink(missing_ok=True)
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"{path} could not be written ({reason}); no partial file is left behind.") from error


@contextmanager
def opened(file: Any) -> Iterator[BinaryIO]:
    """Open a file to write to, which replaces an existing one only when it is complete; pass a binary file through."""
    if hasattr(file, "write") and not isinstance(file, io.TextIOBase):
        yield file
        return
    path = check_path(file, "file", or_file=", or a binary file")
    with replacing(path) as written, written.open("wb") as out:
        yield out


def _check_target(path: Path) -> None:
    if path.is_dir():
        raise InputError(f"{path} is a folder; pass the name of a file.")
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is a device or a pipe, which would be replaced; pass the name of a file.")
    if not path.parent.is_dir():
        raise InputError(f"{path} cannot be written: the folder {path.parent} does not exist; create it first.")


@contextmanager
def _removed_on_termination(file: Path) -> Iterator[None]:
    """Remove a file if a signal ends the process, unless the program handles that signal itself."""

    def remove_and_end(number: int, frame: Any) -> None:
        file.unlink(missing_ok=True)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    in_main_thread = threading.current_thread() is threading.main_thread()  # only there can handlers be set
    unhandled = [number for number in TERMINATION if in_main_thread and signal.getsignal(number) is signal.SIG_DFL]
    for number in unhandled:
        signal.signal(number, remove_and_end)
    try:
        yield
    finally:
        for number in unhandled:
            signal.signal(number, signal.SIG_DFL)


def _umask() -> int:
    mask = os.umask(0)  # the umask can only be read by setting it
    os.umask(mask)
    return mask
