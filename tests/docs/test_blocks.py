"""Every block of code in the documentation runs, and prints what the page says."""

import contextlib
import io
import shlex
import warnings

import matplotlib
import pytest
from typer.testing import CliRunner

from snekhorn.cli.app import app

from .pages import PAGES, ROOT, blocks, commands, matches

matplotlib.use("Agg")
LANGUAGES = {"python", "console"}
NOT_RUN = ("make ", "pip install ")  # they change the environment that the tests run in
MOST_SKIPPED = 3  # blocks that say why they are not run
WITH_CODE = [page for page in PAGES if blocks(page)]


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for block in blocks(page):
        assert block.language in LANGUAGES, f"line {block.line}: blocks are {LANGUAGES}, so that they can be run"
        if block.skipped:
            continue
        if block.language == "python":
            _run_python(block, page, names)
        else:
            for command in commands(block):
                _run_command(command)


def test_few_blocks_are_skipped():
    skipped = [block for page in WITH_CODE for block in blocks(page) if block.skipped]
    assert len(skipped) <= MOST_SKIPPED


def test_what_counts_as_printed():
    assert matches("table:  a.parquet", "table: a.parquet")
    assert matches("150 points, ... entries", "150 points, 3,012 entries")
    assert not matches("150 points", "1500 points")


def _run_python(block, page, names):
    code = compile("\n" * block.line + block.text, str(page), "exec")  # errors show the line of the page
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")  # of other packages, about themselves
        warnings.simplefilter("error", UserWarning)  # ours, about the example
        exec(code, names)


def _run_command(command):
    if command.line.startswith(NOT_RUN):
        return
    program, *arguments = shlex.split(command.line, comments=True)
    assert program == "snekhorn", f"{command.line}: only snekhorn can be tried; say why not, or leave it out"
    result = CliRunner().invoke(app, arguments)
    fails = any(line.startswith("error:") for line in command.output)
    assert result.exit_code == (2 if fails else 0), (command.line, result.output, result.exception)
    printed = result.output.splitlines()
    for line in filter(None, command.output):
        assert any(matches(line, other) for other in printed), f"{command.line} does not print {line!r}: {printed}"
