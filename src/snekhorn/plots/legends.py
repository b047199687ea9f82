"""Explain the colours: legends, colour bars, and names written on the points."""

from __future__ import annotations

from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateFormatter, AutoDateLocator, num2date
from matplotlib.figure import FigureBase
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patheffects import Stroke
from matplotlib.text import Text
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from ..colors import MISSING
from .canvas import INK, SMALL, SOFT_INK, TEXT, Points, add_note, apply_layout
from .point_colors import Categories, Numbers

MAX_NAME = 32  # characters; longer names leave too little room for the picture
MAX_COLUMNS = 3  # of a legend
LINE_HEIGHT = 1.5  # of a legend entry, relative to the font size
SMALLEST_FONT = 5.5  # points
HOUR, MINUTE = 1.0 / 24.0, 1.0 / 1440.0  # in days
MAX_DATES = 6  # along a colour bar; more overlap
BAR_LENGTH, BAR_WIDTH = 2.5, 0.11  # inches; the length stays within 60 to 90 per cent of the figure's height

# Labels on points. The density of each category is estimated on a grid of GRID x GRID bins.
GRID = 64
BLUR = 2.5  # bins; if smaller, a few points that happen to be close outweigh the bulk of a category
NEAR = 5  # bins around the densest bin whose points are averaged; a peak has points within sqrt(2) blurs
MIN_SHARE = 0.6  # share of the density that a category needs at its densest place to be labelled there
GAP = 2.0  # pixels between labels
MAX_COVERED = 0.3  # share of its own points that a label may cover; more hides small groups, less moves many labels
MARKER = 3.0  # pixels around the centre of a point, so that labels beside a group do not touch its points
MAX_SHIFT = 3.0  # in label heights; labels moved farther would seem to name other points
ROUNDS = 200  # maximum number of rounds of pushing labels apart
LINE_LENGTH = 16  # characters
# Around names; a wider or more opaque halo hides points of small groups, a fainter one leaves names hard to read.
HALO = Stroke(linewidth=2.0, foreground="white", alpha=0.6)
NOTHING = np.empty((0, 2))
LABEL_ID = "category"  # marks labels among the texts of the axes, and in SVG files


def draw_legend(host: Axes | FigureBase, categories: Categories, label: str, height: float, **place: Any) -> Legend:
    """Draw a legend with the smallest number of columns that fits into the height (in inches)."""
    entries = list(zip(categories.names, categories.colors, strict=True))
    if categories.n_missing:
        entries.append((_missing_text(categories), MISSING))
    handles = [Line2D([], [], linestyle="", marker="o", markersize=5.5, markeredgewidth=0, color=c) for _, c in entries]
    columns, font = _legend_columns(len(entries) + bool(label), height)
    legend = host.legend(
        handles,
        [str(i) for i in range(len(entries))],  # replaced below, because Matplotlib omits names with a leading _
        ncols=columns,
        fontsize=font,
        title=label or None,
        title_fontsize=TEXT,
        alignment="left",
        frameon=False,
        labelspacing=0.35,
        handletextpad=0.2,
        columnspacing=1.0,
        **place,
    )
    for text, (name, _) in zip(legend.get_texts(), entries, strict=True):
        text.set(text=_shortened(name), color=INK, parse_math=False)
    legend.get_title().set_parse_math(False)
    return legend


