"""The program as a whole: help, version, plot, view and doctor."""

import os
import re
import subprocess
import sys
from datetime import time, timedelta

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.core import TyperOption
from typer.main import get_command

from snekhorn import __version__
from snekhorn.cli.app import app
from snekhorn.cli.help_panels import PANELS
from snekhorn.cli.output_files import color_values
from snekhorn.plots.point_colors import encode
from snekhorn.registry import AFFINITIES, METHODS

from ..page.reading import Page
from .conftest import N

COMMANDS = [info.callback.__name__ for info in app.registered_commands]


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_plot(folder, snekhorn, layout, suffix):
    snekhorn("plot", "layout.csv", "--color", "digit", "--out", f"t.{suffix}")
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[suffix]
    assert (folder / f"t.{suffix}").read_bytes().startswith(start)


@pytest.mark.parametrize("kind", [pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")])
def test_times_of_day_are_coloured_by_hour(folder, snekhorn, kind):
    times = pa.array([time(0, 0), time(6, 30), None, time(23, 45)]).cast(kind)
    table = pa.table({"x": [0.0, 1.0, 2.0, 3.0], "y": [0.0, 1.0, 4.0, 9.0], "time": times})
    numbers = encode(color_values(table, "time"), 4)
    np.testing.assert_array_equal(numbers.values, [0.0, 6.5, np.nan, 23.75])
    assert numbers.unit == "hours"
    parquet.write_table(table, "t.parquet")
    snekhorn("plot", "t.parquet", "--color", "time", "--out", "t.png")
    assert (folder / "t.png").exists()


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_durations_are_coloured_by_their_length(folder, snekhorn, unit):
    spans = pa.array([timedelta(0), timedelta(minutes=1.5), None, timedelta(days=1)], pa.duration(unit))
    table = pa.table({"x": [0.0, 1.0, 2.0, 3.0], "y": [0.0, 1.0, 4.0, 9.0], "span": spans})
    numbers = encode(color_values(table, "span"), 4)
    np.testing.assert_array_equal(numbers.values, [0.0, 0.025, np.nan, 24.0])
    assert numbers.unit == "hours"
    parquet.write_table(table, "t.parquet")
    snekhorn("plot", "t.parquet", "--color", "span", "--out", "t.png")
    assert (folder / "t.png").exists()


def test_view(folder, snekhorn, layout, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    snekhorn("view", "layout.csv", "--color", "digit")
    assert opened == [(folder / "layout.html").resolve().as_uri()]
    snekhorn("view", "layout.csv", "--no-open", "--out", "other.html")
    assert len(opened) == 1
    names = Page((folder / "other.html").read_bytes()).column("name")[1]
    assert names == [f"d{i}" for i in range(N)][::-1]


@pytest.mark.parametrize("command", [["view", "--no-open"], ["plot", "--out", "t.png"]])
def test_a_wrong_color_writes_nothing(folder, snekhorn, layout, files, command):
    before = files()
    error = snekhorn(command[0], "layout.csv", *command[1:], "--color", "digt", code=2).stderr
    assert "there is no column 'digt'; did you mean 'digit'?" in error
    assert "writing" not in error
    assert files() == before


def test_doctor(as_json):
    facts = as_json("doctor")
    assert facts["snekhorn"] == __version__
    assert facts["test"]["passed"] is True
    assert facts["packages"]["numpy"] == np.__version__


def test_doctor_as_text(snekhorn):
    assert "test: passed" in snekhorn("doctor").stdout


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("IS_COMPILED", False, "none, because NUMBA_DISABLE_JIT is set"),
        ("CACHE_FOLDER", None, "set NUMBA_CACHE_DIR to"),
    ],
)
def test_doctor_says_why_nothing_is_kept(snekhorn, monkeypatch, name, value, text):
    monkeypatch.setattr(f"snekhorn.kernels.compilation.{name}", value)
    said = snekhorn("doctor").stdout
    assert "compiled code: n" in said
    assert text in said
    assert "test: passed" in said


def test_doctor_and_embed_run_without_the_compiler(folder):
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    lines = (folder / "digits.csv").read_text().splitlines()[:16]
    (folder / "few.csv").write_text("\n".join(lines) + "\n")
    for command in (["doctor"], ["embed", "few.csv", "--perplexity", "4", "--max-iter", "10", "--out", "few.npy"]):
        run = subprocess.run(
            [sys.executable, "-m", "snekhorn", *command], env=environment, capture_output=True, text=True, check=False
        )
        assert run.returncode == 0, run.stderr
        assert "note: NUMBA_DISABLE_JIT is set" in run.stderr
    assert np.isfinite(np.load("few.npy")).all()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_in_a_panel_of_the_help(snekhorn, command):
    options = [each for each in get_command(app).commands[command].params if isinstance(each, TyperOption)]
    assert options
    panel_of = {name: panel for panel, names in PANELS.items() for name in names}
    assert not [option.name for option in options if option.name not in panel_of]
    panels = dict(re.findall(r"^(\w+):\n(.*?)(?=^\S|\Z)", snekhorn(command, "--help").stdout, re.S | re.M))
    for option in options:
        assert re.search(rf"(?<!\S){option.opts[-1]}\b", panels[panel_of[option.name]])


@pytest.mark.parametrize("command", COMMANDS)
def test_help(snekhorn, command):
    text = snekhorn(command, "--help").stdout
    assert f"{command} [OPTIONS]" in text
    assert "--json" in text
    assert "--quiet" in text
    assert "--debug" in text


def test_version_and_help(snekhorn):
    assert snekhorn("--version").stdout.strip() == __version__
    text = snekhorn("--help").stdout
    assert {"embed", "transform", "affinity", "evaluate", "plot", "view", "doctor"} <= set(COMMANDS)
    assert all(command in text for command in COMMANDS)


def test_without_a_command_the_help_is_printed(snekhorn):
    assert snekhorn(code=2).stderr == snekhorn("--help").stdout


@pytest.mark.parametrize("command", [[], *([command] for command in COMMANDS)])
def test_help_fits_into_80_columns(snekhorn, command):
    assert max(map(len, snekhorn(*command, "--help").stdout.splitlines())) <= 80


@pytest.mark.parametrize(
    ("words", "said", "helped"),
    [
        (["embd"], "no such command 'embd'", "snekhorn --help"),
        (["embed"], "missing argument 'input'.", "snekhorn embed --help"),
        (["embed", "x.csv", "--lable", "y"], "no such option: --lable; did you mean --label?", "snekhorn embed --help"),
        (
            ["embed", "x.csv", "--dims", "3"],
            "no such option: --dims; did you mean --dimensions?",
            "snekhorn embed --help",
        ),
        (["embed", "x.csv", "--label"], "option '--label' requires an argument.", "snekhorn embed --help"),
        (["embed", "x.csv", "--perplexity"], "option '--perplexity' requires", "snekhorn embed --help"),
        (["doctor", "--quiet=1"], "option '--quiet' does not take a value.", "snekhorn doctor --help"),
        (["--quiet"], "no such option: --quiet", "snekhorn --help"),
        (["embed", "x.csv", "--pca", "-1"], "--pca must be at least 0, got -1.", "snekhorn embed --help"),
        (["embed", "x.csv", "--pca", "few"], "--pca must be a whole number, got 'few'.", "snekhorn embed --help"),
        (["embed", "x.csv", "--pca", "1.5"], "--pca must be a whole number, got 1.5.", "snekhorn embed --help"),
        (["embed", "x.csv", "-d", "7"], "--dimensions must be at most 3, got 7.", "snekhorn embed --help"),
        (["embed", "x.csv", "-d", "x"], "--dimensions must be a whole number, got 'x'.", "snekhorn embed --help"),
        (["embed", "x.csv", "--tol", "low"], "--tol must be a number, got 'low'.", "snekhorn embed --help"),
        (["embed", "x.csv", "--tol", ""], "--tol must be a number, got ''.", "snekhorn embed --help"),
        (["plot", "x.csv", "-o", "x.png", "--dpi", "9999"], "--dpi must be at most 2000,", "snekhorn plot --help"),
        (
            ["embed", "x.csv", "--init", "x"],
            "invalid value for '--init': 'x' is not one of 'pca'",
            "snekhorn embed --help",
        ),
        (["plot", "x.csv"], "missing option '--out' / '-o'.", "snekhorn plot --help"),
        (["transform"], "missing argument 'model'.", "snekhorn transform --help"),
    ],
)
def test_usage_errors_look_like_other_errors(folder, snekhorn, files, words, said, helped):
    before = files()
    sentence, remedy = snekhorn(*words, code=2).stderr.splitlines()
    assert sentence.startswith(f"error: {said}")
    assert sentence.endswith((".", "?"))
    assert remedy == f"For help, run: {helped}"
    assert files() == before


@pytest.mark.parametrize(("command", "names"), [("embed", METHODS), ("affinity", AFFINITIES)])
def test_the_registry_is_what_can_be_chosen(snekhorn, command, names):
    error = snekhorn(command, "x.csv", "--kind" if command == "affinity" else "--method", "?", code=2).stderr
    assert all(f"'{name}'" in error for name in names)


def test_help_loads_nothing_heavy():
    code = "import sys; sys.argv[1:] = ['--help']; import atexit; atexit.register(lambda: print(*sys.modules)); "
    code += "from snekhorn.cli import main; main()"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in result.stdout.splitlines()[-1].split()}
    assert "typer" in loaded
    assert not loaded & {"numba", "sklearn", "matplotlib", "pandas"}
