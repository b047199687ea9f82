"""Print errors in the use of the program, such as an unknown option, like its other errors."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

import typer
from typer.core import TyperGroup

from . import NOTHING_WRITTEN
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
        raise SystemExit(code or 0)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; a session handles interrupts itself, so one that arrives here comes before it."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            typer.echo(NOTHING_WRITTEN, err=True)
            raise typer.Exit(INTERRUPTED) from None


def _sentence(error: Any) -> str:
    """Return the problem, the value and the remedy."""
    reasons: list[Any] = getattr(error.__cause__, "errors", list)()  # of Pydantic, which checks numbers
    if reasons and (allowed := _allowed(reasons[0])):
        value = reasons[0]["input"]
        return f"{max(error.param.opts, key=len)} must be {allowed}, got {value if _is_number(value) else repr(value)}."
    text = " ".join(error.format_message().split()).replace("Value error, ", "")
    if getattr(error, "possibilities", None):
        text = f"{error.message.rstrip('.')}{_suggestion(error)}"
    return f"{text[:1].lower()}{text[1:]}{'' if text.endswith(('.', '?')) else '.'}"


def _suggestion(error: Any) -> str:
    """Suggest the option that is closest to an unknown one; dashes, which all have, do not make options similar."""
    options = {option.lstrip("-"): option for option in error.possibilities}
    near = get_close_matches(error.option_name.lstrip("-"), options, n=1, cutoff=0.5)
    return f"; did you mean {options[near[0]]}?" if near else ""


def _allowed(reason: Any) -> str | None:
    """Return what a number must be, given the reason for which it is refused; None for other reasons."""
    kind, limits = reason["type"], reason.get("ctx", {})
    if kind == "less_than_equal":
        return f"at most {limits['le']:.15g}"
    if kind == "greater_than_equal":
        return f"at least {limits['ge']:.15g}"
    return "a whole number" if kind.startswith("int_") else "a number" if kind.startswith("float_") else None


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True
