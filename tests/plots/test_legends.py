import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snekhorn.plots import scatter
from snekhorn.plots.canvas import limits
from snekhorn.plots.legends import densest_places, erase_labels, overlaps, push_apart
from snekhorn.plots.point_colors import encode

from .drawing_helpers import blobs, drawn, labels_of

BOUNDS = np.array([[0.0, 0.0], [500.0, 500.0]])


def _overlap(texts):
    boxes = [text.get_window_extent() for text in texts]
    return any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_the_densest_place_is_in_the_bulk_not_among_outliers(rng):
    crowd, outliers = rng.normal(size=(200, 2)), rng.uniform(20.0, 40.0, size=(60, 2))
    other = rng.normal(size=(200, 2)) - 10.0
    Z = np.concatenate([crowd, outliers, other])
    places, share = densest_places(Z, encode(["a"] * 260 + ["b"] * 200, 460), limits(Z))
    np.testing.assert_allclose(places, [crowd.mean(axis=0), other.mean(axis=0)], atol=0.5)
    assert share.min() > 0.9


@given(st.integers(0, 10_000), st.integers(2, 60), st.integers(1, 8))
def test_every_category_has_a_place_among_its_points(seed, n, k):
    rng = np.random.default_rng(seed)
    Z, categories = rng.standard_cauchy(size=(n, 2)), encode(rng.integers(0, k, n).astype(str), n)
    places, share = densest_places(Z, categories, limits(Z))
    for code, place in enumerate(places):
        own = Z[categories.codes == code]
        assert (own.min(axis=0) - 1e-9 <= place).all()
        assert (place <= own.max(axis=0) + 1e-9).all()
    assert ((share > 0.0) & (share <= 1.0 + 1e-9)).all()


def test_boxes_that_do_not_overlap_stay():
    centers, sizes = np.array([[100.0, 100.0], [300.0, 300.0]]), np.full((2, 2), 50.0)
    np.testing.assert_array_equal(push_apart(centers, sizes, BOUNDS), centers)


@given(st.integers(0, 10_000), st.integers(2, 10))
def test_boxes_are_pushed_apart_within_the_bounds(seed, n):
    rng = np.random.default_rng(seed)
    sizes = rng.uniform(10.0, 40.0, size=(n, 2))
    moved = push_apart(rng.uniform(200.0, 300.0, size=(n, 2)), sizes, BOUNDS)
    assert not overlaps(moved, sizes).any()
    assert (moved - sizes / 2.0 >= BOUNDS[0]).all()
    assert (moved + sizes / 2.0 <= BOUNDS[1]).all()


def test_boxes_in_one_place_are_pushed_apart():
    sizes = np.full((3, 2), 20.0)
    assert not overlaps(push_apart(np.full((3, 2), 250.0), sizes, BOUNDS), sizes).any()


def test_each_overlap_is_found_once():
    found = overlaps(np.array([[0.0, 0.0], [5.0, 5.0], [30.0, 0.0]]), np.full((3, 2), 10.0))
    np.testing.assert_array_equal(np.argwhere(found), [[0, 1]])


def test_names_are_written_on_their_points():
    Z, corner = blobs()
    ax = drawn(scatter(Z, corner))
    texts = labels_of(ax)
    assert [text.get_text() for text in texts] == ["0", "1", "2", "3"]
    assert ax.get_legend() is None
    assert not _overlap(texts)
    for code, text in enumerate(texts):
        np.testing.assert_allclose(text.get_position(), Z[corner == code].mean(axis=0), atol=0.5)


def test_names_of_near_neighbours_do_not_overlap(rng):
    middles = np.array([[0.0, 0.0], [0.8, 0.0], [0.0, 0.8], [20.0, 20.0]])
    category = np.arange(400) % 4
    Z = middles[category] + 0.1 * rng.normal(size=(400, 2))
    ax = drawn(scatter(Z, [f"a longer name {i}" for i in category], legend="labels"))
    assert len(labels_of(ax)) == 4
    assert not _overlap(labels_of(ax))


@pytest.mark.parametrize("place", [(0.0, 0.0), (10.0, 0.0), (5.0, 11.0), (5.0, -1.0), (-1.0, 11.0)])
def test_names_do_not_hide_small_groups(rng, place):
    crowds = [rng.normal(size=(200, 2)), rng.normal(size=(200, 2)) + 10.0]
    pair = np.add(place, [[20.0, 0.0], [20.2, 0.1]])
    ax = drawn(scatter(np.concatenate([*crowds, pair]), ["a"] * 200 + ["b"] * 200 + ["a rare kind"] * 2))
    texts = labels_of(ax)
    assert [text.get_text() for text in texts] == ["a", "a rare kind", "b"]
    assert not _overlap(texts)
    pixels = ax.transData.transform(pair)
    for text in texts:
        box = text.get_window_extent()
        assert not any(box.contains(*pixel) for pixel in pixels)
    apart = np.abs(ax.transData.transform(texts[1].get_position()) - pixels.mean(axis=0))
    assert apart.max() < 2 * texts[1].get_window_extent().width


def test_boxes_are_pushed_off_fixed_ones():
    fixed, fixed_sizes = np.array([[250.0, 250.0], [255.0, 250.0]]), np.full((2, 2), 20.0)  # these overlap, and stay
    moved = push_apart(np.array([[245.0, 262.0]]), np.full((1, 2), 20.0), BOUNDS, fixed, fixed_sizes)
    np.testing.assert_allclose(moved, [[245.0, 270.0]], atol=0.1)


