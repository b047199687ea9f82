"""Run a command: progress on stderr, results on stdout; a failure ends in one sentence and an exit code.

What a user can put right (an `InputError`, a file, memory) exits with 2. Any other exception is a bug and exits with 1.
"""

from __future__ import annotations

import json
import math
import re
import sys
import time
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import typer

from ..errors import InputError

BUG, BAD_INPUT, INTERRUPTED = 1, 2, 130
USER_ERRORS = (InputError, OSError, MemoryError)
OPTIONS = {
    "n_jobs": "--jobs",
    "random_state": "--seed",
    "max_iter": "--max-iter",
    "n_components": "--dimensions",
    "self_loops": "--self-loops",
    "exaggeration": "--exaggeration",
    "tol": "--tol",
}
# Quoted names and names of files are the user's own and stay as they are. "exaggeration" and "tol" are ordinary words,
# too, and are parameters only if the sentence is about them.
PARAMETERS = re.compile(
    r"(?<!\w)'[^']*'"
    r"|(?<![\w/.-])(?P<name>n_jobs|random_state|max_iter|n_components|self_loops)(?![\w/-]|\.\w)"
    r"|^(?P<word>exaggeration|tol)(?= must)"
)


class Session:
    """One run of a command.

    Parameters
    ----------
    records : list of warnings.WarningMessage
        Warnings raised so far; reported and removed at the end of each stage.
    as_json : bool
        Print the results as one JSON object, not as text.
    quiet : bool
        Print only errors, and JSON if asked for.
    """

    def __init__(self, records: list[warnings.WarningMessage], *, as_json: bool, quiet: bool) -> None:
        self.as_json, self.quiet = as_json, quiet
        self.warnings: list[str] = []
        self.seconds: dict[str, float] = {}
        self.interrupted = False
        self.postponed: Exception | None = None
        self._records = records

    @property
    def shows_progress(self) -> bool:
        """Whether stderr is a terminal that somebody may be watching."""
        return not self.quiet and sys.stderr.isatty()

    @contextmanager
    def stage(self, name: str, text: str) -> Iterator[None]:
        """Announce a stage of the work and measure how long it takes."""
        if not self.quiet:
            typer.echo(f"{text} ...", err=True)
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = round(self.seconds.get(name, 0.0) + time.perf_counter() - start, 3)
            self._report_warnings()

    def note(self, text: str) -> None:
        """Print a note, and keep it for the results."""
        self.warnings.append(text)
        if not self.quiet:
            typer.echo(f"note: {text}", err=True)

    def postpone(self, error: Exception) -> None:
        """Raise an unexpected error at the end of the session, so that it does not cost the results."""
        self.postponed = self.postponed or error

    def result(self, facts: Mapping[str, Any], text: str) -> None:
        """Print the outcome of the command."""
        self._report_warnings()
        if self.as_json:
            facts = {**facts, "warnings": self.warnings, "seconds": self.seconds}
            typer.echo(json.dumps(_plain(facts), indent=1))
        elif not self.quiet:
            typer.echo(text)

    def _report_warnings(self) -> None:
        while self._records:
            text = with_option_names(str(self._records.pop(0).message))
            if text not in self.warnings:
                self.note(text)


@contextmanager
def session(*, as_json: bool, quiet: bool, debug: bool = False) -> Iterator[Session]:
    """Run the body of a command, and turn whatever it raises into a sentence on stderr and an exit code."""
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)  # includes ConvergenceWarning
        run = Session(records, as_json=as_json, quiet=quiet)
        try:
            yield run
            if run.postponed is not None:
                raise run.postponed
        except typer.Exit:
            raise
        except KeyboardInterrupt:
            typer.echo("interrupted before there were any results; nothing was written.", err=True)
            raise typer.Exit(INTERRUPTED) from None
        except Exception as error:
            if debug:
                typer.echo(traceback.format_exc(), err=True)
            typer.echo(f"error: {_sentence(error, debug=debug)}", err=True)
            raise typer.Exit(_exit_code(error, run)) from None
    if run.interrupted:
        raise typer.Exit(INTERRUPTED)


def _exit_code(error: Exception, run: Session) -> int:
    if not isinstance(error, USER_ERRORS):
        return BUG
    return INTERRUPTED if run.interrupted else BAD_INPUT


def _sentence(error: Exception, *, debug: bool) -> str:
    text = " ".join(str(error).split())
    if not isinstance(error, USER_ERRORS):
        where = "the traceback above" if debug else "the traceback that --debug shows"
        return f"this is a bug in snekhorn ({type(error).__name__}: {text}); please report it with {where}."
    if isinstance(error, MemoryError) and not text:
        return "there is not enough memory; use fewer points or columns."
    return with_option_names(text or type(error).__name__)


def with_option_names(text: str) -> str:
    """Replace the names of the library's parameters by those of the command line's options."""
    return PARAMETERS.sub(lambda found: OPTIONS.get(found["name"] or found["word"], found[0]), text)


def _plain(value: Any) -> Any:
    """Convert arrays, NumPy numbers and paths to what JSON can hold; NaN and infinity become null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)
