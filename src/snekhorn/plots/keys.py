"""What the colours mean: legends, colour bars, and a note on points that have none."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase
from matplotlib.legend import Legend
from matplotlib.lines import Line2D

from ..colors import MISSING
from .canvas import INK, SMALL, SOFT_INK, TEXT, note
from .values import Categories, Numbers

LONGEST_NAME = 32  # characters
MOST_COLUMNS = 3
LINE = 1.5  # height of an entry, in sizes of the font
BAR_LENGTH, BAR_WIDTH = 2.5, 0.11  # inches; the length is bounded by shares of the height of the figure
SMALLEST_FONT = 5.5  # points


def draw_legend(host: Axes | FigureBase, categories: Categories, label: str, height: float, **place: Any) -> Legend:
    """A legend, in as few columns as let it fit into the height (inches)."""
    entries = list(zip(categories.names, categories.colours, strict=True))
    if categories.n_missing:
        entries.append((missing_note(categories), MISSING))
    handles = [Line2D([], [], linestyle="", marker="o", markersize=5.5, markeredgewidth=0, color=c) for _, c in entries]
    columns, font = _columns(len(entries) + bool(label), height)
    legend = host.legend(
        handles,
        [str(i) for i in range(len(entries))],  # names are set below: Matplotlib leaves out those with a leading _
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
        text.set(text=shortened(name), color=INK, parse_math=False)
    legend.get_title().set_parse_math(False)
    return legend


def _columns(n_entries: int, height: float) -> tuple[int, float]:
    """Columns and size of the font with which so many entries fit; three and a small one if nothing does."""
    for columns in range(1, MOST_COLUMNS + 1):
        rows = -(-n_entries // columns)
        font = 72.0 * height / (LINE * rows)
        if font >= SMALL:
            return columns, min(font, TEXT)
    return MOST_COLUMNS, max(font, SMALLEST_FONT)


def shortened(name: str) -> str:
    """A name that leaves room for the picture; its middle goes, because long names often differ at one end only."""
    half = LONGEST_NAME // 2
    return name if len(name) <= LONGEST_NAME else f"{name[: half - 1].rstrip()}…{name[-half:].lstrip()}"


def missing_note(colouring: Categories | Numbers) -> str:
    """How many points have no value."""
    return f"missing ({colouring.n_missing:,})"


def draw_missing_note(ax: Axes, colouring: Categories | Numbers) -> None:
    """Below the left edge, what the grey points are, where no legend says it."""
    if not colouring.n_missing:
        return
    corner = (0.0, 0.0, "axes fraction", "axes fraction")
    note(ax, "●", corner, (0, -4), va="top", color=MISSING)
    note(ax, missing_note(colouring), corner, (9, -4), va="top")


def draw_colour_bar(figure: Any, numbers: Numbers, label: str, axes: Axes | list[Axes]) -> None:
    """A slim bar beside the axes, with pointed ends where numbers are beyond the scale."""
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
    bar.set_label(label, color=INK, fontsize=TEXT, parse_math=False)
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=SOFT_INK, labelsize=SMALL, length=2)
    bar.ax.yaxis.get_offset_text().set(color=SOFT_INK, fontsize=SMALL)
    bar.formatter.set_useMathText(True)


def widen(legend: Legend) -> None:
    """Give a figure that is the library's own the room that its legend takes."""
    figure: Any = legend.figure
    width, height = figure.get_size_inches()
    figure.set_size_inches(width + np.ceil(legend.get_window_extent().width) / figure.dpi + 0.1, height)