def test_every_name_has_a_halo_below_it():
    Z, corner = blobs()
    ax = scatter(Z, corner)
    halos = [text for text in ax.texts if text.get_path_effects()]
    assert [halo.get_text() for halo in halos] == [text.get_text() for text in labels_of(ax)]
    assert [halo.get_position() for halo in halos] == [text.get_position() for text in labels_of(ax)]
    assert max(halo.get_zorder() for halo in halos) < min(text.get_zorder() for text in labels_of(ax))


def test_points_show_through_the_halos(rng):
    middles = np.repeat([[0.0, 0.0], [12.0, 0.0], [24.0, 0.0]], 50, axis=0)
    ax = drawn(scatter(rng.normal(size=(150, 2)) + middles, np.repeat(["one name", "two names", "three"], 50)))
    box = labels_of(ax)[0].get_window_extent()
    below_names = _n_colored(ax, box)
    erase_labels(ax)
    assert below_names > 0.6 * _n_colored(ax, box)


def _n_colored(ax, box):
    """Return the number of coloured pixels in a box."""
    ax.figure.canvas.draw()
    pixels = np.asarray(ax.figure.canvas.buffer_rgba())[::-1, :, :3].astype(int)
    inside = pixels[int(box.y0) : int(box.y1), int(box.x0) : int(box.x1)]
    return np.count_nonzero(np.ptp(inside, axis=2) > 40)


def test_mixed_categories_get_a_legend():
    Z, _ = blobs()
    ax = scatter(Z, np.random.default_rng(1).integers(0, 3, len(Z)))
    assert not labels_of(ax)
    assert ax.get_legend() is not None


def test_labels_can_be_forced():
    Z, corner = blobs(k=14)
    assert not labels_of(scatter(Z, corner))
    ax = drawn(scatter(Z, corner, legend="labels"))
    assert len(labels_of(ax)) == 14
    assert not _overlap(labels_of(ax))


def test_names_that_do_not_fit_go_to_the_legend(rng):
    Z = rng.normal(size=(400, 2))
    ax = scatter(Z, [f"a name too long for this {i % 40}" for i in range(400)], legend="labels")
    assert not labels_of(ax)
    assert len(ax.get_legend().get_texts()) == 40


def test_names_are_not_parsed_as_formulas_and_long_ones_are_cut():
    Z, corner = blobs(k=3)
    ax = drawn(scatter(Z, np.array(["$5 and $6", "_x", "a" + " b" * 40 + " c"])[corner]))
    texts = {text.get_text() for text in labels_of(ax)}
    assert {"$5 and $6", "_x"} < texts
    assert not any(text.get_parse_math() for text in labels_of(ax))
    assert max(len(line) for text in texts for line in text.split("\n")) <= 16
    assert any(text[0] == "a" and "…" in text and text[-1] == "c" for text in texts)


@pytest.mark.parametrize("density", [True, False])
def test_points_without_a_category_are_noted(density):
    Z, corner = blobs()
    values = corner.astype(object)
    values[:7] = None
    ax = scatter(Z, values, density=density)
    assert "missing (7)" in [text.get_text() for text in ax.texts]


@pytest.mark.parametrize(("label", "shown"), [("wait", "wait (hours)"), ("", "(hours)")])
def test_a_colour_bar_of_durations_gives_the_unit(label, shown):
    waits = np.arange(20) * np.timedelta64(30, "m")
    bar = drawn(scatter(np.random.default_rng(0).normal(size=(20, 2)), waits, label=label)).figure.axes[-1]
    assert bar.get_ylabel() == shown
    assert bar.get_ylim() == (0.0, 9.5)


@pytest.mark.parametrize(
    ("last", "shown"),
    [("2020-01-09", "2020-01-03"), ("2040-01-01", "2032"), ("2020-01-01T09:00", "01-01 08:15")],
)
def test_a_colour_bar_of_dates_shows_dates(last, shown):
    first = "2020-01-01T08:00" if "T" in last else "2020-01-01"
    dates = np.linspace(*np.array([first, last], dtype="datetime64[s]").astype(float), 50).astype("datetime64[s]")
    bar = drawn(scatter(np.random.default_rng(0).normal(size=(50, 2)), dates)).figure.axes[-1]
    assert shown in [text.get_text() for text in bar.get_yticklabels()]
    assert bar.yaxis.get_offset_text().get_text() == ""


@pytest.mark.parametrize(
    ("first", "last"),
    [
        ("0001-01-01", "9999-12-31"),
        ("0001-01-01", "2020-01-01"),
        ("2020-01-01", "9999-12-31"),
        ("0001-01-01", "0001-01-02"),
        ("9999-12-30", "9999-12-31T23:59:59"),
        ("9999-12-31T23:00", "9999-12-31T23:59"),
    ],
)
def test_a_colour_bar_reaches_the_ends_of_the_calendar(first, last):
    dates = np.array([first, last] * 10, dtype="datetime64[s]")
    bar = drawn(scatter(np.random.default_rng(0).normal(size=(20, 2)), dates)).figure.axes[-1]
    assert any(text.get_text() for text in bar.get_yticklabels())


@pytest.mark.parametrize("day", ["2020-01-01", "0001-01-01", "9999-12-30", "9999-12-31", "2020-02-03 04:05"])
def test_a_colour_bar_of_one_date_shows_this_date(day):
    dates = np.full(20, np.datetime64(day, "s"))
    bar = drawn(scatter(np.random.default_rng(0).normal(size=(20, 2)), dates)).figure.axes[-1]
    assert [text.get_text() for text in bar.get_yticklabels()] == [day]
