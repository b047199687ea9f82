"""Cells at once, a core each: the same results, one after the other or not, and nothing left behind."""

import multiprocessing
import os
import time
from functools import partial

import pytest

from snekhorn.experiments import EXPERIMENTS, Settings
from snekhorn.experiments.cores import each
from snekhorn.kernels.threads import count_threads


def where():
    return {"process": os.getpid(), "threads": count_threads(None)}


def fail():
    raise ValueError("a cell that cannot be computed")


def sleep():
    time.sleep(60)
    return {}


def test_cells_computed_at_once_are_those_computed_one_after_the_other(tmp_path):
    stores = [EXPERIMENTS["table1"].run(tmp_path / str(n), Settings(quick=True, jobs=n)) for n in (1, 2)]
    one, two = ({key: {**cell, "seconds": 0} for key, cell in store.cells.items()} for store in stores)
    assert one == two


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processes cannot be given a core here")
def test_every_process_has_one_core():
    found = dict(each({str(i): where for i in range(6)}, 2))
    assert len(found) == 6
    assert {cell["threads"] for cell in found.values()} == {1}
    assert os.getpid() not in {cell["process"] for cell in found.values()}


def test_one_job_needs_no_process():
    assert {cell["process"] for _, cell in each({"a": where, "b": where}, 1)} == {os.getpid()}


@pytest.mark.parametrize("others", [{}, {"slow": sleep}])
def test_an_error_ends_the_others(others):
    start = time.perf_counter()
    with pytest.raises(ValueError, match="cannot be computed"):
        dict(each({"bad": fail, "good": where, **others}, 2))
    assert time.perf_counter() - start < 30
    assert not multiprocessing.active_children()


def test_a_run_that_is_given_up_ends_its_processes():
    cells = each({"a": where, **{f"slow {i}": partial(sleep) for i in range(3)}}, 2)
    next(cells)
    cells.close()
    assert not multiprocessing.active_children()
