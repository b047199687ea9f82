"""Define the options that several commands share, with their help texts."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

from ..errors import InputError
from ..registry import AFFINITIES, METHODS
from ..runtime.user_warnings import warn

if TYPE_CHECKING:
    Method: TypeAlias = str
    Kind: TypeAlias = str
else:  # the choices are the names in the registry
    Method = Literal[tuple(METHODS)]
    Kind = Literal[tuple(AFFINITIES)]

DEFAULT_PERPLEXITY = 30.0
DEFAULT_EXAGGERATION = 1.0
LEAST_BYTES = 1e6  # of memory as a plain number; the program alone needs more than a hundred times as much
FORMATS = "CSV, TSV, Parquet, Arrow, NPY, NPZ, MTX or H5AD, according to the suffix"

Input = Annotated[
    Path,
    typer.Argument(
        help=f"File of points, one per row: {FORMATS}; or a folder of Parquet or NPY blocks, or a Zarr array.",
        show_default=False,
    ),
]
Layout = Annotated[
    Path, typer.Argument(help="Layout from 'snekhorn embed', or any table that starts with columns x and y.")
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--columns",
        help="Numeric columns to use as features, separated by commas; names, or patterns such as 'gene*'.  "
        "(default: all)",
        metavar='A,B,"C,D"',
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude",
        help="Columns not to use as features, separated by commas; names, or patterns such as 'meta_*'. They are kept "
        "as metadata.",
        metavar='A,B,"C,D"',
    ),
]
Vector = Annotated[
    str | None,
    typer.Option(
        "--vector",
        help="Column of lists that holds the points (Parquet, Arrow), or array that does (NPZ).",
        metavar="NAME",
    ),
]
Metadata = Annotated[
    Path | None,
    typer.Option(
        "--metadata",
        help="Table of further columns, such as the label: CSV, TSV, Parquet or Arrow; matched by --id, or by row.",
    ),
]
Missing = Annotated[
    Literal["error", "drop", "median"],
    typer.Option(
        "--missing", help="Features without a value: refuse them, drop their rows, or fill in the column's median."
    ),
]
Transpose = Annotated[
    bool,
    typer.Option(
        "--transpose",
        help="The columns of the file are the points, such as with genes in rows; --id then names the features, and "
        "--exclude also leaves out points.",
    ),
]
Label = Annotated[str | None, typer.Option("--label", help="Label column; excluded from the features.")]
Id = Annotated[str | None, typer.Option("--id", help="Column that identifies the points; excluded from the features.")]
Rep = Annotated[
    str | None, typer.Option("--rep", help="H5AD only: entry of obsm to use, or X.  (default: X_pca if present)")
]
Metric = Annotated[str, typer.Option("--metric", help="Distance between rows: any metric that scikit-learn supports.")]
Pca = Annotated[
    int | None,
    typer.Option(
        "--pca",
        min=0,
        help="Reduce data with more columns to this many principal components; 0 keeps all columns.  "
        "(default: 50 if the metric is Euclidean)",
    ),
]
Standardize = Annotated[bool, typer.Option(help="Standardise the columns: mean 0, standard deviation 1.")]
Balance = Annotated[
    str,
    typer.Option(
        "--balance",
        help="How equally points count in P: 0 = hubs count more, as in t-SNE; 1 = all points count equally, as in the "
        "paper; or 'auto'.",
        metavar="NUMBER|auto",
    ),
]
Seed = Annotated[
    int, typer.Option("--seed", min=0, max=2**32 - 1, help="Random seed; results are reproducible bit for bit.")
]
Jobs = Annotated[int | None, typer.Option("--jobs", help="Number of threads.  (default: all cores)")]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        help="Start a Dask cluster of this many processes on this machine, and use it; small data are slower this way.",
    ),
]
DaskAddress = Annotated[
    str | None,
    typer.Option("--dask", help="Use a running Dask cluster: the address of its scheduler.", metavar="ADDRESS"),
]
MaxMemory = Annotated[
    str | None,
    typer.Option(
        "--max-memory",
        help="Largest memory of the program, such as 8GB or 50%; refuse data that need more.  (default: what is free)",
        metavar="SIZE",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace existing files.")]
Json = Annotated[bool, typer.Option("--json", help="Print the results as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors, and JSON if requested.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the full traceback of an error.")]
Perplexities = Annotated[
    list[str] | None,
    typer.Option(
        "--perplexity",
        "-p",
        help="Effective number of neighbours per point; several values, separated by commas, give one layout each.  "
        "(default: 30)",
        metavar="N[,N...]",
    ),
]
Exaggerations = Annotated[
    list[str] | None,
    typer.Option(
        "--exaggeration",
        help="Attraction factor: 1 preserves neighbours, 1.5 to 2 shows groups; several values, separated by commas, "
        "give one layout each.  (default: 1)",
        metavar="N[,N...]",
    ),
]
TableFile = Annotated[Path, typer.Option("--out", "-o", help="Table: .parquet, .csv, .tsv, .arrow, .feather or .npy.")]
Image = Annotated[
    str | None,
    typer.Option(
        "--image",
        help="Column of image files (paths relative to its table) or data URIs, shown as thumbnails on the page.",
        metavar="COLUMN",
    ),
]
EscapeFormulas = Annotated[
    bool,
    typer.Option("--escape-formulas", help="CSV and TSV: put ' before text that a spreadsheet would run as a formula."),
]
Coordinates = Annotated[
    list[str] | None,
    typer.Option(
        help="Coordinate columns, separated by commas; of an H5AD file, entries of obsm.  (default: leading x, y and z)"
    ),
]


@dataclass(frozen=True)
class RoleOptions:
    """Options about the columns of a file."""

    label: Label = None
    id: Id = None
    exclude: Exclude = None
    vector: Vector = None
    rep: Rep = None
    transpose: Transpose = False


@dataclass(frozen=True)
class SourceOptions(RoleOptions):
    """Options about a file of points."""

    columns: Columns = None
    missing: Missing = "error"


@dataclass(frozen=True)
class PreparationOptions:
    """Options about the points before the layout or the affinity is computed."""

    metric: Metric = "sqeuclidean"
    pca: Pca = None
    standardize: Standardize = False
    seed: Seed = 0
    jobs: Jobs = None


@dataclass(frozen=True)
class PrintOptions:
    """Options about what a command prints."""

    as_json: Json = False
    quiet: Quiet = False
    debug: Debug = False


def split(values: list[str] | None, option: str) -> list[str] | None:
    """Split the comma-separated values of an option, given once or several times; double quotes protect a comma."""
    if not values:
        return None
    try:
        lines = [next(csv.reader([value], skipinitialspace=True, strict=True), []) for value in values]
    except csv.Error:
        raise InputError(
            f"{', '.join(values)} has an opening double quote without a closing one; quote whole names."
        ) from None
    parts = [[part.strip() for part in line if part.strip()] for line in lines]
    for value, given in zip(values, parts, strict=True):
        if not given:
            raise InputError(f"{option} is {value!r}, which has no values; pass at least one, or omit the option.")
    return [part for given in parts for part in given]


def parse_balance(text: str) -> float | Literal["auto"]:
    """Parse the balance: a number, which the estimator checks, or "auto"."""
    if text == "auto":
        return "auto"
    try:
        return float(text)
    except ValueError:
        raise InputError(f"--balance must be 'auto' or a number from 0 to 1, got {text!r}.") from None


def parse_memory(text: str | None) -> str | None:
    """Return a limit on the memory, which the estimator checks; raise for a small number without a unit.

    It could be meant as gigabytes or as a percentage, but would be read as bytes.
    """
    try:
        small = text is not None and float(text) < LEAST_BYTES
    except ValueError:
        small = False
    if small:
        raise InputError(f"--max-memory {text} needs a unit; pass a size such as 50GB, or a share such as 50%.")
    return text


def parse_perplexities(values: list[str] | None) -> list[float]:
    """Return the requested perplexities; an empty list if there are none."""
    return _parse_numbers(values, "--perplexity", 1.0, "30 is a good start")


def parse_exaggerations(values: list[str] | None) -> list[float]:
    """Return the requested exaggerations; an empty list if there are none."""
    return _parse_numbers(values, "--exaggeration", 0.0, "1 preserves neighbours, 1.5 to 2 shows groups")


def _parse_numbers(values: list[str] | None, option: str, lowest: float, advice: str) -> list[float]:
    """Parse finite numbers above `lowest`; duplicates count once, with a warning."""
    found: dict[str, float] = {}
    for text in split(values, option) or []:
        try:
            number = float(text)
        except ValueError:
            raise InputError(f"{option} must be a number, got {text!r}; {advice}.") from None
        if not lowest < number < float("inf"):
            raise InputError(f"{option} must be a finite number above {lowest:g}, got {text}; {advice}.")
        name = f"{number:g}"  # layouts are named by this text, so it must be unique
        if name in found:
            warn(f"{option} lists {name} more than once; it is used once.")
        found.setdefault(name, number)
    return list(found.values())
