"""Details, neighbours, names, filters and several layouts of ten thousand points in a real browser."""

import base64
import io

import numpy as np
import pytest
from PIL import Image

from snekhorn.page import write_page
from snekhorn.page.page_neighbors import N_NEIGHBORS as K
from snekhorn.page.page_neighbors import nearest_in_layout

from .browser import KINDS, N, example, pixel, position, positions, settle, wait_until

Z, TABLE = example()
DATA = np.random.default_rng(1).normal(size=(N, 3)) * 0.3 + np.column_stack([Z, Z[:, 0] * 0.0])
OTHER = Z[:, ::-1] * [2.0, -1.0] + 5.0
KIND = np.array(TABLE["kind"].to_pylist())
DEPTH = np.array(TABLE["depth"].to_pylist(), dtype=float)
READS = TABLE["reads"].to_numpy()
IN_DATA = nearest_in_layout(DATA, K)


def picture(number):
    file = io.BytesIO()
    Image.new("RGB", (6, 6), (number * 50, 0, 0)).save(file, "PNG")
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


@pytest.fixture(scope="module")
def rich(tmp_path_factory):
    file = tmp_path_factory.mktemp("rich") / "page.html"
    table = TABLE.append_column("photo", [[picture(i % 5) if i % 7 else None for i in range(N)]])
    remarks = [f"Line one.\nSee https://example.org/a?b={i}&c=1, or <b>javascript:alert(1)</b>." for i in range(N)]
    table = table.append_column("story", [remarks])
    layouts = {"perplexity 30": Z, "perplexity 100": OTHER}
    facts = {name: {"perplexity": name.split()[1]} for name in layouts}
    write_page(file, layouts, table, data=DATA, images="photo", ids="id", color="kind", summary=facts)
    return file


@pytest.fixture
def page(opened, rich):
    return opened(rich)


def click(page, row):
    """Click on a point, again if a busy browser was too slow to take it for a click."""

    def is_shown():
        page.mouse.click(*position(page, row))
        settle(page)
        return page.evaluate("document.getElementById('details-name').textContent") == f"Point-{row:05d}"

    wait_until(page, is_shown)
    page.wait_for_selector("#details", state="visible")
    settle(page)  # the view moves beside the details


def listed(page, number):
    """Return the rows of a list of neighbours, and their remarks."""
    section = page.locator("#details .neighbors").nth(number)
    rows = [int(name.removeprefix("Point-")) for name in section.locator(".label").all_inner_texts()]
    return rows, section.locator(".number").all_inner_texts()


@pytest.fixture(scope="module")
def alone():
    """Return a point that no other point is near to, on the left, so that a click finds it."""
    gap = np.hypot(*(Z - Z[nearest_in_layout(Z, 1)[:, 0]]).T)
    gap[Z[:, 0] > 0] = 0
    return int(gap.argmax())


def test_a_click_shows_the_full_text_with_links(page, alone):
    click(page, alone)
    names = page.locator("#details dt").all_text_contents()
    facts = dict(zip(names, page.locator("#details dd").all_text_contents(), strict=True))
    assert facts["story"] == f"Line one.\nSee https://example.org/a?b={alone}&c=1, or <b>javascript:alert(1)</b>."
    assert facts["kind"] == KIND[alone]
    assert "photo" not in facts
    link = page.locator("#details a")
    assert link.count() == 1
    assert link.get_attribute("href") == f"https://example.org/a?b={alone}&c=1"
    assert (link.get_attribute("target"), link.get_attribute("rel")) == ("_blank", "noopener noreferrer")
    page.click("#close")
    page.wait_for_selector("#details", state="hidden")
    assert page.locator("#links *").count() == 0


