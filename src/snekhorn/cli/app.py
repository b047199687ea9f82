"""All commands under one name."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import __version__
from .affinity import affinity
from .doctor import doctor
from .embed import embed
from .evaluate import evaluate
from .pictures import plot, view
from .transform import transform

app = typer.Typer(
    name="snekhorn",
    help="Lay out a table of points in the plane, with t-SNEkhorn and its relatives.",
    epilog="Begin with: snekhorn embed FILE.csv. Exit codes: 0 done, 1 a fault of the program, 2 something wrong with "
    "the input, the options or a file to write, 130 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (embed, transform, affinity, evaluate, plot, view, doctor):
    app.command()(command)


def _version(value: bool) -> None:  # noqa: FBT001
    if value:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def common(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options before the command."""
