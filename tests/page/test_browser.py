"""The page in a real browser, with a real mouse: it shows, finds, selects and exports the data it was given."""

import csv
import io
import itertools

import numpy as np
import pyarrow as pa
import pytest
from sklearn.neighbors import NearestNeighbors

from snekhorn.page import write_page

from .browser import (
    KINDS,
    N,
    box,
    drag,
    example,
    pixel,
    position,
    positions,
    selection,
    settle,
    wait_for_pixel,
    wait_until,
)

Z, TABLE = example()
LEGEND = ["kind 9", "kind 10", "naïve 🐍", 'say "<b>hi</b>"', "two\nlines, and a comma"]


def test_a_sample_is_said_to_be_one(opened, tmp_path):
    write_page(tmp_path / "sample.html", Z, TABLE.select(["kind", "depth"]), max_points=500)
    page = opened(tmp_path / "sample.html")
    settle(page)
    assert page.locator("#count").inner_text() == "500 points, a random sample of 10,000"
    assert page.locator("#color option").all_inner_texts() == ["nothing", "kind", "depth", "row"]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    file = tmp_path_factory.mktemp("page") / "page.html"
    write_page(file, Z, TABLE, ids="id", title="A <i>test</i>", summary={"method": "t-SNEkhorn", "<b>": "</dl>"})
    return file


@pytest.fixture
def page(opened, file):
    return opened(file)


@pytest.fixture(scope="module")
def lonely():
    """Return the point farthest from all others: nothing else is drawn there."""
    return int(NearestNeighbors(n_neighbors=2).fit(Z).kneighbors()[0][:, 0].argmax())


def rows_of(kind):
    return [row for row, value in enumerate(TABLE["kind"].to_pylist()) if value == kind]


def entry(page, label):
    return page.locator("#legend button.entry").nth(LEGEND.index(label))


def test_the_page_shows_title_count_summary_and_a_legend_in_natural_order(page):
    assert page.inner_text("#title") == page.title() == "A <i>test</i>"
    assert page.inner_text("#count") == "10,000 points"
    page.click("#about summary")
    assert page.locator("#summary dd").all_inner_texts() == ["t-SNEkhorn", "</dl>"]
    assert page.locator("#legend .label").all_text_contents() == LEGEND
    assert page.locator("#legend .number").all_inner_texts() == ["2,000"] * 5
    assert page.input_value("#color") == "1"
    assert page.locator("script").evaluate_all("all => all.filter((one) => one.type === 'text/plain').length") == 0


@pytest.mark.parametrize("size", [(1100, 700), (400, 800)])
def test_units_are_equal_on_both_axes_and_all_points_are_in_view(opened, file, size):
    page = opened(file, viewport={"width": size[0], "height": size[1]})
    seen = positions(page, range(0, N, 100))
    assert np.all(seen > 0)
    assert np.all(seen < size)
    scale_x = np.polyfit(Z[::100, 0], seen[:, 0], 1)[0]
    scale_y = np.polyfit(Z[::100, 1], seen[:, 1], 1)[0]
    assert scale_x > 5
    assert scale_x == pytest.approx(-scale_y, rel=1e-3)


def test_hovering_shows_the_metadata_of_the_point(page, lonely):
    page.mouse.move(5, 5)
    page.mouse.move(*position(page, lonely), steps=3)
    page.wait_for_selector("#tooltip", state="visible")
    row = TABLE.slice(lonely, 1).to_pylist()[0]
    assert page.inner_text("#tooltip h2") == row["id"]
    names = page.locator("#tooltip dt").all_text_contents()
    facts = dict(zip(names, page.locator("#tooltip dd").all_text_contents(), strict=True))
    assert facts["kind"] == row["kind"]
    assert facts["reads"] == str(row["reads"])
    assert facts["flag"] == {True: "true", False: "false", None: "–"}[row["flag"]]
    assert facts["when"] == row["when"].isoformat()
    assert facts["remark"] == (row["remark"] if row["remark"] is not None else "–")
    assert (
        facts["depth"] == "–"
        if row["depth"] is None
        else float(facts["depth"]) == pytest.approx(row["depth"], rel=1e-4)
    )
    assert [float(value) for value in facts["x, y"].split(",")] == pytest.approx(Z[lonely].tolist(), rel=1e-4)
    page.mouse.move(100, 680)
    page.wait_for_selector("#tooltip", state="hidden")


