"""Pictures as files: the same picture gives the same bytes."""

from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..runtime.checks import check_choice, check_positive

# What each format would otherwise say of the time and of the program.
SILENCE: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
# Text stays text, and the names of elements do not depend on chance.
STEADY: Any = {"svg.fonttype": "none", "pdf.fonttype": 42, "svg.hashsalt": "snekhorn"}


def save(
    figure: Figure | Axes, file: str | PathLike[str] | BinaryIO, *, format: str | None = None, dpi: float = 200
) -> None:
    """Write a figure, or that of axes, as PNG, SVG or PDF, with nothing cut off, and no date in it.

    Without a format, the ending of the path tells it. `dpi` is the resolution in dots per inch, in SVG and PDF that of
    clouds of more than 3,000 points and of densities, which are images within the drawing.
    """
    path = Path(file) if isinstance(file, str | PathLike) else None
    kind = (path.suffix[1:].lower() if path else "png") if format is None else format
    check_choice(kind, "format", tuple(SILENCE))
    drawn: Any = figure
    while not isinstance(drawn, Figure):  # axes may be in a part of a figure
        drawn = drawn.figure
    buffer = BytesIO()
    with matplotlib.rc_context(STEADY):
        drawn.savefig(
            buffer,
            format=kind,
            dpi=check_positive(dpi, "dpi"),
            metadata=SILENCE[kind],
            facecolor="auto",
            bbox_inches="tight",
            pad_inches=0.1,
        )
    if path:
        path.write_bytes(buffer.getvalue())
    else:
        file.write(buffer.getvalue())  # type: ignore[union-attr]
