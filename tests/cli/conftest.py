"""A file of points, a layout of them, and a way to run the program."""

import csv
import json
import os

import pytest
from sklearn.datasets import load_digits
from typer.testing import CliRunner

from snekhorn.cli.app import app
from snekhorn.geometry.preprocessing import principal_components
from snekhorn.io import read_table

N = 300


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Current folder, with digits.csv."""
    monkeypatch.chdir(tmp_path)
    X, y = load_digits(return_X_y=True)
    with open("digits.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["name", *(f"p{j}" for j in range(X.shape[1])), "digit"])
        for i in range(N):
            writer.writerow([f"d{i}", *X[i], y[i]])
    return tmp_path


@pytest.fixture
def snekhorn():
    """Run the program; the exit code must be the one expected."""

    def run(*args, code=0):
        result = CliRunner().invoke(app, [str(arg) for arg in args])
        unexpected = result.exception if not isinstance(result.exception, SystemExit) else None
        assert result.exit_code == code, (result.stdout, result.stderr, unexpected)
        return result

    return run


@pytest.fixture
def as_json(snekhorn):
    """Run the program with --json, and read what it prints."""

    def run(*args, code=0):
        return json.loads(snekhorn(*args, "--json", code=code).stdout)

    return run


@pytest.fixture
def files(folder):
    """Return the names of the existing files."""
    return lambda: set(os.listdir(folder))


@pytest.fixture
def layout(folder):
    """A layout of the digits in layout.csv, its rows in reverse order."""
    table = read_table("digits.csv", label="digit", id="name")
    Z = principal_components(table.X, 2)
    digits = table.metadata.column("digit").to_pylist()
    rows = [f"{x!r},{y!r},d{i},{digits[i]}" for i, (x, y) in enumerate(Z.tolist())]
    (folder / "layout.csv").write_text("x,y,name,digit\n" + "\n".join(rows[::-1]) + "\n")
    return Z
