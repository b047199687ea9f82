"""One layout on axes: on a line, in the plane or in space."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from ..colors import MISSING
from .canvas import LONGEST, SOFT_INK, bare, limits
from .points import draw_density, draw_points
from .values import Categories, Numbers

MOST_POINTS = 100_000  # drawn one by one
PROJECTIONS = {1: "rectilinear", 2: "rectilinear", 3: "3d"}
LEAST_BINS, MOST_BINS = 10, 120


def draw_panel(
    ax: Axes,
    Z: NDArray[np.float64],
    colouring: Categories | Numbers,
    *,
    density: bool | str,
    longest: float = LONGEST,
) -> None:
    """Draw a layout of any dimension; `longest` is as in `limits`."""
    if (ax.name == "3d") != (Z.shape[1] == 3):
        raise ValueError(
            f"ax has projection {ax.name!r}, Z has {Z.shape[1]} columns; make the axes with "
            f"projection={PROJECTIONS[Z.shape[1]]!r}, or leave ax=None."
        )
    if Z.shape[1] == 1:
        _draw_line(ax, Z[:, 0], colouring)
    elif Z.shape[1] == 3:
        _draw_space(ax, Z, colouring)
    else:
        box = limits(Z, longest)
        if density if density != "auto" else len(Z) > MOST_POINTS:
            draw_density(ax, Z, colouring, box)
        else:
            draw_points(ax, Z, colouring)
        bare(ax, box)


def _draw_line(ax: Axes, z: NDArray[np.float64], colouring: Categories | Numbers) -> None:
    """A histogram: categories stacked, or bars in the colour of the mean number of their points."""
    bins = int(np.clip(2.0 * len(z) ** 0.4, LEAST_BINS, MOST_BINS))
    low, high = limits(z[:, None])[0]
    edges = np.linspace(low, high, bins + 1)
    if isinstance(colouring, Categories):
        parts = [z[colouring.codes == code] for code in range(-1, len(colouring.names))]
        ax.hist(parts, edges.tolist(), stacked=True, color=[MISSING, *colouring.colours], rwidth=0.92)
    else:
        known = ~np.isnan(colouring.values)
        number = np.histogram(z[known], edges)[0]
        total = np.histogram(z[known], edges, weights=colouring.values[known])[0]
        mean = np.divide(total, number, out=np.full(bins, np.nan), where=number > 0)
        heights = np.histogram(z, edges)[0]
        ax.bar(edges[:-1], heights, 0.92 * np.diff(edges), align="edge", color=colouring.scale.to_rgba(mean))
    ax.spines[["top", "left", "right"]].set_visible(False)
    ax.spines["bottom"].set_color(SOFT_INK)
    ax.set(xlim=(low, high), xticks=[], yticks=[])


def _draw_space(ax: Any, Z: NDArray[np.float64], colouring: Categories | Numbers) -> None:
    """Points in perspective, between walls that tell where they are."""
    draw_points(ax, Z, colouring)
    box = limits(Z)
    ax.set(xlim=box[0], ylim=box[1], zlim=box[2], xticklabels=[], yticklabels=[], zticklabels=[])
    ax.set_box_aspect(box[:, 1] - box[:, 0])
    ax.tick_params(color="none")
    for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
        axis.set_pane_color((0.97, 0.97, 0.97))
        axis.line.set_color("white")