def test_neighbours_in_the_data_and_in_the_layout_are_listed_and_linked(page, alone):
    click(page, alone)
    in_layout = nearest_in_layout(Z, K)[alone]
    data, remarks = listed(page, 0)
    layout, doubts = listed(page, 1)
    assert data == IN_DATA[alone].tolist()
    assert layout == in_layout.tolist()
    distance = np.hypot(*(Z - Z[alone]).T)
    ranks = [int((distance <= distance[row]).sum()) - 1 for row in data]
    expected = [KIND[row] if row in layout else f"rank {rank:,} here" for row, rank in zip(data, ranks, strict=True)]
    assert [" ".join(text.split()) for text in remarks] == [" ".join(text.split()) for text in expected]
    assert [text == "not near in the data" for text in doubts] == [row not in data for row in layout]
    kept = len(set(data) & set(layout))
    assert f"{kept} of the 15 nearest points in the data" in page.inner_text("#details .trust")
    assert page.locator("#links line.kept").count() == kept
    assert page.locator("#links line.lost").count() == K - kept
    drawn = page.locator("#links line").evaluate_all(
        "all => all.map((each) => [each.getAttribute('x2'), each.getAttribute('y2')])"
    )
    np.testing.assert_allclose(np.array(drawn, dtype=float), positions(page, data), atol=1.5)
    page.locator("#details .neighbor").first.click()
    page.wait_for_function(f"document.getElementById('details-name').textContent === 'Point-{data[0]:05d}'")
    page.keyboard.press("Escape")
    page.wait_for_selector("#details", state="hidden")


def test_lines_follow_the_view(page, alone):
    click(page, alone)
    page.mouse.move(600, 350)
    page.mouse.wheel(0, -200)

    def off():
        ends = page.locator("#links circle.own").evaluate("one => [one.getAttribute('cx'), one.getAttribute('cy')]")
        return np.abs(np.array(ends, dtype=float) - position(page, alone)).max()

    wait_until(page, lambda: off() < 1.5)


def free_width(page):
    """Return the left and the right end of the part of the window between the panels."""
    boxes = [page.locator(each).bounding_box() for each in ("#panel", "#details")]
    return boxes[0]["x"] + boxes[0]["width"], boxes[1]["x"]


def test_the_details_do_not_cover_the_map(page):
    rows = [int(Z[:, 0].argmax()), int(Z[:, 0].argmin()), *range(0, N, 100)]
    before = positions(page, rows)
    click(page, rows[0])
    left, right = free_width(page)
    seen = positions(page, rows)
    assert before[:, 0].max() > right
    assert left < seen[:, 0].min() < seen[:, 0].max() < right
    page.click("#close")
    settle(page)
    np.testing.assert_allclose(positions(page, rows), before, atol=1.5)


def test_the_details_do_not_cover_a_point_and_its_neighbours_after_zooming(page):
    row = int(Z[:, 0].argmax())
    page.mouse.move(*position(page, row))
    page.mouse.wheel(0, -100)
    settle(page)
    distance = "window.snekhorn.scatterplot.get('cameraDistance')"
    before, zoom = positions(page, IN_DATA[row].tolist()), page.evaluate(distance)
    visible = (before > 0).all(axis=1) & (before < [1040, 700]).all(axis=1)
    assert visible.any()
    click(page, row)
    left, right = free_width(page)
    seen = positions(page, [row, *IN_DATA[row][visible].tolist()])
    assert left < seen[:, 0].min() < seen[:, 0].max() < right
    assert before[visible, 0].max() > right
    assert page.evaluate(distance) == pytest.approx(zoom)


def test_thumbnails_are_in_the_details(page, alone):
    row = next(row for row in np.argsort(np.abs(np.arange(N) - alone)).tolist() if row % 7)
    page.evaluate(f"window.snekhorn.scatterplot.select([{row}])")
    page.wait_for_selector("#details img.portrait", state="visible")
    script = """async (image) => {
      await image.decode();
      const canvas = new OffscreenCanvas(6, 6).getContext("2d");
      canvas.drawImage(image, 0, 0);
      return [image.naturalWidth, canvas.getImageData(1, 1, 1, 1).data[0], image.classList.contains("pixels")];
    }"""
    assert page.locator("#details img.portrait").evaluate(script) == [6, row % 5 * 50, True]
    data, _ = listed(page, 0)
    assert page.locator("#details .neighbors").first.locator("img").count() == sum(each % 7 > 0 for each in data)
    page.evaluate("window.snekhorn.scatterplot.select([7])")
    page.wait_for_function("document.getElementById('details-name').textContent === 'Point-00007'")
    assert page.locator("#details img.portrait").count() == 0


