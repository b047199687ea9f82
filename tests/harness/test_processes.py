"""Cases run in this process, on one core each or alone; they give the same results and leave no process behind."""

import multiprocessing
import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from joblib import cpu_count
from threadpoolctl import threadpool_info

from harness.processes import TIMED_THREADS, run_cases


def where():
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else {0}
    threads = [pool["num_threads"] for pool in threadpool_info()]
    return {"process": os.getpid(), "cores": cores, "n_cores": cpu_count(), "threads": threads}


def wait_policy():
    return {"policy": os.environ.get("OMP_WAIT_POLICY")}


def die():
    os._exit(1)


def fail():
    raise ValueError("this case cannot be computed")


def sleep(marker=None):
    """Outlast the test, then write a file to show that the process was not stopped."""
    time.sleep(120)
    if marker is not None:
        marker.touch()
    return {}


def test_a_timed_case_that_exceeds_its_limit_is_ended(tmp_path):
    start, before = time.monotonic(), set(multiprocessing.active_children())
    found = dict(run_cases({"a": partial(sleep, tmp_path / "marker"), "b": wait_policy}, timed=True, limit=8.0))
    assert found["a"] == {"not_available": "failed: not finished after 8 s"}
    assert found["b"] == {"policy": "passive"}
    assert time.monotonic() - start < 60.0
    assert set(multiprocessing.active_children()) == before
    assert not (tmp_path / "marker").exists()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processes cannot be given a core here")
def test_every_process_has_one_core():
    found = dict(run_cases({str(i): where for i in range(6)}, jobs=2))
    assert len(found) == 6
    assert {case["n_cores"] for case in found.values()} == {1}
    assert {threads for case in found.values() for threads in case["threads"]} == {1}
    cores = {case["process"]: case["cores"] for case in found.values()}
    assert all(len(core) == 1 for core in cores.values())
    assert len(set.union(*cores.values())) == min(len(cores), len(os.sched_getaffinity(0)))
    assert os.getpid() not in cores


def test_one_job_needs_no_process():
    assert {case["process"] for _, case in run_cases({"a": where, "b": where})} == {os.getpid()}


def test_no_more_processes_than_cases():
    assert len({case["process"] for _, case in run_cases({"a": where, "b": where}, jobs=10**6)}) <= 2


def test_every_timed_case_has_a_new_process():
    found = dict(run_cases({"a": where, "b": where}, jobs=2, timed=True))
    assert len({os.getpid(), *(case["process"] for case in found.values())}) == 3
    assert {threads for case in found.values() for threads in case["threads"]} == {TIMED_THREADS}
    if hasattr(os, "sched_getaffinity"):
        assert all(case["cores"] == os.sched_getaffinity(0) for case in found.values())


def test_threads_of_timed_cases_wait_passively(monkeypatch):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    assert dict(run_cases({"a": wait_policy}, timed=True)) == {"a": {"policy": "passive"}}
    assert "OMP_WAIT_POLICY" not in os.environ


def test_a_killed_process_is_reported():
    with pytest.raises(MemoryError, match="lower --jobs"):
        dict(run_cases({"a": die, "b": where}, jobs=2))
    assert not multiprocessing.active_children()


def test_a_killed_timed_case_does_not_stop_the_others():
    found = dict(run_cases({"a": die, "b": where}, timed=True))
    assert found["a"]["not_available"].startswith("failed: the process was killed")
    assert "process" in found["b"]


@pytest.mark.parametrize("slow", [False, True])
def test_an_error_ends_the_others(slow, tmp_path):
    others = {"slow": partial(sleep, tmp_path / "marker")} if slow else {}
    with pytest.raises(ValueError, match="cannot be computed"):
        dict(run_cases({"bad": fail, "good": where, **others}, jobs=2))
    assert not multiprocessing.active_children()
    assert not list(tmp_path.iterdir())


def test_an_abandoned_run_ends_its_processes(tmp_path):
    cases = run_cases({"a": where, **{f"slow {i}": partial(sleep, tmp_path / str(i)) for i in range(3)}}, jobs=2)
    next(cases)
    cases.close()
    assert not multiprocessing.active_children()
    assert not list(tmp_path.iterdir())


PARENT = """
from harness.processes import run_cases
from tests.harness.test_processes import sleep, where

if __name__ == "__main__":
    for _, case in run_cases({"a": where, "slow": sleep, "slower": sleep}, jobs=2):
        print(case["process"], flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="kill ends other processes there")
def test_processes_end_with_a_parent_that_is_killed(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])}
    with subprocess.Popen([sys.executable, str(script)], env=environment, stdout=subprocess.PIPE, text=True) as parent:
        parent.stdout.readline()
        parent.kill()
        parent.communicate(timeout=100)  # the output ends when no process holds it open any more
