"""Tasks of the layout: pure functions of the parts of a layout and of rows of P, which run on the workers."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from ..embedding.affinity_rows import AffinityRows, negligible_below, scaled_entries, without_small
from ..embedding.charge_grid import GridState, GridSums
from ..embedding.charge_sums import Kernel
from ..embedding.mesh_size import Accuracy
from ..embedding.normalizations import step_of_charges
from ..embedding.objective import largest_coordinate
from ..errors import NumericalOverflowError
from ..runtime.execution import one_blas_thread
from ..solvers.descent_steps import Momentum
from .graph_tasks import rows_of
from .workers import Array, LocalStarts, expanded, run_on_rows, worker_threads

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # settings of glibc's `mallopt`
KEPT_BYTES = 1 << 30  # of freed memory that a worker keeps; with less, it asks the system for memory in every step


@dataclass(frozen=True)
class LayoutPart:
    """Positions and charges of the points of a piece, which all pieces need for the next step.

    Attributes
    ----------
    Z, charges : ndarray
    grid : GridState
        State of the sums, the same in all parts.
    n_pairs : float or None
        Number of near pairs of the piece in the last sums; None if the state already takes them into account.
    n_steps : int
        Number of steps taken.
    overflowed : bool
        Whether the layout has overflowed, so that no further steps are taken.
    """

    Z: Array
    charges: Array
    grid: GridState
    n_pairs: float | None = None
    n_steps: int = 0
    overflowed: bool = False


@dataclass(frozen=True)
class Motion:
    """State of the optimiser for the points of a piece."""

    velocity: Array
    gains: Array


@dataclass(frozen=True)
class StepSettings:
    """What all steps of a phase have in common."""

    kernel: Kernel
    accuracy: Accuracy
    exaggeration: float
    rate: float


@dataclass(frozen=True)
class RowsOfPiece(AffinityRows):
    """Rows of P of one piece, in a task; its loops read all positions, and write to the rows of the piece."""

    rows: slice = field(default_factory=lambda: slice(0))

    def _run(self, loop: Callable[..., None], *args: Any) -> None:
        run_on_rows(loop, self.rows, self.n_pairs, *args)


def state_of_piece(rows: slice, part: LayoutPart, motion: Motion) -> tuple[LayoutPart, Motion]:
    """Return the state of a piece before the first step."""
    return part, motion


def grid_after(parts: list[LayoutPart]) -> GridState:
    """Return the state of the sums after the step that has returned these parts."""
    grid, n_pairs = parts[0].grid, [part.n_pairs for part in parts if part.n_pairs is not None]
    return grid.noted(sum(n_pairs)) if n_pairs else grid


@one_blas_thread()
def take_step(
    rows: slice,
    parts: list[LayoutPart],
    motion: Motion,
    piece: list[Any],
    pull: Array | None,
    settings: StepSettings,
    momentum: float,
) -> tuple[LayoutPart, Motion]:
    """Move the points of a piece by one step, and update their charges."""
    keep_freed_memory()
    own = _own_part(parts, rows)
    if own.overflowed:
        return own, motion
    execution, grid = worker_threads(), grid_after(parts)
    Z, charges = (np.concatenate([getattr(part, name) for part in parts]) for name in ("Z", "charges"))
    try:
        largest = largest_coordinate(Z, execution)
        sums = GridSums(settings.kernel, execution, settings.accuracy, grid)
        phi, slope = sums(Z, charges, rows)
    except NumericalOverflowError:
        return replace(own, overflowed=True), motion
    new_charges, repulsion = step_of_charges(charges[rows], phi, slope, execution, self_loops=True)
    gradient = np.empty(Z.shape)  # only the rows of the piece are used
    gradient[rows] = repulsion
    starts, indices, data = piece
    attracted = RowsOfPiece(expanded(starts, rows, len(Z)), indices, data, execution, rows)
    student = settings.kernel is Kernel.STUDENT
    attracted.attract(Z, largest, 4.0 * settings.exaggeration, gradient, student=student)
    gradient = gradient[rows]
    if pull is not None:
        gradient /= pull
    optimizer = Momentum(own.Z.shape, execution)
    optimizer.velocity, optimizer.gains = motion.velocity.copy(), motion.gains.copy()
    moved = own.Z.copy()
    optimizer.step(moved, gradient, settings.rate, momentum)
    part = LayoutPart(moved, new_charges, sums.state, sums.pairs_of_rows, own.n_steps + 1)
    return part, Motion(optimizer.velocity, optimizer.gains)


@one_blas_thread()
def sums_at_rows(
    rows: slice, layout: tuple[Array, Array], kernel: Kernel, accuracy: Accuracy, state: GridState
) -> tuple[Array, Array, float, GridState]:
    """Return the field and its gradient at the points of a piece, the number of near pairs, and the new state."""
    sums = GridSums(kernel, worker_threads(), accuracy, state)
    phi, slope = sums(*layout, rows)
    return phi.copy(), slope.copy(), sums.pairs_of_rows, sums.state


def count_negligible(rows: slice, data: Array, scale: np.float64, n: int) -> int:
    """Return the number of negligible entries of a piece."""
    return int(np.count_nonzero(data < negligible_below(scale, n)))


def scaled_piece(
    rows: slice,
    starts: LocalStarts,
    indices: Array,
    data: Array,
    scale: np.float64,
    dtype: Any,
    n: int,
    least: np.float64 | None,
) -> tuple[LocalStarts, Array, Array]:
    """Return a piece of P as the loops of the layout expect it, without entries below `least`."""
    P = rows_of(starts, indices, data, n)
    if least is not None:
        P = without_small(P, least)
    return LocalStarts(P.indptr.astype(np.int64)), *scaled_entries(P, scale, dtype)


@cache
def keep_freed_memory() -> None:
    """Let the C library keep the memory of freed arrays for the next step.

    Dask starts workers with settings that return it to the system at once, and a step would then spend a quarter of its
    time on getting it back.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        for setting in (TRIM_THRESHOLD, MMAP_THRESHOLD):
            mallopt(setting, KEPT_BYTES)


def _own_part(parts: list[LayoutPart], rows: slice) -> LayoutPart:
    starts = np.cumsum([0, *(len(part.Z) for part in parts)])
    return parts[int(np.searchsorted(starts, rows.start))]
