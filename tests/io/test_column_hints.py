"""Columns that are probably no features, and labels and orientations that were not declared, are pointed out."""

import re
import shlex

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from snekhorn.cli.options import split
from snekhorn.io import read_table

RNG = np.random.default_rng(0)
N = 60
MEASURED = {"a": RNG.normal(size=N), "b": RNG.normal(size=N)}


def _notes(tmp_path, given, **options):
    arrow_csv.write_csv(pa.table(given), tmp_path / "t.csv")
    return " | ".join(read_table(tmp_path / "t.csv", **options).notes)


@pytest.mark.parametrize(
    ("name", "values", "hint"),
    [
        ("day", [20240101 + i % 28 for i in range(N)], "column 'day' looks like dates or times"),
        ("year", [1990 + i % 30 for i in range(N)], "column 'year' looks like dates or times"),
        ("created_at", [1_700_000_000 + 977 * i * i for i in range(N)], "column 'created_at' looks like dates"),
        ("time_ms", [1_700_000_000_000 + 977 * i * i for i in range(N)], "column 'time_ms' looks like dates"),
        ("weight", [1990 + i % 30 for i in range(N)], None),
        ("code", [i % 4 for i in range(N)], "column 'code' looks like codes .*--label code; .*--exclude code"),
        ("count", [(i * i) % 59 for i in range(N)], None),
        ("half", [i % 4 + 0.5 for i in range(N)], None),
        ("row", range(N), "column 'row' is used as a feature; if it names the rows, pass --id row"),
        ("row", range(10 * N, 0, -10), "if it names the rows, pass --id row"),
        ("row", RNG.permutation(N), "if it names the rows, pass --id row"),
        ("row", RNG.permutation(3 * N)[:N], "if it names the rows, pass --id row"),
        ("sample_id", [977 * i * i for i in range(N)], "if it names the rows, pass --id sample_id"),
        ("price", [977 * i * i for i in range(N)], None),
        ("price", RNG.permutation(34_000)[:N], None),
    ],
)
def test_features(tmp_path, name, values, hint):
    notes = _notes(tmp_path, {**MEASURED, name: values})
    if hint is None:
        assert notes == ""
    else:
        assert re.search(hint, notes), notes
    assert _notes(tmp_path, {**MEASURED, name: values}, columns=["a", name]) == ""


def test_suggested_options_can_be_pasted(tmp_path):
    found = _notes(tmp_path, {**MEASURED, "my year, utc": [1990 + i % 30 for i in range(N)]})
    (suggested,) = re.findall(r"pass (--exclude .*)$", found)
    assert suggested == """--exclude '"my year, utc"'"""
    option, value = shlex.split(suggested)
    assert _notes(tmp_path, {**MEASURED, "my year, utc": range(N)}, exclude=split([value], option)) == ""
    codes = _notes(tmp_path, {**MEASURED, 'a "b"': [i % 4 for i in range(N)], "c d": [i % 3 for i in range(N)]})
    label, excluded = re.search("pass (--label .*); otherwise, consider (--exclude .*?)(?: \\||$)", codes).groups()
    assert shlex.split(label) == ["--label", 'a "b"', "or", "--label", "c d"]
    assert split(shlex.split(excluded)[1:], "--exclude") == ['a "b"', "c d"]
    assert "pass --id 'row number'" in _notes(tmp_path, {**MEASURED, "row number": range(N)})


@pytest.mark.parametrize(("n", "hinted"), [(N, True), (12, False)])
def test_increasing_numbers_in_the_first_column_name_the_rows(tmp_path, n, hinted):
    numbers = [1000 + 97 * i * i for i in range(n)]
    assert ("--id nr" in _notes(tmp_path, {"nr": numbers, "a": MEASURED["a"][:n]})) is hinted
    assert "--id nr" not in _notes(tmp_path, {"nr": numbers[::-1], "a": MEASURED["a"][:n]})


def test_row_numbers_may_have_gaps(tmp_path):
    numbers = pa.array([None if i == 20 else i for i in range(N)])
    assert "--id nr" in _notes(tmp_path, {**MEASURED, "nr": numbers}, missing="median")


def test_rows_that_are_dropped_do_not_hide_row_numbers(tmp_path):
    gaps = pa.array([None if i % 9 == 2 else i / 7 for i in range(8)])
    notes = _notes(tmp_path, {"nr": range(8), "a": gaps}, missing="drop")
    assert "rows left out" in notes
    assert "--id nr" in notes


def test_distinct_counts_hardly_ever_look_like_row_numbers(tmp_path):
    """The rule follows from how often some of n random numbers are equal; here, it is tried."""
    rng = np.random.default_rng(1)
    for width in (N, 2 * N, 5 * N, 10 * N, 100 * N, 1000 * N):
        columns = {f"c{j}": rng.integers(0, width, N) for j in range(200)}
        assert "names the rows" not in _notes(tmp_path, columns)


def test_huge_whole_numbers_are_no_dates(tmp_path):
    assert _notes(tmp_path, {**MEASURED, "time": [1e300 + 1e299 * (i % 30) for i in range(N)]}) == ""


