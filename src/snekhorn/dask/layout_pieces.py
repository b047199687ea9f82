"""Lay out points on the workers of a Dask cluster.

A step consists of two tasks for every range of rows. The first adds up the near pairs and the attraction, and gets the
positions and charges of all points, as the parts that the tasks of the step before have returned. The second moves the
points. It also needs the far part of the field, which takes the transforms. The worker of the first range computes it
for all points, while the others run their first tasks. It then runs both tasks of its own range, which is shorter than
the others, as one. So the workers exchange positions once per step, and hardly wait for the far part. The value of a
point does not depend on the points that move in the same task, so the layout is the same, to the last bit, for any
number of workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from distributed import Future
from numpy.typing import NDArray

from ..embedding.affinity_rows import MANY, AffinityRows, negligible_below
from ..embedding.charge_grid import GridState
from ..embedding.charge_sums import OVERFLOW, Field, Kernel
from ..embedding.descent import Count
from ..embedding.mesh_size import DEFAULT, TIGHT, Accuracy, most_nodes
from ..embedding.normalizations import DoublyStochastic
from ..embedding.objective import Objective, largest_coordinate
from ..embedding.schedule import Phase
from ..errors import NumericalOverflowError
from ..runtime.interrupts import delayed_interrupts
from ..solvers.descent_steps import Momentum, Optimizer
from . import layout_tasks
from .graph_pieces import PiecedMatrix
from .layout_tasks import LayoutPart, Motion, StepSettings
from .row_shuffle import permuted_pieces
from .task_batch import TaskBatch
from .workers import Array, EdgeArray, Pieces, RowStarts, Workers

# Work of a step in nanoseconds of one thread, measured on a layout of a million points in the plane at perplexity 30.
# If the far part takes longer elsewhere, the other workers wait for the first one, and vice versa.
SPREAD, NODE = 14.0, 4.9  # far part: per point, and per node of the padded grid
NEAR, OTHER = 32.0, 81.0  # per point of a piece: near pairs; attraction, sorting, gathering and moving
USUAL_NODES = 7.4  # per point, of a grid that is not limited; beyond the limit, there are more near pairs instead
LEAST_SHARE = 0.1  # of the points that each of equal pieces would have; the first piece has at least these


def far_work(n: int) -> float:
    """Return the work of the far part of the field, relative to the other work on n points."""
    wider = max(1.0, USUAL_NODES * n / most_nodes(n))
    return (SPREAD + NODE * USUAL_NODES / wider) / (NEAR * wider + OTHER)


def layout_ranges(n: int, n_pieces: int) -> tuple[slice, ...]:
    """Cut n rows into ranges that take equal times, although the first piece also computes the far part."""
    if n_pieces == 1:
        return (slice(0, n),)
    share = max(LEAST_SHARE / n_pieces, (1.0 + far_work(n)) / n_pieces - far_work(n))
    others = (1.0 - share) / (n_pieces - 1) * np.arange(n_pieces)
    ends = np.round(n * (share + others)).astype(int).tolist()
    return tuple(slice(start, stop) for start, stop in pairwise([0, *ends]))


@dataclass(frozen=True)
class PiecedRows(AffinityRows):
    """Rows of P in pieces on the workers."""

    indptr: Any
    indices: Any
    data: Any
    n_rows: int = 0
    n_entries: int = 0

    @classmethod
    def of_matrix(cls, P: PiecedMatrix) -> PiecedRows:
        """Return the rows of a symmetric matrix."""
        return cls(P.indptr, P.indices, P.data, P.execution, P.shape[0], P.nnz)

    @property
    def n_points(self) -> int:
        return self.n_rows

    @property
    def n_pairs(self) -> int:
        return self.n_entries

    @property
    def workers(self) -> Workers:
        """Execution of the loops."""
        assert isinstance(self.execution, Workers)
        return self.execution

    def scaled(self, scale: np.float64, dtype: Any) -> PiecedRows:
        workers, dtype, n = self.workers, np.dtype(dtype), self.n_points
        n_small = sum(workers.fetch(workers.map_pieces(layout_tasks.count_negligible, self.data, scale, n)))
        smallest = negligible_below(scale, n) if n_small >= MANY * self.n_pairs else np.float64(0.0)
        arrays = (self.indptr, self.indices, self.data)
        pieces = workers.map_pieces(layout_tasks.scaled_piece, *arrays, scale, dtype, n, smallest)
        starts, indices, data = workers.split(pieces, 3)
        columns = EdgeArray(np.dtype(np.uint32), parts=indices)
        return replace(self, indptr=RowStarts(starts), indices=columns, data=EdgeArray(dtype, parts=data))

    def permuted(self, order: NDArray[np.intp]) -> PiecedRows:
        target = replace(self.workers, ranges=layout_ranges(self.n_points, len(self.workers.ranges)))
        starts, indices, data = permuted_pieces(self.workers, self.indptr, self.indices, self.data, order, target)
        return replace(self, indptr=starts, indices=indices, data=data, execution=target)

    def parts_of(self, i: int) -> list[Future]:
        """Return the starts, the indices and the entries of a piece."""
        return [array.parts[i] for array in (self.indptr, self.indices, self.data)]


class PiecedSums:
    """Sums of charges on a grid, at the points of every range of rows in a task of its own."""

    def __init__(self, kernel: Kernel, execution: Workers, accuracy: Accuracy = DEFAULT) -> None:
        self.kernel, self.execution, self.accuracy = kernel, execution, accuracy
        self.state = GridState()

    @property
    def rough(self) -> bool:
        return self.state.rough

    def restore(self, state: GridState) -> None:
        """Continue from a state."""
        self.state = state

    def __call__(self, Z: Array, charges: Array) -> tuple[Array, Array]:
        workers = self.execution
        layout, settings = workers.share((Z, charges)), (self.kernel, self.accuracy, self.state)
        far = workers.submit(layout_tasks.far_part, layout, *settings, piece=0)
        found = workers.fetch(workers.map_pieces(layout_tasks.sums_at_rows, layout, far, *settings))
        phi, slope, n_pairs, states = zip(*found, strict=True)
        self.state = states[0].noted(sum(n_pairs))
        return np.concatenate(phi), np.concatenate(slope)

    def of_others(self, Z: Array, charges: Array) -> tuple[Array, Array]:
        raise NotImplementedError("no method that runs on a cluster needs this")

    def freeze(self, Z: Array, charges: Array) -> Field:
        raise NotImplementedError("new points are placed on one machine")

    def refined(self) -> PiecedSums:
        return PiecedSums(self.kernel, self.execution, TIGHT)


def make_pieced_objective(P: PiecedMatrix, kernel: Kernel) -> Objective:
    """Build the objective that matches a doubly stochastic Q with self-loops with a P in pieces."""
    normalization = DoublyStochastic(PiecedSums(kernel, P.execution), self_loops=True)
    return Objective(PiecedRows.of_matrix(P), normalization, dtype=np.float32)


def take_steps_on_workers(
    objective: Objective,
    optimizer: Optimizer,
    Z: Array,
    phase: Phase,
    rate: float,
    momenta: Sequence[float],
    count: Count,
) -> None:
    """Move Z in place by one step per momentum, like `snekhorn.embedding.descent.take_steps`.

    All steps are submitted at once, so that no worker waits for the client. The state at the end replaces the one in
    this process, which remains the last one if the steps are interrupted.
    """
    normalization, rows = objective.normalization, objective.rows
    assert isinstance(normalization, DoublyStochastic)
    assert isinstance(rows, PiecedRows)
    assert isinstance(optimizer, Momentum)
    sums = normalization.sums
    assert isinstance(sums, PiecedSums)
    workers = rows.workers
    largest_coordinate(Z, workers)  # raises if the layout has diverged
    charges, stiffness = normalization.warm_charges(Z), objective.stiffness
    settings = StepSettings(sums.kernel, sums.accuracy, phase.exaggeration, rate)
    starts = [LayoutPart(Z[own], charges[own], sums.state) for own in workers.ranges]
    motions = [Motion(optimizer.velocity[own], optimizer.gains[own]) for own in workers.ranges]
    states: list[Any] = workers.map_pieces(layout_tasks.state_of_piece, Pieces(starts), Pieces(motions))
    shared = [None if stiffness is None else workers.share(stiffness[own]) for own in workers.ranges]
    batch, pieces = TaskBatch(workers), range(len(workers.ranges))
    for momentum in momenta:
        parts = [batch.add(layout_tasks.part_of_state, states[i], piece=i) for i in pieces]
        far = batch.add(layout_tasks.far_part_of_field, parts, settings, piece=0)
        for i, own in enumerate(workers.ranges):
            pairs, rest = (own, parts, rows.parts_of(i), settings), (far, settings, shared[i], momentum)
            if i == 0:  # its worker has computed the far part
                states[i] = batch.add(layout_tasks.whole_step, *pairs, states[i], *rest, piece=i)
            else:
                forces = batch.add(layout_tasks.forces_of_pairs, *pairs, piece=i)
                states[i] = batch.add(layout_tasks.take_step, own, states[i], forces, *rest, piece=i)
    ends: list[tuple[LayoutPart, Motion]] = workers.fetch(batch.send(states))
    for _ in range(ends[0][0].n_steps):
        count()
    sums.state = layout_tasks.grid_after([part for part, _ in ends])
    if any(part.overflowed for part, _ in ends):
        raise NumericalOverflowError(OVERFLOW)
    with delayed_interrupts():  # positions, charges and momenta of different steps do not fit together
        Z[:] = np.concatenate([part.Z for part, _ in ends])
        normalization.charges = np.concatenate([part.charges for part, _ in ends])
        optimizer.velocity = np.concatenate([motion.velocity for _, motion in ends])
        optimizer.gains = np.concatenate([motion.gains for _, motion in ends])
