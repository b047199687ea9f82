"""A fit on a cluster that ends early is resumed with the same bits, also by another number of workers or machines."""

from contextlib import contextmanager

import numpy as np
import pytest

import snekhorn
import snekhorn.dask
from snekhorn.errors import InputError
from snekhorn.estimators import checkpoints
from snekhorn.estimators.checkpoints import stages_in

from .clusters import SETTINGS, in_chunks, unequal_groups, work_as_for_many_points

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*stopped at max_iter"),
    pytest.mark.usefixtures("two_workers"),
]


class Ended(BaseException):
    """Stands for the end of the process."""


@contextmanager
def _end_after(monkeypatch, stage):
    """Store every state of the descent, and raise once a stage has been stored."""
    monkeypatch.setattr(checkpoints, "SECONDS", 0.0)
    monkeypatch.setattr(checkpoints, "SHARE", np.inf)
    store = checkpoints.Checkpoint.store

    def store_and_end(self, name, value):
        store(self, name, value)
        if name == stage:
            raise Ended

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints.Checkpoint, "store", store_and_end)
        yield


def _check_same(found, want):
    np.testing.assert_array_equal(found.embedding_, want.embedding_)
    np.testing.assert_array_equal(found.potential_, want.potential_)
    assert found.report_ == want.report_
    assert str(found.affinity_report_) == str(want.affinity_report_)


@pytest.mark.parametrize("stage", ["neighbors", "affinity", "layout"])
def test_a_fit_is_resumed(stage, tmp_path, monkeypatch):
    work_as_for_many_points(monkeypatch)
    X = unequal_groups()
    want = snekhorn.TSNEkhorn(**SETTINGS).fit(X)
    with _end_after(monkeypatch, stage), pytest.raises(Ended):
        snekhorn.dask.TSNEkhorn(**SETTINGS, checkpoint=tmp_path).fit(in_chunks(X))
    assert stages_in(tmp_path)[-1] == stage
    on_one_machine = tmp_path / "copy"
    on_one_machine.mkdir()
    for file in tmp_path.glob("*.npz"):
        (on_one_machine / file.name).write_bytes(file.read_bytes())
    _check_same(snekhorn.dask.TSNEkhorn(**SETTINGS, checkpoint=tmp_path).fit(in_chunks(X)), want)
    _check_same(snekhorn.TSNEkhorn(**SETTINGS, checkpoint=on_one_machine).fit(X), want)


def test_a_resumed_fit_does_not_repeat_what_is_stored(tmp_path, monkeypatch):
    X = unequal_groups()
    with _end_after(monkeypatch, "affinity"), pytest.raises(Ended):
        snekhorn.dask.TSNEkhorn(**SETTINGS, checkpoint=tmp_path).fit(in_chunks(X))

    def search(*args):
        raise AssertionError("the search was repeated")

    monkeypatch.setattr("snekhorn.dask.pieced_checkpoints.find_neighbors_on_workers", search)
    snekhorn.dask.TSNEkhorn(**SETTINGS, checkpoint=tmp_path).fit(in_chunks(X))


@pytest.mark.parametrize(
    ("change", "parameters", "message"),
    [
        (1e-3, {}, "has a checkpoint of other points"),
        (0.0, {"perplexity": 20.0}, r"another fit, with perplexity=30.0, not 20.0"),
    ],
)
def test_a_checkpoint_of_another_fit(change, parameters, message, tmp_path, monkeypatch):
    X = unequal_groups()
    with _end_after(monkeypatch, "neighbors"), pytest.raises(Ended):
        snekhorn.dask.TSNEkhorn(**SETTINGS, checkpoint=tmp_path).fit(in_chunks(X))
    X[3500, 3] += change  # in the last piece
    with pytest.raises(InputError, match=message):
        snekhorn.dask.TSNEkhorn(**SETTINGS, **parameters, checkpoint=tmp_path).fit(in_chunks(X))
    assert stages_in(tmp_path) == ["neighbors"]


def test_a_checkpoint_that_the_client_cannot_hold_is_refused_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setattr("snekhorn.runtime.memory.available_bytes", lambda: 4_000_000)
    monkeypatch.setattr("snekhorn.dask.dask_methods.load_points", lambda *args: pytest.fail("points were loaded"))
    model = snekhorn.dask.TSNEkhorn(**SETTINGS, checkpoint=tmp_path / "state")
    with pytest.raises(InputError, match="not enough memory for the checkpoint of 3,600 points"):
        model.fit(in_chunks(unequal_groups()))
