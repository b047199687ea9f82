import numpy as np
import pytest
from matplotlib.colors import to_rgb

from snekhorn.colors import MISSING
from snekhorn.plots.canvas import limits
from snekhorn.plots.density import FAINTEST, LARGEST_SIDE, average, blend, counts, means, pixels
from snekhorn.plots.values import Categories, encode

RED, GREEN = "#ff0000", "#00ff00"


@pytest.fixture
def Z(rng):
    return rng.normal(size=(5000, 2)) * (3.0, 1.0)


def _edges(box, shape):
    rows, columns = shape
    return [np.linspace(*box[1], rows + 1), np.linspace(*box[0], columns + 1)]


def test_counts_are_those_of_a_histogram(Z):
    box = limits(Z)
    grid = pixels(Z, box)
    want = np.histogram2d(Z[:, 1], Z[:, 0], _edges(box, grid[1]))[0]
    np.testing.assert_array_equal(counts(grid), want)


def test_pixels_are_square(Z):
    box = limits(Z)
    rows, columns = pixels(Z, box)[1]
    height, width = np.ptp(box[1]) / rows, np.ptp(box[0]) / columns
    assert height == pytest.approx(width, rel=0.01)


def test_the_grid_is_finer_for_more_points_up_to_a_limit():
    sides = [max(pixels(np.zeros((n, 2)), np.array([[-1.0, 1.0]] * 2))[1]) for n in (10, 250_000, 1_000_000)]
    assert sides[0] < sides[1] < sides[2] == LARGEST_SIDE


def test_means_are_exact(Z, rng):
    box, values = limits(Z), rng.normal(size=len(Z))
    grid = pixels(Z, box)
    edges = _edges(box, grid[1])
    number = np.histogram2d(Z[:, 1], Z[:, 0], edges)[0]
    with np.errstate(invalid="ignore"):
        want = np.histogram2d(Z[:, 1], Z[:, 0], edges, weights=values)[0] / number
    np.testing.assert_allclose(means(grid, values), want)


def _blend(codes, colours=(RED, GREEN)):
    """One row of pixels: in each, points of the categories given."""
    index = np.repeat(np.arange(len(codes)), [len(pixel) for pixel in codes])
    categories = Categories(np.concatenate(codes).astype(int), ["a", "b"], list(colours))
    return blend((index, (1, len(codes))), categories)[0]


def test_colours_are_blended_by_their_shares():
    image = _blend([[0], [1], [0, 1, 1, 1], []])
    np.testing.assert_allclose(image[:3, :3] ** 2, [[1, 0, 0], [0, 1, 0], [0.25, 0.75, 0]], atol=1e-12)


def test_opacity_grows_with_the_logarithm_of_the_count():
    opacity = _blend([[0], [0] * 4, [0] * 16, [], [0] * 64, [0] * 64])[:, 3]
    assert opacity[0] == pytest.approx(FAINTEST)
    assert opacity[3] == 0.0
    assert opacity[4] == 1.0
    np.testing.assert_allclose(np.diff(opacity[[0, 1, 2, 4]]), (1.0 - FAINTEST) / 3.0)


def test_missing_show_only_where_nothing_else_is():
    image = _blend([[-1, -1], [-1, -1, 0]])
    np.testing.assert_allclose(image[:, :3], [to_rgb(MISSING), to_rgb(RED)], atol=1e-12)


def test_numbers_have_the_colour_of_their_mean():
    numbers = encode([0.5, 1.5, 2.5, np.nan, np.nan, 0.0], 6)
    image = average((np.array([0, 0, 1, 1, 2, 3]), (1, 5)), numbers)[0]
    np.testing.assert_allclose(image[[0, 1, 3]], numbers.scale.to_rgba([1.0, 2.5, 0.0]))
    np.testing.assert_allclose(image[2, :3], to_rgb(MISSING))
    assert image[4, 3] == 0.0
