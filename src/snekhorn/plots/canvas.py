"""Figures, the plain axes of layouts, and titles."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy import sparse

from ..geometry.inputs import check_points

SIDE = 6.0  # inches, the longer side of a picture
MARGIN = 0.03  # of the longer side of the layout, around it
LONGEST = 3.0  # times as long as wide: layouts that are thinner get room around them
INK, SOFT_INK = "#222222", "#666666"
TITLE, TEXT, SMALL = 13, 9, 8  # points


def check_plane(Z: Any, name: str = "Z") -> NDArray[np.float64]:
    """Z as a finite array of one to three columns."""
    if not sparse.issparse(Z):
        Z = np.asarray(Z)
        if Z.ndim not in (1, 2):
            raise ValueError(f"{name} has shape {Z.shape}; pass one row a point, with 1, 2 or 3 columns.")
        Z = Z[:, None] if Z.ndim == 1 else Z
    Z = check_points(Z, name=name)
    if sparse.issparse(Z) or Z.shape[1] > 3:
        kind = "is sparse" if sparse.issparse(Z) else f"has {Z.shape[1]} columns"
        raise ValueError(
            f"{name} {kind}; layouts of 1, 2 or 3 dimensions can be drawn: pass an array such as Z[:, :2]."
        )
    return np.asarray(Z, dtype=np.float64)


def new_figure(width: float, height: float) -> Figure:
    """A figure that pyplot does not know, so that nothing has to close it."""
    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def limits(Z: NDArray[np.float64], longest: float = LONGEST) -> NDArray[np.float64]:
    """Lower and upper limit of each coordinate, with a margin; no side is more than `longest` times another."""
    low, high = Z.min(axis=0), Z.max(axis=0)
    span = high - low
    side = float(span.max()) or 1.0
    half = np.maximum(span, side / longest) / 2.0 + MARGIN * side
    middle = low + span / 2.0
    return np.stack([middle - half, middle + half], axis=1)


def bare(ax: Axes, box: NDArray[np.float64]) -> None:
    """Axes that show a layout, of which only distances mean something: no ticks, no frame, one scale."""
    ax.set_xlim(*box[0])
    ax.set_ylim(*box[1])
    # What does not fill its room leaves it to the legend; titles beside each other are level.
    ax.set_aspect("equal", adjustable="box", anchor="NW")
    ax.set_axis_off()


def note(ax: Axes, text: str, place: Any, offset: tuple[float, float], **style: Any) -> None:
    """Small text, so many points right and up of a place: x, y and what each is measured in, in Matplotlib's words."""
    x, y, *coordinates = place
    ax.annotate(
        text,
        (x, y),
        xycoords=tuple(coordinates),
        xytext=offset,
        textcoords="offset points",
        **{"fontsize": SMALL, "color": SOFT_INK, **style},
    )


def set_titles(ax: Axes, title: str, subtitle: str) -> None:
    """Title and, in smaller and softer letters, subtitle, above the left edge."""
    if subtitle:
        note(ax, subtitle, (0.0, 1.0, "axes fraction", "axes fraction"), (0, 5), va="bottom", fontsize=TEXT)
    if title:
        lines = subtitle.count("\n") + 1 if subtitle else 0
        ax.set_title(title, loc="left", fontsize=TITLE, color=INK, pad=7 + 1.35 * TEXT * lines, parse_math=False)


def plain_spines(ax: Axes) -> None:
    """Only the lines that carry a scale."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(SOFT_INK)
    ax.tick_params(colors=SOFT_INK, labelsize=SMALL)


def lay_out(ax: Axes) -> None:
    """Settle where the axes are, so that sizes in pixels count."""
    figure: Any = ax.figure.figure
    if (engine := figure.get_layout_engine()) is not None:
        engine.execute(figure)
    ax.apply_aspect()
