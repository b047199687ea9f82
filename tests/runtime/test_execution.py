import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from snekhorn.runtime import execution as threads
from snekhorn.runtime.execution import MIN_WORK_FOR_THREADS, count_threads, run_rows


@pytest.mark.parametrize("n_rows", [1, 2, 7, 1000])
@pytest.mark.parametrize("n_threads", [1, 2, 3, 8])
@pytest.mark.parametrize("n_pairs", [1, MIN_WORK_FOR_THREADS])
def test_ranges_cover_every_row_once(n_rows, n_threads, n_pairs):
    seen, lock = [], threading.Lock()

    def kernel(start, stop):
        with lock:
            seen.extend(range(start, stop))

    run_rows(kernel, n_rows, n_pairs, n_threads)
    assert sorted(seen) == list(range(n_rows))


def test_an_error_on_a_thread_reaches_the_caller():
    def kernel(start, stop):
        raise ArithmeticError(f"rows {start} to {stop}")

    with pytest.raises(ArithmeticError, match="rows"):
        run_rows(kernel, 10, MIN_WORK_FOR_THREADS, 2)


def test_callers_at_once_share_one_pool(monkeypatch):
    both_here = threading.Barrier(2)

    def slow_pool(*args, **kwargs):
        both_here.wait(timeout=60)  # both callers are past the check before either has made its pool
        return object()

    monkeypatch.setattr(threads, "_pools", {})
    monkeypatch.setattr(threads, "ThreadPoolExecutor", slow_pool)
    with ThreadPoolExecutor(2) as callers:
        first, second = callers.map(lambda n: threads.Threads(n)._pool(), [3, 3])
    assert first is second


def test_none_and_minus_one_are_all_cores():
    assert count_threads(None) == count_threads(-1) >= 1


@pytest.mark.parametrize("n_jobs", [1, 2, 64])
def test_a_positive_number_is_kept(n_jobs):
    assert count_threads(n_jobs) == n_jobs


def test_fewer_than_all_cores_is_at_least_one():
    assert count_threads(-10_000) == 1
