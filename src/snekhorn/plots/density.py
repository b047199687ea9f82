"""Points counted in the pixels of a grid, where drawing one over the other would hide most of them."""

import numpy as np
from numpy.typing import NDArray

from .values import Categories, Numbers

FAINTEST = 0.45  # opacity of a pixel with a single point
FULL = 98.0  # percentile of the counts of occupied pixels from which opacity is full
SMALLEST_SIDE, LARGEST_SIDE = 300, 900  # pixels

Pixels = tuple[NDArray[np.int64], tuple[int, int]]


def pixels(Z: NDArray[np.float64], box: NDArray[np.float64]) -> Pixels:
    """Index of each point's pixel, row by row from the bottom, and how many rows and columns there are."""
    span = box[:, 1] - box[:, 0]
    side = np.clip(np.sqrt(len(Z)), SMALLEST_SIDE, LARGEST_SIDE)
    columns, rows = np.maximum(np.round(side * span / span.max()), 1).astype(int)
    place = (Z - box[:, 0]) / span * (columns, rows)
    column, row = np.clip(place.astype(np.int64), 0, (columns - 1, rows - 1)).T
    return row * columns + column, (int(rows), int(columns))


def counts(grid: Pixels, weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """How many points, or how much weight, each pixel has."""
    index, shape = grid
    return np.bincount(index, weights, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)


def means(grid: Pixels, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean of the values in each pixel, NaN in empty ones."""
    number = counts(grid)
    return np.divide(counts(grid, values), number, out=np.full(number.shape, np.nan), where=number > 0)


def image(grid: Pixels, colouring: Categories | Numbers) -> NDArray[np.float64]:
    """What there is in every pixel, as red, green, blue and opacity."""
    return blend(grid, colouring) if isinstance(colouring, Categories) else average(grid, colouring)


def blend(grid: Pixels, categories: Categories) -> NDArray[np.float64]:
    """In each pixel the colours of the categories by their shares, more opaque where points are dense.

    Shares are mixed as light, by squares, which keeps the mixture as bright as its parts. Points of a lower layer
    count only where there is none of a higher one.
    """
    number = counts(grid)
    rgba = np.ones((*number.shape, 4))
    layers, squares = categories.layers, categories.rgb**2
    for layer in np.unique(layers):
        part = layers == layer
        grid_part = (grid[0][part], grid[1])
        occupied = counts(grid_part) > 0
        for channel in range(3):
            rgba[occupied, channel] = np.sqrt(means(grid_part, squares[part, channel])[occupied])
    rgba[..., 3] = _opacity(number)
    return rgba.clip(0.0, 1.0)


def _opacity(number: NDArray[np.float64]) -> NDArray[np.float64]:
    """Opacity that grows with the logarithm of the count, 0 for none."""
    full = max(float(np.percentile(number[number > 0], FULL)), 2.0)
    return np.where(number > 0, FAINTEST + (1.0 - FAINTEST) * np.log(number.clip(1.0)) / np.log(full), 0.0)


def average(grid: Pixels, numbers: Numbers) -> NDArray[np.float64]:
    """In each pixel the colour of the mean number; grey where all its points miss it."""
    known = ~np.isnan(numbers.values)
    mean = means((grid[0][known], grid[1]), numbers.values[known])
    rgba = numbers.scale.to_rgba(mean)
    rgba[counts(grid) == 0] = (1.0, 1.0, 1.0, 0.0)
    return rgba
