"""Names of categories written on their points, where each has a place of its own."""

from textwrap import fill

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import Stroke
from matplotlib.text import Text
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from .canvas import INK, TEXT, lay_out
from .keys import shortened
from .values import Categories

CELLS = 64  # a side of the grid on which the densest places are found
BLUR = 2.5  # cells
NEAR = 5  # cells around the densest one whose points are averaged; a peak has points within sqrt(2) blurs
OWN_SHARE = 0.6  # of the density at its densest place that a category must have there
GAP = 2.0  # pixels at least between labels
FARTHEST = 3.0  # times its height that a label may move from its place
ROUNDS = 200
LINE_WIDTH = 16  # characters
HALO = Stroke(linewidth=3.0, foreground="white")
LABEL = "category"  # what labels are known by among the texts of the axes, and in SVG files


def densest_places(
    Z: NDArray[np.float64], categories: Categories, box: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The middle of the points where each category is densest, and its share of the density there."""
    k = len(categories.names)
    cell = ((Z - box[:, 0]) / (box[:, 1] - box[:, 0]) * CELLS).astype(np.int64).clip(0, CELLS - 1)
    index = (categories.codes * CELLS + cell[:, 0]) * CELLS + cell[:, 1]
    number = np.bincount(index[categories.codes >= 0], minlength=k * CELLS**2).reshape(k, CELLS, CELLS)
    smooth = gaussian_filter(number.astype(np.float64), (0.0, BLUR, BLUR), mode="constant")
    peak = smooth.reshape(k, -1).argmax(axis=1)
    share = smooth.reshape(k, -1)[np.arange(k), peak] / smooth.sum(axis=0).ravel()[peak]
    middle = np.stack(np.unravel_index(peak, (CELLS, CELLS)), axis=1)
    near = (np.abs(cell - middle[categories.codes]) <= NEAR).all(axis=1) & (categories.codes >= 0)
    sums = [np.bincount(categories.codes[near], column[near], minlength=k) for column in Z.T]
    return np.stack(sums, axis=1) / np.bincount(categories.codes[near], minlength=k)[:, None], share


def draw_labels(ax: Axes, Z: NDArray[np.float64], categories: Categories, *, insist: bool) -> bool:
    """Write the names on the points and return True, or write nothing and return False.

    Nothing is written if the names do not fit or, unless one insists, if a category is nowhere in the majority.
    """
    places, share = densest_places(Z, categories, np.array([ax.get_xlim(), ax.get_ylim()]))
    if not insist and share.min() < OWN_SHARE:
        return False
    lay_out(ax)
    names = [fill(shortened(name), LINE_WIDTH) for name in categories.names]
    texts = [_label(ax, place, name) for place, name in zip(places, names, strict=True)]
    extents = [text.get_window_extent() for text in texts]
    sizes = np.array([(extent.width, extent.height) for extent in extents]) + GAP
    start = ax.transData.transform(places)
    centres = spread(start, sizes, np.array(ax.get_window_extent().get_points()))
    moved = np.abs(centres - start).max(axis=1)
    if overlaps(centres, sizes).any() or (moved > FARTHEST * sizes[:, 1]).any():
        erase_labels(ax)
        return False
    for text, place in zip(texts, ax.transData.inverted().transform(centres), strict=True):
        text.set_position(tuple(place))
        # The halo is a text of its own: with it, the text would not be text in vector files.
        _label(ax, place, text.get_text()).set(path_effects=[HALO], zorder=text.get_zorder() - 0.1)
    return True


def erase_labels(ax: Axes) -> None:
    """Take back what `draw_labels` wrote."""
    for text in list(ax.texts):
        if text.get_gid() == LABEL:
            text.remove()


def overlaps(centres: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which pairs of boxes overlap, each pair once."""
    return np.triu((_depths(centres, sizes) > 0.0).all(axis=2), k=1)


def spread(
    centres: NDArray[np.float64], sizes: NDArray[np.float64], bounds: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Centres of boxes, pushed apart along the shorter way until none overlap, or for a limited number of rounds.

    Boxes stay within the bounds, given by their lower left and upper right corners.
    """
    low = bounds[0] + sizes / 2.0
    high = np.maximum(bounds[1] - sizes / 2.0, low)
    centres = centres.clip(low, high)
    for _ in range(ROUNDS):
        pairs = np.argwhere(overlaps(centres, sizes))
        if not pairs.size:
            break
        for i, j in pairs:
            depth = (sizes[i] + sizes[j]) / 2.0 - np.abs(centres[i] - centres[j])
            axis = int(depth.argmin())
            push = max(float(depth[axis]), 0.0) / 2.0 + 0.01  # a little more, or rounding leaves an overlap
            push = push if centres[i, axis] <= centres[j, axis] else -push
            centres[i, axis] -= push
            centres[j, axis] += push
        centres = centres.clip(low, high)
    return centres


def _depths(centres: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """How deep boxes are in each other, along each axis."""
    return (sizes[:, None] + sizes) / 2.0 - np.abs(centres[:, None] - centres)


def _label(ax: Axes, place: NDArray[np.float64], name: str) -> Text:
    text = ax.text(place[0], place[1], name, ha="center", va="center", gid=LABEL)
    text.set(fontsize=TEXT + 1, fontweight="bold", color=INK)
    text.set_parse_math(False)  # a dollar sign in the data is one
    return text
