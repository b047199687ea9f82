"""Cells at once, a core each: the same results, one after the other or not, and nothing left behind."""

import multiprocessing
import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from threadpoolctl import threadpool_info

from snekhorn.experiments import EXPERIMENTS, Settings
from snekhorn.experiments.cores import each
from snekhorn.runtime.execution import count_threads


def where():
    pools = [pool["num_threads"] for pool in threadpool_info()]
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else {0}
    return {"process": os.getpid(), "cores": cores, "threads": [count_threads(None), *pools]}


def die():
    os._exit(1)


def fail():
    raise ValueError("a cell that cannot be computed")


def sleep():
    time.sleep(60)
    return {}


def test_cells_computed_at_once_are_those_computed_one_after_the_other(tmp_path):
    stores = [EXPERIMENTS["table1"].run(tmp_path / str(n), Settings(quick=True, jobs=n)) for n in (1, 2)]
    one, two = ({key: {**cell, "seconds": 0} for key, cell in store.cells.items()} for store in stores)
    assert list(one.items()) == list(two.items())


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processes cannot be given a core here")
def test_every_process_has_one_core():
    found = dict(each({str(i): where for i in range(6)}, 2))
    assert len(found) == 6
    assert {threads for cell in found.values() for threads in cell["threads"]} == {1}
    cores = {cell["process"]: cell["cores"] for cell in found.values()}
    assert all(len(core) == 1 for core in cores.values())
    assert len(set.union(*cores.values())) == min(len(cores), len(os.sched_getaffinity(0)))
    assert os.getpid() not in {cell["process"] for cell in found.values()}


def test_one_job_needs_no_process():
    assert {cell["process"] for _, cell in each({"a": where, "b": where}, 1)} == {os.getpid()}


def test_more_jobs_than_cells_are_no_more_processes():
    assert len({cell["process"] for _, cell in each({"a": where, "b": where}, 10**6)}) <= 2


def test_a_process_that_is_killed_is_told():
    with pytest.raises(MemoryError, match="lower --jobs"):
        dict(each({"a": die, "b": where}, 2))
    assert not multiprocessing.active_children()


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


PARENT = """
import os
from snekhorn.experiments.cores import each
from tests.experiments.test_cores import sleep, where

if __name__ == "__main__":
    for _, cell in each({"a": where, "slow": sleep, "slower": sleep}, 2):
        print(cell["process"], flush=True)
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes cannot be looked at here")
def test_processes_end_with_a_parent_that_is_killed(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen([sys.executable, str(script)], env=environment, stdout=subprocess.PIPE, text=True) as parent:
        child = int(parent.stdout.readline())
        parent.kill()
    for _ in range(100):
        if not _runs(child):
            return
        time.sleep(0.1)
    pytest.fail("the process goes on")


def _runs(process):
    """Whether it is there, and no zombie that nobody has waited for."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
