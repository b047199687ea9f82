"""The page as a file: its content, that no text can break out of it, and bad input."""

import io
import re
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

from snekhorn.errors import InputError
from snekhorn.page import write_page

from .reading import Page

NASTY = [
    "</script><script>alert(1)</script>",
    "<!--",
    "a,b",
    'say "hi"',
    "two\r\nlines",
    "naïve 日本 🐍",
    "",
    "&lt;",
    "\x00\u2028",
]


def written(*args, **kwargs):
    file = io.BytesIO()
    write_page(file, *args, **kwargs)
    return file.getvalue()


@pytest.fixture
def Z(rng):
    return rng.normal(size=(9, 2))


def test_coordinates_are_kept_in_single_precision(Z):
    page = Page(written(Z))
    np.testing.assert_array_equal(page.numbers("x-0", "f4"), Z[:, 0].astype(np.float32))
    np.testing.assert_array_equal(page.numbers("y-0", "f4"), Z[:, 1].astype(np.float32))


def test_the_same_input_gives_the_same_bytes(Z, tmp_path):
    table = pa.table({"a": NASTY, "b": np.arange(9.0)})
    write_page(tmp_path / "page.html", Z, table, title="t", summary={"k": "v"})
    write_page(str(tmp_path / "again.html"), Z, table, title="t", summary={"k": "v"})
    assert (tmp_path / "page.html").read_bytes() == (tmp_path / "again.html").read_bytes()
    assert (tmp_path / "page.html").read_bytes() == written(Z, table, title="t", summary={"k": "v"})


def test_input_is_not_changed(Z):
    before = Z.copy()
    written(Z)
    np.testing.assert_array_equal(Z, before)


