"""Show the progress of a fit in a terminal or a notebook, a bar for each stage with the time left; pass on notes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Any

Progress = Callable[[int, float], None]

_stage: ContextVar[str | None] = ContextVar("stage", default=None)  # other threads do not see it
_show: ContextVar[Callable[[str], None] | None] = ContextVar("show", default=None)  # what shows notes


@contextmanager
def notes_shown_by(show: Callable[[str], None]) -> Iterator[None]:
    """Pass the notes of fits in the body to `show`; outside this context, they are not shown."""
    token = _show.set(show)
    try:
        yield
    finally:
        _show.reset(token)


def note(text: str) -> None:
    """Note something about a fit that is not worth a warning."""
    if (show := _show.get()) is not None:
        show(text)


@contextmanager
def shown_stage(title: str, *, verbose: bool) -> Iterator[None]:
    """Show the loops over blocks in the body as parts of a stage, if `verbose` is set."""
    token = _stage.set(title if verbose else None)
    try:
        yield
    finally:
        _stage.reset(token)


def is_shown() -> bool:
    """Return whether a stage is shown."""
    return _stage.get() is not None


def progress_bar(title: str, total: int, *, verbose: bool, unit: str = "it", leave: bool = True) -> Any:
    """Return a bar, which is shown if `verbose` is set; only then, tqdm may warn that a notebook lacks widgets."""
    if verbose:
        from tqdm.auto import tqdm
    else:
        from tqdm import tqdm
    return tqdm(total=total, desc=title, disable=not verbose, unit=unit, leave=leave)


@contextmanager
def counted(total: int) -> Iterator[Callable[[], None]]:
    """Yield a function to call after each of `total` parts of the stage; it does nothing unless the stage is shown."""
    title = _stage.get()
    if title is None or total < 2:
        yield _nothing
        return
    lock, token = Lock(), _stage.set(None)  # loops inside a part show no bars of their own
    try:
        with progress_bar(title, total, verbose=True, leave=False) as bar:

            def done() -> None:
                with lock:  # parts end in several threads
                    bar.update()

            yield done
    finally:
        _stage.reset(token)


@contextmanager
def show_progress(title: str, *, verbose: bool, tol: float) -> Iterator[Progress]:
    """Yield a function that displays the iteration count and the gap, which ends at `tol`, if `verbose` is set.

    The time left follows from the logarithm of the gap. It is a rough estimate, because solvers slow down or speed up.
    """
    with progress_bar(title, 100, verbose=verbose, unit="%") as bar:
        first: list[float] = []

        def progress(n_iter: int, gap: float) -> None:
            first.append(gap)
            bar.update(max(0, int(100 * share_done(first[0], gap, tol)) - bar.n))
            bar.set_postfix(iterations=n_iter, gap=f"{gap:.1e}")

        yield progress


def share_done(first: float, gap: float, tol: float) -> float:
    """Return how much of the way from the first gap to the tolerance is done, from 0 to 1."""
    if gap <= tol:
        return 1.0
    if not (0.0 < tol < first and math.isfinite(first) and math.isfinite(gap)):
        return 0.0
    return min(1.0, max(0.0, math.log(first / gap) / math.log(first / tol)))


def _nothing() -> None:
    """Do nothing."""
