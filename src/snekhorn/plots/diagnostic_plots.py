"""Draw diagnostics of the affinity and the descent: row perplexities of P, and the loss per iteration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from ..colors import categorical
from ..errors import InputError
from ..geometry.inputs import as_array
from ..runtime.checks import check_positive
from .canvas import INK, TEXT, Points, add_axes, add_note, check_words, new_figure, plain_spines, set_titles

BINS = 80
RIDGE_HEIGHT = 0.8  # height of the tallest bar; above 1, histograms would overlap
WIDE_RANGE = 8.0  # ratio of largest to smallest perplexity above which ticks are at 1, 2 and 5 times powers of ten
MIN_RANGE = 1.25  # smallest ratio that the axis spans; with less, rounding errors would fill the picture


def row_perplexities(
    perplexities: Any,
    *,
    target: float | None = None,
    ax: Axes | None = None,
    title: str = "",
    subtitle: str = "",
) -> Axes:
    """Draw histograms of the row perplexities of one or several affinities.

    Parameters
    ----------
    perplexities : array of shape (n,), or mapping of names to such arrays
        Perplexities as returned by `snekhorn.affinities.row_perplexities`. Each array gets a histogram, with its range
        next to it.
    target : float or None, default=None
        The requested perplexity, drawn as a line.
    ax, title, subtitle
        See `snekhorn.plots`.
    """
    check_words(ax, title=title, subtitle=subtitle)
    named = dict(perplexities) if isinstance(perplexities, Mapping) else {"": perplexities}
    rows = {name: _check_perplexities(values, name) for name, values in named.items()}
    if not rows:
        raise InputError("perplexities is empty; pass an array, or a mapping with at least one array.")
    if ax is None:
        ax = add_axes(new_figure(6.0, 1.2 + 0.75 * len(rows)), 2)
    together = np.concatenate(list(rows.values()))
    middle = float(np.median(together)) if target is None else check_positive(target, "target")
    edges = _bin_edges(np.append(together, middle), middle)
    for place, (values, color) in enumerate(zip(rows.values(), categorical(len(rows)), strict=True)):
        number = np.histogram(values, edges)[0]
        ax.stairs(RIDGE_HEIGHT * number / number.max() - place, edges, baseline=-place, fill=True, color=color)
        ax.axhline(-place, color=color, linewidth=0.8)
        add_note(ax, _range_text(values), (1.0, -place, "axes fraction", "data"), (4, 3))
    if target is not None:
        ax.axvline(target, color=INK, linewidth=1.0, linestyle=(0, (4, 3)))
        add_note(ax, f"target {target:g}", (target, 1.0, "data", "axes fraction"), (4, 0), va="top")
    _style_rows(ax, list(rows), edges)
    set_titles(ax, title, subtitle)
    return ax


def loss(
    iterations: Any,
    losses: Any,
    *,
    early: float | None = None,
    ax: Axes | None = None,
    title: str = "",
    subtitle: str = "",
) -> Axes:
    """Draw the loss of a descent.

    Parameters
    ----------
    iterations, losses : array of shape (n,)
        `report_.iterations` and `report_.losses` of a fitted estimator.
    early : float or None, default=None
        Iteration at which early exaggeration ended. The iterations before it are shaded.
    ax, title, subtitle
        See `snekhorn.plots`.
    """
    check_words(ax, title=title, subtitle=subtitle)
    steps, values = (
        as_array(values, name, dtype=np.float64) for name, values in (("iterations", iterations), ("losses", losses))
    )
    if steps.ndim != 1 or steps.shape != values.shape or not steps.size:
        raise InputError(
            f"iterations has shape {steps.shape} and losses {values.shape}; pass one loss per iteration, at least one."
        )
    if ax is None:
        ax = add_axes(new_figure(6.0, 3.4), 2)
    color = categorical(1)[0]
    if early is not None:
        ax.axvspan(0.0, check_positive(early, "early"), color="0.94", linewidth=0)
        add_note(ax, "early exaggeration", (0.0, 0.0, "data", "axes fraction"), (4, 4))
    ax.plot(steps, values, color=color, linewidth=1.8, solid_capstyle="round")
    ax.plot(steps[-1:], values[-1:], "o", color=color, markersize=4)
    add_note(ax, f"{values[-1]:.3g}", (steps[-1], values[-1], "data", "data"), (6, 0), va="center", color=INK)
    ax.set_xlim(left=0.0)
    ax.set_xlabel("iteration", fontsize=TEXT, color=INK)
    ax.set_ylabel("divergence of P from Q", fontsize=TEXT, color=INK)
    plain_spines(ax)
    set_titles(ax, title, subtitle)
    return ax


def _check_perplexities(values: Any, name: str) -> Points:
    where = f"perplexities[{name!r}]" if name else "perplexities"
    array = as_array(values, where, dtype=np.float64)
    if array.ndim != 1 or not array.size or not (array > 0.0).all() or not np.isfinite(array).all():
        raise InputError(f"{where} must be a one-dimensional array of positive finite numbers, one per row of P.")
    return array


def _range_text(values: Points) -> str:
    low, high = (f"{value:.3g}" for value in (values.min(), values.max()))
    return low if low == high else f"{low} to {high}"


def _bin_edges(values: Points, middle: float) -> Points:
    """Return the edges of bins of equal width in log(perplexity), one of them centred on `middle`."""
    low, high = np.log(values.min() / middle), np.log(values.max() / middle)
    padding = max(np.log(MIN_RANGE) - (high - low), 0.0) / 2.0
    width = (high - low + 2.0 * padding) / BINS
    first, last = np.floor((low - padding) / width), np.ceil((high + padding) / width)
    edges: Points = middle * np.exp(width * (np.arange(first, last + 2.0) - 0.5))
    return edges


def _style_rows(ax: Axes, names: list[str], edges: Points) -> None:
    """Put names on the left and a logarithmic scale below, and hide all other lines."""
    _set_log_scale(ax, edges)
    plain_spines(ax)
    ax.spines["left"].set_visible(False)
    ax.set_yticks(-np.arange(len(names)), labels=names)
    ax.set_ylim(1 - len(names), 1.15)
    ax.tick_params(axis="y", length=0, labelsize=TEXT, labelcolor=INK)
    ax.set_xlabel("perplexity of a row", fontsize=TEXT, color=INK)


def _set_log_scale(ax: Axes, edges: Points) -> None:
    """Use a logarithmic scale with a few ticks written as plain numbers, for any range."""
    ax.set_xscale("log")
    ax.set_xlim(edges[0], edges[-1])
    ticks = np.asarray(MaxNLocator(nbins=6, steps=[1, 2, 5, 10]).tick_values(edges[0], edges[-1]))
    if edges[-1] / edges[0] > WIDE_RANGE:
        powers = 10.0 ** np.arange(np.floor(np.log10(edges[0])), np.ceil(np.log10(edges[-1])))
        ticks = np.concatenate([power * np.array([1.0, 2.0, 5.0]) for power in powers])
    ticks = ticks[(ticks >= edges[0]) & (ticks <= edges[-1])]
    ax.set_xticks(ticks, labels=[f"{tick:g}" for tick in ticks])
    ax.set_xticks([], minor=True)
