"""Images in the tooltip, colours, their legends and the drawing order, in a real browser."""

import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from PIL import Image

from snekhorn.colors import PALETTE
from snekhorn.page import write_page

from .browser import pixel, position, settle, wait_until


@pytest.fixture
def page(opened, tmp_path):
    for i in range(9):
        file = io.BytesIO()
        Image.new("RGB", (40, 120), (20 * i, 0, 0)).save(file, "PNG")
        (tmp_path / f"{i}.png").write_bytes(file.getvalue())
    Z = np.stack(np.divmod(np.arange(9), 3), axis=1).astype(float)
    names = [f"{i}.png" for i in range(9)]
    write_page(tmp_path / "page.html", Z, {"photo": names}, images="photo", image_folder=tmp_path)
    return opened(tmp_path / "page.html")


def test_the_first_tooltip_has_an_image_that_fits_into_the_window(page):
    page.mouse.move(5, 5)
    page.mouse.move(*position(page, 0), steps=3)  # the point at the bottom
    page.wait_for_selector("#tooltip img.portrait", state="visible")
    assert page.inner_text("#tooltip h2") == "Point 0"
    fits = """() => {
      const [box, image] = ["#tooltip", "#tooltip img"].map((name) => document.querySelector(name));
      return image.complete && box.getBoundingClientRect().bottom <= innerHeight;
    }"""
    page.wait_for_function(fits)


def test_missing_values_cover_no_others(opened, tmp_path):
    """Among points at one place, those without a value are drawn first, whatever the points are coloured by."""
    Z = np.concatenate([np.zeros((60, 2)), [[-1.0, -1.0], [1.0, 1.0]]])
    kinds = [None] * 30 + ["a"] + [None] * 29 + ["b", "b"]
    numbers = [None] * 50 + [5.0] + [None] * 9 + [0.0, 10.0]
    write_page(tmp_path / "page.html", Z, {"kind": kinds, "number": numbers}, color="kind")
    page = opened(tmp_path / "page.html")
    for column in ("kind", "number", "kind"):
        page.select_option("#color", label=column)
        settle(page)
        color = pixel(page, 30 if column == "kind" else 50)
        assert np.ptp(color) > 20, f"{column}: {color} is grey"  # points at one place are transparent


def legend(page):
    return dict(
        zip(*(page.locator(f"#legend .{part}").all_text_contents() for part in ("label", "number")), strict=True)
    )


def test_the_background_is_grey_and_behind_whatever_the_colour(opened, tmp_path):
    Z = np.concatenate([np.zeros((60, 2)), [[-1.0, -1.0], [1.0, 1.0]]])
    metadata = {
        "points": ["old"] * 30 + ["new"] + ["old"] * 29 + ["new", "new"],
        "kind": [None] * 30 + ["a"] + [None] * 30 + ["b"],
        "number": [None] * 30 + [5.5] + [9.0] * 29 + [0.0, None],
    }
    write_page(tmp_path / "page.html", Z, metadata, color="kind", background=("points", "old"))
    page = opened(tmp_path / "page.html")
    entries = {
        "kind": {"a": "1", "b": "1", "missing": "1", "old": "59"},
        "number": {"missing": "1", "old": "59"},
        "points": {"new": "3", "old": "59"},
        "nothing": {"other points": "3", "old": "59"},
    }
    for column, expected in entries.items():
        page.select_option("#color", label=column)
        wait_until(page, lambda expected=expected: legend(page) == expected)
        settle(page)
        color = pixel(page, 30)
        assert np.ptp(color) > 20, f"{column}: {color} is grey"
    page.click("#legend button:has-text('other points')")
    page.select_option("#color", label="kind")
    page.click("#filters button[aria-label='Remove the filter of points: other points']")
    wait_until(page, lambda: page.locator("#count").inner_text() == "62 points")
    page.evaluate("window.snekhorn.scatterplot.select(Array.from({ length: 62 }, (_, row) => row))")
    page.select_option("#color", label="number")
    wait_until(page, lambda: page.locator("#breakdown dt").all_text_contents()[3:] == ["missing", "old"])
    assert page.locator("#breakdown dd").all_text_contents() == ["0", "2.75", "5.5", "1", "59"]


