"""Checkpoints: a fit that is killed and started again returns the same bits, and no checkpoint is mistaken."""

import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from sklearn.base import clone

from snekhorn import SNE, TSNE, TSNEkhorn, load, sweep
from snekhorn.affinities import EntropicAffinity
from snekhorn.embedding.charge_grid import GridState
from snekhorn.embedding.mesh import MeshState
from snekhorn.errors import InputError
from snekhorn.estimators import checkpoints
from snekhorn.estimators.checkpoints import stages_in
from snekhorn.io.npz_archive import write_npz

from ..helpers import clusters, refused
from .cases import stops_early

pytestmark = stops_early

X = clusters(400, p=4)
MODEL = TSNEkhorn(perplexity=10, n_neighbors=20, max_iter=200, random_state=0)


@pytest.fixture
def often(monkeypatch):
    """Write the state at every check."""
    monkeypatch.setattr(checkpoints, "SECONDS", 0.0)
    monkeypatch.setattr(checkpoints, "SHARE", np.inf)


class Killed(BaseException):
    """End of a process, as the test pretends."""


def end_after(monkeypatch, stage, number):
    """Raise after a stage has been stored this many times."""
    store, count = checkpoints.Checkpoint.store, []

    def stored(self, which, value):
        store(self, which, value)
        count.append(which)
        if count.count(stage) == number:
            raise Killed

    monkeypatch.setattr(checkpoints.Checkpoint, "store", stored)


def resumed(model, points, folder, stage, number=1):
    """Fit, stop after a stage, and fit again."""
    model = clone(model).set_params(checkpoint=folder)
    with pytest.MonkeyPatch.context() as patch:
        end_after(patch, stage, number)
        with pytest.raises(Killed):
            model.fit(points)
    return clone(model).fit(points)


PROGRAM = """
    import os, signal, sys, warnings
    import numpy as np
    from snekhorn import TSNEkhorn
    from snekhorn.estimators import checkpoints

    warnings.simplefilter("ignore")
    checkpoints.SECONDS, checkpoints.SHARE = 0.0, np.inf
    stage, number, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    write_npz, count = checkpoints.write_npz, 0

    def write(path, texts, arrays):
        global count
        count += stage == "writing" and "Z" in arrays
        if count == number:  # in the middle of a file
            path.write_bytes(b"PK")
            os.kill(os.getpid(), signal.SIGKILL)
        write_npz(path, texts, arrays)

    store = checkpoints.Checkpoint.store

    def stored(self, which, value):
        global count
        store(self, which, value)
        count += which == stage
        if count == number:
            os.kill(os.getpid(), signal.SIGKILL)

    checkpoints.write_npz, checkpoints.Checkpoint.store = write, stored
    X = np.load("X.npy")
    model = TSNEkhorn(perplexity=10, max_iter=300, random_state=0, checkpoint="state", n_jobs=1 + number % 2)
    np.save(out, model.fit(X).embedding_)
"""


def test_a_process_that_is_killed_three_times(tmp_path):
    """Killed while the affinity is computed, in the descent, and while a state is written."""
    points = clusters(3500, p=4).astype(np.float32)  # enough for a neighbour graph
    np.save(tmp_path / "X.npy", points)
    (tmp_path / "run.py").write_text(textwrap.dedent(PROGRAM))
    for stage, number, expected in (
        ("neighbors", 1, ["neighbors"]),
        ("layout", 3, ["affinity", "layout"]),
        ("writing", 2, ["affinity", "layout"]),
    ):
        killed = subprocess.run([sys.executable, "run.py", stage, str(number), "Z.npy"], cwd=tmp_path, check=False)
        assert killed.returncode == -signal.SIGKILL
        assert stages_in(tmp_path / "state") == expected
        assert not (tmp_path / "Z.npy").exists()
    (unfinished,) = (tmp_path / "state").glob(".snekhorn-checkpoint-*")
    os.utime(unfinished, (0, 0))  # as if this had happened long ago
    subprocess.run([sys.executable, "run.py", "none", "-1", "Z.npy"], cwd=tmp_path, check=True)
    assert sorted(file.name for file in (tmp_path / "state").iterdir()) == ["affinity.npz", "layout.npz"]
    whole = TSNEkhorn(perplexity=10, max_iter=300, random_state=0).fit(points)
    np.testing.assert_array_equal(np.load(tmp_path / "Z.npy"), whole.embedding_)


