"""snekhorn plot and snekhorn view: draw a layout, or show it in an interactive page."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import InputError
from ..io import Layouts, check_output, read_layouts
from . import options
from .options import split
from .output_files import PAGES, PLOTS, color_values, draw, note_page, titled, write_each
from .session import Session, session

Color = Annotated[
    str | None, typer.Option("--color", "-c", help="Column to colour the points by, or gene of an H5AD file.")
]
Title = Annotated[str | None, typer.Option(help="Title above the points.  (default: the file name)")]


def _read(run: Session, path: Path, coordinates: list[str] | None, color: str | None) -> Layouts:
    """Read layouts, and print notes about them; raise if there is no column or gene to colour by."""
    colors = [] if color is None else [color]
    found = read_layouts(path, columns=split(coordinates, "--coordinates"), colors=colors)
    for name in colors:
        color_values(found.metadata, name)
    for note in found.notes:
        run.note(note)
    return found


def plot(
    embedding: options.Layout,
    *,
    out: Annotated[Path, typer.Option("--out", "-o", help="Plot: .png, .svg or .pdf.")],
    color: Color = None,
    coordinates: options.Coordinates = None,
    title: Title = None,
    dpi: Annotated[int, typer.Option(min=20, max=2000, help="Resolution in dots per inch.")] = 200,
    force: options.Force = False,
    printing: options.PrintOptions,
) -> None:
    """Draw a layout. Several layouts in one file are drawn side by side.

    snekhorn plot cells.tsnekhorn.parquet --color type --out cells.pdf
    """
    with session(**vars(printing)) as run:
        check_output(out, PLOTS, force=force)
        with run.stage("read", f"reading {embedding}"):
            found = _read(run, embedding, coordinates, color)
        name = embedding.name if title is None else title
        write_each(run, {out: lambda file: draw(found, file, color=color, title=name, dpi=dpi)})
        run.result({"n_points": len(found.only), "files": {"plot": str(out)}}, f"plot: {out}")


def view(
    embedding: options.Layout,
    *,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Page: .html.  (default: next to the layout)")] = None,
    color: Color = None,
    image: options.Image = None,
    coordinates: options.Coordinates = None,
    title: Title = None,
    show: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in the browser.")] = True,
    force: options.Force = False,
    printing: options.PrintOptions,
) -> None:
    """Write an interactive page of layouts, and open it. The page is a single file that works offline.

    snekhorn view cells.tsnekhorn.parquet --color type
    """
    with session(**vars(printing)) as run:
        from ..page import write_page

        out = out or embedding.with_suffix(".html")
        check_output(out, PAGES, force=force)
        with run.stage("read", f"reading {embedding}"):
            found = _read(run, embedding, coordinates, color)
            if (d := found.only.shape[1]) != 2:
                raise InputError(
                    f"{embedding} is {d}-dimensional, but the page shows only two dimensions; use 'snekhorn plot'."
                )
        note_page(run, len(found.only), data=False)
        shown: dict[str, Any] = {
            "color": color,
            "images": image,
            "image_folder": embedding.parent,
            "title": embedding.name if title is None else title,
        }

        def write(file: Path) -> None:
            with file.open("wb") as page:
                write_page(page, titled(found), found.metadata, **shown)

        write_each(run, {out: write})
        run.result({"n_points": len(found.only), "files": {"html": str(out)}}, f"page: {out}")
        if show:
            webbrowser.open(out.resolve().as_uri())
