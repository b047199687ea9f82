import signal
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from snekhorn.runtime import execution
from snekhorn.runtime.execution import (
    MIN_WORK_FOR_THREADS,
    THREADS_PER_CORE,
    Threads,
    choose_execution,
    one_blas_thread,
    one_openmp_thread,
    run_in_blocks,
)


@pytest.mark.parametrize("n_rows", [1, 2, 7, 1000])
@pytest.mark.parametrize("n_threads", [1, 2, 3, 8])
@pytest.mark.parametrize("work", [1, MIN_WORK_FOR_THREADS])
def test_ranges_cover_every_row_once(n_rows, n_threads, work):
    seen, lock = [], threading.Lock()

    def loop(start, stop):
        with lock:
            seen.extend(range(start, stop))

    Threads(n_threads).run(loop, n_rows, work)
    assert sorted(seen) == list(range(n_rows))


def test_an_error_on_a_thread_reaches_the_caller():
    def loop(start, stop):
        raise ArithmeticError(f"rows {start} to {stop}")

    with pytest.raises(ArithmeticError, match="rows"):
        Threads(2).run(loop, 10, MIN_WORK_FOR_THREADS)


@pytest.fixture
def helpers_in_order(monkeypatch):
    """Start a helper only when the one before is in its first call, which must release the semaphore returned here."""
    in_call = threading.Semaphore(0)

    class InOrder(ThreadPoolExecutor):
        def submit(self, *args):
            future = super().submit(*args)
            assert in_call.acquire(timeout=60)
            return future

    monkeypatch.setattr(execution, "_pools", {})
    monkeypatch.setattr(execution, "ThreadPoolExecutor", InOrder)
    return in_call


def _check_that_busy_helpers_are_awaited(in_call, error, *, fails=(), meanwhile=lambda: None):
    """Run a loop that raises while helpers are in calls, which must have ended when the error reaches the caller.

    The calls for the rows `fails` raise. While the caller waits for the helpers, `meanwhile` is called.
    """
    released, finished, stopping = threading.Event(), [], []

    def release_later():
        time.sleep(0.2)  # so that the caller is waiting; if it is not yet, the test passes nevertheless
        meanwhile()
        time.sleep(0.2)
        released.set()

    def loop(start, stop):
        in_call.release()
        if start in fails:
            raise ArithmeticError(f"row {start}")
        if start < 3:  # the first call of each helper
            assert released.wait(timeout=60)
            finished.append(start)
        elif start == 15:
            stopping.append(threading.Thread(target=release_later))
            stopping[0].start()

    with pytest.raises(error):
        Threads(4).run(loop, 16, MIN_WORK_FOR_THREADS)
    assert sorted(finished) == sorted({0, 1, 2} - set(fails))
    stopping[0].join()


@pytest.mark.parametrize("fails", [{0}, {0, 2}])
def test_all_threads_have_stopped_when_an_error_reaches_the_caller(helpers_in_order, fails):
    _check_that_busy_helpers_are_awaited(helpers_in_order, ArithmeticError, fails=fails)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no signal can be sent to a thread here")
def test_all_threads_have_stopped_when_an_interrupt_reaches_the_caller(helpers_in_order):
    def interrupt():
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    _check_that_busy_helpers_are_awaited(helpers_in_order, KeyboardInterrupt, meanwhile=interrupt)


def test_threads_that_never_started_keep_no_arrays():
    """All threads of the pool are busy, so the caller makes all calls."""
    threads, released = Threads(2), threading.Event()
    busy = [threads._pool().submit(released.wait, 60) for _ in range(2)]
    rows = np.zeros(10)
    array = weakref.ref(rows)
    threads.run(lambda start, stop, rows: rows[start:stop].fill(1.0), 10, MIN_WORK_FOR_THREADS, rows)
    assert rows.all()
    del rows
    assert array() is None
    released.set()
    for future in busy:
        future.result()


@pytest.mark.parametrize("n_threads", [2, 3])
def test_a_loop_may_run_loops(n_threads):
    """Every thread of the pool may be waiting for others, so each caller must be able to do all of its work."""
    seen, lock = [], threading.Lock()
    threads = Threads(n_threads)

    def inner(start, stop, row):
        with lock:
            seen.extend((row, i) for i in range(start, stop))

    def outer(start, stop):
        for row in range(start, stop):
            threads.run(inner, 5, MIN_WORK_FOR_THREADS, row)

    threads.run(outer, 6, MIN_WORK_FOR_THREADS)
    assert sorted(seen) == [(row, i) for row in range(6) for i in range(5)]


