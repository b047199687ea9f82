"""Say what a computation needs before it starts."""

import os

GIB = 2**30


def available_bytes() -> int | None:
    """Memory that can still be had on this machine, or None where the system does not tell."""
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


def require(needed: float, what: str, remedy: str) -> None:
    """Raise MemoryError, naming the remedy, if `needed` bytes are more than there are."""
    available = available_bytes()
    if available is not None and needed > available:
        raise MemoryError(
            f"{what} needs about {needed / GIB:.1f} GiB and {available / GIB:.1f} GiB are available; {remedy}."
        )