def _legend_columns(n_entries: int, height: float) -> tuple[int, float]:
    """Return the number of columns and the font size; if nothing fits, three columns in a small font."""
    for columns in range(1, MAX_COLUMNS + 1):
        rows = -(-n_entries // columns)
        font = 72.0 * height / (LINE_HEIGHT * rows)
        if font >= SMALL:
            return columns, min(font, TEXT)
    return MAX_COLUMNS, max(font, SMALLEST_FONT)


def _shortened(name: str) -> str:
    """Cut the middle out of a long name, because long names often differ only at one end."""
    half = MAX_NAME // 2
    return name if len(name) <= MAX_NAME else f"{name[: half - 1].rstrip()}…{name[-half:].lstrip()}"


def _missing_text(coloring: Categories | Numbers) -> str:
    return f"missing ({coloring.n_missing:,})"


def draw_missing_note(ax: Axes, coloring: Categories | Numbers) -> None:
    """Explain grey points below the left edge, unless there are none or a legend explains them."""
    if not coloring.n_missing:
        return
    corner = (0.0, 0.0, "axes fraction", "axes fraction")
    add_note(ax, "●", corner, (0, -4), va="top", color=MISSING)
    add_note(ax, _missing_text(coloring), corner, (9, -4), va="top")


def draw_color_bar(figure: Any, numbers: Numbers, label: str, axes: Axes | list[Axes]) -> None:
    """Draw a slim colour bar next to the axes, with pointed ends if numbers exceed the scale."""
    height = figure.bbox.height / figure.dpi
    share = float(np.clip(BAR_LENGTH / height, 0.6, 0.9))
    bar = figure.colorbar(
        numbers.scale,
        ax=axes,
        extend=numbers.extend,
        extendfrac=0.025,
        shrink=share,
        aspect=share * height / BAR_WIDTH,
        pad=0.02,
    )
    label = " ".join(filter(None, (label, f"({numbers.unit})" if numbers.unit else "")))
    bar.set_label(label, color=INK, fontsize=TEXT, parse_math=False)
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=SOFT_INK, labelsize=SMALL, length=2)
    bar.ax.yaxis.get_offset_text().set(color=SOFT_INK, fontsize=SMALL)
    if numbers.are_dates and numbers.low == numbers.high:
        bar.set_ticks([numbers.low], labels=[_date_text(numbers.low)])  # other dates may be outside the calendar
    elif numbers.are_dates:
        bar.locator = AutoDateLocator(maxticks=MAX_DATES)  # type: ignore[no-untyped-call]
        bar.formatter = AutoDateFormatter(bar.locator)  # type: ignore[no-untyped-call]
        bar.formatter.scaled |= dict.fromkeys([HOUR, MINUTE], "%m-%d %H:%M")  # by default, parts are missing
    else:
        bar.formatter.set_useMathText(True)


def _date_text(days: float) -> str:
    """Return a date, with the time of day unless it is midnight."""
    text: str = num2date(days).isoformat(" ", "minutes")  # type: ignore[no-untyped-call]
    return text.removesuffix("+00:00").removesuffix(" 00:00")


def make_room(legend: Legend) -> None:
    """Widen the figure by the width of its legend."""
    figure: Any = legend.figure
    width, height = figure.get_size_inches()
    figure.set_size_inches(width + np.ceil(legend.get_window_extent().width) / figure.dpi + 0.1, height)


def draw_labels(ax: Axes, Z: Points, categories: Categories, *, insist: bool) -> bool:
    """Write the names of the categories on their points, and return whether this was possible.

    Nothing is written if the names do not fit. If `insist` is False, nothing is written either if a category dominates
    nowhere, or if the names of small groups do not fit beside them.
    """
    places, share = densest_places(Z, categories, np.array([ax.get_xlim(), ax.get_ylim()]))
    if not insist and share.min() < MIN_SHARE:
        return False
    apply_layout(ax)
    names = [fill(_shortened(name), LINE_LENGTH) for name in categories.names]
    texts = [_add_label(ax, place, name) for place, name in zip(places, names, strict=True)]
    extents = [text.get_window_extent() for text in texts]
    sizes = np.array([(extent.width, extent.height) for extent in extents]) + GAP
    bounds = np.array(ax.get_window_extent().get_points())
    pixels, on_points = ax.transData.transform(Z), ax.transData.transform(places)
    start, groups = beside_small_groups(pixels, categories, on_points, sizes, top=bounds[1, 1])
    centers = _free_places(start, sizes, bounds, groups)
    if centers is None and insist:
        centers = _free_places(on_points, sizes, bounds, groups[:0])
    if centers is None:
        erase_labels(ax)
        return False
    for text, place in zip(texts, ax.transData.inverted().transform(centers), strict=True):
        text.set_position(tuple(place))
        # The halo is a second text, because vector files store text with path effects as outlines.
        _add_label(ax, place, text.get_text()).set(path_effects=[HALO], zorder=text.get_zorder() - 0.1)
    return True


def densest_places(Z: Points, categories: Categories, box: Points) -> tuple[Points, Points]:
    """Return the mean position of the points where each category is densest, and its share of the density there."""
    k = len(categories.names)
    bins = ((Z - box[:, 0]) / (box[:, 1] - box[:, 0]) * GRID).astype(np.int64).clip(0, GRID - 1)
    index = (categories.codes * GRID + bins[:, 0]) * GRID + bins[:, 1]
    number = np.bincount(index[categories.codes >= 0], minlength=k * GRID**2).reshape(k, GRID, GRID)
    smooth = gaussian_filter(number.astype(np.float64), (0.0, BLUR, BLUR), mode="constant")
    peak = smooth.reshape(k, -1).argmax(axis=1)
    share = smooth.reshape(k, -1)[np.arange(k), peak] / smooth.sum(axis=0).ravel()[peak]
    middle = np.stack(np.unravel_index(peak, (GRID, GRID)), axis=1)
    near = (np.abs(bins - middle[categories.codes]) <= NEAR).all(axis=1) & (categories.codes >= 0)
    sums = [np.bincount(categories.codes[near], column[near], minlength=k) for column in Z.T]
    return np.stack(sums, axis=1) / np.bincount(categories.codes[near], minlength=k)[:, None], share