def rgb(color):
    return np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)])


def test_colours_are_those_of_the_legend_and_change_with_the_column(page, lonely):
    header = page.evaluate("JSON.parse(document.getElementById('header').textContent)")
    wait_for_pixel(page, lonely, rgb(header["few"][LEGEND.index(TABLE["kind"][lonely].as_py())]))
    page.select_option("#color", label="reads")
    page.wait_for_selector("#legend .bar")
    reads = TABLE["reads"].to_numpy()
    share = (reads[lonely] - reads.min()) / (reads.max() - reads.min())
    wait_for_pixel(page, lonely, rgb(header["scale"][int(share * 256)]))
    low, _, high = page.locator("#legend .ends span").all_inner_texts()
    assert [int(low), int(high)] == [reads.min(), reads.max()]
    page.select_option("#color", label="depth")
    page.wait_for_selector("#legend .entry")
    assert page.inner_text("#legend .number") == str(f"{TABLE['depth'].null_count:,}")
    page.select_option("#color", label="nothing")
    page.wait_for_selector("#legend:empty", state="attached")
    wait_for_pixel(page, lonely, rgb(header["few"][0]))


def test_search_finds_ids_and_text_whatever_the_case(page):
    page.fill("#search", "pOINT-0012")
    page.wait_for_selector("#matches", state="visible")
    assert page.inner_text("#matches") == "10 matches; press Enter to zoom"
    assert selection(page) == list(range(120, 130))
    page.fill("#search", "<B>HI")
    page.wait_for_function("document.getElementById('matches').textContent.startsWith('2,000')")
    assert selection(page) == rows_of('say "<b>hi</b>"')
    page.fill("#search", "see 101")
    page.wait_for_function("window.snekhorn.state.selection.length < 1000")
    assert selection(page) == [i for i in range(N) if i % 300 == 101]
    page.fill("#search", "nowhere")
    page.wait_for_function("document.getElementById('matches').textContent === 'no matches'")
    assert selection(page) == []
    assert page.is_hidden("#selection")


def test_enter_zooms_to_the_matches(page):
    page.fill("#search", "Point-00123")
    before = page.evaluate("window.snekhorn.scatterplot.get('cameraDistance')")
    page.press("#search", "Enter")
    page.wait_for_function(f"window.snekhorn.scatterplot.get('cameraDistance') < {before / 20}")
    panel, details = (page.locator(name).bounding_box() for name in ("#panel", "#details"))
    middle = (panel["x"] + panel["width"] + details["x"]) / 2
    wait_until(page, lambda: np.allclose(position(page, 123), [middle, 350], atol=[40, 10]))
    page.keyboard.press("Escape")
    page.wait_for_selector("#details", state="hidden")
    page.click("#reset")
    page.wait_for_function(f"Math.abs(window.snekhorn.scatterplot.get('cameraDistance') / {before} - 1) < 1e-3")


@pytest.mark.parametrize("by", ["shift", "button"])
def test_a_lasso_selects_the_points_in_it_and_exports_them(page, by):
    rows = rows_of(KINDS[2])
    corners = box(page, rows)
    if by == "shift":
        page.keyboard.down("Shift")
        drag(page, corners)
        page.keyboard.up("Shift")
    else:
        page.click("#lasso")
        drag(page, corners)
    page.wait_for_selector("#selection", state="visible")
    assert selection(page) == rows
    assert page.inner_text("#selected") == "2,000 selected"
    assert page.locator("#breakdown .number").all_inner_texts() == ["2,000 · 100%"]
    with page.expect_download() as download:
        page.click("#export")
    assert download.value.suggested_filename == "A-i-test-i-selection.csv"
    check_csv(download.value.path().read_bytes(), rows)
    page.click("#clear")
    assert selection(page) == []
    assert page.is_hidden("#selection")