def test_the_background_of_many_points_is_behind(opened, tmp_path):
    """The drawing order of many points does not depend on their colours."""
    Z = np.concatenate([np.zeros((60, 2)), [[-1.0, -1.0], [1.0, 1.0]]])
    file = tmp_path / "page.html"
    write_page(file, Z, {"points": ["old"] * 30 + ["new"] + ["old"] * 29 + ["new"] * 2}, background=("points", "old"))
    text = file.read_text()
    assert text.count("const ORDERED = 200000;") == 1
    file.write_text(text.replace("const ORDERED = 200000;", "const ORDERED = 10;"))
    page = opened(file)
    settle(page)
    order = page.evaluate("Array.from(window.snekhorn.scatterplot.get('pointOrder'))")
    assert sorted(order) == list(range(62))
    assert set(order[-3:]) == {30, 60, 61}
    assert np.ptp(pixel(page, 30)) > 20


def test_categories_have_the_colours_of_the_metadata(opened, tmp_path):
    field = pa.field("kind", pa.string(), metadata={PALETTE: '{"a": "#FF0000", "b": "#b8b8b8", "d": "#00ff00"}'})
    table = pa.table([["a", "b", "c", None]], schema=pa.schema([field]))
    write_page(tmp_path / "page.html", [[0, 0], [0, 1], [1, 0], [1, 1]], table, color="kind")
    page = opened(tmp_path / "page.html")
    settle(page)
    red, own_grey, default, missing = (pixel(page, row) for row in range(4))
    assert red[0] > red[1:].max() + 100
    assert np.ptp(default) > 50
    np.testing.assert_allclose(own_grey, missing, atol=12)


DURATIONS = [
    (0.25, "0.25 s"),
    (90.25, "1 min 30.25 s"),
    (-3600, "-1 h"),
    (93784, "1 d 2 h 3 min 4 s"),
    (1e8, "1,157 d 9 h 46 min 40 s"),
]


def test_durations_are_written_in_units(opened, tmp_path):
    waits = pa.array([None, *(round(1000 * seconds) for seconds, _ in DURATIONS)], pa.duration("ms"))
    hours = pa.array([None, *range(32400, 32400 + 60 * len(DURATIONS), 60)], pa.time32("s"))
    Z = np.random.default_rng(0).normal(size=(len(waits), 2))
    write_page(tmp_path / "page.html", Z, {"wait": waits, "hour": hours}, color="wait")
    page = opened(tmp_path / "page.html")
    assert page.locator("#legend .ends span").all_inner_texts() == ["-1 h", "578 d 16 h", "1,157 d 10 h"]
    rows = range(1, len(waits))
    texts = page.evaluate(
        "(rows) => rows.map((row) => window.snekhorn.columns.map((column) => column.shown(row)))", [*rows]
    )
    assert [text for text, _ in texts] == [text for _, text in DURATIONS]
    assert [text for _, text in texts] == [f"09:{i:02}:00" for i in range(len(DURATIONS))]
    exact = page.evaluate("(rows) => rows.map((row) => window.snekhorn.columns[0].exact(row))", [*rows])
    assert [pd.Timedelta(text).total_seconds() for text in exact] == [seconds for seconds, _ in DURATIONS]
    page.select_option("#color", label="hour")
    wait_until(
        page, lambda: page.locator("#legend .ends span").all_inner_texts() == ["09:00:00", "09:02:00", "09:04:00"]
    )


ROUNDED = [
    (59.7, 4, "59.7 s"),
    (59.9999999, 4, "1 min"),
    (119.7, 4, "2 min"),
    (3599.4, 4, "59 min 59 s"),
    (3599.7, 4, "1 h"),
    (-3599.7, 2, "-1 h"),
    (86399.7, 4, "1 d"),
    (86369, 2, "23 h 59 min"),
    (86371, 2, "1 d"),
    (2 * 86400 - 1, 2, "2 d"),
]


def test_rounded_durations_carry_into_larger_units(opened, tmp_path):
    metadata = {"wait": pa.array([1, 5000], pa.duration("s")), "hour": pa.array([1, 5000], pa.time32("s"))}
    write_page(tmp_path / "page.html", np.eye(2), metadata)
    page = opened(tmp_path / "page.html")
    script = """(cases) => cases.map(([seconds, largest]) =>
      Object.assign(Object.create(window.snekhorn.columns[0]), { largest }).format(seconds))"""
    assert page.evaluate(script, [case[:2] for case in ROUNDED]) == [text for _, _, text in ROUNDED]
    times = page.evaluate("[86398.6, 86399.6].map((seconds) => window.snekhorn.columns[1].format(seconds))")
    assert times == ["23:59:59", "23:59:59"]
