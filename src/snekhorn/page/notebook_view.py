"""Show the interactive page in a notebook."""

from __future__ import annotations

import html
import io
import os
from collections.abc import Mapping
from typing import Any

from ..io.safe_output import opened
from ..runtime.checks import check_count
from .html_page import write_page

HEIGHT = 640  # pixels
MAX_POINTS = 100_000  # the notebook stores the page, so that more points would make it large


def show(
    Z: Any, metadata: Any = None, *, height: int = HEIGHT, max_points: int | None = MAX_POINTS, **options: Any
) -> PageView:
    """Show a layout as an interactive page in a notebook.

    Parameters
    ----------
    Z : array of shape (n, 2), or mapping of str to such arrays
        The layout, or several layouts of the same points, keyed by their names.
    metadata : data frame, table, dict, AnnData or array of shape (n,), optional
        One row per point: the columns to show, colour by, filter, search and export.
    height : int, default=640
        Height of the page in pixels.
    max_points : int or None, default=100,000
        Largest number of points to show; if there are more, the page shows a random sample. None shows all.
    **options
        Further parameters of `snekhorn.page.write_page`, such as `data`, `color`, `images` and `title`.

    Returns
    -------
    PageView
        An object that notebooks display as the page. Its method `save` writes the page to a file.

    Examples
    --------
    >>> import numpy as np
    >>> import snekhorn
    >>> snekhorn.show(np.random.default_rng(0).normal(size=(30, 2)), {"group": ["a", "b"] * 15})
    PageView(30 points)
    """
    height = check_count(height, "height")
    file = io.BytesIO()
    write_page(file, Z, metadata, max_points=max_points, **options)
    first = next(iter(Z.values())) if isinstance(Z, Mapping) else Z
    return PageView(file.getvalue(), n_points=len(first), height=height)


class PageView:
    """An interactive page, which notebooks display.

    Parameters
    ----------
    page : bytes
        The page as an HTML file.
    n_points : int
        Number of points of the layout.
    height : int
        Height of the page in pixels.
    """

    def __init__(self, page: bytes, *, n_points: int, height: int = HEIGHT) -> None:
        self.page, self.n_points, self.height = page, n_points, height

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the page to an HTML file."""
        with opened(file) as out:
            out.write(self.page)

    def _repr_html_(self) -> str:
        # The page is a document of its own in a frame, so that its style and scripts do not meet those of the notebook.
        text = html.escape(self.page.decode())
        style = f"width: 100%; height: {self.height}px; border: 1px solid #d8dade; border-radius: 6px"
        return f'<iframe title="Interactive layout" srcdoc="{text}" style="{style}" allowfullscreen></iframe>'

    def __repr__(self) -> str:
        return f"PageView({self.n_points:,} points)"
