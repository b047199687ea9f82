"""Combine all commands into one program."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import __version__
from .affinity_command import affinity
from .doctor_command import doctor
from .draw_commands import plot, view
from .embed_command import embed
from .evaluate_command import evaluate
from .help_panels import GroupedCommand
from .transform_command import transform

app = typer.Typer(
    name="snekhorn",
    help="Compute layouts of high-dimensional data with t-SNEkhorn and related methods.",
    epilog="Start with: snekhorn embed FILE.csv. Exit codes: 0 success; 1 bug in snekhorn; 2 problem with the input, "
    "the options or an output file; 130 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (embed, transform, affinity, evaluate, plot, view, doctor):
    app.command(cls=GroupedCommand)(command)


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
    """Handle the options that come before the command."""
