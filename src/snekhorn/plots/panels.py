"""Draw one layout on axes: a histogram in 1-D, points or a density image in 2-D, points in perspective in 3-D."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from ..colors import MISSING
from ..errors import InputError
from .canvas import MAX_ELONGATION, SOFT_INK, Points, hide_axes, limits
from .point_colors import Categories, Numbers

PROJECTIONS = {1: "rectilinear", 2: "rectilinear", 3: "3d"}
MAX_POINTS = 100_000  # points drawn individually; more would hide each other
MAX_VECTOR_POINTS = 3_000  # with more, SVG and PDF files would be slow to open, so points are stored as an image

# Area of a point in points^2: POINT_SIZE * side of the axes / sqrt(n). Larger points hide their neighbours.
POINT_SIZE = 0.8
SMALLEST_POINT, LARGEST_POINT = 0.5, 45.0
RIMMED_POINT = 15.0  # points larger than this get a white rim that separates neighbours

OPAQUE_PERCENTILE = 98.0  # pixels whose count exceeds this percentile are fully opaque
# Opacity of a pixel with a single point. It falls with the count of an opaque pixel from MANY_IN_PIXEL on, because a
# single point among millions would otherwise look as important as a dense group.
FAINTEST, LEAST_FAINT = 0.45, 0.1
MANY_IN_PIXEL = 10
MIN_PIXELS, MAX_PIXELS = 300, 900  # along the longer side of a density image

MIN_BINS, MAX_BINS = 10, 120  # of a histogram

Pixels = tuple[NDArray[np.int64], tuple[int, int]]


def draw_panel(
    ax: Axes,
    Z: Points,
    coloring: Categories | Numbers,
    *,
    density: bool | Literal["auto"],
    max_elongation: float = MAX_ELONGATION,
) -> None:
    """Draw a layout of one, two or three dimensions; `max_elongation` is passed to `limits`."""
    if (ax.name == "3d") != (Z.shape[1] == 3):
        raise InputError(
            f"ax has projection {ax.name!r}, but Z has {Z.shape[1]} columns; create the axes with "
            f"projection={PROJECTIONS[Z.shape[1]]!r}, or leave out ax."
        )
    if Z.shape[1] == 1:
        _draw_histogram(ax, Z[:, 0], coloring)
    elif Z.shape[1] == 3:
        _draw_3d(ax, Z, coloring)
    else:
        box = limits(Z, max_elongation)
        if density if density != "auto" else len(Z) > MAX_POINTS:
            _draw_density(ax, Z, coloring, box)
        else:
            _draw_points(ax, Z, coloring)
        hide_axes(ax, box)


def _draw_histogram(ax: Axes, z: Points, coloring: Categories | Numbers) -> None:
    """Stack the categories, or colour every bar by the mean of its numbers."""
    bins = int(np.clip(2.0 * len(z) ** 0.4, MIN_BINS, MAX_BINS))
    low, high = limits(z[:, None])[0]
    edges = np.linspace(low, high, bins + 1)
    if isinstance(coloring, Categories):
        parts = [z[coloring.codes == code] for code in range(-1, len(coloring.names))]
        ax.hist(parts, edges.tolist(), stacked=True, color=[MISSING, *coloring.colors], rwidth=0.92)
    else:
        known = ~np.isnan(coloring.values)
        number = np.histogram(z[known], edges)[0]
        total = np.histogram(z[known], edges, weights=coloring.values[known])[0]
        mean = np.divide(total, number, out=np.full(bins, np.nan), where=number > 0)
        heights = np.histogram(z, edges)[0]
        ax.bar(edges[:-1], heights, 0.92 * np.diff(edges), align="edge", color=coloring.scale.to_rgba(mean))
    ax.spines[["top", "left", "right"]].set_visible(False)
    ax.spines["bottom"].set_color(SOFT_INK)
    ax.set(xlim=(low, high), xticks=[], yticks=[])


def _draw_3d(ax: Any, Z: Points, coloring: Categories | Numbers) -> None:
    """Draw points in perspective, with walls behind them to help judge depth."""
    _draw_points(ax, Z, coloring)
    box = limits(Z)
    ax.set(xlim=box[0], ylim=box[1], zlim=box[2], xticklabels=[], yticklabels=[], zticklabels=[])
    ax.set_box_aspect(box[:, 1] - box[:, 0])
    ax.tick_params(color="none")
    for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
        axis.set_pane_color((0.97, 0.97, 0.97))
        axis.line.set_color("white")


def _draw_points(ax: Any, Z: Points, coloring: Categories | Numbers) -> None:
    """Draw every point; within a layer the order is random but fixed, so that no category hides another."""
    order = np.random.default_rng(0).permutation(len(Z))
    order = order[np.argsort(coloring.layers[order], kind="stable")]
    size = point_size(ax, len(Z))
    ax.scatter(
        *Z[order].T,
        c=coloring.rgb[order],
        s=size,
        alpha=point_opacity(len(Z)),
        edgecolors="white" if size > RIMMED_POINT else "none",
        linewidths=0.5 if size > RIMMED_POINT else 0.0,
        rasterized=len(Z) > MAX_VECTOR_POINTS,
    )


def point_size(ax: Axes, n: int) -> float:
    """Return the area of a point in points^2: visible, yet small enough not to hide its neighbours."""
    box = ax.get_position()
    figure: Any = ax.figure
    side = 72.0 * min(box.width * figure.bbox.width, box.height * figure.bbox.height) / figure.dpi
    return float(np.clip(POINT_SIZE * side / np.sqrt(n), SMALLEST_POINT, LARGEST_POINT))


def point_opacity(n: int) -> float:
    """Return the opacity of a point: 0.9 for a hundred points, 0.5 for a hundred thousand."""
    return float(np.clip(1.25 - 0.15 * np.log10(n), 0.4, 0.9))


def _draw_density(ax: Axes, Z: Points, coloring: Categories | Numbers, box: Points) -> None:
    """Draw an image: blended colours of the categories in each pixel, or the colour of its mean number."""
    grid = pixel_grid(Z, box)
    image = blend_categories(grid, coloring) if isinstance(coloring, Categories) else average_numbers(grid, coloring)
    extent: Any = tuple(box.ravel())
    ax.imshow(image, extent=extent, origin="lower", interpolation="nearest")


def pixel_grid(Z: Points, box: Points) -> Pixels:
    """Return the index of each point's pixel, row by row from the bottom, and the number of rows and columns."""
    span = box[:, 1] - box[:, 0]
    side = np.clip(np.sqrt(len(Z)), MIN_PIXELS, MAX_PIXELS)
    columns, rows = np.maximum(np.round(side * span / span.max()), 1).astype(int)
    place = (Z - box[:, 0]) / span * (columns, rows)
    column, row = np.clip(place.astype(np.int64), 0, (columns - 1, rows - 1)).T
    return row * columns + column, (int(rows), int(columns))