@pytest.mark.slow
def test_a_second_lasso_adds_with_control_and_removes_with_alt(page):
    page.click("#lasso")
    drag(page, box(page, rows_of(KINDS[0])))
    page.wait_for_function("window.snekhorn.state.selection.length === 2000")
    for key, around, left in (("ControlOrMeta", 1, (0, 1)), ("Alt", 0, (1,))):
        page.keyboard.down(key)
        drag(page, box(page, rows_of(KINDS[around])))
        page.keyboard.up(key)
        page.wait_for_function(f"window.snekhorn.state.selection.length === {2000 * len(left)}")
        assert selection(page) == [row for kind in left for row in rows_of(KINDS[kind])]


def check_csv(data, rows):
    """Check that every value is exported unchanged."""
    assert data.count(b"\r\n") >= len(rows) + 1
    assert b',"",' in data or data.find(b',""\r\n') >= 0  # an empty remark is quoted, a missing one is not
    lines = list(csv.DictReader(io.StringIO(data.decode(), newline="")))
    expected = TABLE.take(rows).to_pylist()
    assert [line["id"] for line in lines] == [row["id"] for row in expected]
    np.testing.assert_array_equal(np.array([[line["x"], line["y"]] for line in lines], np.float32), Z[rows])
    for line, row in zip(lines, expected, strict=True):
        assert line["kind"] == row["kind"]
        assert line["depth"] == "" if row["depth"] is None else float(line["depth"]) == row["depth"]
        assert int(line["reads"]) == row["reads"]
        assert line["flag"] == ("" if row["flag"] is None else str(row["flag"]).lower())
        assert line["when"] == row["when"].isoformat()
        assert line["remark"] == (row["remark"] or "")


def test_double_click_deselects_and_dragging_pans(page):
    page.fill("#search", "Point-0001")
    page.wait_for_selector("#selection", state="visible")
    page.mouse.dblclick(690, 350)
    page.wait_for_selector("#selection", state="hidden")
    before = np.array(position(page, 0))
    drag(page, [(690, 350), (740, 320)])
    wait_until(page, lambda: np.allclose(position(page, 0) - before, [50, -30], atol=2))
    distance = page.evaluate("window.snekhorn.scatterplot.get('cameraDistance')")
    page.mouse.wheel(0, -300)
    page.wait_for_function(f"window.snekhorn.scatterplot.get('cameraDistance') < {0.9 * distance}")


def test_legend_shows_categories_alone_and_hidden_points_are_out_of_reach(page, lonely):
    own, other = TABLE["kind"][lonely].as_py(), next(k for k in KINDS if k != TABLE["kind"][lonely].as_py())
    entry(page, other).click()
    page.wait_for_function("window.snekhorn.scatterplot.get('isPointsFiltered')")
    assert page.evaluate("window.snekhorn.scatterplot.get('filteredPoints')") == rows_of(other)
    wait_until(page, lambda: pixel(page, lonely).sum() == 0)
    page.mouse.move(*position(page, lonely), steps=3)
    settle(page)
    assert page.is_hidden("#tooltip")
    page.fill("#search", "point-")
    page.wait_for_selector("#selection", state="visible")
    assert selection(page) == rows_of(other)
    entry(page, own).click()
    page.wait_for_function("window.snekhorn.scatterplot.get('filteredPoints').length === 4000")
    page.click("#legend .all")
    page.wait_for_function("!window.snekhorn.scatterplot.get('isPointsFiltered')")
    wait_until(page, lambda: pixel(page, lonely).sum() > 0)


