"""What the affinity and the descent did: row perplexities, and the loss."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from ..colors import categorical
from ..runtime.checks import check_positive
from .canvas import INK, TEXT, new_figure, note, plain_spines, set_titles

BINS = 80
RIDGE = 0.8  # height of the highest bar, of the distance between two rows
WIDE = 8.0  # ratio of the ends of the scale from which ticks go by powers of ten
LEAST_RANGE = 1.25  # of the scale, highest over lowest: rounding errors are not worth a picture


def row_perplexities(
    perplexities: Any,
    *,
    target: float | None = None,
    ax: Axes | None = None,
    title: str = "",
    subtitle: str = "",
) -> Axes:
    """Draw how the perplexities of the rows of one or several affinities are distributed.

    Parameters
    ----------
    perplexities : array of shape (n,), or mapping of names to such arrays
        From `snekhorn.affinities.row_perplexities`; each has a histogram, its range beside it.
    target : float or None
        The perplexity asked for, drawn as a line.
    ax, title, subtitle
        See `snekhorn.plots`.
    """
    rows = dict(perplexities) if isinstance(perplexities, Mapping) else {"": perplexities}
    rows = {name: _check_row(values, name) for name, values in rows.items()}
    if not rows:
        raise ValueError("perplexities is empty; pass an array, or at least one by its name.")
    if ax is None:
        ax = new_figure(6.0, 1.2 + 0.75 * len(rows)).add_subplot()
    together = np.concatenate(list(rows.values()))
    middle = float(np.median(together)) if target is None else check_positive(target, "target")
    edges = _edges(np.append(together, middle), middle)
    for place, (values, colour) in enumerate(zip(rows.values(), categorical(len(rows)), strict=True)):
        number = np.histogram(values, edges)[0]
        ax.stairs(RIDGE * number / number.max() - place, edges, baseline=-place, fill=True, color=colour)
        ax.axhline(-place, color=colour, linewidth=0.8)
        note(ax, _range(values), (1.0, -place, "axes fraction", "data"), (4, 3))
    if target is not None:
        ax.axvline(target, color=INK, linewidth=1.0, linestyle=(0, (4, 3)))
        note(ax, f"target {target:g}", (target, 1.0, "data", "axes fraction"), (4, 0), va="top")
    _dress_rows(ax, list(rows), edges)
    set_titles(ax, title, subtitle)
    return ax


def _dress_rows(ax: Axes, names: list[str], edges: NDArray[np.float64]) -> None:
    """Names on the left, a scale below, and no other lines."""
    _logarithmic(ax, edges)
    plain_spines(ax)
    ax.spines["left"].set_visible(False)
    ax.set_yticks(-np.arange(len(names)), labels=names)
    ax.set_ylim(1 - len(names), 1.15)
    ax.tick_params(axis="y", length=0, labelsize=TEXT, labelcolor=INK)
    ax.set_xlabel("perplexity of a row", fontsize=TEXT, color=INK)


def loss(
    iterations: Any,
    losses: Any,
    *,
    early: float | None = None,
    ax: Axes | None = None,
    title: str = "",
    subtitle: str = "",
) -> Axes:
    """Draw the loss of a descent, `report_.losses` at `report_.iterations`.

    `early` is the iteration at which early exaggeration ended; the time before it is shaded. `snekhorn.plots`
    describes the other parameters.
    """
    steps, values = np.asarray(iterations, dtype=float), np.asarray(losses, dtype=float)
    if steps.ndim != 1 or steps.shape != values.shape or not steps.size:
        raise ValueError(
            f"iterations has shape {steps.shape}, losses {values.shape}; pass one loss an iteration, and at least one."
        )
    if ax is None:
        ax = new_figure(6.0, 3.4).add_subplot()
    colour = categorical(1)[0]
    if early is not None:
        ax.axvspan(0.0, check_positive(early, "early"), color="0.94", linewidth=0)
        note(ax, "early exaggeration", (0.0, 0.0, "data", "axes fraction"), (4, 4))
    ax.plot(steps, values, color=colour, linewidth=1.8, solid_capstyle="round")
    ax.plot(steps[-1:], values[-1:], "o", color=colour, markersize=4)
    note(ax, f"{values[-1]:.3g}", (steps[-1], values[-1], "data", "data"), (6, 0), va="center", color=INK)
    ax.set_xlim(left=0.0)
    ax.set_xlabel("iteration", fontsize=TEXT, color=INK)
    ax.set_ylabel("divergence of P from Q", fontsize=TEXT, color=INK)
    plain_spines(ax)
    set_titles(ax, title, subtitle)
    return ax


def _check_row(values: Any, name: str) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not array.size or not (array > 0.0).all() or not np.isfinite(array).all():
        where = f"perplexities[{name!r}]" if name else "perplexities"
        raise ValueError(f"{where} must be a list of positive finite numbers, one a row of the affinity.")
    return array


def _range(values: NDArray[np.float64]) -> str:
    low, high = (f"{value:.3g}" for value in (values.min(), values.max()))
    return low if low == high else f"{low} to {high}"


def _edges(values: NDArray[np.float64], middle: float) -> NDArray[np.float64]:
    """Edges of bins of equal ratios around all values, one of which has `middle` in its middle."""
    low, high = np.log(values.min() / middle), np.log(values.max() / middle)
    pad = max(np.log(LEAST_RANGE) - (high - low), 0.0) / 2.0
    width = (high - low + 2.0 * pad) / BINS
    first, last = np.floor((low - pad) / width), np.ceil((high + pad) / width)
    return middle * np.exp(width * (np.arange(first, last + 2.0) - 0.5))


def _logarithmic(ax: Axes, edges: NDArray[np.float64]) -> None:
    """A logarithmic scale with a few plain numbers, whatever the range."""
    ax.set_xscale("log")
    ax.set_xlim(edges[0], edges[-1])
    ticks = np.asarray(MaxNLocator(nbins=6, steps=[1, 2, 5, 10]).tick_values(edges[0], edges[-1]))
    if edges[-1] / edges[0] > WIDE:
        powers = 10.0 ** np.arange(np.floor(np.log10(edges[0])), np.ceil(np.log10(edges[-1])))
        ticks = np.concatenate([power * np.array([1.0, 2.0, 5.0]) for power in powers])
    ticks = ticks[(ticks >= edges[0]) & (ticks <= edges[-1])]
    ax.set_xticks(ticks, labels=[f"{tick:g}" for tick in ticks])
    ax.set_xticks([], minor=True)
