"""Options of `snekhorn embed` that other commands do not have, in groups."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

import typer

from ..errors import InputError
from ..io.h5ad_layouts import H5AD
from ..io.layout_files import LAYOUT_SUFFIXES
from . import options
from .layout_names import LayoutValues
from .options import DEFAULT_EXAGGERATION, DEFAULT_PERPLEXITY, parse_exaggerations, parse_perplexities
from .output_files import Outputs, default_outputs
from .session import Session


@dataclass(frozen=True)
class MethodOptions:
    """Options about how layouts are computed."""

    perplexity: options.Perplexities = None
    exaggeration: options.Exaggerations = None
    method: Annotated[options.Method, typer.Option("--method", "-m", help="Method of dimension reduction.")] = (
        "tsnekhorn"
    )
    dimensions: Annotated[
        int, typer.Option("--dimensions", "-d", min=1, max=3, help="Dimension of the layout; pages show only 2.")
    ] = 2
    balance: options.Balance = "auto"
    self_loops: Annotated[bool, typer.Option("--self-loops", help="Count each point among its own neighbours.")] = False
    max_iter: Annotated[int, typer.Option(min=1, help="Maximum number of iterations.")] = 2000
    tol: Annotated[
        float, typer.Option(help="Stop when the loss decreases by less than this (relative, per iteration).")
    ] = 5e-5
    init: Annotated[Literal["pca", "spectral", "random"], typer.Option(help="Initial layout.")] = "pca"
    max_memory: options.MaxMemory = None
    checkpoint: Annotated[
        Path | None, typer.Option(help="Folder for the state of a long run; the same command resumes from it.")
    ] = None

    @cached_property
    def values(self) -> LayoutValues:
        """Perplexities and exaggerations."""
        return LayoutValues(
            parse_perplexities(self.perplexity) or [DEFAULT_PERPLEXITY],
            parse_exaggerations(self.exaggeration) or [DEFAULT_EXAGGERATION],
        )


@dataclass(frozen=True)
class OutputOptions:
    """Options about the files to write."""

    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Table: .parquet, .csv, .tsv, .arrow, .feather, .npy or .h5ad.")
    ] = None
    plot: Annotated[Path | None, typer.Option(help="Plot: .png, .svg or .pdf.")] = None
    html: Annotated[Path | None, typer.Option(help="Interactive page: .html.")] = None
    save_model: Annotated[Path | None, typer.Option(help="Model for 'snekhorn transform' and snekhorn.load: .npz.")] = (
        None
    )
    escape_formulas: options.EscapeFormulas = False
    force: options.Force = False

    def outputs(
        self, run: Session, input: Path, method: MethodOptions, inputs: list[Path], image: str | None
    ) -> Outputs:
        """Return the files to write, or the default ones; raise if one of them cannot be written as requested."""
        found = Outputs(self.out, self.plot, self.html, self.save_model, tables=(*LAYOUT_SUFFIXES, H5AD))
        if method.dimensions != 2 and (self.html is not None or image is not None):
            raise InputError(
                f"the page shows only two-dimensional layouts; leave out {'--html' if self.html else '--image'}, or "
                "pass --dimensions 2."
            )
        if not found.paths:
            found = default_outputs(input, method.method)
            if method.dimensions != 2:
                found = replace(found, html=None)
                run.note("no page: pages show only two-dimensional layouts")
        found.check(inputs, force=self.force, several=method.values.several)
        if image is not None and found.html is None:
            raise InputError(f"--image {image} is shown on the page, which was not requested; pass --html.")
        return found


@dataclass(frozen=True)
class DisplayOptions:
    """Options about the plot and the page."""

    color: Annotated[
        list[str] | None,
        typer.Option(
            help="Column to colour by: metadata, a feature, or a gene of an H5AD file; of several, separated by "
            "commas, the page also offers the others.  (default: the label)",
            metavar='A[,B,"C,D"...]',
        ),
    ] = None
    image: options.Image = None
    title: Annotated[str | None, typer.Option(help="Title of the plot and the page.  (default: the file name)")] = None
