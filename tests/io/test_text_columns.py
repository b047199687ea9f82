"""Numbers with decimal commas, and ISO dates and times, in text files."""

import datetime
import re

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv as arrow_csv

from snekhorn.io import InputError, read_table

from ..docs.pages import ROOT


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize(("separator", "suffix"), [(";", "csv"), ("\t", "tsv"), ("|", "csv")])
def test_decimal_commas(tmp_path, separator, suffix, mark):
    rows = [["a", "b", "c", "kind"], ["1", "2,5", "-3,5e-3", "u"], ["4,25", "5", ",5", "v"]]
    path = tmp_path / f"t.{suffix}"
    path.write_text(mark + "".join(separator.join(row) + "\n" for row in rows), encoding="utf-8")
    table = read_table(path)
    np.testing.assert_array_equal(table.X, [[1, 2.5, -3.5e-3], [4.25, 5, 0.5]])
    assert table.columns == ["a", "b", "c"]
    assert "numbers are read with decimal commas" in table.notes


@pytest.mark.parametrize("mark", ["?", "-", "k.A."])
@pytest.mark.parametrize("columns", [None, ["a", "b"]])
def test_other_marks_of_missing_values_are_counted(tmp_path, mark, columns):
    values = [mark if i in (70_000, 70_003, 70_007) else i / 8 for i in range(100_000)]  # far below the first block
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{i / 4},{value}\n" for i, value in enumerate(values)))
    message = (
        rf"3 values of column 'b' are '{re.escape(mark)}', which is not a number, the first in line 70002; if they are "
        "missing, replace them by empty cells, or leave out the column with --exclude"
    )
    with pytest.raises(InputError, match=message):
        read_table(tmp_path / "t.csv", columns=columns)
    (tmp_path / "few.csv").write_text(
        "a,b,c\n" + "".join(f"{i},{i / 2},{mark if i in (3, 5) else i}\n" for i in range(40))
    )
    with pytest.raises(InputError, match=r"2 values of column 'c' are .*, the first in line 5; .* empty cells"):
        read_table(tmp_path / "few.csv")


def test_the_documented_marks_of_missing_values_are_those_of_arrow():
    section = (
        (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8").split("In text files, a value is missing")[1]
    )
    documented = set(re.findall(r"`([^`]+)`", section.split("Replace")[0]))
    documented |= {f"-{mark}" for mark in documented if mark.startswith("1.")}
    assert documented == set(arrow_csv.ConvertOptions().null_values) - {""}


def test_decimal_commas_without_a_header(tmp_path):
    (tmp_path / "t.csv").write_text("1,5;2,5\n3,5;4,5\n")
    np.testing.assert_array_equal(read_table(tmp_path / "t.csv").X, [[1.5, 2.5], [3.5, 4.5]])


def test_metadata_with_decimal_commas(tmp_path):
    (tmp_path / "t.csv").write_text("a;b;share\n1,5;2,5;0,5\n3,5;4,5;0,25\n")
    assert read_table(tmp_path / "t.csv", exclude=["share"]).metadata.to_pydict() == {"share": [0.5, 0.25]}


def test_decimal_points_between_semicolons(tmp_path):
    (tmp_path / "t.csv").write_text("a;b;note\n1.5;2.5;x,5\n3.5;4.5;y\n")
    np.testing.assert_array_equal(read_table(tmp_path / "t.csv").X, [[1.5, 2.5], [3.5, 4.5]])


def test_thousands_that_are_left_out(tmp_path):
    (tmp_path / "t.csv").write_text('a,b,c\n1,2,"1,000"\n3,4,"2,500"\n')
    table = read_table(tmp_path / "t.csv", exclude=["c"])
    assert table.metadata.to_pydict() == {"c": ["1,000", "2,500"]}


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["2024-01-31", "2023-12-01"], pa.date32()),
        (["2024-01-31T10:30", "2023-12-01T00:00"], pa.timestamp("s")),
        (["2024-01-31 10:30:15", ""], pa.timestamp("s")),
        (["2024-01-31 10:30:15.125", "2024-01-31"], pa.timestamp("ms")),
        (["2024-01-31T10:30:15Z", "2024-01-31T10:30:15+02:00"], pa.timestamp("s", "UTC")),
        (["2024-02-30", "2024-01-01"], pa.string()),  # there is no such day
        (["2024-01-31", "later"], pa.string()),
        (["31.01.2024", "01.12.2023"], pa.string()),
    ],
)
def test_dates_and_times(tmp_path, texts, kind):
    (tmp_path / "t.csv").write_text("a,b,when\n" + "".join(f"{i},{i * i},{text}\n" for i, text in enumerate(texts)))
    column = read_table(tmp_path / "t.csv").metadata["when"]
    assert column.type == kind
    if kind == pa.date32():
        assert column.to_pylist() == [datetime.date(2024, 1, 31), datetime.date(2023, 12, 1)]
    if kind == pa.timestamp("s", "UTC"):
        assert [time.hour for time in column.to_pylist()] == [10, 8]


def test_ids_and_labels_stay_text(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,when,run\n1,2,2024-01-31,2024-01-01\n3,5,2024-02-01,2024-01-01\n")
    table = read_table(tmp_path / "t.csv", id="when", label="run")
    assert table.metadata.schema.types == [pa.string(), pa.string()]
