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
from .option_groups import with_groups
from .session import BAD_INPUT
from .transform_command import transform
from .usage_errors import Program

app = typer.Typer(
    name="snekhorn",
    help="Compute layouts of high-dimensional data with t-SNEkhorn and related methods.",
    epilog="Start with: snekhorn embed FILE.csv. Exit codes: 0 success; 1 bug in snekhorn; 2 problem with the input, "
    "the options or an output file; 130 interrupted.",
    cls=Program,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (embed, transform, affinity, evaluate, plot, view, doctor):
    app.command(cls=GroupedCommand)(with_groups(command))


def _version(value: bool) -> None:  # noqa: FBT001
    if value:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def common(
    context: typer.Context,
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Handle the options that come before the command; without a command, print the help as for a wrong command."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(BAD_INPUT)