def _free_places(start: Points, sizes: Points, bounds: Points, groups: Points) -> Points | None:
    """Move labels off each other and off small groups; return None if they do not fit, or not near their points."""
    fixed, fixed_sizes = groups.mean(axis=1), np.ptp(groups, axis=1)
    centers = push_apart(start, sizes, bounds, fixed, fixed_sizes)
    covering = overlaps(np.vstack([centers, fixed]), np.vstack([sizes, fixed_sizes]))[: len(centers)]
    shift = np.abs(centers - start).max(axis=1)
    return None if covering.any() or (shift > MAX_SHIFT * sizes[:, 1]).any() else centers


def beside_small_groups(
    pixels: Points, categories: Categories, places: Points, sizes: Points, *, top: float
) -> tuple[Points, Points]:
    """Move labels that would hide their own points above them, or below them where that would exceed the top.

    Return the centres of the labels, and the lower-left and upper-right corners of the groups that would be hidden.
    """
    centers, groups = places.copy(), []
    for code, (place, size) in enumerate(zip(places, sizes, strict=True)):
        own = pixels[categories.codes == code]
        distance = np.abs(own - place) / size
        if (distance < 0.5).all(axis=1).mean() <= MAX_COVERED:
            continue
        group = own[(distance < 1.0).all(axis=1)]
        corners = np.array([group.min(axis=0) - MARKER, group.max(axis=0) + MARKER])
        above = corners[1, 1] + size[1] <= top
        edge = corners[1, 1] + size[1] / 2.0 if above else corners[0, 1] - size[1] / 2.0
        centers[code] = corners[:, 0].mean(), edge
        groups.append(corners)
    return centers, np.array(groups).reshape(-1, 2, 2)


def push_apart(
    centers: Points, sizes: Points, bounds: Points, fixed: Points = NOTHING, fixed_sizes: Points = NOTHING
) -> Points:
    """Move overlapping boxes apart, each pair along the axis of least overlap, for a limited number of rounds.

    Boxes stay within the bounds, given by their lower-left and upper-right corners. Fixed boxes do not move.
    """
    n = len(centers)
    low = bounds[0] + sizes / 2.0
    high = np.maximum(bounds[1] - sizes / 2.0, low)
    sizes = np.vstack([sizes, fixed_sizes])
    places = np.vstack([centers.clip(low, high), fixed])
    for _ in range(ROUNDS):
        pairs = np.argwhere(overlaps(places, sizes)[:n])
        if not pairs.size:
            break
        for i, j in pairs:
            depth = (sizes[i] + sizes[j]) / 2.0 - np.abs(places[i] - places[j])
            axis = int(depth.argmin())
            push = max(float(depth[axis]), 0.0) + 0.02  # a little extra, because rounding could leave an overlap
            push = push if places[i, axis] <= places[j, axis] else -push
            places[i, axis] -= push / 2.0 if j < n else push
            places[j, axis] += push / 2.0 if j < n else 0.0
        places[:n] = places[:n].clip(low, high)
    return places[:n]


def overlaps(centers: Points, sizes: Points) -> NDArray[np.bool_]:
    """Return which pairs of boxes overlap, each pair once."""
    depth = (sizes[:, None] + sizes) / 2.0 - np.abs(centers[:, None] - centers)
    return np.triu((depth > 0.0).all(axis=2), k=1)


def erase_labels(ax: Axes) -> None:
    """Remove the labels written by `draw_labels`."""
    for text in list(ax.texts):
        if text.get_gid() == LABEL_ID:
            text.remove()


def _add_label(ax: Axes, place: Points, name: str) -> Text:
    text = ax.text(place[0], place[1], name, ha="center", va="center", gid=LABEL_ID)
    text.set(fontsize=TEXT + 1, fontweight="bold", color=INK)
    text.set_parse_math(False)  # dollar signs in the data are not formulas
    return text
