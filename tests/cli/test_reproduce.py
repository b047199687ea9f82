"""snekhorn reproduce."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from snekhorn.cli.reproduce import NAMES
from snekhorn.experiments import EXPERIMENTS, Store


def test_the_help_lists_all_experiments():
    assert ", ".join(EXPERIMENTS) == NAMES


def test_a_table(folder, as_json, files):
    facts = as_json("reproduce", "table1", "--quick", "--out", "found")
    assert facts["experiments"]["table1"]["cells"] == 4
    assert files() >= {"found", "found.md"}
    assert json.loads((folder / "found" / "table1.json").read_text())["quick"] is True
    assert "as in the paper" in (folder / "found.md").read_text()


def test_finished_cells_stay(folder, snekhorn, monkeypatch):
    snekhorn("reproduce", "table1", "--quick")
    kept = (folder / "reproduction-quick" / "table1.json").read_text()
    monkeypatch.setattr("snekhorn.experiments.table1.violations", lambda name: pytest.fail(f"{name} again"))
    text = snekhorn("reproduce", "table1", "--quick").stdout
    assert "table1: 4 cells" in text
    assert (folder / "reproduction-quick" / "table1.json").read_text() == kept


def test_interrupting_keeps_finished_cells(folder, snekhorn, monkeypatch):
    from snekhorn.experiments import table1

    compute, calls = table1.violations, []

    def violations(name):
        calls.append(name)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return compute(name)

    monkeypatch.setattr(table1, "violations", violations)
    result = snekhorn("reproduce", "table1", "--quick", code=130)
    assert "start again to go on" in result.stderr
    assert len(json.loads((folder / "reproduction-quick" / "table1.json").read_text())["cells"]) == 2
    snekhorn("reproduce", "table1", "--quick")
    assert len(calls) == 5


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="no groups of processes here")
def test_interrupting_several_processes_is_as_plain(folder):
    """From the keyboard, an interrupt reaches them all."""
    command = [sys.executable, "-m", "snekhorn", "reproduce", "table3", "--quick", "--jobs", "2"]
    settings = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "start_new_session": True}
    kept = folder / "reproduction-quick" / "table3.json"
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background of a shell it is ignored
    try:
        with subprocess.Popen(command, **settings) as run:
            for _ in range(1200):
                if kept.exists() or run.poll() is not None:
                    break
                time.sleep(0.05)
            os.killpg(run.pid, signal.SIGINT)
            said = run.communicate(timeout=60)[0]
    finally:
        signal.signal(signal.SIGINT, before)
    assert run.returncode == 130
    assert "start again to go on" in said
    assert not re.search("Traceback|Warning", said)
    assert json.loads(kept.read_text())["cells"]


def test_drawing_computes_nothing(folder, as_json):
    facts = as_json("reproduce", "all", "--quick", "--draw")
    assert all(found["cells"] == 0 for found in facts["experiments"].values())
    as_json("reproduce", "figure2", "--quick")
    (folder / "reproduction-quick" / "figure2.png").unlink()
    facts = as_json("reproduce", "all", "--quick", "--draw")
    assert facts["experiments"]["figure2"]["cells"] == 2
    assert (folder / "reproduction-quick" / "figure2.png").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("figure9",), "no experiment is called 'figure9'"),
        (("table1", "--data", "nowhere"), "nowhere does not exist"),
        (("table1", "--out", "good.csv"), "good.csv is a file"),
        (("table1", "--out", "good.csv/found"), "good.csv/found cannot be made"),
    ],
)
def test_bad_input(folder, snekhorn, files, arguments, message):
    (folder / "good.csv").write_text("a,b\n1,2\n")
    before = files()
    assert message in snekhorn("reproduce", *arguments, code=2).stderr
    assert files() == before


def test_results_of_the_other_kind_of_run_are_an_error_before_anything_is_computed(folder, snekhorn, monkeypatch):
    snekhorn("reproduce", "multiscale", "--quick", "--out", "found", "--draw")
    Store(folder / "found" / "multiscale.json", quick=True).put("cell", {"not_available": "no data"})
    monkeypatch.setattr("snekhorn.experiments.table1.violations", lambda name: pytest.fail("computed"))
    for name in ("all", "table1"):  # one page is of one kind
        assert "of a quick run" in snekhorn("reproduce", name, "--out", "found", code=2).stderr
    snekhorn("reproduce", "table1", "--out", "found", "--draw")


def test_the_page_of_the_folder_one_is_in(folder, snekhorn, monkeypatch):
    (folder / "found").mkdir()
    monkeypatch.chdir(folder / "found")
    snekhorn("reproduce", "figure2", "--quick", "--out", ".")
    assert "(found/figure2.png)" in (folder / "found.md").read_text()


def test_a_damaged_data_file_is_an_error(folder, snekhorn):
    (folder / "scgem_expression.npz").write_bytes(b"not a zip file")
    result = snekhorn("reproduce", "figure6", "--quick", "--data", folder, code=2)
    assert "scgem_expression.npz is no .npz file" in result.stderr
