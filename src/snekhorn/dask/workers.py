"""Run loops over rows on the workers of a Dask cluster.

Arrays with one value per edge (`EdgeArray`) are cut into pieces, one for each range of rows, which stay on the workers.
Arrays with a few values per point live in the process of the client, and travel to the workers with each loop. Every
task is a pure function of its arguments, and everything that it needs is part of Dask's graph, so the pieces of a lost
worker are computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from itertools import pairwise
from typing import Any

import distributed.client
import numpy as np
from dask import config
from distributed import Client, Future, KilledWorker, as_completed, get_worker, wait
from distributed.comm import CommClosedError
from numpy.typing import NDArray

from ..errors import InputError
from ..runtime.execution import Execution, Threads, one_blas_thread
from ..runtime.progress import counted, is_shown

Array = NDArray[Any]

# Error of a task that is cancelled because its scheduler is lost; before version 2025.4, it was only a CancelledError.
CANCELLED = tuple(filter(None, [getattr(distributed.client, "FutureCancelledError", None)]))

# Arrays with a few values per point are part of the graph, so that they can be sent again. Dask would warn of each.
LARGE_GRAPHS = {"distributed.admin.large-graph-warning-threshold": "1 TiB"}


class LostClusterError(InputError):
    """Loss of the scheduler or of too many workers during a fit; the message says how to go on."""


@dataclass(frozen=True)
class LocalStarts:
    """Starts of the rows of a piece in its own entries, and the end of the last row."""

    indptr: NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Pieces:
    """One value or future, or a list of them, for each range of rows."""

    parts: list[Any]


@dataclass(frozen=True)
class RowStarts(Pieces):
    """Starts of rows in the pieces of an `EdgeArray`; each piece is a `LocalStarts`."""


@dataclass
class EdgeArray:
    """Array with values per edge, in pieces on the workers.

    Parameters
    ----------
    dtype : dtype
    rows : int or None
        Number of values per edge, which are the rows of an array; None for one value per edge.
    parts : list of Future or None
        Pieces; None before a loop has written them.
    """

    dtype: np.dtype[Any]
    rows: int | None = None
    parts: list[Future] | None = None


@dataclass(frozen=True)
class Shared:
    """Array in the graph of the cluster, which several loops use."""

    future: Future


@dataclass(frozen=True, eq=False)
class Workers(Threads):
    """Execution of loops over edges on the workers, and of all others in this process.

    Parameters
    ----------
    n_threads : int
        Number of threads in this process.
    client : Client
        Client of the cluster.
    ranges : tuple of slice
        Consecutive ranges of rows, one per piece. Results do not depend on them.
    addresses : tuple of str
        Workers, each of which gets one piece while it lives.
    """

    client: Client = None
    ranges: tuple[slice, ...] = ()
    addresses: tuple[str, ...] = ()

    def run(self, loop: Callable[..., None], n_rows: int, work: int, *args: Any) -> None:
        """Run a loop that writes to its own rows of its last argument, and reads these only if they are per edge."""
        if not any(isinstance(arg, RowStarts | EdgeArray) for arg in args):
            super().run(loop, n_rows, work, *args)
            return
        out, inputs = args[-1], [self.share(arg) if _is_large(arg) else arg for arg in args[:-1]]
        name = _name_of(loop)
        if isinstance(out, EdgeArray):
            written: list[Any] = out.parts or [None] * len(self.ranges)
            spec = (out.dtype, out.rows, Pieces(written))
            out.parts = self._fill(_fill_edges, name, n_rows, inputs, *spec)
            return
        axis = out.shape.index(n_rows)
        found = self._fill(_fill_rows, name, n_rows, inputs, out.shape, out.dtype, axis)
        for rows in self.ranges:  # one piece after the other, because all of them would be as large as `out`
            out[(slice(None),) * axis + (rows,)] = self.fetch([found.pop(0)])[0]

    def run_over_pieces(self, loop: Callable[..., float], n_rows: int, x: Array, args: Sequence[Any]) -> float:
        """Run a loop that needs all rows in order, piece after piece; it changes x, and finds a largest value."""
        state: Any = self.share((x, -np.inf))
        for i, rows in enumerate(self.ranges):
            pieces = [_piece_of(arg, i) for arg in args]
            state = self.submit(_visit_rows, _name_of(loop), rows, n_rows, state, pieces, piece=i)
        x[:], largest = self.fetch([state])[0]
        return float(largest)

    def share(self, value: Any, piece: int | None = None) -> Shared:
        """Make a value part of the graph, once for all tasks, or for those of a piece."""
        return Shared(self.submit(_same, value, piece=piece))

    def submit(self, function: Callable[..., Any], *args: Any, piece: int | None = None) -> Future:
        """Submit a task, preferably to the worker of a piece; shared arguments may be nested in lists."""
        placed: dict[str, Any] = {}
        if piece is not None and self.addresses:
            placed = {"workers": [self.address_of(piece)], "allow_other_workers": True}
        with config.set(LARGE_GRAPHS), reported_losses(self.client):
            return self.client.submit(function, *map(futures_in, args), pure=False, **placed)

    def address_of(self, piece: int) -> str:
        """Return the address of the worker of a piece."""
        return self.addresses[piece % len(self.addresses)]

    def map_pieces(self, function: Callable[..., Any], *args: Any) -> list[Future]:
        """Submit ``function(rows, *args)`` for every range of rows, with the pieces of pieced arguments."""
        return [
            self.submit(function, rows, *(_piece_of(arg, i) for arg in args), piece=i)
            for i, rows in enumerate(self.ranges)
        ]

    def split(self, futures: list[Future], n_parts: int) -> list[list[Future]]:
        """Return the parts of tuples: one list of futures for each part."""
        return [[self.submit(_part, future, part) for future in futures] for part in range(n_parts)]

    def fetch(self, futures: Sequence[Any]) -> list[Any]:
        """Return the results of tasks."""
        wanted = [futures_in(future) for future in futures]
        with reported_losses(self.client):
            if is_shown():
                with counted(len(wanted)) as done:
                    for _ in as_completed(wanted, loop=self.client.loop):
                        done()
            return list(self.client.gather(wanted))

    def wait_for(self, future: Future) -> None:
        """Wait until a task has ended."""
        with reported_losses(self.client), self.client.as_current():  # it need not be the default client
            wait(future)

    def starts(self, indptr: NDArray[np.integer[Any]]) -> RowStarts:
        """Cut the starts of all rows into pieces."""
        parts = (indptr[rows.start : rows.stop + 1] - indptr[rows.start] for rows in self.ranges)
        return RowStarts([self.submit(_same, LocalStarts(part), piece=i) for i, part in enumerate(parts)])

    def _fill(
        self, task: Callable[..., Any], name: str, n_rows: int, inputs: Sequence[Any], *spec: Any
    ) -> list[Future]:
        pieces = Pieces([[_piece_of(arg, i) for arg in inputs] for i in range(len(self.ranges))])
        return self.map_pieces(task, name, n_rows, pieces, *spec)


def row_ranges(n: int, n_pieces: int, multiple: int = 1) -> tuple[slice, ...]:
    """Cut n rows into ranges of about equal size, whose ends are multiples of a number; fewer if there are few rows."""
    n_blocks = -(-n // multiple)
    n_pieces = max(1, min(n_pieces, n_blocks))
    ends = (min(n, multiple * (n_blocks * i // n_pieces)) for i in range(n_pieces + 1))
    return tuple(slice(start, stop) for start, stop in pairwise(ends))


@contextmanager
def reported_losses(client: Client) -> Iterator[None]:
    """Turn the errors that a lost scheduler, or too many lost workers, cause into one that says how to go on."""
    address = getattr(client.scheduler, "address", None) or "an unknown address"
    try:
        yield
    except KilledWorker as error:
        raise LostClusterError(
            f"a task was lost with each of the workers that tried it ({error.task}), which usually means that a worker "
            "has too little memory; use more workers or give them more memory, then run the same fit again."
        ) from error
    except (CommClosedError, CancelledError, *CANCELLED) as error:
        raise LostClusterError(
            f"the connection to the Dask scheduler at {address} was lost ({type(error).__name__}); start the cluster "
            "again, connect to it, and run the same fit again."
        ) from error


def worker_threads() -> Execution:
    """Return the execution of a task: all threads of its worker, because a worker has one piece."""
    return Threads(get_worker().state.nthreads)


def expanded(starts: LocalStarts, rows: slice, n_rows: int) -> NDArray[np.integer[Any]]:
    """Return the starts of rows as the loops expect them: of all rows, but only those of the piece are set."""
    indptr = np.empty(n_rows + 1, dtype=starts.indptr.dtype)  # memory that is not written takes no room
    indptr[rows.start : rows.stop + 1] = starts.indptr
    return indptr


def run_on_rows(loop: Callable[..., None], rows: slice, work: int, *args: Any) -> None:
    """Run a loop over these rows in a task."""
    worker_threads().run(partial(_shifted, loop, rows.start), rows.stop - rows.start, work, *args)


def _shifted(loop: Callable[..., None], first: int, start: int, stop: int, *args: Any) -> None:
    loop(first + start, first + stop, *args)


def _fill_rows(
    rows: slice, name: str, n_rows: int, args: list[Any], shape: tuple[int, ...], dtype: Any, axis: int
) -> Array:
    """Run a loop in a task, and return its rows of the output."""
    out = np.empty(shape, dtype)
    _run_named(name, rows, n_rows, args, out)
    part: Array = out[(slice(None),) * axis + (rows,)].copy()
    return part


def _fill_edges(
    rows: slice, name: str, n_rows: int, args: list[Any], dtype: Any, n_values: int | None, written: Array | None
) -> Array:
    """Run a loop in a task, and return its piece of the output, which may have been written before."""
    n_edges = next(int(arg.indptr[-1]) for arg in args if isinstance(arg, LocalStarts))
    shape = (n_edges,) if n_values is None else (n_values, n_edges)
    out = np.empty(shape, dtype) if written is None else written.copy()
    _run_named(name, rows, n_rows, args, out)
    return out


def _run_named(name: str, rows: slice, n_rows: int, args: list[Any], out: Array) -> None:
    arrays = [expanded(arg, rows, n_rows) if isinstance(arg, LocalStarts) else arg for arg in args]
    work = sum(int(arg.indptr[-1]) for arg in args if isinstance(arg, LocalStarts))
    with one_blas_thread():
        run_on_rows(_loop_of(name), rows, work, *arrays, out)


def _visit_rows(
    name: str, rows: slice, n_rows: int, state: tuple[Array, float], args: list[Any]
) -> tuple[Array, float]:
    """Visit the rows of a piece in order."""
    starts, indices, costs, *rest = args
    x, largest = state[0].copy(), state[1]
    found = _loop_of(name)(rows.start, rows.stop, expanded(starts, rows, n_rows), indices, costs, x, *rest)
    return x, max(largest, found)


def _same(value: Any) -> Any:
    return value


def _part(values: Sequence[Any], i: int) -> Any:
    return values[i]


def _piece_of(arg: Any, i: int) -> Any:
    if not isinstance(arg, Pieces | EdgeArray):
        return arg
    assert arg.parts is not None
    return arg.parts[i]


def _is_large(arg: Any) -> bool:
    return isinstance(arg, np.ndarray) and arg.ndim > 0


def futures_in(arg: Any) -> Any:
    """Replace shared values by their futures, also in lists."""
    if isinstance(arg, Shared):
        return arg.future
    return [futures_in(part) for part in arg] if isinstance(arg, list) else arg


def _name_of(loop: Any) -> str:
    """Return the name under which a worker finds a compiled loop; compiled loops are slow to send."""
    function = getattr(loop, "py_func", loop)
    return f"{function.__module__}:{function.__name__}"


@cache
def _loop_of(name: str) -> Callable[..., Any]:
    module, function = name.split(":")
    loop: Callable[..., Any] = getattr(import_module(module), function)
    return loop
