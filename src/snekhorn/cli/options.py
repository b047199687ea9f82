"""Options that commands share: one name, one meaning, one help text."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated, Literal

import typer

from ..errors import InputError

Method = Literal["tsnekhorn", "snekhorn", "tsne", "symmetric-sne", "sne"]
CLASSES = {
    "tsnekhorn": "TSNEkhorn",
    "snekhorn": "SNEkhorn",
    "tsne": "TSNE",
    "symmetric-sne": "SymmetricSNE",
    "sne": "SNE",
}
FORMATS = "CSV, TSV, Parquet, Arrow, NPY, NPZ, MTX or H5AD, by its suffix"

Input = Annotated[Path, typer.Argument(help=f"File of points, one a row: {FORMATS}.", show_default=False)]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--columns", help="Columns of numbers to use, separated by commas; all if not given.", metavar='A,B,"C,D"'
    ),
]
Label = Annotated[str | None, typer.Option("--label", help="Column of classes, which is not laid out.")]
Id = Annotated[str | None, typer.Option("--id", help="Column that names the points.")]
Rep = Annotated[str | None, typer.Option("--rep", help="H5AD only: entry of obsm to use, or X.  (default: X_pca)")]
Metric = Annotated[str, typer.Option("--metric", help="Distance between rows: any name that scikit-learn knows.")]
Pca = Annotated[
    int | None,
    typer.Option("--pca", min=0, help="Reduce to that many principal components; 0 for none.  (default: 50 if more)"),
]
Standardize = Annotated[bool, typer.Option(help="Give all columns the same spread first.")]
Seed = Annotated[int, typer.Option("--seed", help="Of random choices; the same seed gives the same bits.")]
Jobs = Annotated[int | None, typer.Option("--jobs", help="Threads.  (default: all cores)")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]
Json = Annotated[bool, typer.Option("--json", help="Print the results as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors, and JSON if asked for.")]
Perplexity = Annotated[
    list[str] | None,
    typer.Option(
        "--perplexity",
        "-p",
        help="Effective number of neighbours of a point; several, separated by commas, give a layout each.  "
        "(default: 30)",
        metavar="N[,N...]",
    ),
]


def split(values: list[str] | None) -> list[str] | None:
    """Values given in several options, or separated by commas, or both; one with a comma stands in double quotes."""
    if values is None:
        return None
    try:
        lines = [next(csv.reader([value], skipinitialspace=True, strict=True), []) for value in values]
    except csv.Error:
        raise InputError(f"a double quote in {', '.join(values)} has no second one; quote whole names.") from None
    return [part.strip() for line in lines for part in line if part.strip()]


def perplexities(values: list[str] | None) -> list[float]:
    """Numbers asked for, 30 if none."""
    found = []
    for text in split(values) or ["30"]:
        try:
            found.append(float(text))
        except ValueError:
            raise InputError(f"--perplexity takes numbers, got {text!r}; 30 is a good start.") from None
        if not 1.0 < found[-1] < float("inf"):
            raise InputError(f"--perplexity must be a finite number above 1, got {text}; 30 is a good start.")
    return list({f"{perplexity:g}": perplexity for perplexity in found}.values())  # as the names of layouts show them
