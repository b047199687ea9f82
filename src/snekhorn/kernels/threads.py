"""Run a compiled loop over row ranges on several threads, with results that do not depend on how many."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

MIN_PAIRS_FOR_THREADS = 100_000  # below, starting the threads costs more than they save
CHUNKS_PER_THREAD = 4  # rows differ in length: smaller chunks even the load out

# What every kernel may assume of arithmetic; NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "arcp", "nsz"}

_pools: dict[tuple[int, int], ThreadPoolExecutor] = {}


def count_threads(n_jobs: int | None) -> int:
    """Number of threads asked for: None and -1 are every core this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None:
        return cores
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


def run_rows(kernel: Callable[..., None], n_rows: int, n_pairs: int, n_threads: int, *args: Any) -> None:
    """Call ``kernel(start, stop, *args)`` on ranges that cover ``n_rows``.

    The kernel releases the GIL and writes only to its own rows, each by a sequential loop,
    so the ranges, and with them the number of threads, leave no trace in the result.
    """
    if n_threads == 1 or n_pairs < MIN_PAIRS_FOR_THREADS:
        kernel(0, n_rows, *args)
        return
    n_chunks = min(n_rows, n_threads * CHUNKS_PER_THREAD)
    edges = [n_rows * c // n_chunks for c in range(n_chunks + 1)]
    futures = [_pool(n_threads).submit(kernel, start, stop, *args) for start, stop in pairwise(edges)]
    for future in futures:
        future.result()


def _pool(n_threads: int) -> ThreadPoolExecutor:
    key = (os.getpid(), n_threads)  # threads do not survive a fork
    if key not in _pools:  # of two callers at once, setdefault lets one win; the other's pool has no threads yet
        _pools.setdefault(key, ThreadPoolExecutor(n_threads, thread_name_prefix="snekhorn"))
    return _pools[key]
