"""Cells on all cores: one a core, because most of what they compute gains little from a second one."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from threadpoolctl import threadpool_limits
from tqdm import tqdm

Compute = Callable[[], dict[str, Any]]
MOST = 60  # processes, a little less than Windows can wait for


def count_cores() -> int:
    """Cores that processes can have each to itself; one where the system does not let them choose."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_setaffinity") else 1


def each(plan: Mapping[str, Compute], jobs: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Keys and what was computed for them, as it is finished; several at once are processes of their own."""
    jobs = min(jobs, len(plan), MOST)
    if jobs < 2:
        yield from ((key, compute()) for key, compute in plan.items())
        return
    # Started anew rather than forked: threads that this process has already would be missing in its copies.
    context = multiprocessing.get_context("spawn")
    cores = context.SimpleQueue()
    for core in range(jobs):
        cores.put(core)
    before = set(multiprocessing.active_children())
    with ProcessPoolExecutor(jobs, context, initializer=_take_core, initargs=(cores,)) as pool:
        try:
            with _deaf():  # processes that are started so stay so: they leave the keyboard to this one
                futures = {pool.submit(compute): key for key, compute in plan.items()}
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BrokenProcessPool:
            raise MemoryError(
                "a process was ended from outside, perhaps for lack of memory; lower --jobs and start again: finished "
                "cells are kept."
            ) from None
        except BaseException:  # what is not finished need not be
            for process in set(multiprocessing.active_children()) - before:
                process.terminate()  # the pool sees that it is broken, and ends
            raise


@contextmanager
def _deaf() -> Iterator[None]:
    """Ignore interrupts, where that can be said."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _take_core(cores: Any) -> None:
    """Let this process have one core and the packages in it one thread; and let its parent answer to the keyboard."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    threadpool_limits(1)  # NumPy is loaded by now, and has counted the cores
    tqdm.set_lock(threading.RLock())  # its own is one between processes, and left behind by one that is terminated
    if hasattr(os, "sched_setaffinity"):
        allowed = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {allowed[cores.get() % len(allowed)]})


def _end_with_parent() -> None:
    """A parent that is killed cannot end its processes."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
