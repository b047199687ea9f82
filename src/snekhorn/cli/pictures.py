"""snekhorn plot and snekhorn view: layouts as pictures and as pages."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from . import options
from .options import split
from .outputs import PAGES, PICTURES, write_each
from .session import session

Layout = Annotated[Path, typer.Argument(help="Layout, as 'snekhorn embed' writes it, or any table with x and y.")]
Coordinates = Annotated[list[str] | None, typer.Option(help="Columns of the layout.  (default: x and y)")]
Color = Annotated[str | None, typer.Option("--color", "-c", help="Column that colours the points.")]
Title = Annotated[str | None, typer.Option(help="Above the points.  (default: the name of the file)")]


def plot(
    embedding: Layout,
    *,
    out: Annotated[Path, typer.Option("--out", "-o", help="Picture: .png, .svg or .pdf.")],
    color: Color = None,
    coordinates: Coordinates = None,
    title: Title = None,
    dpi: Annotated[int, typer.Option(min=20, max=2000, help="Resolution.")] = 200,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Draw a layout; several in one file become a sheet.

    snekhorn plot cells.tsnekhorn.parquet --color type --out cells.pdf
    """
    with session(as_json=as_json, quiet=quiet) as run:
        from ..io import check_output, read_layouts
        from .results import column, draw

        check_output(out, PICTURES, force=force)
        with run.stage("read", f"reading {embedding}"):
            found = read_layouts(embedding, columns=split(coordinates))
            if color is not None:
                column(found.metadata, color)
        write_each(run, {out: lambda file: draw(found, file, color=color, title=title or embedding.name, dpi=dpi)})
        run.result({"n_points": len(found.only), "files": {"plot": str(out)}}, f"plot: {out}")


def view(
    embedding: Layout,
    *,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Page: .html.  (default: beside the layout)")] = None,
    color: Color = None,
    coordinates: Coordinates = None,
    title: Title = None,
    show: Annotated[bool, typer.Option("--open/--no-open", help="Open it in the browser.")] = True,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Make an interactive page of a layout, one file without network, and open it.

    snekhorn view cells.tsnekhorn.parquet --color type
    """
    with session(as_json=as_json, quiet=quiet) as run:
        from ..io import check_output, read_layouts
        from .results import check_plane, write_pages

        out = out or embedding.with_suffix(".html")
        check_output(out, PAGES, force=force)
        with run.stage("read", f"reading {embedding}"):
            found = read_layouts(embedding, columns=split(coordinates))
            check_plane(embedding, found)
        write_each(run, {out: lambda file: write_pages(found, file, color=color, title=title or embedding.name)})
        run.result({"n_points": len(found.only), "files": {"html": str(out)}}, f"page: {out}")
        if show:
            webbrowser.open(out.resolve().as_uri())