def test_nothing_is_loaded_from_anywhere(Z):
    page = Page(written(Z, pa.table({"a": NASTY})))
    assert not [tag for tag, attributes in page.tags if {"src", "href"} & set(attributes)]
    policy = next(a["content"] for tag, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy


@pytest.mark.parametrize("text", NASTY)
def test_no_text_breaks_out_of_the_page(Z, text):
    table = pa.table({text: [text] * 9, "other": NASTY})
    page = Page(written(Z, table, title=text, summary={text: text}, color="other"))
    plain = Page(written(Z, pa.table({"a": ["b"] * 9, "other": NASTY}), title="t", summary={"a": "b"}))
    assert [tag for tag, _ in page.tags] == [tag for tag, _ in plain.tags]
    assert page.scripts == plain.scripts
    assert page.header["title"] == text
    assert page.header["layouts"] == [{"name": "", "summary": [[text, text]]}]
    assert page.column(text)[1] == [text] * 9
    assert page.column("other")[1] == NASTY
    assert page.title == (text or "Layout")


def test_vendored_code_comes_with_its_licences_and_cannot_end_its_element(Z):
    scripts = Page(written(Z)).scripts
    assert len([text for text in scripts if text.strip()]) == 4
    for holder in ("Fritz Lekschas", "Mikola Lysenko", "Mapbox", "Brandon Jones", "Vladimir Agafonkin"):
        assert any(holder in text for text in scripts)
    assert not any(re.search(r"</script|<!--|^export ", text, re.MULTILINE) for text in scripts)


def test_the_page_takes_few_bytes_per_point(rng):
    n = 20_000
    table = pa.table({"id": [f"cell-{i:06d}" for i in range(n)], "class": rng.integers(0, 20, n), "f": rng.random(n)})
    small = len(written(np.zeros((1, 2))))
    assert (len(written(rng.normal(size=(n, 2)), table)) - small) / n < 26


def test_the_whole_page_is_never_in_memory(rng, tmp_path):
    n = 200_000
    Z = rng.normal(size=(n, 2))
    table = pa.table({str(i): rng.random(n) for i in range(10)})
    tracemalloc.start()
    write_page(tmp_path / "page.html", Z, table)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (tmp_path / "page.html").stat().st_size > 15e6
    assert peak < 10e6


@pytest.mark.parametrize("shape", [(9,), (9, 3), (9, 1), (0, 2)])
def test_a_layout_has_two_dimensions(shape):
    with pytest.raises(ValueError, match=r"Z has shape .*pass an array of shape \(n, 2\)"):
        written(np.zeros(shape))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_layout_is_finite(Z, value):
    Z[3, 1] = value
    with pytest.raises(ValueError, match=f"Z contains {value} at row 3, column 1"):
        written(Z)


def test_a_layout_has_numbers_within_single_precision(Z):
    with pytest.raises(ValueError, match="Z has type <U1; pass an array of numbers"):
        written(np.full((3, 2), "a"))
    with pytest.raises(ValueError, match=r"Z has entries as large as 1e\+300.*scale Z down"):
        written(np.full((3, 2), 1e300))


def test_metadata_is_a_table_with_one_row_per_point(Z):
    with pytest.raises(ValueError, match="metadata has 8 rows for the 9 points of Z"):
        written(Z, pa.table({"a": range(8)}))
    with pytest.raises(TypeError, match=r"metadata has type int; pass a pandas or Polars data frame"):
        written(Z, 9)


@pytest.mark.parametrize("parameter", ["color", "ids"])
def test_unknown_columns_get_a_suggestion(Z, parameter, tmp_path):
    table = pa.table({"cell_type": NASTY, "depth": range(9)})
    with pytest.raises(ValueError, match=f"{parameter}='celltype' is not a column.*did you mean 'cell_type'"):
        write_page(tmp_path / "page.html", Z, table, **{parameter: "celltype"})
    with pytest.raises(ValueError, match=f"{parameter}='zzz' is not a column.*available: 'cell_type', 'depth'"):
        write_page(tmp_path / "page.html", Z, table, **{parameter: "zzz"})
    with pytest.raises(ValueError, match=f"{parameter}='zzz' is not a column.*available: none"):
        write_page(tmp_path / "page.html", Z, **{parameter: "zzz"})
    assert not list(tmp_path.iterdir())


def test_many_points_are_sampled(rng):
    points = rng.normal(size=(1000, 2)).astype(np.float32)
    table = pa.table({"kind": ["a", "b"] * 500, "row": np.arange(1000) * 10})
    page = Page(written(points, table, max_points=100))
    assert (page.header["n"], page.header["total"]) == (100, 1000)
    _, rows = page.column("input_row")  # "row" is taken
    rows = np.array(rows, dtype=int)
    assert len(set(rows)) == 100
    assert 300 < rows.mean() < 700
    np.testing.assert_array_equal(page.numbers("x-0", "f4"), points[rows, 0])
    assert page.column("kind")[1] == [table["kind"][row].as_py() for row in rows.tolist()]
    assert page.header["columns"][page.header["ids"]]["name"] == "input_row"
    assert Page(written(points, max_points=100)).header["columns"][0]["name"] == "row"
    named = Page(written(points, table, ids="row", max_points=100))
    assert [column["name"] for column in named.header["columns"]] == ["kind", "row"]
    for whole in (written(points, table), written(points, table, max_points=None)):
        assert Page(whole).header["n"] == Page(whole).header["total"] == 1000


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())])
def test_only_the_background_is_sampled_if_the_others_fit(rng, kind):
    points = np.array(["old"] * 500 + [None, "new"] * 2 + ["old"] * 496)
    table = pa.table({"points": pa.array(points.tolist()).cast(kind)})
    page = Page(written(rng.normal(size=(1000, 2)), table, background=("points", "old"), max_points=10))
    rows = np.array(page.column("row")[1], dtype=int)
    assert page.header["total"] == 1000
    assert len(set(rows)) == 10
    assert {500, 501, 502, 503} < set(rows)
    assert rows.min() < 500 < 503 < rows.max()
    few = Page(written(rng.normal(size=(1000, 2)), table, background=("points", "old"), max_points=3))
    assert set(few.column("row")[1]) < {500, 501, 502, 503}


def test_bad_numbers_of_points(Z):
    with pytest.raises(InputError, match="max_points must be"):
        written(Z, max_points=0)


@pytest.mark.parametrize(
    ("background", "message"),
    [
        (("pints", "old"), "background='pints' is not a column of metadata; did you mean 'points'"),
        (
            ("points", "odl"),
            r"background=\('points', 'odl'\), but column 'points' has no text 'odl'; did you mean 'old'",
        ),
        (("number", 1), "column 'number' has type int64; pass a column of text"),
        (("points", 1), "column 'points' has no text 1; available: 'old', 'new'"),
        ("points", r"background must be \(column, value\), got 'points'; pass a text column and a value of it"),
        ("ab", r"background must be \(column, value\), got 'ab'"),
    ],
)
def test_a_background_is_a_text_of_a_column(Z, background, message):
    with pytest.raises(InputError, match=message):
        written(Z, {"points": ["old", "new", "new"] * 3, "number": range(9)}, background=background)


def test_similar_texts_of_a_background_are_sought_among_a_few(monkeypatch):
    sought = []
    monkeypatch.setattr("snekhorn.page.html_page.did_you_mean", lambda _, known: sought.extend(known) or "")
    with pytest.raises(InputError, match="has no text 'x'"):
        written(np.zeros((5000, 2)), {"name": [f"name {i}" for i in range(5000)]}, background=("name", "x"))
    assert len(sought) == 1000