def test_more_values_than_colours_share_the_last_one(opened, tmp_path):
    labels = [f"v{i % 50}" if i < 500 else f"v{i % 10}" for i in range(1000)]
    write_page(tmp_path / "many.html", Z[:1000], pa.table({"label": labels, "n": np.arange(1000) / 8}), color="label")
    page = opened(tmp_path / "many.html")
    kept = [f"v{i}" for i in range(39)]
    assert page.locator("#legend .label").all_text_contents() == [*kept, "11 other values"]
    assert page.locator("#legend .number").all_inner_texts() == ["60"] * 10 + ["10"] * 29 + ["110"]
    page.fill("#search", "v49")
    page.wait_for_selector("#selection", state="visible")
    assert page.inner_text("#breakdown .label") == "11 other values"
    page.select_option("#color", label="n")
    page.wait_for_selector("#breakdown dl")
    found = [i / 8 for i in range(49, 500, 50)]
    facts = [float(text) for text in page.locator("#breakdown dd").all_inner_texts()]
    assert facts == pytest.approx([min(found), np.mean(found), max(found)], rel=1e-4)


COUNT_POINTS = """
  const draw = WebGLRenderingContext.prototype.drawArrays;
  window.counts = [];
  WebGLRenderingContext.prototype.drawArrays = function (mode, start, count) {
    if (mode === this.POINTS) window.counts.push(count);
    return draw.call(this, mode, start, count);
  };
"""


def test_slow_browsers_draw_fewer_points_while_the_view_moves_and_all_when_it_stops(opened, tmp_path):
    write_page(tmp_path / "slow.html", np.tile(Z, (8, 1)))
    slow = "const now = performance.now.bind(performance); performance.now = () => 100 * now();"
    page = opened(tmp_path / "slow.html", script=COUNT_POINTS + slow)
    assert set(page.evaluate("window.counts")) == {80_000}
    page.mouse.move(700, 300)
    page.mouse.down()
    steps = itertools.count()

    def fewest_after_a_move():
        page.mouse.move(700 + next(steps) % 100, 300)
        return page.evaluate("Math.min(...window.counts.filter((count) => count > 1))")

    wait_until(page, lambda: fewest_after_a_move() == 50_000)
    page.mouse.up()
    page.wait_for_function("window.counts.filter((count) => count > 1).at(-1) === 80000")
    settle(page)
    left = 4000  # on the side where no details will cover it
    drawn = page.evaluate("window.counts.length")
    page.mouse.move(*position(page, left), steps=3)
    page.wait_for_selector("#tooltip", state="visible")
    settle(page)
    assert page.evaluate("window.counts.length") == drawn  # hovering does not redraw
    page.mouse.click(*position(page, left))
    page.wait_for_selector("#selection", state="visible")
    # All points, the hovered one, and the selected one three times.
    page.wait_for_function("window.counts.slice(-5).join() === '80000,1,1,1,1'")


def test_the_page_is_dark_if_the_reader_prefers_it(opened, file):
    page = opened(file, color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 23, 26)"


def test_without_webgl_the_page_says_so(opened, file):
    page = opened(file, ready=False, script="HTMLCanvasElement.prototype.getContext = () => null;")
    page.wait_for_function("document.getElementById('message').textContent.includes('This page needs WebGL')")


def test_a_page_without_metadata_numbers_its_points(opened, tmp_path):
    write_page(tmp_path / "bare.html", Z[:3])
    page = opened(tmp_path / "bare.html")
    assert page.is_hidden("#search")
    assert page.is_hidden("#color")
    page.evaluate("window.snekhorn.scatterplot.select([1])")
    page.wait_for_selector("#selection", state="visible")
    with page.expect_download() as download:
        page.click("#export")
    header, line = download.value.path().read_text().splitlines()
    assert download.value.suggested_filename == "selection.csv"
    assert header == "row,x,y"
    np.testing.assert_array_equal(np.array(line.split(","), np.float32), [1, *Z[1]])
