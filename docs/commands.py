"""Write the page of all commands and options from the program itself: python docs/commands.py"""

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from typer.models import ArgumentInfo

from snekhorn.cli.app import app

PAGE = Path(__file__).with_name("commands.md")
HEAD = """# Commands and options

Written by `python docs/commands.py` from the program itself; do not edit it by hand. `snekhorn COMMAND --help` says the
same. [The command line](command-line.md) has examples.
"""
KINDS = {Path: "FILE", str: "TEXT", int: "N", float: "NUMBER"}


def page() -> str:
    """All commands, in the order of the program's own help."""
    commands = [info.callback for info in app.registered_commands if info.callback is not None]
    return "\n".join([HEAD, *(line for command in commands for line in section(command))])


def section(command: Callable[..., Any]) -> Iterator[str]:
    """One command: what it does, what it takes."""
    hints = get_type_hints(command, include_extras=True)
    parameters = [(parameter, *get_args(hints[name])) for name, parameter in _parameters(command)]
    arguments = [(parameter, info) for parameter, _, info in parameters if isinstance(info, ArgumentInfo)]
    options = [one for one in parameters if not isinstance(one[2], ArgumentInfo)]
    yield f"## snekhorn {command.__name__}\n"
    for paragraph in inspect.cleandoc(command.__doc__ or "").split("\n\n"):
        example = paragraph.startswith("snekhorn ")
        yield f"    {paragraph}\n" if example else f"{' '.join(paragraph.split())}\n"
    if arguments:
        yield "| argument | |\n|---|---|"
        yield from (f"| `{parameter.name.upper()}` | {info.help} |" for parameter, info in arguments)
        yield ""
    yield "| option | default | |\n|---|---|---|"
    yield from (f"| {_names(*one)} | {_default_and_help(*one)} |" for one in options)
    yield ""


def _parameters(command: Callable[..., Any]) -> list[tuple[str, inspect.Parameter]]:
    return list(inspect.signature(command).parameters.items())


def _names(parameter: inspect.Parameter, hint: Any, info: Any) -> str:
    declared = (info.default, *(info.param_decls or ()))  # the first stands where a default could
    long = parameter.name.replace("_", "-")
    names = sorted((name for name in declared if isinstance(name, str)), key=len)
    names = names or [f"--{long}/--no-{long}" if hint is bool else f"--{long}"]
    value = "" if hint is bool else f" {info.metavar or _kind(hint, info)}"
    return f"`{', '.join(names)}{value}`"


def _kind(hint: Any, info: Any) -> str:
    """What a value looks like."""
    inner = [part for part in get_args(hint) if part is not NoneType]
    if inner and get_origin(hint) is not Literal:
        return _kind(inner[0], info)
    return KINDS.get(hint, "NAME") if info.max is None else f"{info.min}..{info.max}"


def _default_and_help(parameter: inspect.Parameter, hint: Any, info: Any) -> str:
    text, _, said = str(info.help).partition("(default: ")
    if parameter.default is inspect.Parameter.empty:
        default = "required"
    elif parameter.default is None or isinstance(parameter.default, bool):
        default = said.rstrip(")") or ("yes" if parameter.default else "")
    else:
        default = f"`{parameter.default}`"
    choices = f" One of {', '.join(map('`{}`'.format, get_args(hint)))}." if get_origin(hint) is Literal else ""
    return f"{default} | {' '.join(text.split())}{choices}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
