"""Create figures, axes and titles in the style of this package, and save figures to files."""

from __future__ import annotations

from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Literal

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure, FigureBase
from mpl_toolkits.mplot3d import Axes3D  # type: ignore[import-untyped]
from numpy.typing import NDArray
from scipy import sparse

from ..errors import InputError, InputTypeError, shown
from ..geometry.inputs import as_array, check_points
from ..runtime.checks import check_choice, check_positive, check_text

Points = NDArray[np.float64]

SIDE = 6.0  # inches, the longer side of a picture
MARGIN = 0.03  # margin around a layout, relative to its longer side
MAX_ELONGATION = 3.0  # thinner layouts get empty space; a larger limit gives pictures too thin to read
INK, SOFT_INK = "#222222", "#666666"
NOTEBOOK_DPI = 80  # dots per inch in a notebook, before twice as many are drawn for sharp screens
TITLE, TEXT, SMALL = 13, 9, 8  # font sizes in points

# Remove the date and the Matplotlib version from the metadata, so that equal pictures give equal files.
NO_METADATA: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
# Keep text as text, and derive the names of SVG elements from a fixed salt instead of a random salt.
REPRODUCIBLE: Any = {"svg.fonttype": "none", "pdf.fonttype": 42, "svg.hashsalt": "snekhorn"}


def save(
    figure: Figure | Axes,
    file: str | PathLike[str] | BinaryIO,
    *,
    format: Literal["png", "svg", "pdf"] | None = None,
    dpi: float = 200,
) -> None:
    """Save a figure as PNG, SVG or PDF, cropped to its content and without a date.

    Parameters
    ----------
    figure : Figure or Axes
        The picture. For axes, their figure is saved.
    file : path or binary file
        File to write.
    format : {"png", "svg", "pdf"} or None, default=None
        File format. None infers it from the suffix of the path, and means PNG for a binary file.
    dpi : float, default=200
        Resolution in dots per inch. In SVG and PDF files it applies to densities and to more than 3,000 points, which
        are stored as images.
    """
    from ..io.safe_output import opened  # imported here because it is slow to load

    if not isinstance(figure, FigureBase | Axes):
        raise InputTypeError(
            f"figure must be a Matplotlib figure or axes, got {shown(figure)}; pass what plots.scatter or another "
            "function of snekhorn.plots returned."
        )
    inferred = Path(file).suffix[1:].lower() if isinstance(file, str | PathLike) else "png"
    kind = check_choice(inferred if format is None else format, "format", tuple(NO_METADATA))
    drawn: Any = figure
    while not isinstance(drawn, Figure):  # axes may belong to a subfigure
        drawn = drawn.figure
    buffer = BytesIO()
    with matplotlib.rc_context(REPRODUCIBLE):
        drawn.savefig(
            buffer,
            format=kind,
            dpi=check_positive(dpi, "dpi"),
            metadata=NO_METADATA[kind],
            facecolor="auto",
            bbox_inches="tight",
            pad_inches=0.1,
        )
    with opened(file) as out:
        out.write(buffer.getvalue())


def check_drawable(Z: Any, name: str = "Z") -> Points:
    """Check that Z is a finite array with one to three columns, and return it as float64."""
    if not sparse.issparse(Z):
        Z = as_array(Z, name)
        if Z.ndim not in (1, 2):
            raise InputError(f"{name} has shape {Z.shape}; pass an array with one row per point and 1 to 3 columns.")
        Z = Z[:, None] if Z.ndim == 1 else Z
    Z = check_points(Z, name=name)
    if sparse.issparse(Z):
        raise InputError(f"{name} is sparse; pass a dense array with 1 to 3 columns.")
    if Z.shape[1] > 3:
        raise InputError(
            f"{name} has {Z.shape[1]} columns, but a drawing needs 1 to 3; pass {name}[:, :2], for example."
        )
    return np.asarray(Z, dtype=np.float64)


