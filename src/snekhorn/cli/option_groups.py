"""Let a command take several options as one object, a dataclass with one field per option.

Typer reads the options of a command from the parameters of a function. A command may have a parameter whose type is a
dataclass: `with_groups` replaces it with its fields, so that commands can share options.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints

Command = Callable[..., None]


def with_groups(command: Command) -> Command:
    """Return a function for Typer with one parameter per option, which calls the command."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}

    @wraps(command)
    def flat(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        command(**values)

    parameters = list(_flat_parameters(command, hints))
    flat.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    flat.__annotations__ = {each.name: each.annotation for each in parameters}
    return flat


def _flat_parameters(command: Command, hints: dict[str, Any]) -> Iterator[inspect.Parameter]:
    """Return the parameters of a command, with the fields of a dataclass instead of the dataclass."""
    for name, parameter in inspect.signature(command).parameters.items():
        if not is_dataclass(hints[name]):
            yield parameter.replace(annotation=hints[name])
            continue
        of_group = get_type_hints(hints[name], include_extras=True)
        for field in fields(hints[name]):
            yield parameter.replace(name=field.name, default=field.default, annotation=of_group[field.name])
