"""Run cases in this process, in several single-core processes, or each in a new process.

This builds on `concurrent.futures`. In addition, every process is limited to one core, because most cases gain little
from a second one; only the parent handles keyboard interrupts; and no process outlives its parent. joblib's loky
processes print a traceback on an interrupt, and keep computing if their parent is killed.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, TimeoutError, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from threadpoolctl import threadpool_limits
from tqdm import tqdm

Compute = Callable[[], dict[str, Any]]
MOST_PROCESSES = 60  # Windows cannot wait for more than 63
TIMED_THREADS = 2  # threads in timed cases, for our code and for other packages
PASSIVE_WAITING = {"OMP_WAIT_POLICY": "passive"}  # on a busy machine, spinning threads make peers ten times slower
DIED = "the process was killed, perhaps for lack of memory"


def count_cores() -> int:
    """Count the cores that can be assigned to single processes; 1 if the system does not support this."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_setaffinity") else 1


def run_cases(
    plan: Mapping[str, Compute], *, jobs: int = 1, timed: bool = False, limit: float | None = None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield keys and results as cases finish.

    Timed cases run one after another, each in a new process, which is ended after `limit` seconds if there is a limit.
    """
    jobs = min(jobs, len(plan), MOST_PROCESSES)
    if timed:
        for key, compute in plan.items():
            yield key, _run_alone(compute, limit)
    elif jobs < 2:
        yield from ((key, compute()) for key, compute in plan.items())
    else:
        try:
            yield from _run_at_once(plan, jobs, threads=1)
        except BrokenProcessPool:
            raise MemoryError(f"{DIED}; lower --jobs and run again. Finished cases are kept.") from None


def _run_alone(compute: Compute, limit: float | None) -> dict[str, Any]:
    with patch.dict(os.environ, PASSIVE_WAITING):
        try:
            return dict(_run_at_once({"": compute}, 1, threads=TIMED_THREADS, limit=limit))[""]
        except BrokenProcessPool:
            return {"not_available": f"failed: {DIED}"}
        except TimeoutError:
            return {"not_available": f"failed: not finished after {limit:,.0f} s"}


def _run_at_once(
    plan: Mapping[str, Compute], jobs: int, threads: int, limit: float | None = None
) -> Iterator[tuple[str, dict[str, Any]]]:
    # Spawn instead of fork: a forked copy would lack the threads that this process has already started.
    context = multiprocessing.get_context("spawn")
    numbers = context.SimpleQueue()
    for number in range(jobs):
        numbers.put(number)
    before = set(multiprocessing.active_children())
    with ProcessPoolExecutor(jobs, context, initializer=_settle, initargs=(numbers, threads)) as pool:
        try:
            with _interrupts_ignored():  # inherited, so processes ignore them even before _settle runs
                futures = {pool.submit(compute): key for key, compute in plan.items()}
            for future in as_completed(futures, limit):
                yield futures[future], future.result()
        except BaseException:  # an error, an interrupt, or the caller stopped iterating
            for process in set(multiprocessing.active_children()) - before:
                process.terminate()  # the pool notices and shuts down
            raise


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # only the main thread can set signal handlers
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _settle(numbers: Any, threads: int) -> None:
    """Prepare a new process: ignore interrupts, exit with the parent, and limit threads."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    threadpool_limits(threads)  # NumPy has already been loaded with threads for all cores
    tqdm.set_lock(threading.RLock())  # the default is a semaphore, which a terminated process would leave behind
    if threads == 1 and hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[numbers.get() % len(cores)]})


def _end_with_parent() -> None:
    """Exit when the parent is gone, because a killed parent cannot terminate its processes."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
