"""Draw one layout, or several side by side, with a legend or a colour bar."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..colors import MISSING
from ..errors import InputError
from ..runtime.checks import check_choice, check_count, check_mapping
from .canvas import SIDE, Points, add_axes, check_drawable, check_words, hide_axes, limits, new_figure, set_titles
from .legends import draw_color_bar, draw_labels, draw_legend, draw_missing_note, erase_labels, make_room
from .panels import draw_panel
from .point_colors import Categories, Numbers, Palette, encode

LegendPlace = Literal["auto", "labels", "outside", "none"]
BoolOrAuto = bool | Literal["auto"]

MAX_LABELS = 12  # more names on the points would be hard to find, so they go into a legend
SHEET_WIDTH = 10.0  # inches
MIN_PANEL, MAX_PANEL = 3.2, 5.0  # inches, side of a panel of a sheet
HEADING = 0.4  # inches, height of a panel's title


def scatter(
    Z: Any,
    values: Any = None,
    *,
    background: Any = None,
    ax: Axes | None = None,
    title: str = "",
    subtitle: str = "",
    label: str = "",
    legend: LegendPlace = "auto",
    density: BoolOrAuto = "auto",
    categorical: BoolOrAuto = "auto",
    palette: Palette | None = None,
    colormap: str = "viridis",
) -> Axes:
    """Draw a layout: a histogram in one dimension, points in two dimensions, points in perspective in three.

    See `snekhorn.plots` for the parameters. Axes for a three-dimensional layout need projection="3d".

    Parameters
    ----------
    background : array of shape (m, 2) or None, default=None
        Further points, drawn in grey below the others, such as the layout in which new points have been placed.
    """
    check_words(ax, title=title, subtitle=subtitle, label=label)
    _check_choices(legend, density, categorical)
    Z = check_drawable(Z)
    shown = Z if background is None else np.concatenate([_check_background(background, Z), Z])
    coloring = encode(values, len(Z), categorical=categorical, palette=palette, colormap=colormap)
    own_figure = ax is None
    if ax is None:
        ax = _new_axes(shown)
    if background is not None:
        below = shown[: len(shown) - len(Z)]
        draw_panel(ax, below, Categories(np.zeros(len(below), dtype=np.int64), [""], [MISSING]), density=density)
    draw_panel(ax, Z, coloring, density=density)
    if background is not None:
        hide_axes(ax, limits(shown))
    set_titles(ax, title, subtitle)
    if legend == "none":
        return ax
    if isinstance(coloring, Numbers):
        draw_color_bar(ax.figure, coloring, label, ax)
    elif coloring.named and not _write_labels(ax, Z, coloring, legend):
        height = ax.get_window_extent().height / ax.figure.dpi
        outside = draw_legend(ax, coloring, label, height, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        if own_figure:
            make_room(outside)
        return ax
    draw_missing_note(ax, coloring)
    return ax


def sheet(
    layouts: Mapping[str, Any],
    values: Any = None,
    *,
    subtitles: Mapping[str, str] | None = None,
    columns: int | Literal["auto"] = "auto",
    label: str = "",
    legend: LegendPlace = "auto",
    density: BoolOrAuto = "auto",
    categorical: BoolOrAuto = "auto",
    palette: Palette | None = None,
    colormap: str = "viridis",
) -> Figure:
    """Draw several layouts of the same points side by side, with one legend or colour bar for all.

    See `snekhorn.plots` for the parameters not listed here. With legend="labels", names are written on the points of
    every panel.

    Parameters
    ----------
    layouts : mapping of str to array
        The layouts, keyed by their titles.
    subtitles : mapping of str to str, optional
        Subtitles of some of the layouts, keyed by their titles.
    columns : int or "auto", default="auto"
        Number of layouts per row.
    """
    check_words(label=label)
    _check_choices(legend, density, categorical)
    if subtitles is not None:
        check_mapping(subtitles, "subtitles", "pass the subtitles by the titles of their layouts")
    arrays = _check_layouts(layouts)
    coloring = encode(
        values, len(next(iter(arrays.values()))), categorical=categorical, palette=palette, colormap=colormap
    )
    n_columns = _default_columns(len(arrays)) if columns == "auto" else check_count(columns, "columns")
    n_columns = min(n_columns, len(arrays))
    n_rows = -(-len(arrays) // n_columns)
    side = float(np.clip(SHEET_WIDTH / n_columns, MIN_PANEL, MAX_PANEL))
    figure = new_figure(side * n_columns, (side + HEADING) * n_rows)
    axes = []
    for i, (name, Z) in enumerate(arrays.items(), start=1):
        ax = add_axes(figure, Z.shape[1], n_rows, n_columns, i)
        draw_panel(ax, Z, coloring, density=density, max_elongation=1.0)
        set_titles(ax, name, (subtitles or {}).get(name, ""))
        axes.append(ax)
    if legend == "none":
        return figure
    if isinstance(coloring, Numbers):
        draw_color_bar(figure, coloring, label, axes)
        draw_missing_note(axes[0], coloring)
    elif coloring.named and not (legend == "labels" and _write_labels_on_all(axes, arrays, coloring)):
        make_room(draw_legend(figure, coloring, label, side * n_rows, loc="outside right upper"))
    return figure


def _check_choices(legend: LegendPlace, density: BoolOrAuto, categorical: BoolOrAuto) -> None:
    check_choice(legend, "legend", ("auto", "labels", "outside", "none"))
    check_choice(density, "density", ("auto", True, False))
    check_choice(categorical, "categorical", ("auto", True, False))


def _check_background(background: Any, Z: Points) -> Points:
    """Check that points can be drawn below a layout."""
    below = check_drawable(background, "background")
    if below.shape[1] != 2 or Z.shape[1] != 2:
        raise InputError(
            f"background has {below.shape[1]} columns and Z has {Z.shape[1]}, but points can be drawn above others "
            "only in two dimensions; pass two columns, or leave out background."
        )
    return below


def _check_layouts(layouts: Mapping[str, Any]) -> dict[str, Points]:
    """Check that there is at least one layout, and that all have the same number of points."""
    check_mapping(layouts, "layouts", "pass {'first': Z1, 'second': Z2}, for example, with the titles of the layouts")
    if not layouts:
        raise InputError("layouts is empty; pass at least one layout.")
    arrays = {name: check_drawable(Z, f"layouts[{name!r}]") for name, Z in layouts.items()}
    lengths = {name: len(Z) for name, Z in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(f"layouts have different numbers of points: {lengths}; pass layouts of the same points.")
    return arrays


def _new_axes(Z: Points) -> Axes:
    """Create a figure with the proportions of the layout."""
    span = np.ptp(limits(Z), axis=1) if Z.shape[1] == 2 else np.array([3.0, Z.shape[1]])
    width, height = SIDE * span / span.max()
    return add_axes(new_figure(width, height), Z.shape[1])


def _default_columns(n: int) -> int:
    """Return the number of columns: n for up to three layouts, otherwise a number that makes the sheet about square."""
    return n if n <= 3 else int(np.ceil(np.sqrt(n)))


def _write_labels(ax: Axes, Z: Points, categories: Categories, legend: LegendPlace) -> bool:
    """Write names on the points if `legend` allows it, and return whether they were written."""
    n, insist = len(categories.names), legend == "labels"
    if legend == "outside" or Z.shape[1] != 2 or not n or categories.others or (n > MAX_LABELS and not insist):
        return False
    return draw_labels(ax, Z, categories, insist=insist)


def _write_labels_on_all(axes: list[Axes], arrays: Mapping[str, Points], categories: Categories) -> bool:
    """Write names in every panel, or in none if they do not fit in one of them."""
    written = [_write_labels(ax, Z, categories, "labels") for ax, Z in zip(axes, arrays.values(), strict=True)]
    if all(written):
        draw_missing_note(axes[0], categories)
        return True
    for ax in axes:
        erase_labels(ax)
    return False
