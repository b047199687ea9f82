"""Run a command: progress on stderr, results on stdout; a failure prints one sentence and sets the exit code.

Problems that the user can fix (an `InputError`, a file, memory) exit with code 2. Any other exception is a bug and
exits with code 1.
"""

from __future__ import annotations

import json
import math
import re
import sys
import time
import traceback
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from ..errors import InputError, MissingMemoryError
from ..runtime.settings import offered_parameters, offering
from .heartbeat import Heartbeat

BUG, BAD_INPUT, INTERRUPTED = 1, 2, 130
USER_ERRORS = (InputError, OSError, MemoryError)
OPTIONS = {
    "n_jobs": "--jobs",
    "max_memory": "--max-memory",
    "random_state": "--seed",
    "max_iter": "--max-iter",
    "n_components": "--dimensions",
    "self_loops": "--self-loops",
    "tol": "--tol",
    "balance": "--balance",
    "metric": "--metric",
    "n_neighbors": "--neighbors",
}
# Parameters of affinities that `embed` and `affinity` offer. Advice names no others, and other commands have none.
OFFERED_BY_EMBED = ("perplexity", "self_loops")
OFFERED_BY_AFFINITY = ("perplexity", "perplexities", "n_neighbors", "self_loops")
# Quoted names and file names come from the user and stay unchanged. Words such as "tol" also occur in explanations, so
# they count as parameters only at the start of a message.
PARAMETERS = re.compile(
    r"(?<!\w)'[^']*'"
    r"|(?<![\w/.-])(?P<name>n_jobs|max_memory|random_state|max_iter|n_components|self_loops|n_neighbors)(?![\w/-]|\.\w)"
    r"(?:='(?P<value>[\w.%+-]+)')?"
    r"|^(?P<word>tol|balance|metric)(?= must)"
)
_program_start: list[float] = []  # empty if a command does not run as a program of its own


def count_time_from(start: float) -> None:
    """Count the time of the next session from an earlier moment, so that it includes the imports."""
    _program_start[:] = [start]


class Session:
    """One run of a command.

    Parameters
    ----------
    records : list of warnings.WarningMessage
        Warnings raised so far; reported and removed at the end of each stage.
    as_json : bool
        Print the results as one JSON object instead of text.
    quiet : bool
        Print only errors, and JSON if requested.
    """

    def __init__(self, records: list[warnings.WarningMessage], *, as_json: bool, quiet: bool) -> None:
        self.as_json, self.quiet = as_json, quiet
        self.warnings: list[str] = []
        self.seconds: dict[str, float] = {}
        self.interrupted = False
        self.checkpoint: Path | None = None  # folder from which the same command continues
        self.postponed: Exception | None = None
        self._records = records
        self._start = _program_start.pop() if _program_start else time.perf_counter()

    @property
    def shows_progress(self) -> bool:
        """Whether to show progress bars: stderr is a terminal, and `quiet` is not set."""
        return not self.quiet and sys.stderr.isatty()

    @property
    def elapsed(self) -> float:
        """Seconds since the start of the program, imports included."""
        return time.perf_counter() - self._start

    @contextmanager
    def stage(self, name: str, text: str) -> Iterator[Heartbeat | None]:
        """Announce a stage of the work and time it; yield what prints lines of progress, unless a bar shows it."""
        if not self.quiet:
            typer.echo(f"{text} ...", err=True)
        start = time.perf_counter()
        heartbeat = None if self.quiet or self.shows_progress else Heartbeat()
        try:
            yield heartbeat
        finally:
            if heartbeat is not None:
                heartbeat.stop()
            self.seconds[name] = round(self.seconds.get(name, 0.0) + time.perf_counter() - start, 3)
            self._report_warnings()

    def say(self, text: str) -> None:
        """Print a line that is not part of the results."""
        if not self.quiet:
            typer.echo(text, err=True)

    def note(self, text: str) -> None:
        """Print a note and add it to the results."""
        self.warnings.append(text)
        if not self.quiet:
            typer.echo(f"note: {text}", err=True)

    def postpone(self, error: Exception) -> None:
        """Raise an unexpected error only at the end of the session, so that the results are not lost."""
        self.postponed = self.postponed or error

    def result(self, facts: Mapping[str, Any], text: str) -> None:
        """Print the results of the command."""
        self._report_warnings()
        if self.as_json:
            seconds = {**self.seconds, "total": round(self.elapsed, 3)}
            facts = {**facts, "warnings": self.warnings, "seconds": seconds}
            typer.echo(json.dumps(_plain(facts), indent=1))
        elif not self.quiet:
            typer.echo(text)

    def _report_warnings(self) -> None:
        while self._records:
            text = with_option_names(str(self._records.pop(0).message))
            if text not in self.warnings:
                self.note(text)


@contextmanager
def session(*, as_json: bool, quiet: bool, debug: bool = False, offered: Iterable[str] = ()) -> Iterator[Session]:
    """Run the body of a command, and turn any exception into a sentence on stderr and an exit code.

    `offered` are the parameters of an affinity for which the command has an option.
    """
    with warnings.catch_warnings(record=True) as records, offering(offered):
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
            typer.echo(_interruption(run.checkpoint), err=True)
            raise typer.Exit(INTERRUPTED) from None
        except Exception as error:
            if debug:
                typer.echo(traceback.format_exc(), err=True)
            typer.echo(f"error: {_sentence(error, debug=debug)}", err=True)
            raise typer.Exit(_exit_code(error, run)) from None
    if run.interrupted:
        raise typer.Exit(INTERRUPTED)


def _interruption(checkpoint: Path | None) -> str:
    """Say what an interrupt leaves behind if there are no results."""
    if checkpoint is not None:
        from ..estimators.checkpoints import stages_in

        if stages_in(checkpoint):
            return f"interrupted; the same command continues from the checkpoint {checkpoint}."
    return "interrupted before there were any results; nothing was written."


def _exit_code(error: Exception, run: Session) -> int:
    if not isinstance(error, USER_ERRORS):
        return BUG
    return INTERRUPTED if run.interrupted else BAD_INPUT


def _sentence(error: Exception, *, debug: bool) -> str:
    text = " ".join(str(error).split())
    if not isinstance(error, USER_ERRORS):
        where = "the traceback above" if debug else "the traceback from --debug"
        return f"this is a bug in snekhorn ({type(error).__name__}: {text}); please report it and include {where}."
    if isinstance(error, MemoryError) and not text:
        return "there is not enough memory; use fewer points or columns."
    if isinstance(error, MissingMemoryError):
        problem, *remedies = error.args
        if not _offers_neighbors():
            remedies = [remedy for remedy in remedies if "n_neighbors" not in remedy]
        text = str(MissingMemoryError(problem, *(remedies or ["use fewer points"])))
    return with_option_names(text or type(error).__name__)


def with_option_names(text: str) -> str:
    """Replace parameter names of the library with the corresponding command-line options."""

    def named(found: re.Match[str]) -> str:
        if found["name"] == "n_neighbors" and not _offers_neighbors():
            return found[0]
        option = OPTIONS.get(found["name"] or found["word"], found[0])
        return option if found["value"] is None else f"{option} {found['value']}"

    return PARAMETERS.sub(named, text)


def _offers_neighbors() -> bool:
    """Whether the command has an option for the number of neighbours."""
    return "n_neighbors" in (offered_parameters() or ())


def _plain(value: Any) -> Any:
    """Convert arrays, NumPy numbers and paths to JSON types; NaN and infinity become null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)
