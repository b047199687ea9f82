"""snekhorn embed --workers and --dask: the same files as without a cluster, and clear errors before the long work."""

import os
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from distributed import Client
from scipy import sparse
from typer.testing import CliRunner

import snekhorn
from snekhorn.cli import cluster_session
from snekhorn.cli.app import app
from snekhorn.estimators import checkpoints

from .clusters import kill_when_submitted, local_cluster, running_cluster, unequal_groups

COMMAND = ("embed", "blocks", "--max-iter", "60", "--no-scores")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, environment_of_package):
    """Current folder, with a folder of blocks of points."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "blocks").mkdir()
    for i, part in enumerate(np.array_split(unequal_groups(), 3)):
        np.save(tmp_path / "blocks" / f"{i}.npy", part)
    return tmp_path


def _run(*args, code=0):
    result = CliRunner().invoke(app, [str(arg) for arg in args])
    assert result.exit_code == code, (result.stdout, result.stderr, result.exception)
    return result.stderr


def test_workers_on_this_machine(folder):
    _run(*COMMAND, "--out", "want.npy", "--save-model", "want.npz")
    said = _run(*COMMAND, "--workers", 2, "--out", "found.npy", "--save-model", "found.npz")
    assert "starting 2 workers ..." in said
    assert "using 2 workers; dashboard: http://127.0.0.1:" in said
    np.testing.assert_array_equal(np.load("found.npy"), np.load("want.npy"))
    new = unequal_groups(400)[:20]
    np.testing.assert_array_equal(*(snekhorn.load(f"{name}.npz").transform(new) for name in ("found", "want")))


def test_a_cluster_that_is_running_and_a_table(folder, two_workers):
    np.savetxt("points.csv", unequal_groups(), delimiter=",", header=",".join(f"c{i}" for i in range(20)), comments="")
    command = ("embed", "points.csv", "--standardize", *COMMAND[2:])
    _run(*command, "--out", "want.npy")
    _run(*command, "--dask", two_workers.scheduler.address, "--out", "found.npy")
    np.testing.assert_array_equal(np.load("found.npy"), np.load("want.npy"))
    assert two_workers.nthreads()  # it goes on


def test_a_run_with_a_checkpoint_is_resumed(folder, two_workers, monkeypatch):
    monkeypatch.setattr(checkpoints, "SECONDS", 0.0)
    monkeypatch.setattr(checkpoints, "SHARE", np.inf)
    _run(*COMMAND, "--out", "want.npy")
    command = (*COMMAND, "--dask", two_workers.scheduler.address, "--checkpoint", "state", "--out", "found.npy")
    keep = checkpoints.Checkpoint.keep

    def stop(self, state):
        keep(self, state)
        raise SystemError("as if the process ended")

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints.Checkpoint, "keep", stop)
        _run(*command, code=1)
    assert not os.path.exists("found.npy")
    assert "resuming from the layout in state" in _run(*command)
    np.testing.assert_array_equal(np.load("found.npy"), np.load("want.npy"))
    assert "another fit, with perplexity=30.0, not 12.0" in _run(*command, "-p", 12, "--force", code=2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--workers", 2, "--dask", "tcp://127.0.0.1:1"), "--workers starts a cluster and --dask joins one"),
        (("--workers", 2, "--method", "tsne"), "--workers supports the methods tsnekhorn and snekhorn, not tsne"),
        (("--workers", 2, "-p", "10,30"), "--workers computes one layout, but several were requested"),
        (("--workers", 2, "--metric", "manhattan"), "metric='manhattan' is not supported on a Dask cluster"),
        (("--workers", 2, "--init", "spectral"), "init='spectral' is not supported on a Dask cluster"),
        (("--workers", 2, "--balance", "0"), "balance=0.0 is not supported on a Dask cluster"),
        (("--dask", "nonsense://here"), "no Dask scheduler answers at 'nonsense://here'"),
        (("--dask", "tcp://127.0.0.1:1"), "no Dask scheduler answers at 'tcp://127.0.0.1:1'"),
    ],
)
def test_options_that_a_cluster_cannot_serve(options, message, folder, monkeypatch):
    monkeypatch.setattr(cluster_session, "SECONDS_TO_CONNECT", 1)
    said = _run(*COMMAND, *options, "--out", "found.parquet", code=2)
    assert message in said
    assert "reading" not in said
    assert ("connecting to" in said) is (len(options) == 2 and options[0] == "--dask")


@pytest.mark.parametrize("address", ["127.0.0.1", "tcp://127.0.0.1:port", "nonsense://here"])
def test_an_address_that_is_none_gives_one_sentence(address, folder):
    """A process of its own shows what Python says when it ends."""
    command = [sys.executable, "-m", "snekhorn", *COMMAND, "--dask", address, "--out", "found.npy"]
    run = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    assert run.returncode == 2, run.stderr
    connecting, said = run.stderr.splitlines()
    assert connecting == f"connecting to {address} ..."
    assert said.startswith(f"error: no Dask scheduler answers at {address!r} (")


def test_points_that_the_workers_cannot_hold(folder):
    said = _run(*COMMAND, "--workers", 2, "--max-memory", "400MB", "--out", "found.npy", code=2)
    assert "2 workers need at least 0.5 GiB of memory before they have any data" in said
    assert "use fewer workers, or raise --max-memory" in said


@pytest.mark.parametrize(
    ("per_point", "options", "reserved"),
    [
        (1e5, (), 3600 * (1e5 + 20 * 4)),
        (1e5, ("--pca", 10), 3600 * (1e5 + 10 * 4)),
        (0.0, ("--checkpoint", "state"), 3600 * (2 * 3599 * 8 + 20 * 4)),  # at this perplexity, all pairs are edges
    ],
)
def test_the_workers_share_what_the_program_leaves(per_point, options, reserved, folder, monkeypatch):
    limits = []

    def record(*, memory_limit, **_):
        limits.append(memory_limit)
        raise OSError("no cluster")

    monkeypatch.setattr("distributed.LocalCluster", record)
    monkeypatch.setattr("snekhorn.dask.memory_checks.CLIENT_POINT", per_point)
    monkeypatch.setattr("snekhorn.runtime.memory.left_bytes", lambda: 3e9)
    _run(*COMMAND, "--workers", 2, "-p", 1500, *options, "--out", "found.npy", code=2)
    assert 3e9 - 2 * limits[0] == pytest.approx(reserved, abs=2)


def test_a_checkpoint_among_the_blocks(folder):
    said = _run(*COMMAND, "--checkpoint", "blocks", "--out", "found.npy", code=2)
    assert "--checkpoint is the folder of the input, blocks; choose another folder" in said


def test_a_cluster_without_workers(folder):
    with local_cluster(0) as client:
        said = _run(*COMMAND, "--dask", client.scheduler.address, "--out", "found.npy", code=2)
    assert "has no workers; start some" in said
    assert "reading" not in said


def test_a_damaged_block_is_found_before_workers_start(folder):
    file = folder / "blocks" / "2.npy"
    file.write_bytes(file.read_bytes()[:-8])
    said = _run(*COMMAND, "--workers", 2, "--out", "found.npy", code=2)
    assert "2.npy is truncated; write it again." in said
    assert "starting" not in said


def test_dask_is_not_installed(folder, monkeypatch):
    monkeypatch.delattr(snekhorn, "dask", raising=False)
    monkeypatch.setitem(sys.modules, "snekhorn.dask", None)
    said = _run(*COMMAND, "--workers", 2, "--out", "found.npy", code=2)
    assert "--workers needs Dask; install it with: pip install 'snekhorn[dask]'" in said


def test_sparse_points(folder, two_workers):
    sparse.save_npz("points.npz", sparse.random(3200, 30, 0.2, format="csr", random_state=0))
    command = ("embed", "points.npz", "--metric", "cosine", "--dask", two_workers.scheduler.address)
    assert "a Dask cluster needs dense points" in _run(*command, "--out", "found.npy", code=2)


def test_ctrl_c_reaches_all_processes_and_the_layout_is_kept(folder):
    program = """
        import os, signal
        from snekhorn.cli import main
        from snekhorn.embedding import descent

        check = descent._Descent.check

        def interrupt(self):
            stop = check(self)
            os.killpg(0, signal.SIGINT)  # as a terminal does
            return stop

        if __name__ == "__main__":
            signal.signal(signal.SIGINT, signal.default_int_handler)  # the tests may run where it is ignored
            descent._Descent.check = interrupt
            main()
    """
    (folder / "program.py").write_text(textwrap.dedent(program))
    command = [sys.executable, "program.py", *COMMAND, "--workers", "2", "--out", "found.npy", "--checkpoint", "state"]
    run = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    said = run.communicate()[1]
    assert run.returncode == 130, said
    assert "Traceback" not in said
    assert "the same command with --force continues from the checkpoint" in said
    assert np.isfinite(np.load("found.npy")).all()
    assert _ends(run.pid)


def _ends(group):
    """Return whether no process of a group is left; helpers of multiprocessing end a moment after the program."""
    for _ in range(100):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of the client, when it closes
def test_a_lost_scheduler(folder, monkeypatch):
    with running_cluster(folder / "scheduler.json") as scheduler:
        with Client(scheduler_file=str(folder / "scheduler.json"), set_as_default=False) as client:
            client.wait_for_workers(1)
            address = client.scheduler.address
        kill_when_submitted(monkeypatch, "whole_step", 20, scheduler.pid)
        said = _run(*COMMAND, "--dask", address, "--checkpoint", "state", "--out", "found.npy", code=2)
    assert "was lost" in said
    assert "It resumes from the checkpoint state." in said
    monkeypatch.undo()
    os.chdir(folder)
    assert "resuming from the affinity in state" in _run(*COMMAND, "--checkpoint", "state", "--out", "found.npy")
