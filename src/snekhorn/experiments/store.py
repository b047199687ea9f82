"""Finished cells of an experiment in a JSON file that is whole at any moment."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..errors import InputError
from ..io import replacing

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "openTSNE", "umap-learn")
DIGITS = 5  # of numbers that are kept


class Store:
    """Cells by their key, kept in `path` after every one.

    Parameters
    ----------
    path : Path
    quick : bool or None
        Of which kind of run the cells are; a file of the other kind is an error, not mixed with this one. None for the
        kind of the file.

    Attributes
    ----------
    cells : dict
        In the order planned, whatever order they were finished in.
    n_planned : int
        How many there will be, noted in the file.
    """

    def __init__(self, path: Path, *, quick: bool | None = False) -> None:
        self.path, self.quick = path, quick
        self.cells: dict[str, dict[str, Any]] = {}
        self._planned: tuple[str, ...] = ()
        if path.exists():
            record = self._read()
            self.cells, self.quick = record["cells"], record["quick"]

    @property
    def n_planned(self) -> int:
        return max(len(self._planned), len(self.cells))

    def plan(self, keys: Iterable[str]) -> None:
        """Which cells there will be, and in which order."""
        self._planned = tuple(keys)
        self._sort()

    def __contains__(self, key: str) -> bool:
        """Whether a cell is finished; one that was not available is tried again."""
        return key in self.cells and "not_available" not in self.cells[key]

    def put(self, key: str, cell: dict[str, Any]) -> None:
        """Keep a cell."""
        self.cells[key] = plain(cell)
        self._sort()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(self.path) as file:
            file.write_text(self._text(), encoding="utf-8")

    def _sort(self) -> None:
        self.cells = {key: self.cells[key] for key in dict.fromkeys((*self._planned, *self.cells)) if key in self.cells}

    def _text(self) -> str:
        head = {
            "quick": self.quick,
            "planned": self.n_planned,
            "date": datetime.now(timezone.utc).date().isoformat(),
            "versions": _versions(),
        }
        lines = [f"  {json.dumps(key)}: {json.dumps(cell)}" for key, cell in self.cells.items()]
        return f'{json.dumps(head)[:-1]}, "cells": {{\n' + ",\n".join(lines) + "\n}}\n"

    def _read(self) -> dict[str, Any]:
        record = read(self.path)
        if self.quick is not None and record["quick"] != self.quick:
            kind = "quick" if record["quick"] else "full"
            raise InputError(
                f"{self.path} holds the results of a {kind} run; choose another --out for this one, or delete it."
            )
        return record


def read(path: Path) -> dict[str, Any]:
    """What a store has written."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(record["cells"], dict) or "quick" not in record:
            raise KeyError("cells")
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} holds no results of 'snekhorn reproduce' ({error!r}); move it away.") from error
    return record


def plain(value: Any) -> Any:
    """Numbers of NumPy as those of Python, to a few digits; arrays as lists."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None
    return value


def _versions() -> dict[str, str]:
    found = {"snekhorn": __version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
