"""A killed worker neither ends a fit nor changes its result; a lost scheduler ends it with what to do."""

import os

import pytest
from distributed import Client

import snekhorn
import snekhorn.dask
from snekhorn.dask import LostClusterError

from .clusters import (
    SETTINGS,
    in_chunks,
    kill_when_submitted,
    local_cluster,
    running_cluster,
    unequal_groups,
    work_as_for_many_points,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*stopped at max_iter")

STAGES = [
    pytest.param("lists_by_clusters", 1, id="neighbours"),
    pytest.param("_fill_rows", 41, id="affinity"),
    pytest.param("forces_of_pairs", 1, id="field"),
    pytest.param("whole_step", 20, id="step of the first worker"),
    pytest.param("take_step", 50, id="layout"),
    pytest.param("sums_at_rows", 10, id="loss"),
]


@pytest.mark.slow
@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize(("task", "which"), STAGES)
def test_a_killed_worker(task, which, direct, monkeypatch):
    work_as_for_many_points(monkeypatch)
    X = unequal_groups()
    want = snekhorn.TSNEkhorn(**SETTINGS).fit(X)
    with local_cluster(2, direct=direct) as client:
        pid = min(client.run(os.getpid).values())
        kills = kill_when_submitted(monkeypatch, task, which, pid)
        found = snekhorn.dask.TSNEkhorn(**SETTINGS).fit(in_chunks(X))
    assert kills == [pid]
    assert found.embedding_.tobytes() == want.embedding_.tobytes()
    assert found.potential_.tobytes() == want.potential_.tobytes()
    assert found.report_ == want.report_


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of the client, when it closes
def test_a_lost_scheduler(tmp_path, monkeypatch):
    model = snekhorn.dask.TSNEkhorn(**SETTINGS)
    file = tmp_path / "scheduler.json"
    with running_cluster(file) as scheduler, Client(scheduler_file=str(file)) as client:
        client.wait_for_workers(1)
        kill_when_submitted(monkeypatch, "whole_step", 20, scheduler.pid)
        with pytest.raises(LostClusterError, match=r"scheduler at tcp://.* was lost .* run the same fit again"):
            model.fit(in_chunks(unequal_groups()))
    assert not hasattr(model, "embedding_")
