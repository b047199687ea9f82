"""Run the notebook in a process of its own, as a reader would."""

import json
import subprocess
import sys

import pytest

from .pages import ROOT

pytest.importorskip("nbclient", reason="nbclient is not installed")
NOTEBOOK = ROOT / "examples" / "digits.ipynb"
RUN = """
import sys, nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], 4)
NotebookClient(notebook, timeout=600).execute(cwd=".")
nbformat.write(notebook, sys.argv[2])
"""


def _shown(cell):
    """Return the kinds of output of a cell; messages on stderr depend on the packages that are installed."""
    outputs = [output for output in cell["outputs"] if output.get("name") != "stderr"]
    return sorted(kind for output in outputs for kind in output.get("data", {"text": ""}))


def test_the_notebook_runs_and_shows_what_it_stores(tmp_path):
    done = tmp_path / "done.ipynb"
    run = subprocess.run(
        [sys.executable, "-c", RUN, str(NOTEBOOK), str(done)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr[-3000:]
    stored, executed = (
        [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
        for path in (NOTEBOOK, done)
    )
    assert [_shown(cell) for cell in executed] == [_shown(cell) for cell in stored]
    assert any("image/png" in _shown(cell) for cell in executed)
    accuracy = executed[-1]["outputs"][-1]["data"]["text/plain"]
    assert float("".join(accuracy)) > 0.9