def test_files_that_others_are_writing_remain(tmp_path):
    """Tables of other runs have the same prefix, and another start of the same fit writes the same stages."""
    names = [".snekhorn-0123.csv", ".snekhorn-checkpoint-0123.npz"]
    for name in names:
        (tmp_path / name).write_text("")
    os.utime(tmp_path / names[0], (0, 0))
    clone(MODEL).set_params(checkpoint=tmp_path).fit(X)
    assert sorted(file.name for file in tmp_path.iterdir()) == [*names, "affinity.npz"]


@pytest.mark.usefixtures("interruptible")
@pytest.mark.filterwarnings("ignore:.*interrupted from the keyboard")
def test_an_interrupt_stores_the_state_of_the_last_check(tmp_path, monkeypatch):
    """The first interrupt ends the descent in its third check; another one arrives while the state is written."""

    def interrupt(iteration, loss, layout):
        if iteration == 150:
            signal.raise_signal(signal.SIGINT)

    def write(file, texts, arrays):
        if "Z" in arrays:
            signal.raise_signal(signal.SIGINT)
        write_npz(file, texts, arrays)

    model = clone(MODEL).set_params(checkpoint=tmp_path / "state")
    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "write_npz", write)
        assert clone(model).set_params(callbacks=interrupt).fit(X).report_.interrupted
    checkpoint = checkpoints.Checkpoint.open(model, lambda: checkpoints.fingerprint(X), len(X))
    assert checkpoint.load("layout").n_iter == 100
    np.testing.assert_array_equal(model.fit(X).embedding_, clone(MODEL).fit(X).embedding_)


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize(("stage", "number"), [("neighbors", 1), ("affinity", 1), ("layout", 1), ("layout", 3)])
def test_everything_about_a_resumed_fit_is_the_same(stage, number, tmp_path):
    whole = clone(MODEL).fit(X)
    model = resumed(MODEL, X, tmp_path / "state", stage, number)
    np.testing.assert_array_equal(model.embedding_, whole.embedding_)
    np.testing.assert_array_equal(model.potential_, whole.potential_)
    assert (model.affinity_ != whole.affinity_).nnz == 0
    assert model.report_ == whole.report_
    assert str(model.affinity_report_) == str(whole.affinity_report_)
    assert model.affinity_report_.neighbor_recall == whole.affinity_report_.neighbor_recall
    assert (model.perplexity_, model.kl_divergence_) == (whole.perplexity_, whole.kl_divergence_)
    np.testing.assert_array_equal(model.transform(X[:5] + 0.1), whole.transform(X[:5] + 0.1))


VARIANTS = {
    "dense": (MODEL.set_params(n_neighbors=20), {"n_neighbors": None}),
    "t-SNE": (TSNE(perplexity=10, max_iter=200), {}),
    "SNE": (SNE(perplexity=10, max_iter=200), {}),
    "adam": (MODEL, {"optimizer": "adam", "learning_rate": 0.1, "max_iter": 20}),
    "random": (MODEL, {"init": "random"}),
    "array": (MODEL, {"init": np.random.default_rng(0).normal(size=(400, 2))}),
    "own affinity": (MODEL, {"affinity": EntropicAffinity(8, symmetrize=True, n_neighbors=15)}),
    "whitened": (MODEL, {"metric": "seuclidean"}),
}


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("name", VARIANTS)
def test_variants(name, tmp_path):
    model, parameters = VARIANTS[name]
    model = clone(model).set_params(**parameters)
    whole = clone(model).fit(X)
    again = resumed(model, X, tmp_path / "state", "layout", 2)
    np.testing.assert_array_equal(again.embedding_, whole.embedding_)


@pytest.mark.usefixtures("often")
def test_a_precomputed_affinity(tmp_path):
    P = EntropicAffinity(10, symmetrize=True, n_neighbors=20).fit_transform(X)
    model = TSNE(affinity="precomputed", max_iter=200)
    again = resumed(model, P, tmp_path / "state", "layout", 2)
    assert stages_in(tmp_path / "state") == ["layout"]
    np.testing.assert_array_equal(again.embedding_, clone(model).fit(P).embedding_)


def test_without_time_for_a_state_the_affinity_is_kept(tmp_path):
    model = clone(MODEL).set_params(checkpoint=tmp_path / "a" / "b").fit(X)
    assert stages_in(tmp_path / "a" / "b") == ["affinity"]
    np.testing.assert_array_equal(model.embedding_, clone(MODEL).fit(X).embedding_)


@pytest.fixture
def folder(tmp_path, often):
    """Checkpoint of a fit that has ended."""
    clone(MODEL).set_params(checkpoint=tmp_path / "state").fit(X)
    return tmp_path / "state"


