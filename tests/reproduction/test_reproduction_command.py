"""The command line of `python -m reproduction`, which `python -m benchmarks` shares."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.results_file import ResultsFile
from reproduction import table1
from reproduction.__main__ import PROGRAM

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the current folder and the folder of the data sets."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SNEKHORN_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def reproduce(folder, capsys):
    """Run the program in this process; the exit code must be the one expected."""

    def run(*arguments, code=0):
        assert PROGRAM.main([str(argument) for argument in arguments]) == code
        return capsys.readouterr()

    return run


@pytest.fixture
def as_json(reproduce):
    return lambda *arguments: json.loads(reproduce(*arguments, "--json").out)


def test_the_help_lists_all_experiments(capsys):
    with pytest.raises(SystemExit):
        PROGRAM.main(["--help"])
    text = capsys.readouterr().out
    for name, experiment in PROGRAM.experiments.items():
        assert re.search(rf"^  {name} +{re.escape(experiment.title)}$", text, re.MULTILINE)


def test_a_table(folder, as_json):
    facts = as_json("table1", "--quick", "--out", "found")
    assert facts["experiments"]["table1"]["cases"] == 4
    assert {path.name for path in folder.iterdir()} == {"found", "found.md"}
    assert json.loads((folder / "found" / "table1.json").read_text())["quick"] is True
    assert "as in the paper" in (folder / "found.md").read_text()


def test_several_names_run_in_the_order_of_the_page(reproduce):
    said = reproduce("figure2", "table1", "--quick").out
    assert re.search(r"table1: 4 cases.*\nfigure2: 2 cases.*\npage: reproduction-quick.md", said)


def test_quiet_says_nothing(reproduce):
    assert reproduce("table1", "--quick", "--quiet") == ("", "")


def test_finished_cases_are_kept(folder, reproduce, monkeypatch):
    reproduce("table1", "--quick")
    kept = (folder / "reproduction-quick" / "table1.json").read_text()
    monkeypatch.setattr(table1, "violations", lambda name: pytest.fail(f"{name} again"))
    assert "table1: 4 cases" in reproduce("table1", "--quick").out
    assert (folder / "reproduction-quick" / "table1.json").read_text() == kept


def test_an_interrupt_keeps_finished_cases(folder, reproduce, monkeypatch):
    compute, calls = table1.violations, []

    def violations(name):
        calls.append(name)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return compute(name)

    monkeypatch.setattr(table1, "violations", violations)
    assert "Run the same command again to continue" in reproduce("table1", "--quick", code=130).err
    assert len(json.loads((folder / "reproduction-quick" / "table1.json").read_text())["cases"]) == 2
    reproduce("table1", "--quick")
    assert len(calls) == 5


STUCK = """
import sys, time
from dataclasses import replace

from reproduction.__main__ import PROGRAM

def first():
    return {"data": "finished"}

def second():
    time.sleep(600)

if __name__ == "__main__":
    cases = {"first": first, "second": second}
    PROGRAM.experiments["table1"] = replace(PROGRAM.experiments["table1"], plan=lambda settings: cases)
    sys.exit(PROGRAM.main())
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="there are no groups of processes here")
def test_an_interrupt_of_several_processes_leaves_no_traceback(folder):
    """A keyboard interrupt reaches all processes, one of which is in a case that does not end by itself."""
    (folder / "stuck.py").write_text(STUCK)
    command = [sys.executable, "stuck.py", "table1", "--quick", "--jobs", "2"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    settings = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "start_new_session": True}
    kept = folder / "reproduction-quick" / "table1.json"
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored if pytest runs in the background
    try:
        with subprocess.Popen(command, env=environment, **settings) as run:
            while not kept.exists() and run.poll() is None:
                time.sleep(0.05)
            if run.poll() is None:
                os.killpg(run.pid, signal.SIGINT)
            said = run.communicate()[0]
    finally:
        signal.signal(signal.SIGINT, before)
    assert run.returncode == 130, said
    assert "Run the same command again to continue" in said
    assert not re.search("Traceback|Warning", said)
    assert list(json.loads(kept.read_text())["cases"]) == ["first"]


def test_drawing_computes_nothing(folder, as_json):
    facts = as_json("all", "--quick", "--draw")
    assert all(found["cases"] == 0 for found in facts["experiments"].values())
    assert set(as_json("--quick", "--draw")["experiments"]) == set(facts["experiments"]) == set(PROGRAM.experiments)
    as_json("figure2", "--quick")
    (folder / "reproduction-quick" / "figure2.png").unlink()
    facts = as_json("all", "--quick", "--draw")
    assert facts["experiments"]["figure2"]["cases"] == 2
    assert (folder / "reproduction-quick" / "figure2.png").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("figure9",), "there is no experiment 'figure9'; choose from table1"),
        (("table1", "--data", "nowhere"), "nowhere"),
        (("table1", "--out", "good.csv"), "good.csv is a file"),
        (("table1", "--out", "good.csv/found"), "good.csv/found cannot be created"),
        (("table1", "--out", "other"), "other.md exists and is not a results page"),
    ],
)
def test_bad_input(folder, reproduce, arguments, message):
    (folder / "good.csv").write_text("a,b\n1,2\n")
    (folder / "other.md").write_text("# Something else\n")
    assert message in reproduce(*arguments, code=2).err
    assert {path.name for path in folder.iterdir()} == {"good.csv", "other.md"}


@pytest.mark.parametrize("jobs", ["0", "-1", "many"])
def test_a_bad_number_of_jobs(jobs, capsys):
    with pytest.raises(SystemExit, match="2"):
        PROGRAM.main(["table1", f"--jobs={jobs}"])
    assert "--jobs: must be a whole number of at least 1" in capsys.readouterr().err


def test_results_of_the_other_kind_of_run_are_an_error_before_anything_is_computed(folder, reproduce, monkeypatch):
    reproduce("multiscale", "--quick", "--out", "found", "--draw")
    ResultsFile(folder / "found" / "multiscale.json", quick=True).put("case", {"not_available": "no data"})
    monkeypatch.setattr(table1, "violations", lambda name: pytest.fail("computed"))
    for name in ("all", "table1"):  # a page has results of one kind
        assert "of a quick run" in reproduce(name, "--out", "found", code=2).err
    reproduce("table1", "--out", "found", "--draw")


def test_the_page_of_the_current_folder(folder, reproduce, monkeypatch):
    (folder / "found").mkdir()
    monkeypatch.chdir(folder / "found")
    reproduce("figure2", "--quick", "--out", ".")
    assert "(found/figure2.png)" in (folder / "found.md").read_text()


def test_a_damaged_data_file_is_an_error(folder, reproduce):
    (folder / "scgem_expression.npz").write_bytes(b"not a zip file")
    assert "scgem_expression.npz" in reproduce("figure6", "--quick", "--data", folder, code=2).err