def check_words(ax: Any = None, **texts: Any) -> None:
    """Raise unless `ax` are axes or None, and each of the texts, by the name of its parameter, is text or None."""
    if ax is not None and not isinstance(ax, Axes):
        raise InputTypeError(
            f"ax must be Matplotlib axes, got {shown(ax)}; pass figure.add_subplot(), for example, or leave out ax."
        )
    for name, text in texts.items():
        if text is not None:
            values = "; pass the values to colour by as the second argument" if name == "label" else ""
            check_text(text, name, f"pass a string{values}")


class ShownInNotebooks:
    """Show the figure as an image when the object is the last line of a notebook cell, whatever the backend."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        file = BytesIO()
        save(self, file, dpi=2 * NOTEBOOK_DPI)  # type: ignore[arg-type]
        image = file.getvalue()
        size = (int.from_bytes(image[start : start + 4], "big") // 2 for start in (16, 20))  # as the header gives it
        return image, dict(zip(("width", "height"), size, strict=True))


class ShownFigure(ShownInNotebooks, Figure):
    """Figure that a notebook shows although pyplot does not manage it."""


class ShownAxes(ShownInNotebooks, Axes):
    """Axes that a notebook shows as their figure."""


class ShownAxes3D(ShownInNotebooks, Axes3D):  # type: ignore[misc]
    """Three-dimensional axes that a notebook shows as their figure."""


def add_axes(figure: Figure, dimensions: int, *place: int) -> Axes:
    """Add axes for a layout with this many dimensions."""
    return figure.add_subplot(*place, axes_class=ShownAxes3D if dimensions == 3 else ShownAxes)


def new_figure(width: float, height: float) -> Figure:
    """Create a figure that pyplot does not manage, so it does not need to be closed."""
    figure = ShownFigure(figsize=(width, height), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def limits(Z: Points, max_elongation: float = MAX_ELONGATION) -> Points:
    """Return the lower and upper limit of each axis, with a margin.

    Short axes are extended until no axis is more than `max_elongation` times as long as another.
    """
    low, high = Z.min(axis=0), Z.max(axis=0)
    span = high - low
    side = float(span.max()) or 1.0
    half = np.maximum(span, side / max_elongation) / 2.0 + MARGIN * side
    middle = low + span / 2.0
    return np.stack([middle - half, middle + half], axis=1)


def hide_axes(ax: Axes, box: Points) -> None:
    """Hide ticks and frame, and use one scale for both axes, because only distances are meaningful in a layout."""
    ax.set_xlim(*box[0])
    ax.set_ylim(*box[1])
    # Anchor at the top left, so that titles in a row are aligned and free space goes to the legend.
    ax.set_aspect("equal", adjustable="box", anchor="NW")
    ax.set_axis_off()


def plain_spines(ax: Axes) -> None:
    """Show only the two spines that carry a scale."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(SOFT_INK)
    ax.tick_params(colors=SOFT_INK, labelsize=SMALL)


def add_note(ax: Axes, text: str, place: Any, offset: tuple[float, float], **style: Any) -> None:
    """Write small text at an offset, in points, from a position.

    `place` consists of x, y and their Matplotlib coordinate systems.
    """
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
    """Write a title and, in smaller and lighter type, a subtitle above the left edge."""
    if subtitle:
        add_note(ax, subtitle, (0.0, 1.0, "axes fraction", "axes fraction"), (0, 5), va="bottom", fontsize=TEXT)
    if title:
        lines = subtitle.count("\n") + 1 if subtitle else 0
        ax.set_title(title, loc="left", fontsize=TITLE, color=INK, pad=7 + 1.35 * TEXT * lines, parse_math=False)


def apply_layout(ax: Axes) -> None:
    """Give the axes their final position, so that sizes in pixels can be measured."""
    figure: Any = ax.figure.figure
    if (engine := figure.get_layout_engine()) is not None:
        engine.execute(figure)
    ax.apply_aspect()
