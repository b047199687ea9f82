"""snekhorn embed --checkpoint."""

import numpy as np
import pytest

from snekhorn.estimators import checkpoints, layout_parts
from snekhorn.io import read_table

COMMAND = ("embed", "digits.csv", "--label", "digit", "--id", "name", "--max-iter", 200, "--no-scores")


def layout_of(path):
    return read_table(path, columns=["x", "y"]).X


@pytest.fixture(autouse=True)
def often(monkeypatch):
    monkeypatch.setattr(checkpoints, "SECONDS", 0.0)
    monkeypatch.setattr(checkpoints, "SHARE", np.inf)


def test_the_same_command_resumes(folder, snekhorn, monkeypatch):
    snekhorn(*COMMAND, "--out", "whole.parquet")
    keep, count = checkpoints.Checkpoint.keep, []

    def stop(self, state):
        keep(self, state)
        count.append(state)
        if len(count) == 2:
            raise SystemError("as if the process ended")

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints.Checkpoint, "keep", stop)
        snekhorn(*COMMAND, "--checkpoint", "state", "--out", "resumed.parquet", code=1)
    result = snekhorn(*COMMAND, "--checkpoint", "state", "--out", "resumed.parquet")
    assert "resuming from the layout in state" in result.stderr
    np.testing.assert_array_equal(layout_of("resumed.parquet"), layout_of("whole.parquet"))


def test_an_interrupt_before_the_layout_says_what_is_stored(folder, snekhorn, monkeypatch, files):
    def interrupted(*args):
        raise KeyboardInterrupt

    command = (*COMMAND, "--checkpoint", "state", "--out", "resumed.parquet")
    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "store_affinity", interrupted)
        result = snekhorn(*command, code=130)
        assert "interrupted before there were any results; nothing was written." in result.stderr
    with monkeypatch.context() as patch:
        patch.setattr(layout_parts.LayoutParts, "initial_layout", interrupted)
        result = snekhorn(*command, code=130)
        assert "interrupted; the same command continues from the checkpoint state." in result.stderr
        assert "nothing was written" not in result.stderr
    assert "resumed.parquet" not in files()
    assert "resuming from the affinity in state" in snekhorn(*command).stderr


def test_an_interrupt_of_the_affinity_keeps_the_neighbours(folder, snekhorn, monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    command = (*COMMAND, "--checkpoint", "state", "--out", "resumed.parquet")
    monkeypatch.setattr(layout_parts, "DENSE_LIMIT", 10)
    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "store_affinity", interrupted)
        result = snekhorn(*command, code=130)
    assert "interrupted; the same command continues from the checkpoint state." in result.stderr
    assert "resuming from the neighbours in state" in snekhorn(*command).stderr


def test_a_checkpoint_of_another_run(folder, snekhorn, files):
    snekhorn(*COMMAND, "--checkpoint", "state", "--out", "a.csv")
    found = snekhorn(*COMMAND, "--checkpoint", "state", "-p", 12, "--out", "b.csv", code=2).stderr
    assert "state has a checkpoint of another fit, with perplexity=30.0, not 12.0" in found
    assert "resuming" not in found
    found = snekhorn(*COMMAND, "--checkpoint", "state", "--pca", 10, "--out", "b.csv", code=2).stderr
    assert "state has a checkpoint of other points; pass the same data to resume it, or another folder" in found
    assert "resuming" not in found
    found = snekhorn(*COMMAND, "--checkpoint", "new", "-p", "12,20", "--out", "b.csv", code=2).stderr
    assert "--checkpoint holds one layout" in found
    assert "new" not in files()
    assert "b.csv" not in files()
