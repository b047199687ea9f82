"""Check before a computation starts that enough memory is available."""

import os

from ..errors import MissingMemoryError

GIB = 2**30


def available_bytes() -> int | None:
    """Return the available memory of this machine in bytes, or None if it is unknown."""
    try:
        with open("/proc/meminfo") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def require_memory(needed: float, what: str, remedy: str) -> None:
    """Raise an error that names the remedy if `needed` bytes are not available."""
    available = available_bytes()
    if available is not None and needed > available:
        raise MissingMemoryError(
            f"not enough memory for {what}: about {needed / GIB:.1f} GiB needed, only {available / GIB:.1f} GiB "
            f"available; {remedy}."
        )
