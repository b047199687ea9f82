"""What the pictures of several experiments share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..colors import categorical
from ..plots.canvas import INK, TEXT, new_figure, plain_spines, set_titles

PANEL = 3.0  # inches


def panels(n: int, *, columns: int = 4, width: float = PANEL, height: float = PANEL) -> tuple[Figure, list[Axes]]:
    """A figure of n axes, a few beside each other."""
    columns = min(columns, n)
    rows = -(-n // columns)
    figure = new_figure(width * columns, height * rows)
    return figure, [figure.add_subplot(rows, columns, i + 1) for i in range(n)]


def curves(ax: Axes, lines: Mapping[str, tuple[Sequence[Any], Sequence[Any]]], *, title: str, x: str, y: str) -> None:
    """Named lines through points."""
    for (name, (places, values)), colour in zip(lines.items(), categorical(max(len(lines), 1)), strict=False):
        order = np.argsort(places)
        ax.plot(np.asarray(places)[order], np.asarray(values)[order], "o-", markersize=3, color=colour, label=name)
    dress(ax, title=title, x=x, y=y)


def dress(ax: Axes, *, title: str, x: str = "", y: str = "") -> None:
    ax.set_xlabel(x, fontsize=TEXT, color=INK)
    ax.set_ylabel(y, fontsize=TEXT, color=INK)
    plain_spines(ax)
    set_titles(ax, title, "")


def logarithmic(ax: Axes, largest: float) -> None:
    """A logarithmic axis with a few plain numbers."""
    ticks = [tick for tick in (2, 5, 10, 20, 50, 100, 200, 500, 1000) if tick <= largest]
    ax.set_xscale("log")
    ax.set_xticks(ticks, labels=[str(tick) for tick in ticks])
    ax.set_xticks([], minor=True)


def legend(figure: Figure, ax: Axes, *, columns: int = 3) -> None:
    """One legend of all axes, below them."""
    handles, labels = ax.get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize=TEXT)
