"""Describe all commands and options, from the program itself."""

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from typer.models import ArgumentInfo

from snekhorn.cli.app import app
from snekhorn.cli.help_panels import PANELS

KINDS = {Path: "FILE", str: "TEXT", int: "N", float: "NUMBER"}


def command_sections() -> str:
    """Describe all commands, in the order of the program's own help."""
    commands = [info.callback for info in app.registered_commands if info.callback is not None]
    return "\n".join(line for command in commands for line in section(command))


def section(command: Callable[..., Any]) -> Iterator[str]:
    """Describe one command: what it does, its arguments and its options."""
    hints = get_type_hints(command, include_extras=True)
    parameters = [(parameter, *get_args(hints[name])) for name, parameter in _parameters(command)]
    arguments = [(parameter, info) for parameter, _, info in parameters if isinstance(info, ArgumentInfo)]
    options = [one for one in parameters if not isinstance(one[2], ArgumentInfo)]
    yield f"## snekhorn {command.__name__}\n"
    for paragraph in inspect.cleandoc(command.__doc__ or "").split("\n\n"):
        example = paragraph.startswith("snekhorn ")
        yield f"    {paragraph}\n" if example else f"{' '.join(paragraph.split())}\n"
    if arguments:
        yield "| argument | description |\n|---|---|"
        yield from (f"| `{parameter.name.upper()}` | {info.help} |" for parameter, info in arguments)
        yield ""
    for panel, names in PANELS.items():
        shown = sorted((one for one in options if one[0].name in names), key=lambda one: names.index(one[0].name))
        if shown:
            yield f"| {panel.lower()} | default | description |\n|---|---|---|"
            yield from (f"| {_names(*one)} | {_default_and_help(*one)} |" for one in shown)
            yield ""


def _parameters(command: Callable[..., Any]) -> list[tuple[str, inspect.Parameter]]:
    return list(inspect.signature(command).parameters.items())


def _names(parameter: inspect.Parameter, hint: Any, info: Any) -> str:
    """Return the names of an option, the shortest first, and a placeholder for its value."""
    declared = (info.default, *(info.param_decls or ()))  # Typer keeps the first name as the default
    long = parameter.name.replace("_", "-")
    names = sorted((name for name in declared if isinstance(name, str)), key=len)
    names = names or [f"--{long}/--no-{long}" if hint is bool else f"--{long}"]
    value = "" if hint is bool else f" {info.metavar or _placeholder(hint, info)}"
    return f"`{', '.join(names)}{value}`"


def _placeholder(hint: Any, info: Any) -> str:
    inner = [part for part in get_args(hint) if part is not NoneType]
    if inner and get_origin(hint) is not Literal:
        return _placeholder(inner[0], info)
    return KINDS.get(hint, "NAME") if info.max is None else f"{info.min}..{info.max}"


def _default_and_help(parameter: inspect.Parameter, hint: Any, info: Any) -> str:
    text, _, described = str(info.help).partition("(default: ")
    if parameter.default is inspect.Parameter.empty:
        default = "required"
    elif parameter.default is None or isinstance(parameter.default, bool):
        default = described.rstrip(")") or ("yes" if parameter.default else "")
    else:
        default = f"`{parameter.default}`"
    choices = f" One of {', '.join(map('`{}`'.format, get_args(hint)))}." if get_origin(hint) is Literal else ""
    return f"{default} | {' '.join(text.split())}{choices}"