def contents(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


OTHERS = {
    "points": ({}, X + 1e-9, "has a checkpoint of other points; pass the same data"),
    "type": ({}, X.astype(np.float32), "of other points"),
    "perplexity": ({"perplexity": 11}, X, "with perplexity=10, not 11"),
    "max_iter": ({"max_iter": 201}, X, "with max_iter=200, not 201"),
    "init": ({"init": X[:, :2]}, X, "with init='pca', not 'array"),
    "affinity": ({"affinity": EntropicAffinity(8)}, X, "with affinity=None, not {'class': 'EntropicAffinity'"),
}


@pytest.mark.parametrize("case", OTHERS)
def test_a_checkpoint_of_another_fit_is_an_error_and_remains(case, folder):
    parameters, points, message = OTHERS[case]
    before = contents(folder)
    refused(clone(MODEL).set_params(checkpoint=folder, **parameters), points, message, "another folder")
    assert contents(folder) == before


def test_a_checkpoint_of_another_method(folder):
    parameters = {name: value for name, value in MODEL.get_params().items() if name != "checkpoint"}
    refused(TSNE(**parameters, checkpoint=folder), X, "with estimator='TSNEkhorn', not 'TSNE'")


def test_what_does_not_change_the_result_may_differ(folder):
    again = clone(MODEL).set_params(checkpoint=str(folder), n_jobs=1, verbose=0, callbacks=lambda *_: None).fit(X)
    np.testing.assert_array_equal(again.embedding_, clone(MODEL).fit(X).embedding_)


def _cut_short(file):
    file.write_bytes(file.read_bytes()[:-100])


def _text(file):
    file.write_text("not an archive")


def _changed_byte(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def _pickle(file):
    np.savez(file, **{"header.json": np.array([{}])})


def _no_header(file):
    write_npz(file, {"header.json": "{}"}, {})


@pytest.mark.parametrize("stage", ["affinity", "layout"])
@pytest.mark.parametrize("damage", [_cut_short, _text, _changed_byte, _pickle, _no_header])
def test_a_damaged_file_is_named(damage, stage, folder):
    damage(folder / f"{stage}.npz")
    before = contents(folder)
    refused(clone(MODEL).set_params(checkpoint=folder), X, f"{stage}.npz", "delete this file")
    assert contents(folder) == before


def test_contents_are_checked(folder):
    """An order that is not a permutation, and meshes for another dimension or for more points."""
    model = clone(MODEL).set_params(checkpoint=folder)
    checkpoint = checkpoints.Checkpoint.open(model, lambda: checkpoints.fingerprint(X), len(X))
    state = checkpoint.load("layout")
    for name, value, message in (
        ("order", np.zeros(len(X), dtype=np.int64), "not a permutation"),
        ("Z", state.Z[:-1], "size 399"),
        ("losses", [np.nan], "losses"),
        ("n_iter", -1, "n_iter"),
        ("grid", GridState(MeshState((0.0,), (1.0,), 2.5, len(X))), "1 dimensions, but the layout has 2"),
        ("grid", GridState(MeshState((0.0,) * 2, (1.0,) * 2, 2.5, len(X) + 1)), f"{len(X) + 1} points, but the layout"),
    ):
        checkpoint.store("layout", checkpoints.DescentState(**{**vars(state), name: value}))
        refused(clone(model), X, "layout.npz", message)


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    refused(clone(MODEL).set_params(checkpoint=tmp_path / "file"), X, "file is not usable", "name another folder")
    for value in (3, ""):
        model = clone(MODEL).set_params(checkpoint=value)
        refused(model, X, f"checkpoint must be the name of a folder or None, got {value!r}")


@pytest.mark.usefixtures("often")
def test_a_state_that_cannot_be_written_does_not_end_the_fit(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(checkpoints, "write_npz", fail)
    with pytest.warns(
        UserWarning, match=r"could not write the checkpoint; the fit continues without it.*No space left"
    ):
        model = clone(MODEL).set_params(checkpoint=tmp_path / "state").fit(X)
    np.testing.assert_array_equal(model.embedding_, clone(MODEL).fit(X).embedding_)
    assert contents(tmp_path / "state") == {}


def test_sweeps_and_saved_models(folder, tmp_path):
    model = clone(MODEL).set_params(checkpoint=folder)
    with pytest.raises(InputError, match="a checkpoint holds one"):
        next(sweep(model, X, [5, 10]))
    model.fit(X).save(tmp_path / "model.npz")
    assert load(tmp_path / "model.npz").checkpoint is None
