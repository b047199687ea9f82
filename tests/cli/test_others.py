"""The other commands."""

import re

import numpy as np
import pyarrow
import pytest
from pyarrow import csv as arrow_csv
from pyarrow import parquet
from scipy import io as scipy_io
from scipy import sparse

from snekhorn import __version__
from snekhorn.affinities import SymmetricEntropicAffinity, row_perplexities
from snekhorn.geometry.preprocessing import fit_reduction
from snekhorn.io import read_table
from snekhorn.metrics import evaluate

from ..page.reading import Page
from .conftest import N

ANSI = re.compile(r"\x1b\[[0-9;]*m")
COMMANDS = ("embed", "transform", "affinity", "evaluate", "plot", "view", "doctor")


@pytest.fixture
def layout(folder):
    """A layout of the digits, of any kind."""
    table = read_table("digits.csv", label="digit", id="name")
    Z = fit_reduction(table.X, 2, 0).apply(table.X)
    digits = table.metadata.column("digit").to_pylist()
    rows = [f"{x!r},{y!r},d{i},{digits[i]}" for i, (x, y) in enumerate(Z.tolist())]
    (folder / "layout.csv").write_text("x,y,name,digit\n" + "\n".join(rows[::-1]) + "\n")
    return Z


def test_affinity(folder, as_json):
    facts = as_json("affinity", "digits.csv", "--label", "digit", "--id", "name", "--perplexity", 10, "--out", "P.npz")
    X = read_table("digits.csv", label="digit", id="name").X
    expected = SymmetricEntropicAffinity(10, n_neighbors="auto").fit(fit_reduction(X, 50, 0).apply(X))
    assert abs(sparse.load_npz("P.npz") - expected.affinity_).max() < 1e-12
    assert facts["report"]["converged"] is True
    assert facts["report"]["entropy_gap"] == expected.report_.entropy_gap
    assert facts["n_points"] == N


@pytest.mark.parametrize(
    "kind", ["entropic", "symmetrized-entropic", "doubly-stochastic", "gaussian", "self-tuning", "symmetric-entropic"]
)
def test_affinities(folder, as_json, kind):
    facts = as_json("affinity", "digits.csv", "--label", "digit", "--kind", kind, "--out", "P.mtx")
    assert facts["kind"] == kind
    assert scipy_io.mmread("P.mtx").shape == (N, N)


@pytest.mark.parametrize("kind", ["self-tuning", "symmetrized-entropic"])
def test_row_perplexities_are_of_rows_that_sum_to_one(folder, as_json, snekhorn, kind):
    arguments = ("affinity", "digits.csv", "--label", "digit", "--id", "name", "--kind", kind, "--out", "P.npz")
    facts = as_json(*arguments)
    said = facts["row_perplexities"]
    P = sparse.load_npz("P.npz")
    rows = row_perplexities(P.multiply(1.0 / P.sum(axis=1)).tocsr())
    assert rows.max() <= N
    np.testing.assert_allclose([said["min"], said["max"]], [rows.min(), rows.max()])
    assert facts["rows_scaled_to_sum_to_1"]
    assert "(rows scaled to sum to 1)" in snekhorn(*arguments, "--force").stdout


def test_evaluate_goes_by_ids(folder, as_json, layout):
    facts = as_json("evaluate", "digits.csv", "layout.csv", "--label", "digit", "--id", "name")
    table = read_table("digits.csv", label="digit", id="name")
    assert facts["scores"] == pytest.approx(evaluate(table.X, layout, table.values("digit")))


def test_evaluate_finds_the_column_that_names_the_rows(folder, as_json, layout):
    named, found = (
        as_json("evaluate", "digits.csv", "layout.csv", "--label", "digit", *id) for id in (("--id", "name"), ())
    )
    assert found["scores"] == named["scores"]
    assert "the files have different orders; rows are matched by column 'name'" in found["warnings"]


def test_evaluate_trusts_a_column_that_names_the_rows_in_order(folder, as_json):
    rng = np.random.default_rng(0)
    names, partners = [f"n{i}" for i in range(N)], [f"p{i}" for i in rng.permutation(N)]
    X = rng.normal(size=(N, 3))
    rows = [f"{a},{b},{c},{name},{partner}" for (a, b, c), name, partner in zip(X, names, partners, strict=True)]
    (folder / "data.csv").write_text("a,b,c,name,partner\n" + "\n".join(rows) + "\n")
    rows = [f"{a},{b},{name},{partner}" for (a, b, _), name, partner in zip(X, names, partners[::-1], strict=True)]
    (folder / "plane.csv").write_text("x,y,name,partner\n" + "\n".join(rows) + "\n")
    facts = as_json("evaluate", "data.csv", "plane.csv")
    assert facts["warnings"] == []
    assert facts["scores"]["distance_correlation"] > 0.5


