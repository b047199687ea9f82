"""The points of a layout on axes: as points or, where they are many, as an image."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from .density import image, pixels
from .values import Categories, Numbers

RASTERIZED = 3_000  # points from which they are pixels in vector files, text staying text
SIZE = 0.8  # points^2 of ink, times the side of the axes in points over the square root of the number of points
SMALLEST, LARGEST = 0.5, 45.0  # points^2
RIMMED = 15.0  # points^2 from which a white rim parts neighbours


def draw_points(ax: Any, Z: NDArray[np.float64], colouring: Categories | Numbers) -> None:
    """Every point, those of one layer in a random but fixed order, so that no category hides another."""
    order = np.random.default_rng(0).permutation(len(Z))
    order = order[np.argsort(colouring.layers[order], kind="stable")]
    size = point_size(ax, len(Z))
    ax.scatter(
        *Z[order].T,
        c=colouring.rgb[order],
        s=size,
        alpha=opacity(len(Z)),
        edgecolors="white" if size > RIMMED else "none",
        linewidths=0.5 if size > RIMMED else 0.0,
        rasterized=len(Z) > RASTERIZED,
    )


def draw_density(ax: Axes, Z: NDArray[np.float64], colouring: Categories | Numbers, box: NDArray[np.float64]) -> None:
    """An image of how many points there are, or of their mean number."""
    extent: Any = tuple(box.ravel())
    ax.imshow(image(pixels(Z, box), colouring), extent=extent, origin="lower", interpolation="nearest")


def point_size(ax: Axes, n: int) -> float:
    """Area of a point, in points^2: large enough to be seen, small enough to leave others to be seen."""
    box = ax.get_position()
    figure: Any = ax.figure
    side = 72.0 * min(box.width * figure.bbox.width, box.height * figure.bbox.height) / figure.dpi
    return float(np.clip(SIZE * side / np.sqrt(n), SMALLEST, LARGEST))


def opacity(n: int) -> float:
    """From 0.9 for a hundred points to 0.5 for a hundred thousand."""
    return float(np.clip(1.25 - 0.15 * np.log10(n), 0.4, 0.9))