def pixel_counts(grid: Pixels, weights: Points | None = None) -> Points:
    """Return the number of points, or the total weight, in each pixel."""
    index, shape = grid
    return np.bincount(index, weights, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)


def pixel_means(grid: Pixels, values: Points) -> Points:
    """Return the mean of the values in each pixel, or NaN if it is empty."""
    number = pixel_counts(grid)
    means: Points = np.divide(pixel_counts(grid, values), number, out=np.full(number.shape, np.nan), where=number > 0)
    return means


def blend_categories(grid: Pixels, categories: Categories) -> Points:
    """Return an RGBA image that mixes the colours in each pixel, and is more opaque where points are dense.

    Squared intensities are averaged, because light mixes this way, so mixtures are as bright as their parts. Points of
    a lower layer count only in pixels without points of a higher layer.
    """
    number = pixel_counts(grid)
    rgba = np.ones((*number.shape, 4))
    layers, squares = categories.layers, categories.rgb**2
    for layer in np.unique(layers):
        members = layers == layer
        layer_grid = (grid[0][members], grid[1])
        occupied = pixel_counts(layer_grid) > 0
        for channel in range(3):
            rgba[occupied, channel] = np.sqrt(pixel_means(layer_grid, squares[members, channel])[occupied])
    rgba[..., 3] = _pixel_opacity(number)
    return rgba.clip(0.0, 1.0)


def _pixel_opacity(number: Points) -> Points:
    """Return an opacity that grows with the logarithm of the count, and is 0 for empty pixels."""
    full = max(float(np.percentile(number[number > 0], OPAQUE_PERCENTILE)), 2.0)
    faintest = max(FAINTEST * min(1.0, np.sqrt(MANY_IN_PIXEL / full)), LEAST_FAINT)
    return np.where(number > 0, faintest + (1.0 - faintest) * np.log(number.clip(1.0)) / np.log(full), 0.0)


def average_numbers(grid: Pixels, numbers: Numbers) -> Points:
    """Return an RGBA image of the mean number in each pixel, grey where all its numbers are missing."""
    known = ~np.isnan(numbers.values)
    mean = pixel_means((grid[0][known], grid[1]), numbers.values[known])
    rgba = numbers.scale.to_rgba(mean)
    rgba[pixel_counts(grid) == 0] = (1.0, 1.0, 1.0, 0.0)
    return rgba
