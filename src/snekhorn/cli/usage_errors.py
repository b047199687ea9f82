"""Print errors in the use of the program, such as an unknown option, like its other errors."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from .session import BAD_INPUT, INTERRUPTED

UsageError: Any = typer.BadParameter.__base__  # Typer has no public name for it


class Program(TyperGroup):
    """Program whose usage errors are a sentence after "error:", and the command that shows the help."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Run the program, and exit with its code."""
        try:
            code = super().main(*args, **{**options, "standalone_mode": False})
        except UsageError as error:
            command = "snekhorn" if error.ctx is None else error.ctx.command_path
            typer.echo(f"error: {_sentence(error)}\nFor help, run: {command} --help", err=True)
            code = BAD_INPUT
        except typer.Abort:
            code = INTERRUPTED
        raise SystemExit(code)


def _sentence(error: Any) -> str:
    text = " ".join(error.format_message().split()).replace("Value error, ", "")
    return f"{text[:1].lower()}{text[1:]}{'' if text.endswith(('.', '?')) else '.'}"
