"""Draw the elements that pictures of several experiments share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from snekhorn.colors import categorical
from snekhorn.plots.canvas import INK, TEXT, new_figure, plain_spines, set_titles

__all__ = ["categorical", "class_legend", "curves", "dress", "legend", "log_axis", "panels", "set_titles"]

PANEL = 3.0  # inches


def panels(n: int, *, columns: int = 4, width: float = PANEL, height: float = PANEL) -> tuple[Figure, list[Axes]]:
    """Create a figure with n axes, up to `columns` of them side by side."""
    columns = min(columns, n)
    rows = -(-n // columns)
    figure = new_figure(width * columns, height * rows)
    return figure, [figure.add_subplot(rows, columns, i + 1) for i in range(n)]


def curves(
    ax: Axes, lines: Mapping[str, tuple[Sequence[Any], Sequence[Any]]], names: Iterable[str], **texts: str
) -> None:
    """Draw lines through points; a name has the same colour in all axes of a figure."""
    all_names = list(names)
    colours = dict(zip(all_names, categorical(len(all_names)), strict=True))
    for name, (places, values) in lines.items():
        order = np.argsort(places)
        line = np.asarray(places)[order], np.asarray(values)[order]
        ax.plot(*line, "o-", markersize=3, color=colours[name], label=name)
    dress(ax, **texts)


def dress(ax: Axes, *, title: str, x: str = "", y: str = "") -> None:
    """Add the title and the axis labels."""
    ax.set_xlabel(x, fontsize=TEXT, color=INK)
    ax.set_ylabel(y, fontsize=TEXT, color=INK)
    plain_spines(ax)
    set_titles(ax, title, "")


def log_axis(ax: Axes, largest: float) -> None:
    """Make the horizontal axis logarithmic, with a few plain tick labels."""
    ticks = [tick for tick in (2, 5, 10, 20, 50, 100, 200, 500, 1000) if tick <= largest]
    ax.set_xscale("log")
    ax.set_xticks(ticks, labels=[str(tick) for tick in ticks])
    ax.set_xticks([], minor=True)


def legend(figure: Figure, axes: Iterable[Axes], *, columns: int = 3) -> None:
    """Add one legend for all axes below them."""
    found = [ax.get_legend_handles_labels() for ax in axes]
    shown = {label: handle for handles, labels in found for handle, label in zip(handles, labels, strict=True)}
    if shown:
        texts, handles = list(shown), list(shown.values())
        figure.legend(handles, texts, loc="outside lower center", ncols=columns, frameon=False, fontsize=TEXT)


def class_legend(figure: Figure, names: Sequence[str]) -> None:
    """Add a legend of the class colours of `plots.scatter` below all axes."""
    dots = [
        Line2D([], [], marker="o", linestyle="", color=colour, label=name)
        for name, colour in zip(names, categorical(len(names)), strict=True)
    ]
    figure.legend(handles=dots, loc="outside lower center", ncols=min(len(dots), 10), frameon=False, fontsize=TEXT)
