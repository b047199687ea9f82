"""What every command shares: progress on stderr, results on stdout, one sentence and an exit code where it fails."""

from __future__ import annotations

import json
import math
import re
import sys
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import typer

from ..errors import InputError

BAD_INPUT, INTERRUPTED = 2, 130
OPTIONS = {
    "n_jobs": "--jobs",
    "random_state": "--seed",
    "max_iter": "--max-iter",
    "n_components": "--dimensions",
    "self_loops": "--self-loops",
    "exaggeration": "--exaggeration",
    "tol": "--tol",
}
# The last two are words, too: they are meant where the sentence is about them.
PARAMETERS = re.compile(r"\b(n_jobs|random_state|max_iter|n_components|self_loops)\b|^(exaggeration|tol)(?= must)")


class Session:
    """One run of a command.

    Parameters
    ----------
    as_json : bool
        Results go to stdout as one JSON object rather than as text.
    quiet : bool
        Nothing but errors, and JSON if asked for, is printed.
    """

    def __init__(self, *, as_json: bool, quiet: bool) -> None:
        self.as_json, self.quiet = as_json, quiet
        self.warnings: list[str] = []
        self.seconds: dict[str, float] = {}
        self.interrupted = False
        self._records: list[warnings.WarningMessage] = []

    @property
    def shows_progress(self) -> bool:
        """Whether somebody is looking."""
        return not self.quiet and sys.stderr.isatty()

    @contextmanager
    def stage(self, name: str, text: str) -> Iterator[None]:
        """Say what is being done, and note how long it took."""
        if not self.quiet:
            typer.echo(f"{text} ...", err=True)
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = round(self.seconds.get(name, 0.0) + time.perf_counter() - start, 3)
            self._say_warnings()

    def note(self, text: str) -> None:
        """Something worth knowing, in the results too."""
        self.warnings.append(text)
        if not self.quiet:
            typer.echo(f"note: {text}", err=True)

    def result(self, facts: Mapping[str, Any], text: str) -> None:
        """The outcome of the command."""
        self._say_warnings()
        if self.as_json:
            facts = {**facts, "warnings": self.warnings, "seconds": self.seconds}
            typer.echo(json.dumps(_plain(facts), indent=1))
        elif not self.quiet:
            typer.echo(text)

    def _say_warnings(self) -> None:
        while self._records:
            text = in_options(str(self._records.pop(0).message))
            if text not in self.warnings:
                self.note(text)


@contextmanager
def session(*, as_json: bool, quiet: bool) -> Iterator[Session]:
    """A run whose errors end in a sentence on stderr and an exit code."""
    run = Session(as_json=as_json, quiet=quiet)
    try:
        with warnings.catch_warnings(record=True) as records:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)  # convergence among them
            run._records = records
            yield run
    except KeyboardInterrupt:
        typer.echo("interrupted before there was anything to keep; nothing was written.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except (ValueError, MemoryError, FloatingPointError, OSError) as error:
        typer.echo(f"error: {_sentence(error)}", err=True)
        raise typer.Exit(INTERRUPTED if run.interrupted else BAD_INPUT) from None
    if run.interrupted:
        raise typer.Exit(INTERRUPTED)


def _sentence(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if isinstance(error, InputError) else in_options(text)  # which speaks of options, and names files


def in_options(text: str) -> str:
    """What the library says, with its parameters called as the options of the program are."""
    return PARAMETERS.sub(lambda found: OPTIONS[found[0]], text)


def _plain(value: Any) -> Any:
    """Arrays, numbers of NumPy and paths as JSON has them; NaN is null there."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)
