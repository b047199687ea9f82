"""Run loops over points and reduce their results.

The algorithms need only a few operations: run a compiled loop over ranges of rows, by itself or beside another task,
run a loop that needs all rows in order, sum over points, and take the smallest or largest value. `Threads` runs them on
the cores of one machine. Every implementation must return bit-for-bit identical results, whatever its number of threads
or workers.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from .checks import check_jobs
from .interrupts import delayed_interrupts
from .progress import counted

MIN_WORK_FOR_THREADS = 100_000  # with less work, starting the threads costs more than they save
THREADS_PER_CORE = 32  # no more are started, whatever n_jobs is; OpenMP ends the process if a thread does not start
RANGES_PER_THREAD = 4  # rows differ in length; with fewer ranges, threads wait for the slowest range

Result = TypeVar("Result")

_pools: dict[tuple[int, int], ThreadPoolExecutor] = {}


class Execution(Protocol):
    """Operations that the algorithms need from the machine."""

    @property
    def n_threads(self) -> int:
        """Number of threads for libraries that manage their own (FFT, the trees of scikit-learn)."""

    def run(self, loop: Callable[..., None], n_rows: int, work: int, *args: Any) -> None:
        """Call ``loop(start, stop, *args)`` on ranges that cover ``n_rows``; `work` is about the number of pairs."""

    def run_beside(
        self, task: Callable[[], Result], loop: Callable[..., None], n_rows: int, work: int, *args: Any
    ) -> Result:
        """Run a loop like `run`, and at the same time call a task that does not depend on it; return its result."""

    def run_in_order(self, loop: Callable[..., Result], *args: Any) -> Result:
        """Call ``loop(*args)``, which visits the rows one after another."""

    def sum(self, values: NDArray[Any], axis: int | None = None) -> Any:
        """Sum in NumPy's order for one contiguous array, whatever the number of threads or workers."""

    def min(self, values: NDArray[Any], axis: int | None = None) -> Any:
        """Return the smallest value."""

    def max(self, values: NDArray[Any], axis: int | None = None) -> Any:
        """Return the largest value, or NaN if any value is NaN."""


@dataclass(frozen=True)
class Threads:
    """Execution on the cores of one machine.

    Parameters
    ----------
    n_threads : int
        Number of threads.
    """

    n_threads: int = 1

    def run(self, loop: Callable[..., None], n_rows: int, work: int, *args: Any) -> None:
        """Run a loop that releases the GIL and writes to its own rows only.

        Each row is computed by a sequential loop, so neither the ranges nor the number of threads affect the result.
        """
        self.run_beside(_nothing, loop, n_rows, work, *args)

    def run_beside(
        self, task: Callable[[], Result], loop: Callable[..., None], n_rows: int, work: int, *args: Any
    ) -> Result:
        """Call the task on this thread, and then help the other threads with the loop."""
        if self.n_threads == 1 or work < MIN_WORK_FOR_THREADS:
            result = task()
            loop(0, n_rows, *args)
            return result
        n_ranges = min(n_rows, self.n_threads * RANGES_PER_THREAD)
        ranges = pairwise(n_rows * i // n_ranges for i in range(n_ranges + 1))
        calls = deque(partial(loop, start, stop, *args) for start, stop in ranges)
        helpers = [self._pool().submit(_make_calls, calls) for _ in range(min(self.n_threads, n_ranges) - 1)]
        try:
            result = task()
            _make_calls(calls)
        finally:
            with delayed_interrupts():  # no helper may write into the caller's arrays after the return
                calls.clear()  # after an error; a helper that is cancelled below may keep the deque for a while
                started = [helper for helper in helpers if not helper.cancel()]
                wait(started)
            for helper in started:
                helper.result()
        return result

    def run_in_order(self, loop: Callable[..., Result], *args: Any) -> Result:
        return loop(*args)

    def sum(self, values: NDArray[Any], axis: int | None = None) -> Any:
        return np.sum(values, axis=axis)

    def min(self, values: NDArray[Any], axis: int | None = None) -> Any:
        return np.min(values, axis=axis)

    def max(self, values: NDArray[Any], axis: int | None = None) -> Any:
        return np.max(values, axis=axis)

    def _pool(self) -> ThreadPoolExecutor:
        key = (os.getpid(), self.n_threads)  # threads do not survive a fork
        if key not in _pools:  # if two callers race, setdefault keeps one pool; the other has no threads yet
            _pools.setdefault(key, ThreadPoolExecutor(self.n_threads, thread_name_prefix="snekhorn"))
        return _pools[key]


def _nothing() -> None:
    """Do nothing."""


def _make_calls(calls: deque[partial[None]]) -> None:
    """Make the calls that remain; threads may share them."""
    while True:
        try:
            call = calls.popleft()  # documented to be safe between threads
        except IndexError:
            return
        call()
        del call  # its arrays may be large


def run_in_blocks(execution: Execution, task: Callable[[slice], None], n_rows: int, size: int, work: int) -> None:
    """Call ``task(rows)`` on consecutive blocks of `size` rows; `work` estimates the pairs visited.

    Libraries round a row differently in a block of another size. Here, blocks depend on the number of rows alone.
    """
    n_blocks = -(-n_rows // size)
    with counted(n_blocks) as done:

        def loop(start: int, stop: int) -> None:
            for block in range(start, stop):
                task(slice(block * size, min((block + 1) * size, n_rows)))
                done()

        execution.run(loop, n_blocks, work)


@cache
def _libraries() -> ThreadpoolController:
    """Return the libraries with threads of their own; looking for them takes long enough to do it once."""
    return ThreadpoolController()


class _BlasLimit:
    """Limit on the threads of BLAS; all callers in one process share it."""

    def __init__(self) -> None:
        self.n_callers = 0
        self.limiter: Any = None
        self.renew_lock()
        if hasattr(os, "register_at_fork"):  # a thread that holds the lock does not survive a fork
            os.register_at_fork(after_in_child=self.renew_lock)

    def renew_lock(self) -> None:
        self.lock = threading.Lock()

    def acquire(self) -> None:
        with self.lock:
            self.n_callers += 1
            if self.n_callers == 1:
                self.limiter = _libraries().limit(limits=1, user_api="blas")

    def release(self) -> None:
        with self.lock:
            self.n_callers -= 1
            if self.n_callers == 0:
                self.limiter.restore_original_limits()


_blas_limit = _BlasLimit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run BLAS on one thread, because its sums depend on the number of threads; also a decorator.

    Parallel work goes through `Execution` instead.
    """
    _blas_limit.acquire()
    try:
        yield
    finally:
        _blas_limit.release()


@contextmanager
def one_openmp_thread() -> Iterator[None]:
    """Keep the OpenMP loops of libraries to the calling thread, because their threads do not survive a fork."""
    with _libraries().limit(limits=1, user_api="openmp"):
        yield


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def choose_execution(n_jobs: int | None) -> Execution:
    """Return the execution of all loops; no other function makes this choice.

    Parameters
    ----------
    n_jobs : int or None
        Number of threads; None and -1 use every available core, -2 all but one.
    """
    n_jobs, cores = check_jobs(n_jobs), available_cores()
    if n_jobs is None:
        return Threads(cores)
    return Threads(min(n_jobs, THREADS_PER_CORE * cores) if n_jobs > 0 else max(1, cores + 1 + n_jobs))
