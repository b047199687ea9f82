"""Fill in the reference pages from the registries and the program when the site is built.

A line such as ``{{ affinities }}`` becomes a table of names and one reference entry per class. New affinities, methods
and data sets therefore appear in the documentation automatically.
"""

from __future__ import annotations

import runpy
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from snekhorn.datasets import SETS
from snekhorn.registry import AFFINITIES, METHODS, Entry

COMMANDS = Path(__file__).with_name("commands.py")
OPTIONS = {
    "affinities": "{members: false}",
    "methods": "{members: false, show_signature: false, separate_signature: false}",  # the base class shows it
}


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace every marker of a page; mkdocs calls this before it renders the page."""
    for marker, content in MARKERS.items():
        markdown = markdown.replace(f"{{{{ {marker} }}}}", content())
    return markdown


def class_entries(kind: str, entries: Mapping[str, Entry]) -> str:
    """Return the reference entries of all registered classes, below a table of their command-line names."""
    table = ["| name on the command line | class |", "|---|---|"]
    for name, entry in entries.items():
        parameters = ", ".join(f"{key}={value!r}" for key, value in entry.parameters.items())
        table.append(f"| `{name}` | `{entry.class_name}{f'({parameters})' if parameters else ''}` |")
    paths = dict.fromkeys(f"snekhorn.{entry.module}.{entry.class_name}" for entry in entries.values())  # each once
    blocks = [f"::: {path}\n    options: {OPTIONS[kind]}" for path in paths]
    return "\n\n".join(["\n".join(table), *blocks])


def dataset_table() -> str:
    """Return a table of the data sets that can be loaded by name."""
    rows = [f"| `{name}` | {source.title} | <{source.home}> |" for name, source in SETS.items()]
    return "\n".join(["| name | data set | source |", "|---|---|---|", *rows])


MARKERS: dict[str, Callable[[], str]] = {
    "affinities": lambda: class_entries("affinities", AFFINITIES),
    "methods": lambda: class_entries("methods", METHODS),
    "datasets": dataset_table,
    "commands": lambda: runpy.run_path(str(COMMANDS))["command_sections"](),
}
