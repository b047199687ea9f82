"""snekhorn evaluate: scores of a layout, and how its rows are matched with the data."""

import re

import numpy as np
import pyarrow
import pytest
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from snekhorn.io import read_table
from snekhorn.metrics import evaluate

from .conftest import N


def test_evaluate_goes_by_ids(folder, as_json, layout):
    facts = as_json("evaluate", "digits.csv", "layout.csv", "--label", "digit", "--id", "name")
    table = read_table("digits.csv", label="digit", id="name")
    assert facts["scores"] == pytest.approx(evaluate(table.X, layout, table.values("digit")))


def test_evaluate_finds_the_column_that_names_the_rows(folder, as_json, layout):
    named, found = (
        as_json("evaluate", "digits.csv", "layout.csv", "--label", "digit", *id) for id in (("--id", "name"), ())
    )
    assert found["scores"] == named["scores"]
    assert any("they are matched by column 'name'" in text for text in found["warnings"])


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
    assert as_json("evaluate", "data.parquet", "plane.csv", "--label", "even")["warnings"] == []


def test_evaluate_says_where_rows_may_not_belong_together(folder, as_json, layout):
    table = arrow_csv.read_csv("layout.csv").drop_columns("name")
    arrow_csv.write_csv(table, "nameless.csv")
    facts = as_json("evaluate", "digits.csv", "nameless.csv", "--label", "digit")
    assert any("same order, although column 'digit' differs" in note for note in facts["warnings"])
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
    assert "measured on 300 points" in text


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
    assert "column 'name' does not identify the same rows in digits.csv and other.csv" in error