def names_on_map(page):
    """Return the names on the map, with the position of their centre."""
    script = """all => all.filter((each) => !each.hidden).map((each) => {
      const box = each.getBoundingClientRect();
      return [each.textContent, box.x + box.width / 2, box.y + box.height / 2];
    })"""
    return {name: (x, y) for name, x, y in page.locator("#names span").evaluate_all(script)}


def test_names_of_categories_stand_on_their_points(page):
    found = names_on_map(page)
    assert set(found) == set(KINDS)
    for kind in KINDS:
        middle = positions(page, np.flatnonzero(kind == KIND)[::10].tolist()).mean(axis=0)
        np.testing.assert_allclose(found[kind], middle, atol=25)
    page.locator("#legend button.entry").first.click()
    wait_until(page, lambda: set(names_on_map(page)) == {"kind 9"})
    page.click("#display summary")
    page.uncheck("#show-names")
    assert names_on_map(page) == {}
    page.click("#legend .all")
    page.check("#show-names")
    wait_until(page, lambda: set(names_on_map(page)) == set(KINDS))
    page.select_option("#color", label="reads")
    page.wait_for_selector("#legend .bar")
    assert names_on_map(page) == {}
    assert page.is_hidden("#names-field")


def test_mixed_categories_are_named_only_on_request(page):
    page.select_option("#color", label="flag")
    wait_until(page, lambda: page.locator("#legend .label").all_text_contents() == ["false", "true", "missing"])
    assert names_on_map(page) == {}
    page.click("#display summary")
    page.check("#show-names")
    wait_until(page, lambda: len(names_on_map(page)) > 0)


def shown(page):
    return page.evaluate("window.snekhorn.scatterplot.get('filteredPoints')")


def test_ranges_and_categories_filter_together(page):
    page.locator("#legend button.entry").first.click()
    page.wait_for_function("window.snekhorn.scatterplot.get('filteredPoints').length === 2000")
    page.select_option("#color", label="reads")
    page.wait_for_selector("#legend .bar")
    page.get_by_label("Lowest value shown").fill("250")
    low = READS.min() + 0.25 * (READS.max() - READS.min())
    expected = np.flatnonzero((KIND == "kind 9") & (low <= READS)).tolist()
    wait_until(page, lambda: shown(page) == expected)
    assert page.inner_text("#count") == f"{len(expected):,} of 10,000 points shown"
    assert page.inner_text("#filters .chip b") == "kind"
    page.get_by_label("Highest value shown").fill("100")  # not below the other end
    wait_until(page, lambda: page.get_by_label("Highest value shown").input_value() == "250")
    page.click("#filters .chip")
    page.wait_for_selector("#filters", state="hidden")
    page.get_by_label("Highest value shown").fill("1000")
    wait_until(page, lambda: shown(page) == np.flatnonzero(low <= READS).tolist())
    page.click("#legend .all")
    page.wait_for_function("!window.snekhorn.scatterplot.get('isPointsFiltered')")
    assert page.inner_text("#count") == "10,000 points"


def test_missing_values_are_outside_every_range(page):
    page.select_option("#color", label="depth")
    page.wait_for_selector("#legend .bar")
    low, high = np.percentile(DEPTH[~np.isnan(DEPTH)], [1, 99])
    first, _, last = page.locator("#legend .ends span").all_inner_texts()
    assert float(first.removeprefix("≤ ")) == pytest.approx(low, rel=1e-3)
    assert float(last.removeprefix("≥ ")) == pytest.approx(high, rel=1e-3)
    page.get_by_label("Highest value shown").fill("500")
    expected = np.flatnonzero(low + 0.5 * (high - low) >= DEPTH).tolist()
    wait_until(page, lambda: shown(page) == expected)


def test_size_and_opacity_can_be_changed(page):
    get = "(name) => window.snekhorn.scatterplot.get(name)"
    size, opacity = page.evaluate(get, "pointSize"), page.evaluate(get, "opacity")
    page.click("#display summary")
    page.locator("#size").fill("1")
    assert page.evaluate(get, "pointSize") == pytest.approx(2 * size)
    page.locator("#size").fill("0")
    page.locator("#opacity").fill("-1")
    wait_until(page, lambda: page.evaluate(get, "opacity") == pytest.approx(opacity / 2, rel=0.05))