def test_every_column_of_codes_is_offered_as_a_label(tmp_path):
    notes = _notes(tmp_path, {**MEASURED, "plz": [i % 4 for i in range(N)], "gruppe": [i % 3 for i in range(N)]})
    assert "columns 'plz', 'gruppe' look like codes" in notes
    assert "for classes, pass --label plz or --label gruppe; otherwise, consider --exclude plz,gruppe" in notes


def test_counts_are_not_all_called_codes(tmp_path):
    assert _notes(tmp_path, {f"p{j}": RNG.integers(0, 9, N) for j in range(8)}) == ""


def test_missing_values_do_not_hide_codes(tmp_path):
    codes = pa.array([None if i == 7 else i % 4 for i in range(N)])
    assert "looks like codes" in _notes(tmp_path, {**MEASURED, "code": codes}, missing="median")


def test_a_label_that_was_not_declared(tmp_path):
    columns = {**MEASURED, "name": [f"n{i}" for i in range(N)], "kind": ["u", "v", "w"] * 20}
    assert "column 'kind' has 3 distinct values; pass --label kind" in _notes(tmp_path, columns)
    assert _notes(tmp_path, columns, label="kind") == ""
    assert "'name'" not in _notes(tmp_path, columns)


@pytest.mark.parametrize(
    ("columns", "hinted"),
    [
        ({"gene": [f"n{i}" for i in range(N)], **MEASURED}, True),
        ({"key": [f"ENSG{i:011d}" for i in range(N)], **MEASURED}, True),
        ({"key": [f"n{i}" for i in range(N)], **MEASURED}, False),
        ({"key": [f"n{i}" for i in range(6)], **{f"c{j}": RNG.normal(size=6) for j in range(70)}}, True),
        ({"key": [f"n{i}" for i in range(6)], **{f"c{j}": RNG.normal(size=6) for j in range(20)}}, False),
    ],
)
def test_points_in_columns(tmp_path, columns, hinted):
    assert ("--transpose" in _notes(tmp_path, columns)) is hinted


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("first", [2**53, 2**60, -(2**62), 2**64 - N])
def test_whole_numbers_that_a_float_would_round_stay_exact(tmp_path, suffix, first):
    values = pa.array([None, *range(first + 1, first + N)], pa.uint64() if first > 2**63 else pa.int64())
    if first > 2**63:  # the format of text shows in the first row
        values = values.fill_null(first)
    write = arrow_csv.write_csv if suffix == "csv" else parquet.write_table
    write(pa.table({**MEASURED, "barcode": values}), tmp_path / f"t.{suffix}")
    table = read_table(tmp_path / f"t.{suffix}")
    assert table.columns == ["a", "b"]
    found = table.metadata["barcode"].to_pylist()
    assert [None if value is None else int(value) for value in found] == values.to_pylist()
    assert table.notes[-1] == (
        "column 'barcode' looks like an id (whole numbers beyond 2**53), so it is not used as a feature; if it names "
        "the rows, pass --id barcode"
    )
    assert read_table(tmp_path / f"t.{suffix}", columns=["a", "barcode"], missing="drop").columns == ["a", "barcode"]


@pytest.mark.parametrize("values", [RNG.normal(size=N) * 1e20, np.arange(N) + 2**52, [10.0**30] * N])
def test_other_large_numbers_are_features(tmp_path, values):
    assert "2**53" not in _notes(tmp_path, {**MEASURED, "c": values})
    assert read_table(tmp_path / "t.csv").columns == ["a", "b", "c"]


def test_long_whole_numbers_are_features_if_there_are_no_others(tmp_path):
    arrow_csv.write_csv(pa.table({name: np.arange(N) + 2**60 for name in "ab"}), tmp_path / "t.csv")
    assert read_table(tmp_path / "t.csv").columns == ["a", "b"]


@pytest.mark.parametrize("excluded", [None, ["e*", "flag", "late"]])
def test_empty_columns_and_columns_of_flags_are_pointed_out(tmp_path, excluded):
    n = 150_000  # more than a block of text, so that the type of "late" is not known at its start
    rows = [f"{i % 7},{i % 5 / 4},,{str(i % 2 > 0).lower()},{i if i > n - 9 else ''}" for i in range(n)]
    (tmp_path / "t.csv").write_text("a,b,empty,flag,late\n" + "\n".join(rows) + "\n")
    table = read_table(tmp_path / "t.csv", exclude=excluded)
    assert table.columns == ["a", "b"]
    hints = {
        "column 'empty' is empty, and kept as metadata",
        "column 'flag' holds true and false, which are not features; to use them as such, write 1 and 0",
        "column 'late' has no values at the start of the file; kept as metadata",
    }
    assert hints & set(table.notes) == (hints if excluded is None else set())
    labelled = read_table(tmp_path / "t.csv", label="flag")
    assert not any("true and false" in note for note in labelled.notes)


def test_flags_of_typed_files_are_pointed_out(tmp_path):
    columns = {**MEASURED, "u": [True, False, None] * (N // 3), "v": [False] * N}
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    notes = read_table(tmp_path / "t.parquet").notes
    assert any(note.startswith("columns 'u', 'v' hold true and false, which are not features") for note in notes)
