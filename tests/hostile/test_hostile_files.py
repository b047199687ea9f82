"""A damaged or crafted file gives the error for bad input: no crash, no hang, no other exception, little memory.

This runs a few cases of each kind; `make fuzz-files` runs thousands.
"""

import pytest

from .fuzz_files import run_crafted, run_damaged
from .good_files import write_all
from .hostile_cases import Outcomes, Runner

FLIPS, TRUNCATIONS = 8, 2  # of each format; more take longer and find little


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    return write_all(tmp_path_factory.mktemp("good"))


@pytest.fixture(scope="module")
def worker(good, tmp_path_factory):
    runner = Runner(tmp_path_factory.mktemp("cases"))
    for name in ("t.parquet", "t.h5ad", "pca.h5ad"):
        runner.warm_up("embed", good["embed"][name])
    runner.warm_up("transform", good["transform"]["graph.npz"])
    yield runner
    runner.close()


@pytest.fixture
def runner(worker):
    worker.outcomes = Outcomes()
    return worker


def test_crafted_files_are_refused(good, runner):
    run_crafted(good, runner)
    assert runner.outcomes.defects == []
    assert set(runner.outcomes.counts) == {"refused"}


def test_damaged_files_are_refused_or_valid(good, runner):
    run_damaged(good, runner, flips=FLIPS, truncations=TRUNCATIONS, seed=1)
    assert runner.outcomes.defects == []


def test_a_process_that_dies_is_a_defect(runner):
    runner._worker.kill()
    assert "crashed" in runner.run("embed", "t.csv", b"a,b\n1,2\n", "killed")
    assert len(runner.outcomes.defects) == 1
