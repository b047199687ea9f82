"""The loop: gradient steps on a layout, in two phases, until the loss no longer falls."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from ..solvers.descent_steps import Descent
from .embedding_report import OVERFLOW, EmbeddingReport, Stop
from .objective import Objective
from .potentials import Array

CHECK_EVERY = 50  # iterations between looks at the loss, which costs as much as a step
SMALL_LOSS = 1e-2  # a loss below this counts as this much: one that tends to zero never stops falling relatively
REORDER_FROM = 20_000  # points; above, neighbours that are near in memory too save time

Callback = Callable[[int, float, Array], Any]


@dataclass(frozen=True)
class Phase:
    """A number of iterations under one exaggeration, and the steps they take."""

    n_iter: int
    exaggeration: float
    rate: float
    momentum: float = 0.0  # where the descent has one
    rise: int = 0  # iterations in which it rises to that, from the momentum of the phase before


@dataclass(frozen=True)
class Schedule:
    """Early exaggeration, which finds the global arrangement, then the descent proper.

    Attributes
    ----------
    early, main : Phase
    tol : float
        The descent ends where the loss falls by less than this share of itself an iteration.
    check_every : int
        Iterations between looks at the loss.
    patience : int
        Looks in a row that must find it so: a loss that swings about its course may pass one unchanged.
    careful : bool
        Go back to the best layout, and halve the step, where the loss has risen.
    """

    early: Phase
    main: Phase
    tol: float
    check_every: int = CHECK_EVERY
    patience: int = 2
    careful: bool = True


def descend(
    objective: Objective,
    Z: Array,
    descent: Descent,
    schedule: Schedule,
    *,
    callbacks: Sequence[Callback] = (),
    verbose: bool = False,
) -> tuple[Array, EmbeddingReport]:
    """The layout that the schedule leads to from Z, and the report."""
    run = _Run(objective, Z, descent, schedule, callbacks)
    with tqdm(total=schedule.early.n_iter + schedule.main.n_iter, disable=not verbose, unit="it") as bar:
        try:
            reason = run.go(bar)
        except KeyboardInterrupt:
            reason = Stop.INTERRUPTED
    try:
        run.restore_order()
    except KeyboardInterrupt:  # held back until the order was restored
        reason = Stop.INTERRUPTED
    run.report.reason = reason.value
    run.report.converged = reason is Stop.CONVERGED
    return run.Z, run.report


class _Run:
    """The state of a descent."""

    def __init__(
        self, objective: Objective, Z: Array, descent: Descent, schedule: Schedule, callbacks: Sequence[Callback]
    ) -> None:
        self.objective, self.descent, self.schedule, self.callbacks = objective, descent, schedule, callbacks
        self.Z = np.array(Z, dtype=float, order="C")
        self.order = np.arange(len(Z))
        self.damping = 1.0  # of the step, halved where the loss rises
        self.best: tuple[float, Array] | None = None  # of the main phase: loss, with exaggeration, and layout
        self.n_still = 0  # looks in a row at which the loss had not fallen
        self.report = EmbeddingReport()

    def go(self, bar: Any) -> Stop:
        early, main = self.schedule.early, self.schedule.main
        self.reorder()
        for _ in range(early.n_iter):
            self.step(early, early.momentum)
            bar.update()
            if self.due() and self.look(bar):
                return Stop.CALLBACK
        if early.n_iter:
            self.descent.forget()
            self.reorder()
        for i in range(main.n_iter):
            risen = 1.0 if i >= main.rise else i / main.rise
            self.step(main, early.momentum + risen * (main.momentum - early.momentum))
            bar.update()
            if self.due():
                if self.look(bar):
                    return Stop.CALLBACK
                if self.settled():
                    return Stop.CONVERGED
        return Stop.MAX_ITER

    def step(self, phase: Phase, momentum: float) -> None:
        gradient = self.objective.gradient(self.Z, phase.exaggeration)
        if (pull := self.objective.pull_of_hubs()) is not None:
            gradient /= pull
        self.descent.step(self.Z, gradient, self.damping * phase.rate, momentum)
        self.report.n_iter += 1

    def due(self) -> bool:
        return self.report.n_iter % self.schedule.check_every == 0

    def look(self, bar: Any) -> bool:
        """Centre the layout, which may drift, and note the loss; whether a callback wants to stop."""
        self.Z -= self.Z.mean(axis=0)
        loss = self.objective.loss(self.Z)
        if not np.isfinite(loss):
            raise FloatingPointError(OVERFLOW)
        self.report.iterations.append(self.report.n_iter)
        self.report.losses.append(loss)
        bar.set_postfix(loss=f"{loss:.4f}")
        layout = self.in_given_order() if self.callbacks else self.Z
        wishes = [callback(self.report.n_iter, loss, layout) for callback in self.callbacks]  # all are called
        return any(wishes)

    def settled(self) -> bool:
        """Whether the loss has stopped falling; where it rises, go back to the best layout and halve the step."""
        exaggeration = self.schedule.main.exaggeration
        loss = self.report.losses[-1] if exaggeration == 1.0 else self.objective.loss(self.Z, exaggeration)
        if self.best is None:
            self.best = (loss, self.Z.copy())
            return False
        allowed = self.schedule.tol * self.schedule.check_every * max(abs(loss), SMALL_LOSS)
        fall = self.best[0] - loss
        if fall < -allowed and self.schedule.careful:
            self.damping /= 2
            self.n_still = 0
            self.descent.forget()
            self.Z = self.best[1].copy()
            return False
        self.best = (loss, self.Z.copy())
        self.n_still = self.n_still + 1 if abs(fall) < allowed else 0
        return self.n_still >= self.schedule.patience

    def reorder(self) -> None:
        """Have points that are near in the layout near in memory, too."""
        if len(self.Z) >= REORDER_FROM:
            self.permute(_locality(self.Z))

    def permute(self, order: Any) -> None:
        with _interrupts_held_back():  # half of the state in another order would be a layout of other points
            self.objective.permute(order)
            self.descent.permute(order)
            self.Z, self.order = self.Z[order], self.order[order]

    def in_given_order(self) -> Array:
        layout = np.empty_like(self.Z)
        layout[self.order] = self.Z
        return layout

    def restore_order(self) -> None:
        self.permute(np.argsort(self.order))


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Let an interrupt from the keyboard take effect only where the block has ended."""
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        yield  # interrupts do not arrive here
        return
    held: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda *interrupt: held.append(interrupt))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if held:
        handler(*held[0])


def _locality(Z: Array) -> Any:
    """An order in which points near in the plane are near: cells of a coarse grid, rows there and back."""
    cells = int(np.sqrt(len(Z) / 16)) + 1
    low, span = Z.min(axis=0), np.ptp(Z, axis=0).max() or 1.0
    cell = ((Z - low) / span * cells).astype(np.int64)
    key = cell[:, 0]
    for axis in range(1, Z.shape[1]):
        back = key % 2 == 1
        key = key * (cells + 1) + np.where(back, cells - cell[:, axis], cell[:, axis])
    return np.argsort(key, kind="stable")