def test_points_move_to_another_layout(page, alone):
    click(page, alone)
    page.select_option("#layout", label="perplexity 100")
    rows = list(range(0, N, 500))

    def misfit():
        seen = positions(page, rows)
        fit = [np.polyfit(OTHER[rows, axis], seen[:, axis], 1, full=True) for axis in (0, 1)]
        return max(float(each[1].max()) for each in fit), fit[0][0][0], fit[1][0][0]

    wait_until(page, lambda: misfit()[0] < 1.0)
    _, scale_x, scale_y = misfit()
    assert scale_x == pytest.approx(-scale_y, rel=1e-3)
    expected = nearest_in_layout(OTHER.astype(np.float32), K)[alone].tolist()
    wait_until(page, lambda: listed(page, 1)[0] == expected)
    assert listed(page, 0)[0] == IN_DATA[alone].tolist()
    page.click("#about summary")
    assert page.locator("#summary dd").all_inner_texts() == ["100"]
    page.fill("#search", "point-04")
    page.wait_for_function("window.snekhorn.state.selection.length === 1000")
    with page.expect_download() as download:
        page.click("#export")
    x, y = download.value.path().read_text().splitlines()[1].split(",")[:2]
    np.testing.assert_array_equal(np.array([x, y], np.float32), OTHER[4000].astype(np.float32))


def test_layouts_can_be_switched_while_points_and_view_move(page):
    for label in ("perplexity 100", "perplexity 30", "perplexity 100"):
        page.click("#zoom-in")
        page.select_option("#layout", label=label)
    page.click("#reset")
    settle(page)
    rows = list(range(0, N, 500))
    seen = positions(page, rows)
    for axis in (0, 1):
        assert np.polyfit(OTHER[rows, axis], seen[:, axis], 1, full=True)[1].max() < 1.0


def test_hovering_finds_points_where_the_other_layout_has_them(page):
    page.select_option("#layout", label="perplexity 100")
    settle(page)
    wait_until(page, lambda: set(names_on_map(page)) == set(KINDS))
    gap = np.hypot(*(OTHER - OTHER[nearest_in_layout(OTHER, 1)[:, 0]]).T)
    far = int(gap.argmax())

    def hovered():
        page.mouse.move(700, 20)
        page.mouse.move(*position(page, far), steps=3)
        settle(page)
        return page.is_visible("#tooltip") and page.inner_text("#tooltip h2") == f"Point-{far:05d}"

    wait_until(page, hovered)


def test_recall_of_neighbours_is_a_colour_of_each_layout(page, alone):
    page.select_option("#color", label="neighbour recall")
    page.wait_for_selector("#legend .bar")
    assert page.locator("#legend .ends span").all_inner_texts() == ["0.00", "0.50", "1.00"]
    numbers = "Array.from(window.snekhorn.columns.at(-1).numbers)"
    for label, layout in (("perplexity 30", Z), ("perplexity 100", OTHER.astype(np.float32))):
        page.select_option("#layout", label=label)
        near = nearest_in_layout(layout, K)
        recall = (IN_DATA[:, :, None] == near[:, None, :]).any(axis=2).mean(axis=1)
        wait_until(page, lambda recall=recall: np.allclose(page.evaluate(numbers), recall, atol=1e-6))
        scale = page.evaluate("JSON.parse(document.getElementById('header').textContent).scale")
        code = min(255, int(np.float32(recall[alone]) * 256))
        color = np.array([int(scale[code][i : i + 2], 16) for i in (1, 3, 5)])
        if label == "perplexity 30":
            wait_until(page, lambda color=color: np.abs(pixel(page, alone) - color).max() <= 14)


def test_small_windows_keep_details_within_view(opened, rich):
    page = opened(rich, viewport={"width": 400, "height": 800})
    page.evaluate("window.snekhorn.scatterplot.select([5])")
    page.wait_for_selector("#details", state="visible")
    box = page.locator("#details").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 400
    assert box["y"] + box["height"] <= page.locator("#panel").bounding_box()["y"] + 1
