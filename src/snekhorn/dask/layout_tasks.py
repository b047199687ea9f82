"""Tasks of the layout, which run on the workers; their results depend only on parts of a layout and on rows of P."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ..embedding.affinity_rows import AffinityRows, negligible_below, scaled_rows
from ..embedding.charge_grid import DividedLayout, GridState, GridSums, RowSums
from ..embedding.charge_sums import OVERFLOW, Kernel
from ..embedding.mesh_parts import FarPart
from ..embedding.mesh_size import Accuracy
from ..embedding.normalizations import step_of_charges
from ..embedding.objective import largest_coordinate
from ..errors import NumericalOverflowError
from ..runtime.execution import one_blas_thread
from ..solvers.descent_steps import Momentum
from .graph_tasks import rows_of
from .worker_setup import keep_freed_memory
from .workers import Array, LocalStarts, expanded, run_on_rows, worker_threads


@dataclass(frozen=True, eq=False)
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
class PairForces:
    """What a step of a piece needs apart from the far part of the field: near parts of sums, and the attraction."""

    near: RowSums
    attraction: Array


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


# The layout of a step, on the worker that computes the far part of the field and then the forces of its own piece. The
# second task removes it. If that runs elsewhere, it goes with the first part.
_layouts: WeakKeyDictionary[LayoutPart, tuple[DividedLayout, float]] = WeakKeyDictionary()


def state_of_piece(rows: slice, part: LayoutPart, motion: Motion) -> tuple[LayoutPart, Motion]:
    """Return the state of a piece before the first step."""
    return part, motion


def part_of_state(state: tuple[LayoutPart, Motion]) -> LayoutPart:
    """Return what other pieces need of the state of a piece."""
    return state[0]


def grid_after(parts: list[LayoutPart]) -> GridState:
    """Return the state of the sums after the step that has returned these parts."""
    grid, n_pairs = parts[0].grid, [part.n_pairs for part in parts if part.n_pairs is not None]
    return grid.noted(sum(n_pairs)) if n_pairs else grid


@one_blas_thread()
def far_part_of_field(parts: list[LayoutPart], settings: StepSettings) -> FarPart | None:
    """Return the far part of the field of all points, or None if the layout has overflowed."""
    try:
        layout, largest = _divided_layout(parts, settings)
    except NumericalOverflowError:
        return None
    _layouts[parts[0]] = (layout, largest)
    return layout.far_part()


@one_blas_thread()
def forces_of_pairs(
    rows: slice, parts: list[LayoutPart], piece: list[Any], settings: StepSettings
) -> PairForces | None:
    """Return what near pairs and similar pairs of points contribute, or None if the layout has overflowed."""
    try:
        layout, largest = _layouts.pop(parts[0], None) or _divided_layout(parts, settings)  # type: ignore[arg-type]
    except NumericalOverflowError:
        return None
    Z, near = layout.Z, layout.near_sums(rows)
    attraction = np.empty(Z.shape)  # only the rows of the piece are used
    attraction[rows] = -0.0  # adding to it then changes no bit, not even the sign of zero
    starts, indices, data = piece
    attracted = RowsOfPiece(expanded(starts, rows, len(Z)), indices, data, worker_threads(), rows)
    student = settings.kernel is Kernel.STUDENT
    attracted.attract(Z, largest, 4.0 * settings.exaggeration, attraction, student=student)
    return PairForces(near, attraction[rows].copy())


@one_blas_thread()
def take_step(
    rows: slice,
    state: tuple[LayoutPart, Motion],
    forces: PairForces | None,
    far: FarPart | None,
    settings: StepSettings,
    stiffness: Array | None,
    momentum: float,
) -> tuple[LayoutPart, Motion]:
    """Move the points of a piece by one step, and update their charges."""
    part, motion = state
    if forces is None or far is None:
        return replace(part, overflowed=True), motion
    execution = worker_threads()
    sums = GridSums(settings.kernel, execution, settings.accuracy)
    phi, slope = sums.joined(forces.near, far)
    charges, gradient = step_of_charges(part.charges, phi, slope, execution, self_loops=True)
    gradient += forces.attraction
    if stiffness is not None:
        gradient /= stiffness
    optimizer = Momentum(part.Z.shape, execution)
    optimizer.velocity, optimizer.gains = motion.velocity.copy(), motion.gains.copy()
    Z = part.Z.copy()
    optimizer.step(Z, gradient, settings.rate, momentum)
    moved = LayoutPart(Z, charges, forces.near.state, forces.near.on_mesh.n_pairs, part.n_steps + 1)
    return moved, Motion(optimizer.velocity, optimizer.gains)


def whole_step(
    rows: slice,
    parts: list[LayoutPart],
    piece: list[Any],
    settings: StepSettings,
    state: tuple[LayoutPart, Motion],
    *rest: Any,
) -> tuple[LayoutPart, Motion]:
    """Compute the forces on the points of a piece, and move them; `rest` are the other arguments of `take_step`."""
    return take_step(rows, state, forces_of_pairs(rows, parts, piece, settings), *rest)


@one_blas_thread()
def far_part(layout: tuple[Array, Array], kernel: Kernel, accuracy: Accuracy, state: GridState) -> FarPart:
    """Return the far part of the field."""
    return GridSums(kernel, worker_threads(), accuracy, state).divided(*layout).far_part()


@one_blas_thread()
def sums_at_rows(
    rows: slice, layout: tuple[Array, Array], far: FarPart, kernel: Kernel, accuracy: Accuracy, state: GridState
) -> tuple[Array, Array, float, GridState]:
    """Return the field and its gradient at the points of a piece, the number of near pairs, and the new state."""
    sums = GridSums(kernel, worker_threads(), accuracy, state)
    near = sums.divided(*layout).near_sums(rows)
    phi, slope = sums.joined(near, far)
    return phi.copy(), slope.copy(), near.on_mesh.n_pairs, near.state


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
    smallest: np.float64,
) -> tuple[LocalStarts, Array, Array]:
    """Return a piece of P as the loops of the layout expect it, without entries below `smallest`."""
    P = rows_of(starts, indices, data, n)
    order, places = np.arange(P.shape[0]), np.arange(n, dtype=np.uint32)
    how = (order, places, smallest, scale, dtype, worker_threads())
    ends, columns, entries = scaled_rows((P.indptr, P.indices, P.data), *how)
    return LocalStarts(ends), columns, entries


def _divided_layout(parts: list[LayoutPart], settings: StepSettings) -> tuple[DividedLayout, float]:
    """Return the layout of all points with its mesh, and its largest coordinate; raise if it has overflowed."""
    keep_freed_memory()
    if any(part.overflowed for part in parts):
        raise NumericalOverflowError(OVERFLOW)
    execution = worker_threads()
    Z, charges = np.concatenate([part.Z for part in parts]), np.concatenate([part.charges for part in parts])
    largest = largest_coordinate(Z, execution)  # raises if the layout has diverged
    sums = GridSums(settings.kernel, execution, settings.accuracy, grid_after(parts))
    return sums.divided(Z, charges), largest
