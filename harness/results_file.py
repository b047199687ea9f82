"""Store the finished cases of an experiment in a JSON file that is valid at any time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

from snekhorn.errors import InputError
from snekhorn.io import replacing

from .machine import describe

DIGITS = 5  # significant digits kept; fewer would affect the tables, more would only make the files larger
LOAD = ("seconds", "busy_cores_of_others")  # recorded for timed experiments


class ResultsFile:
    """Cases by key, written to `path` after each case.

    Parameters
    ----------
    path : Path
    quick : bool or None
        Kind of run. A file from the other kind raises an error, so that the two are never mixed. None accepts both.

    Attributes
    ----------
    cases : dict
        Cases in the planned order, regardless of the order in which they finished.
    machine : dict
        Machine and versions used to compute the cases in the file; empty if there is no file.
    load : dict
        Time and load of the run, if it was timed.
    is_incomplete : bool
        Whether the run was interrupted before all planned cases were tried.
    """

    def __init__(self, path: Path, *, quick: bool | None = False) -> None:
        self.path, self.quick = path, quick
        self.cases: dict[str, dict[str, Any]] = {}
        self.machine: dict[str, Any] = {}
        self.load: dict[str, float] = {}
        self.is_incomplete = False
        self._planned: tuple[str, ...] = ()
        if path.exists():
            record = self._read()
            self.cases, self.quick, self.machine = record["cases"], record["quick"], record["machine"]
            self.load = {key: record[key] for key in LOAD if key in record}
            self.is_incomplete = record["planned"] > len(self.cases)

    @property
    def n_planned(self) -> int:
        return max(len(self._planned), len(self.cases))

    def start(self, keys: Iterable[str], keep: Callable[[Mapping[str, Any]], bool] = lambda case: True) -> None:
        """Start a run of these cases, in this order; finished cases that are not kept will be computed again."""
        self._planned = tuple(keys)
        kept = {key: case for key, case in self.cases.items() if keep(case)}
        self.load = self.load if len(kept) == len(self.cases) else {}
        self.cases = kept
        self._sort()

    def __contains__(self, key: str) -> bool:
        """Return whether a case is finished; cases that were not available are tried again."""
        return key in self.cases and is_finished(self.cases[key])

    def put(self, key: str, case: Mapping[str, Any], *, load: dict[str, float] | None = None) -> None:
        """Add a case and write the file."""
        self.cases[key] = plain(case)
        self.load = load or self.load
        self._sort()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_complete(self.path, self._text())

    def _sort(self) -> None:
        self.cases = {key: self.cases[key] for key in dict.fromkeys((*self._planned, *self.cases)) if key in self.cases}

    def _text(self) -> str:
        head = {
            "quick": self.quick,
            "planned": self.n_planned,
            "date": datetime.now(timezone.utc).date().isoformat(),
            "machine": describe(),
            **self.load,
        }
        lines = [f"  {json.dumps(key)}: {json.dumps(case)}" for key, case in self.cases.items()]
        return f'{json.dumps(head)[:-1]}, "cases": {{\n' + ",\n".join(lines) + "\n}}\n"

    def _read(self) -> dict[str, Any]:
        record = read_results(self.path)
        if self.quick is not None and record["quick"] != self.quick:
            kind = "quick" if record["quick"] else "full"
            raise InputError(
                f"{self.path} holds the results of a {kind} run; choose another --out for this run, or delete the file."
            )
        return record


def read_results(path: Path) -> dict[str, Any]:
    """Read a file written by `ResultsFile`."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        missing = {"quick", "planned", "date", "machine", "cases"} - set(record)
        if missing or not isinstance(record["cases"], dict):
            raise KeyError(*sorted(missing))
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path} does not hold the results of an experiment ({error!r}); move it elsewhere."
        ) from error
    return record


def is_finished(case: Mapping[str, Any]) -> bool:
    """Return whether a case has a result."""
    return "not_available" not in case


def write_complete(path: Path, text: str) -> None:
    """Write a text file atomically, so that it always has either its old or its new content."""
    with replacing(path) as file:
        file.write_text(text, encoding="utf-8")


def plain(value: Any) -> Any:
    """Convert to JSON types: rounded numbers, lists for arrays, None for NaN and infinity."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None
    return value
