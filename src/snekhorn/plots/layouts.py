"""A layout by itself, and several on a sheet, with what their colours mean."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ..runtime.checks import check_choice, check_count
from . import keys
from .canvas import SIDE, check_plane, limits, new_figure, set_titles
from .labels import draw_labels, erase_labels
from .panels import PROJECTIONS, draw_panel
from .values import Categories, Numbers, encode

MOST_LABELS = 12  # categories whose names are written on the points
WIDTH, PANEL, HEADING = 10.0, (3.2, 5.0), 0.4  # inches: of a sheet, a panel's side at least and at most, its title


def scatter(
    Z: Any,
    values: Any = None,
    *,
    ax: Axes | None = None,
    title: str = "",
    subtitle: str = "",
    label: str = "",
    legend: str = "auto",
    density: bool | str = "auto",
    categorical: bool | str = "auto",
    colormap: str = "viridis",
) -> Axes:
    """Draw a layout: in the plane as points, on a line as a histogram, in space in perspective.

    `snekhorn.plots` describes the parameters. Axes for a layout in space need projection="3d".
    """
    _check_choices(legend=legend, density=density, categorical=categorical)
    Z = check_plane(Z)
    colouring = encode(values, len(Z), categorical=categorical, colormap=colormap)
    own = ax is None
    if ax is None:
        ax = _new_axes(Z)
    draw_panel(ax, Z, colouring, density=density)
    set_titles(ax, title, subtitle)
    if legend == "none":
        return ax
    if isinstance(colouring, Numbers):
        keys.draw_colour_bar(ax.figure, colouring, label, ax)
    elif colouring.named and not _write_labels(ax, Z, colouring, legend):
        height = ax.get_window_extent().height / ax.figure.dpi
        outside = keys.draw_legend(ax, colouring, label, height, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        if own:
            keys.widen(outside)
        return ax
    keys.draw_missing_note(ax, colouring)
    return ax


def sheet(
    layouts: Mapping[str, Any],
    values: Any = None,
    *,
    subtitles: Mapping[str, str] | None = None,
    columns: int | str = "auto",
    label: str = "",
    legend: str = "auto",
    density: bool | str = "auto",
    categorical: bool | str = "auto",
    colormap: str = "viridis",
) -> Figure:
    """Draw several layouts of the same points, by their names, with one legend or colour bar for all.

    `subtitles` has more to say of some of them, by name; `columns` is how many stand beside each other. With
    legend="labels" names are written on the points of every panel. `snekhorn.plots` describes the other parameters.
    """
    _check_choices(legend=legend, density=density, categorical=categorical)
    arrays = _check_layouts(layouts)
    colouring = encode(values, len(next(iter(arrays.values()))), categorical=categorical, colormap=colormap)
    n_columns = _columns(len(arrays)) if columns == "auto" else min(check_count(columns, "columns"), len(arrays))
    n_rows = -(-len(arrays) // n_columns)
    side = float(np.clip(WIDTH / n_columns, *PANEL))
    figure = new_figure(side * n_columns, (side + HEADING) * n_rows)
    axes = []
    for i, (name, Z) in enumerate(arrays.items(), start=1):
        ax = figure.add_subplot(n_rows, n_columns, i, projection=PROJECTIONS[Z.shape[1]])
        draw_panel(ax, Z, colouring, density=density, longest=1.0)
        set_titles(ax, name, (subtitles or {}).get(name, ""))
        axes.append(ax)
    if legend == "none":
        return figure
    if isinstance(colouring, Numbers):
        keys.draw_colour_bar(figure, colouring, label, axes)
        keys.draw_missing_note(axes[0], colouring)
    elif colouring.named and not (legend == "labels" and _write_labels_on_all(axes, arrays, colouring)):
        keys.widen(keys.draw_legend(figure, colouring, label, side * n_rows, loc="outside right upper"))
    return figure


def _check_choices(*, legend: str, density: bool | str, categorical: bool | str) -> None:
    check_choice(legend, "legend", ("auto", "labels", "outside", "none"))
    check_choice(density, "density", ("auto", True, False))
    check_choice(categorical, "categorical", ("auto", True, False))


def _check_layouts(layouts: Mapping[str, Any]) -> dict[str, NDArray[np.float64]]:
    """Layouts as arrays of the same number of points."""
    arrays = {name: check_plane(Z, f"layouts[{name!r}]") for name, Z in layouts.items()}
    lengths = {name: len(Z) for name, Z in arrays.items()}
    if len(set(lengths.values())) != 1:
        raise ValueError(f"layouts must have the same points, at least one layout, got {lengths} points.")
    return arrays


def _new_axes(Z: NDArray[np.float64]) -> Axes:
    """Axes of a figure as long and as wide as the layout is."""
    span = np.ptp(limits(Z), axis=1) if Z.shape[1] == 2 else np.array([3.0, Z.shape[1]])
    width, height = SIDE * span / span.max()
    return new_figure(width, height).add_subplot(projection=PROJECTIONS[Z.shape[1]])


def _columns(n: int) -> int:
    """Up to three in a row, else as many as make the sheet about square."""
    return n if n <= 3 else int(np.ceil(np.sqrt(n)))


def _write_labels(ax: Axes, Z: NDArray[np.float64], categories: Categories, legend: str) -> bool:
    """Whether names could be written on the points, if they should be."""
    n, insist = len(categories.names), legend == "labels"
    if legend == "outside" or Z.shape[1] != 2 or not n or categories.others or (n > MOST_LABELS and not insist):
        return False
    return draw_labels(ax, Z, categories, insist=insist)


def _write_labels_on_all(axes: list[Axes], arrays: Mapping[str, NDArray[np.float64]], categories: Categories) -> bool:
    """Whether names could be written in every panel; they are in none otherwise."""
    written = [_write_labels(ax, Z, categories, "labels") for ax, Z in zip(axes, arrays.values(), strict=True)]
    if all(written):
        keys.draw_missing_note(axes[0], categories)
        return True
    for ax in axes:
        erase_labels(ax)
    return False