@pytest.mark.parametrize("work", [1, MIN_WORK_FOR_THREADS])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_a_task_runs_beside_a_loop(n_threads, work):
    seen = np.zeros(50, dtype=int)

    def loop(start, stop):
        seen[start:stop] += 1

    def task():
        Threads(n_threads).run(lambda start, stop: None, 8, MIN_WORK_FOR_THREADS)  # may use the same threads
        return "result"

    assert Threads(n_threads).run_beside(task, loop, seen.size, work) == "result"
    assert (seen == 1).all()


def test_a_task_and_a_loop_run_at_the_same_time():
    both_here = threading.Barrier(2)

    def loop(start, stop):
        if start == 0:
            both_here.wait(timeout=60)

    Threads(2).run_beside(lambda: both_here.wait(timeout=60), loop, 8, MIN_WORK_FOR_THREADS)


def test_an_error_in_a_task_ends_the_loop(helpers_in_order):
    released, seen = threading.Event(), []

    def task():
        threading.Timer(0.2, released.set).start()
        raise ArithmeticError("task")

    def loop(start, stop):
        helpers_in_order.release()
        assert released.wait(timeout=60)
        seen.append(start)

    with pytest.raises(ArithmeticError, match="task"):
        Threads(2).run_beside(task, loop, 8, MIN_WORK_FOR_THREADS)
    assert seen == [0]


def test_a_loop_in_order_returns_its_result():
    assert Threads(3).run_in_order(lambda rows: sum(rows), range(5)) == 10


def test_the_largest_of_values_with_a_nan_is_nan():
    assert np.isnan(Threads().max(np.array([1.0, np.nan, 2.0])))


def test_callers_at_once_share_one_pool(monkeypatch):
    both_here = threading.Barrier(2)

    def slow_pool(*args, **kwargs):
        both_here.wait(timeout=60)  # both callers are past the check before either has made its pool
        return object()

    monkeypatch.setattr(execution, "_pools", {})
    monkeypatch.setattr(execution, "ThreadPoolExecutor", slow_pool)
    with ThreadPoolExecutor(2) as callers:
        first, second = callers.map(lambda n: Threads(n)._pool(), [3, 3])
    assert first is second


def test_none_and_minus_one_are_all_cores():
    assert choose_execution(None) == choose_execution(-1)
    assert choose_execution(None).n_threads >= 1


@pytest.mark.parametrize("n_jobs", [1, 2, 64])
def test_a_positive_number_is_kept(n_jobs):
    assert choose_execution(n_jobs).n_threads == n_jobs


def test_fewer_than_all_cores_is_at_least_one():
    assert choose_execution(-10_000).n_threads == 1


def test_no_more_threads_than_the_system_can_start():
    assert choose_execution(10**9).n_threads == THREADS_PER_CORE * choose_execution(None).n_threads


@pytest.mark.parametrize("n_threads", [1, 2, 7])
def test_blocks_do_not_depend_on_the_number_of_threads(n_threads):
    seen, lock = [], threading.Lock()

    def task(rows):
        with lock:
            seen.append((rows.start, rows.stop))

    run_in_blocks(Threads(n_threads), task, 23, 5, MIN_WORK_FOR_THREADS)
    assert sorted(seen) == [(0, 5), (5, 10), (10, 15), (15, 20), (20, 23)]


def _threads(api):
    """Numbers of threads of the libraries that were loaded with the package."""
    libraries = execution._libraries().select(user_api=api)
    return {library["filepath"]: library["num_threads"] for library in libraries.info()}


def test_blas_is_limited_until_its_last_user_has_finished():
    with threadpool_limits(3, user_api="blas"):
        before = _threads("blas")
        assert set(before.values()) == {3}
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert set(_threads("blas").values()) == {1}
        second.__exit__(None, None, None)
        assert _threads("blas") == before


def test_openmp_is_limited_on_this_thread():
    before = _threads("openmp")
    with one_openmp_thread():
        assert set(_threads("openmp").values()) <= {1}
    assert _threads("openmp") == before
