"""Groups of options."""

import inspect
from dataclasses import dataclass
from typing import Annotated, get_type_hints

import pytest
import typer

from snekhorn.cli.option_groups import with_groups

Size = Annotated[int, typer.Option(help="Size.")]


@dataclass(frozen=True)
class Box:
    size: Size = 3
    name: str = "box"


@dataclass(frozen=True)
class ColoredBox(Box):
    name: str = "red"


def test_a_group_becomes_one_parameter_per_option():
    found = {}

    def command(path: str, *, box: ColoredBox, depth: int = 1) -> None:
        """Open a box."""
        found.update(path=path, box=box, depth=depth)

    flat = with_groups(command)
    defaults = {name: each.default for name, each in inspect.signature(flat).parameters.items()}
    assert defaults == {"path": inspect.Parameter.empty, "size": 3, "name": "red", "depth": 1}
    assert get_type_hints(flat, include_extras=True)["size"] == Size
    assert (flat.__name__, flat.__doc__) == ("command", "Open a box.")
    flat(path="p", size=5, name="blue", depth=2)
    assert found == {"path": "p", "box": ColoredBox(5, "blue"), "depth": 2}


def test_an_option_of_two_groups_is_refused():
    def command(*, first: Box, second: ColoredBox) -> None: ...

    with pytest.raises(ValueError, match="size"):
        with_groups(command)
