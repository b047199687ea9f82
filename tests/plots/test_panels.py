import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from snekhorn.colors import MISSING
from snekhorn.plots.canvas import limits
from snekhorn.plots.panels import (
    FAINTEST,
    LARGEST_POINT,
    LEAST_FAINT,
    MAX_PIXELS,
    SMALLEST_POINT,
    average_numbers,
    blend_categories,
    pixel_counts,
    pixel_grid,
    pixel_means,
    point_opacity,
    point_size,
)
from snekhorn.plots.point_colors import Categories, encode

RED, GREEN = "#ff0000", "#00ff00"


@pytest.fixture
def Z(rng):
    return rng.normal(size=(5000, 2)) * (3.0, 1.0)


def _edges(box, shape):
    rows, columns = shape
    return [np.linspace(*box[1], rows + 1), np.linspace(*box[0], columns + 1)]


def test_counts_are_those_of_a_histogram(Z):
    box = limits(Z)
    grid = pixel_grid(Z, box)
    want = np.histogram2d(Z[:, 1], Z[:, 0], _edges(box, grid[1]))[0]
    np.testing.assert_array_equal(pixel_counts(grid), want)


def test_pixels_are_square(Z):
    box = limits(Z)
    rows, columns = pixel_grid(Z, box)[1]
    height, width = np.ptp(box[1]) / rows, np.ptp(box[0]) / columns
    assert height == pytest.approx(width, rel=0.01)


def test_the_grid_is_finer_for_more_points_up_to_a_limit():
    sides = [max(pixel_grid(np.zeros((n, 2)), np.array([[-1.0, 1.0]] * 2))[1]) for n in (10, 250_000, 1_000_000)]
    assert sides[0] < sides[1] < sides[2] == MAX_PIXELS


def test_means_are_exact(Z, rng):
    box, values = limits(Z), rng.normal(size=len(Z))
    grid = pixel_grid(Z, box)
    edges = _edges(box, grid[1])
    number = np.histogram2d(Z[:, 1], Z[:, 0], edges)[0]
    with np.errstate(invalid="ignore"):
        want = np.histogram2d(Z[:, 1], Z[:, 0], edges, weights=values)[0] / number
    np.testing.assert_allclose(pixel_means(grid, values), want)


def _blend(codes, colours=(RED, GREEN)):
    """Blend one row of pixels that contain points of the given categories."""
    index = np.repeat(np.arange(len(codes)), [len(pixel) for pixel in codes])
    categories = Categories(np.concatenate(codes).astype(int), ["a", "b"], list(colours))
    return blend_categories((index, (1, len(codes))), categories)[0]


def test_colours_are_blended_by_their_shares():
    image = _blend([[0], [1], [0, 1, 1, 1], []])
    np.testing.assert_allclose(image[:3, :3] ** 2, [[1, 0, 0], [0, 1, 0], [0.25, 0.75, 0]], atol=1e-12)


def test_opacity_grows_with_the_logarithm_of_the_count():
    opacity = _blend([[0], [0] * 2, [0] * 4, [], [0] * 8, [0] * 8])[:, 3]
    assert opacity[0] == pytest.approx(FAINTEST)
    assert opacity[3] == 0.0
    assert opacity[4] == 1.0
    np.testing.assert_allclose(np.diff(opacity[[0, 1, 2, 4]]), (1.0 - FAINTEST) / 3.0)


def test_a_single_point_is_fainter_beside_crowded_pixels():
    faintest = [_blend([[0], [0] * many, [0] * many])[0, 3] for many in (10, 40, 400, 40_000)]
    np.testing.assert_allclose(faintest, [FAINTEST, FAINTEST / 2.0, LEAST_FAINT, LEAST_FAINT])


def test_missing_values_show_only_in_pixels_without_other_points():
    image = _blend([[-1, -1], [-1, -1, 0]])
    np.testing.assert_allclose(image[:, :3], [to_rgb(MISSING), to_rgb(RED)], atol=1e-12)


def test_pixels_have_the_colour_of_their_mean_number():
    numbers = encode([0.5, 1.5, 2.5, np.nan, np.nan, 0.0], 6)
    image = average_numbers((np.array([0, 0, 1, 1, 2, 3]), (1, 5)), numbers)[0]
    np.testing.assert_allclose(image[[0, 1, 3]], numbers.scale.to_rgba([1.0, 2.5, 0.0]))
    np.testing.assert_allclose(image[2, :3], to_rgb(MISSING))
    assert image[4, 3] == 0.0


def test_points_are_smaller_and_fainter_the_more_there_are():
    ax = Figure().add_subplot()
    sizes = [point_size(ax, n) for n in (20, 500, 5_000, 100_000)]
    assert sizes == sorted(sizes, reverse=True)
    assert SMALLEST_POINT <= sizes[-1] < 2.0
    assert sizes[0] == LARGEST_POINT
    assert [point_opacity(n) for n in (20, 100, 100_000)] == pytest.approx([0.9, 0.9, 0.5])
