"""Print a line of progress now and then, where stderr is a file or a pipe and a progress bar would fill it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, count
from threading import Event, Thread
from typing import Any

import typer

FIRST_LINES = (10, 30, 60, 120)  # seconds after the start of a stage; more lines would bury the notes
LATER_LINES = 300  # seconds between all further lines


class Heartbeat:
    """Thread that prints the time since its start, and what is known of the progress.

    Parameters
    ----------
    wait : callable or None
        Waits for a number of seconds, and returns whether the work has ended meanwhile; None waits for `stop`.
    """

    def __init__(self, wait: Callable[[float], bool] | None = None) -> None:
        self._ended = Event()
        self._wait = wait or self._ended.wait
        self._progress = ""
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def follow(self, max_iter: int) -> Callable[[int, float, Any], None]:
        """Return a callback for an estimator; lines show the iteration and the loss that it was last called with."""

        def callback(n_iter: int, loss: float, layout: Any) -> None:
            self._progress = f", iteration {n_iter:,} of at most {max_iter:,}, loss {loss:.4f}"

        return callback

    def stop(self) -> None:
        """Print no more lines."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        before = 0
        for moment in _moments():
            if self._wait(moment - before):
                return
            typer.echo(f"  {moment} s{self._progress}", err=True)
            before = moment


def _moments() -> Iterator[int]:
    return chain(FIRST_LINES, count(LATER_LINES, LATER_LINES))
