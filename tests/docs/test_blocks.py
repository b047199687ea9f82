"""Run every code block of the documentation and compare the output with the page."""

import contextlib
import io
import shlex
import warnings

import matplotlib
import numpy as np
import pytest
from typer.testing import CliRunner

from snekhorn.cli.app import app

from ..helpers import clusters
from .pages import PAGES, ROOT, blocks, commands, matches

matplotlib.use("Agg")
LANGUAGES = {"python", "console"}
# The first two change the environment of the tests; the experiments take minutes and have tests of their own.
NOT_RUN = ("make ", "pip install ", "python -m reproduction ", "python -m benchmarks ")
PAGES_WITH_CODE = [page for page in PAGES if blocks(page)]


@pytest.mark.parametrize("page", PAGES_WITH_CODE, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _write_cells(tmp_path / "cells.csv")
    names = {"__name__": "__main__"}
    for block in blocks(page):
        assert block.language in LANGUAGES, f"line {block.line}: use one of {LANGUAGES}, so that the block can be run"
        if block.language == "python":
            _run_python(block, page, names)
        else:
            for command in commands(block):
                _run_command(command)


def test_matches_allows_gaps_and_spaces():
    assert matches("table:  a.parquet", "table: a.parquet")
    assert matches("150 points, ... entries", "150 points, 3,012 entries")
    assert not matches("150 points", "1500 points")


def _write_cells(path):
    """Write the `cells.csv` that the pages use as an example of the reader's own file."""
    X, kinds = clusters(90, p=5), np.tile(["B", "NK", "T"], 30)
    rows = [",".join([*(f"{value:.4f}" for value in x), kind]) for x, kind in zip(X, kinds, strict=True)]
    path.write_text("\n".join(["CD3,CD4,CD8,CD19,CD56,type", *rows]) + "\n", encoding="utf-8")


def _run_python(block, page, names):
    code = compile("\n" * block.line + block.text, str(page), "exec")  # tracebacks show the line of the page
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")  # deprecations in other packages
        warnings.simplefilter("error", UserWarning)  # our own warnings: examples should not cause any
        exec(code, names)


def _run_command(command):
    if command.line.startswith(NOT_RUN):
        return
    program, *arguments = shlex.split(command.line, comments=True)
    assert program == "snekhorn", f"{command.line}: only snekhorn commands can be tested; add others to NOT_RUN"
    result = CliRunner().invoke(app, arguments)
    fails = any(line.startswith("error:") for line in command.output)
    assert result.exit_code == (2 if fails else 0), (command.line, result.output, result.exception)
    printed = result.output.splitlines()
    for line in filter(None, command.output):
        assert any(matches(line, other) for other in printed), f"{command.line} does not print {line!r}: {printed}"
