"""Check before a computation starts that enough memory is available."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeAlias

from ..errors import MissingMemoryError
from .checks import check_memory

GIB, MIB = 2**30, 2**20
ROOT = Path("/")
UNLIMITED = 2**62  # version 1 of control groups gives a limit of almost 2**63 bytes if there is none
# Files of a control group: its limits, what it uses, and which lines of `memory.stat` count files that Linux can drop.
Group: TypeAlias = tuple[tuple[str, ...], str, tuple[str, ...]]
GROUP_V1: Group = (("memory.limit_in_bytes",), "memory.usage_in_bytes", ("total_inactive_file", "total_active_file"))
GROUP_V2: Group = (("memory.max", "memory.high"), "memory.current", ("inactive_file", "active_file"))

_limit: ContextVar[tuple[Any, float] | None] = ContextVar("limit", default=None)  # as given, and in bytes


def available_bytes(root: Path = ROOT) -> int | None:
    """Return the memory that this process can still allocate, in bytes, or None if it is unknown."""
    return min(memory_limits(root).values(), default=None)


def memory_limits(root: Path = ROOT) -> dict[str, int]:
    """Return the bytes that each limit leaves to this process: the machine, its container, and `ulimit`.

    System files are read below `root`.
    """
    limits = {
        "machine": _left_on_machine(root),
        "container": min(_left_in_groups(root), default=None),
        "ulimit": min(_left_by_ulimit(root), default=None),
    }
    return {name: max(left, 0) for name, left in limits.items() if left is not None}


def used_bytes(root: Path = ROOT) -> int:
    """Return the memory that this process uses, in bytes, or 0 if it is unknown."""
    pages = [int(field) for line in _lines(root / "proc/self/statm") for field in line.split()]
    return pages[1] * os.sysconf("SC_PAGE_SIZE") if pages else 0


@contextmanager
def limited_memory(max_memory: Any) -> Iterator[None]:
    """Limit the memory of the process for all checks inside this context; `max_memory` is as in `check_memory`.

    A fraction is one of what the process uses and can still have.
    """
    limit = check_memory(max_memory)
    if limit is not None and limit <= 1.0:
        available = available_bytes()
        limit = None if available is None else limit * (used_bytes() + available)
    token = _limit.set(None if limit is None else (max_memory, limit))
    try:
        yield
    finally:
        _limit.reset(token)


def left_bytes() -> float | None:
    """Return the memory that this process may still allocate, in bytes, or None if it is unknown."""
    limit = _limit.get()
    lefts = (available_bytes(), None if limit is None else max(limit[1] - used_bytes(), 0.0))
    return min((left for left in lefts if left is not None), default=None)


def require_memory(needed: float, what: str, *remedies: str) -> None:
    """Raise an error that names the remedies if `needed` bytes, in addition to those in use, are not available."""
    available, limit = available_bytes(), _limit.get()
    if available is not None and needed > available:
        raise MissingMemoryError(
            f"not enough memory for {what}: about {size_text(needed)} needed, only {size_text(available)} available",
            *remedies,
        )
    if limit is None:
        return
    max_memory, allowed = limit
    used = used_bytes()
    if used >= allowed:
        raise MissingMemoryError(
            f"max_memory={max_memory!r} is less than the program already uses (about {size_text(used)})", "raise it"
        )
    if used + needed > allowed:
        raise MissingMemoryError(
            f"not enough memory for {what}: about {size_text(used + needed)} needed, including {size_text(used)} in "
            f"use, but max_memory={max_memory!r} allows {size_text(allowed)}",
            "raise it",
            *remedies,
        )


def size_text(n_bytes: float) -> str:
    """Write a number of bytes in a unit in which it is not rounded to zero."""
    if n_bytes >= 0.1 * GIB:
        return f"{n_bytes / GIB:.1f} GiB"
    return f"{n_bytes / MIB:.1f} MiB" if n_bytes >= 0.1 * MIB else f"{n_bytes:,.0f} bytes"


def _left_on_machine(root: Path) -> int | None:
    for line in _lines(root / "proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _left_in_groups(root: Path) -> Iterator[int]:
    """Yield what is left in the control groups of this process and in all groups above them.

    In a container, the name of the group may be that of the host, where the container's own group is at the top.
    """
    for line in _lines(root / "proc/self/cgroup"):
        number, _, rest = line.partition(":")
        controllers, _, name = rest.partition(":")
        if number == "0" and not controllers:
            top, version = root / "sys/fs/cgroup", GROUP_V2
        elif "memory" in controllers.split(","):
            top, version = root / "sys/fs/cgroup/memory", GROUP_V1
        else:
            continue
        group = top / name.lstrip("/")
        for folder in (group, *group.parents):
            if folder.is_relative_to(top):
                yield from _left_in_group(folder, *version)


def _left_in_group(folder: Path, limits: tuple[str, ...], usage: str, files: tuple[str, ...]) -> Iterator[int]:
    used = _number(folder / usage)
    for name in limits:
        limit = _number(folder / name)
        if limit is not None and limit < UNLIMITED and used is not None:
            counts = (line.partition(" ") for line in _lines(folder / "memory.stat"))
            yield limit - used + sum(int(count) for name, _, count in counts if name in files)


def _left_by_ulimit(root: Path) -> Iterator[int]:
    """Yield what `ulimit -v` and `ulimit -d` leave to this process."""
    try:
        import resource
    except ImportError:  # Windows
        return
    pages = [int(field) for line in _lines(root / "proc/self/statm") for field in line.split()] or [0] * 6
    for limit, used in ((resource.RLIMIT_AS, pages[0]), (resource.RLIMIT_DATA, pages[5])):
        soft, _ = resource.getrlimit(limit)
        if soft != resource.RLIM_INFINITY:
            yield soft - used * resource.getpagesize()


def _number(file: Path) -> int | None:
    """Return the number in a file, or None if the file is absent or says "max"."""
    text = "".join(_lines(file)).strip()
    return int(text) if text.isdigit() else None


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return []
