"""Show the progress of an iterative solver in a terminal or a notebook."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm.auto import tqdm

Progress = Callable[[int, float], None]


@contextmanager
def show_progress(title: str, *, verbose: bool) -> Iterator[Progress]:
    """Yield a function that displays the iteration count and the gap; it does nothing unless `verbose` is set."""
    with tqdm(desc=title, disable=not verbose, unit="it") as bar:

        def progress(n_iter: int, gap: float) -> None:
            bar.update(n_iter - bar.n)
            bar.set_postfix(gap=f"{gap:.1e}")

        yield progress
