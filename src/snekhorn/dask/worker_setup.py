"""Prepare the workers of a local cluster; the program starts its workers with this module as a preload.

The settings last as long as the processes, so workers that other people share do not get them by themselves.
"""

from __future__ import annotations

import ctypes
import signal
import sys
from functools import cache
from typing import Any

TRIM_THRESHOLD, MMAP_THRESHOLD, ARENA_MAX = -1, -3, -8  # settings of glibc's `mallopt`
KEPT_BYTES = 1 << 30  # of freed memory that a worker keeps; with less, it asks the system for memory in every step
# Settings of Dask under which the program starts a local cluster. Samples of what workers do, and checks whether tasks
# should move to other workers, which they never should, take a few milliseconds of every step of a layout.
LOCAL_SETTINGS = {"distributed.worker.profile.enabled": False, "distributed.scheduler.work-stealing": False}


_prepared = False  # whether this process is a worker that was started with this module


def dask_setup(worker: Any) -> None:
    """Prepare the worker; Dask calls this in the main thread, before it starts the threads that run tasks.

    Ctrl-C in a terminal reaches all processes of the program, but the workers must go on, because the interrupted
    layout is finished and written with their help.
    """
    global _prepared
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _mallopt(ARENA_MAX, 1)  # memory that one thread has freed serves all; threads that have started have their own
    _prepared = True


@cache
def keep_freed_memory() -> None:
    """Let the C library of a prepared worker keep the memory of freed arrays for the next step of a layout.

    Dask starts workers with settings that return it to the system at once, and a step would then spend a quarter of its
    time on getting it back. Earlier stages must not keep it: their arrays have many sizes, and would leave gaps.
    """
    if _prepared:
        _mallopt(TRIM_THRESHOLD, KEPT_BYTES)
        _mallopt(MMAP_THRESHOLD, KEPT_BYTES)


def _mallopt(setting: int, value: int) -> None:
    change = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if change is not None:
        change(setting, value)
