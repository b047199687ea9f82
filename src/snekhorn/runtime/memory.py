"""Compare the memory that a computation needs with what is available, before it starts."""

import os

from ..errors import MissingMemoryError

GIB = 2**30


def available_bytes() -> int | None:
    """Return the memory that is still available on this machine, or None if the system does not say."""
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
    """Raise if `needed` bytes are not available, naming the remedy."""
    available = available_bytes()
    if available is not None and needed > available:
        raise MissingMemoryError(
            f"{what} needs about {needed / GIB:.1f} GiB, but {available / GIB:.1f} GiB are available; {remedy}."
        )