def test_evaluate_compares_values_not_their_text(folder, as_json):
    rng = np.random.default_rng(0)
    times = pyarrow.array(np.datetime64("2020-01-01", "s") + 86400 * np.arange(N))
    flags = pyarrow.array(np.arange(N) % 2 == 0)
    a, b = rng.normal(size=(2, N))
    parquet.write_table(pyarrow.table({"a": a, "b": b, "when": times, "even": flags}), "data.parquet")
    arrow_csv.write_csv(pyarrow.table({"x": a, "y": b, "when": times, "even": flags}), "plane.csv")
    assert as_json("evaluate", "data.parquet", "plane.csv")["warnings"] == []


def test_evaluate_says_where_rows_may_not_belong_together(folder, as_json, layout):
    table = arrow_csv.read_csv("layout.csv").drop_columns("name")
    arrow_csv.write_csv(table, "nameless.csv")
    facts = as_json("evaluate", "digits.csv", "nameless.csv", "--label", "digit")
    assert any("rows are taken in their order, though column 'digit' differs" in note for note in facts["warnings"])
    assert facts["scores"]["neighbor_recall"] < 0.2


def test_evaluate_gives_columns_one_spread(folder, as_json):
    X = np.random.default_rng(0).normal(size=(60, 3)) * [1.0, 1.0, 1e4]
    np.save(folder / "t.npy", X)
    np.save(folder / "z.npy", X[:, :2])
    plain = as_json("evaluate", "t.npy", "z.npy")
    assert any("--standardize" in text for text in plain["warnings"])
    scaled = as_json("evaluate", "t.npy", "z.npy", "--standardize")
    assert scaled["warnings"] == []
    assert scaled["scores"] == pytest.approx(evaluate((X - X.mean(axis=0)) / X.std(axis=0), X[:, :2]))


def test_evaluate_as_text(folder, snekhorn, layout):
    text = snekhorn("evaluate", "digits.csv", "layout.csv", "--id", "name", "--label", "digit").stdout
    assert re.search(r"trustworthiness +0\.\d{3}", text)
    assert "looked at from 300 points" in text


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_plot(folder, snekhorn, layout, suffix):
    snekhorn("plot", "layout.csv", "--color", "digit", "--out", f"t.{suffix}")
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[suffix]
    assert (folder / f"t.{suffix}").read_bytes().startswith(start)


def test_view(folder, snekhorn, layout, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    snekhorn("view", "layout.csv", "--color", "digit")
    assert opened == [(folder / "layout.html").resolve().as_uri()]
    snekhorn("view", "layout.csv", "--no-open", "--out", "other.html")
    assert len(opened) == 1
    names = Page((folder / "other.html").read_bytes()).column("name")[1]
    assert names == [f"d{i}" for i in range(N)][::-1]


def test_doctor(as_json):
    facts = as_json("doctor")
    assert facts["snekhorn"] == __version__
    assert facts["test"]["passed"] is True
    assert facts["packages"]["numpy"] == np.__version__


def test_doctor_as_text(snekhorn):
    assert "test: passed" in snekhorn("doctor").stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_help(snekhorn, command):
    text = ANSI.sub("", snekhorn(command, "--help").stdout)
    assert f"{command} [OPTIONS]" in text
    assert "--json" in text
    assert "--quiet" in text


def test_version_and_help(snekhorn):
    assert snekhorn("--version").stdout.strip() == __version__
    text = ANSI.sub("", snekhorn("--help").stdout)
    assert all(command in text for command in COMMANDS)


def test_ids_that_are_numbers_are_found_in_a_csv(folder, as_json):
    table = arrow_csv.read_csv("digits.csv")
    numbered = table.set_column(0, "number", pyarrow.array(range(1000, 1000 + table.num_rows)))
    arrow_csv.write_csv(numbered, "numbered.csv")
    columns = ("--id", "number", "--label", "digit")
    as_json("embed", "numbered.csv", *columns, "--out", "xy.csv", "--max-iter", 20, "--no-scores")
    assert as_json("evaluate", "numbered.csv", "xy.csv", *columns)["n_points"] == table.num_rows


def test_evaluate_refuses_a_layout_of_other_rows(folder, snekhorn, layout):
    lines = (folder / "layout.csv").read_text().replace(",d7,", ",e7,")
    (folder / "other.csv").write_text(lines)
    error = snekhorn("evaluate", "digits.csv", "other.csv", "--id", "name", "--quiet", code=2).stderr
    assert "column 'name' does not name the same rows in digits.csv and other.csv" in error
