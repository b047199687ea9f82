"""Progress of an iteration on the terminal or in a notebook."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm.auto import tqdm

from .newton import Point


@contextmanager
def show_progress(title: str, *, verbose: bool) -> Iterator[Callable[[int, Point], None]]:
    """A function that shows the number of iterations and the gap, or does nothing unless `verbose`."""
    with tqdm(desc=title, disable=not verbose, unit="it") as bar:

        def progress(n_iter: int, point: Point) -> None:
            bar.update(n_iter - bar.n)
            bar.set_postfix(gap=f"{point.gap:.1e}")

        yield progress
