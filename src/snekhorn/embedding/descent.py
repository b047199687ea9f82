"""Run gradient descent on a layout, in two phases, until the loss no longer decreases."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import NumericalOverflowError
from ..runtime.interrupts import delayed_interrupts
from ..runtime.progress import progress_bar
from ..solvers.descent_steps import Optimizer
from .charge_sums import Array
from .descent_state import DescentState
from .latent import SumMethod
from .objective import Objective
from .point_order import locality_order
from .schedule import Phase, Schedule

SMALL_LOSS = 1e-2  # lower limit for relative decreases; a loss that tends to 0 would never converge otherwise
REORDER_FROM = 20_000  # points; with more, sorting them so that neighbours share cache lines saves time

DIVERGED = 1.0  # excess over the loss of all points in one place; a smaller value may stop a layout from unfolding
SHORTEST_STEPS = 2.0**-20  # damping below which an overflow is an error; smaller takes longer to give up

Result = TypeVar("Result")
Callback = Callable[[int, float, Array], Any]
Count = Callable[[], None]
Keep = Callable[[DescentState], None]
Between = Callable[[Array], Array]
TakeSteps = Callable[[Objective, Optimizer, Array, Phase, float, Sequence[float], Count], None]


class Stop(str, Enum):
    """Reasons for a descent to stop; each text says what the user can do."""

    CONVERGED = "converged: the loss decreases by less than tol per iteration"
    MAX_ITER = "stopped at max_iter before the loss had converged; raise max_iter to continue"
    EXTENDED = "took all steps of extend, as intended; pass a larger max_iter to let points settle further"
    CALLBACK = "stopped by a callback"
    INTERRUPTED = "interrupted from the keyboard; the layout is the last one reached"


@dataclass
class EmbeddingReport:
    """Report on a descent.

    Attributes
    ----------
    converged : bool
        Whether the loss decreased by less than `tol` per iteration.
    n_iter : int
        Number of gradient steps.
    reason : str
        Why the descent stopped.
    iterations, losses : list of int, list of float
        Iterations at which the loss was computed, and its value per point, without exaggeration. The loss is the
        divergence of P from Q if the rows of P sum to 1, or if Q is not doubly stochastic. Otherwise it is the joint
        objective of layout and potential. Springs add their energy. The last loss is that of the final layout.
    marginal_gap : float or None
        Largest deviation of a row sum of Q from 1, if Q is doubly stochastic; None if the solution for the
        potential was interrupted.
    method : {"exact", "fft"}
        How the sums over all pairs were computed.
    """

    converged: bool = False
    n_iter: int = 0
    reason: str = ""
    iterations: list[int] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    marginal_gap: float | None = None
    method: SumMethod = "exact"

    @property
    def interrupted(self) -> bool:
        """Whether a keyboard interrupt ended the descent."""
        return self.reason == Stop.INTERRUPTED.value

    def stop(self, reason: Stop) -> None:
        """Record why the descent stopped."""
        self.reason, self.converged = reason.value, reason is Stop.CONVERGED

    def __str__(self) -> str:
        loss = f", loss {self.losses[-1]:.4f}" if self.losses else ""
        gap = "" if self.marginal_gap is None else f", row sums of Q within {self.marginal_gap:.1e} of 1"
        iterations = "1 iteration" if self.n_iter == 1 else f"{self.n_iter} iterations"
        return f"{self.reason} ({iterations}{loss}{gap})"


def take_steps(
    objective: Objective,
    optimizer: Optimizer,
    Z: Array,
    phase: Phase,
    rate: float,
    momenta: Sequence[float],
    count: Count,
) -> None:
    """Move Z in place by one step per momentum, and call `count` after each."""
    for momentum in momenta:
        gradient = objective.gradient(Z, phase.exaggeration)
        objective.shorten(Z, gradient)
        optimizer.step(Z, gradient, rate, momentum)
        count()


def minimize(
    objective: Objective,
    Z: Array,
    optimizer: Optimizer,
    schedule: Schedule,
    *,
    callbacks: Sequence[Callback] = (),
    verbose: bool = False,
    start: DescentState | None = None,
    keep: Keep = lambda state: None,
    steps: TakeSteps = take_steps,
    between: Between | None = None,
) -> tuple[Array, EmbeddingReport]:
    """Minimise the objective, starting from the layout Z; return the final layout and the report.

    Parameters
    ----------
    objective : Objective
    Z : array of shape (n, d)
        Initial layout; left unchanged.
    optimizer : Optimizer
    schedule : Schedule
    callbacks : sequence of callables
        Functions called at every check with (iteration, loss, layout); the descent stops if one of them returns True.
    verbose : bool
        Whether to show progress.
    start : DescentState or None
        State to continue from instead of Z.
    keep : callable
        Called with the state after every check but the last; it must not change the state.
    steps : callable
        Function that takes steps, like `take_steps`; it may take them elsewhere.
    between : callable or None
        Function that replaces the layout between the two phases.
    """
    with progress_bar("layout", schedule.n_iter, verbose=verbose) as bar:
        descent = _Descent(objective, Z, optimizer, schedule, callbacks, bar, keep, steps, between)
        if start is not None:
            descent.restore(start)
        try:
            reason = descent.run()
        except KeyboardInterrupt:
            reason = Stop.INTERRUPTED
        try:
            descent.record_end()
        except KeyboardInterrupt:
            reason = Stop.INTERRUPTED
    try:
        descent.permute(np.argsort(descent.order))  # restore the caller's order
    except KeyboardInterrupt:  # delayed until the order was restored
        reason = Stop.INTERRUPTED
    descent.report.stop(reason)
    return descent.Z, descent.report


class _Descent:
    """State of a descent."""

    def __init__(
        self,
        objective: Objective,
        Z: Array,
        optimizer: Optimizer,
        schedule: Schedule,
        callbacks: Sequence[Callback],
        bar: Any,
        keep: Keep,
        steps: TakeSteps,
        between: Between | None,
    ) -> None:
        self.objective, self.optimizer, self.schedule = objective, optimizer, schedule
        self.callbacks, self.bar = callbacks, bar
        self.keep, self.take_steps, self.between = keep, steps, between
        self.Z = np.array(Z, dtype=float, order="C")
        self.order = np.arange(len(Z))
        self.damping = 1.0  # factor of the steps, halved when the loss increases or the layout overflows
        self.accepted = (np.inf, self.Z)  # loss and layout at the last check without an increase
        self.n_still = 0  # consecutive checks without a sufficient decrease
        self.returned = False  # whether the layout is the accepted one again, and no step has been taken from it
        self.report = EmbeddingReport()

    def run(self) -> Stop:
        early, main = self.schedule.early, self.schedule.main
        if self.report.n_iter == 0:
            self.start_phase()
        stop = self.run_phase(early, [early.momentum] * (early.n_iter - self.report.n_iter))
        if stop is not None:
            return stop
        if self.report.n_iter == early.n_iter > 0:
            self.optimizer.reset()
            self.replace_layout()
            self.start_phase()
        n_done = self.report.n_iter - early.n_iter
        stop = self.run_phase(main, [self.schedule.momentum_at(i) for i in range(n_done, main.n_iter)])
        return Stop.MAX_ITER if stop is None else stop

    def run_phase(self, phase: Phase, momenta: Sequence[float]) -> Stop | None:
        """Take one step per momentum, with checks; return why the descent ends, or None if it goes on."""
        for some in self.until_checks(momenta):
            self.advance(phase, some)
            if not self.check_is_due():
                continue
            if self.check():
                return Stop.CALLBACK
            if self.has_diverged():
                self.return_to_accepted()
            elif phase is self.schedule.main and self.has_converged():
                return Stop.CONVERGED
            if self.report.n_iter < self.schedule.n_iter:  # after the last step, there is nothing left to resume
                self.keep_state()
        return None

    def keep_state(self) -> None:
        charges, grid = self.objective.state
        state = DescentState(
            Z=self.Z,
            order=self.order,
            damping=self.damping,
            accepted_loss=self.accepted[0],
            accepted=self.accepted[1],
            n_still=self.n_still,
            n_iter=self.report.n_iter,
            iterations=self.report.iterations,
            losses=self.report.losses,
            optimizer=self.optimizer.state,
            charges=charges,
            grid=grid,
        )
        self.keep(state)

    def restore(self, state: DescentState) -> None:
        """Continue from a state, with copies of its arrays."""
        self.objective.permute(state.order)
        self.objective.restore(state.charges, state.grid)
        steps = {name: value.copy() if hasattr(value, "copy") else value for name, value in state.optimizer.items()}
        self.optimizer.restore(steps)
        self.Z, self.order = state.Z.copy(), state.order
        self.accepted = (state.accepted_loss, state.accepted)
        self.damping, self.n_still = state.damping, state.n_still
        self.report.n_iter, self.report.iterations = state.n_iter, [*state.iterations]
        self.report.losses = [*state.losses]
        self.bar.update(state.n_iter)

    def replace_layout(self) -> None:
        if self.between is not None:
            self.permute(np.argsort(self.order))  # the caller's order
            self.Z = self.between(self.Z)
            self.objective.reset()  # charges belong to positions

    def start_phase(self) -> None:
        self.sort_points()
        self.accepted = (np.inf, self.Z.copy())

    def until_checks(self, momenta: Sequence[float]) -> Iterator[Sequence[float]]:
        """Yield the momenta of the iterations up to each check, and up to the end of a phase."""
        start = 0
        while start < len(momenta):
            stop = start + self.schedule.check_every - self.report.n_iter % self.schedule.check_every
            yield momenta[start:stop]
            start = stop

    def advance(self, phase: Phase, momenta: Sequence[float]) -> None:
        """Take one step per momentum; if the layout overflows, continue from the accepted layout."""
        end, returned_at = self.report.n_iter + len(momenta), -1
        while (left := end - self.report.n_iter) > 0:
            rate = self.damping * phase.rate
            try:
                self.take_steps(self.objective, self.optimizer, self.Z, phase, rate, momenta[-left:], self.count_step)
            except NumericalOverflowError:
                if returned_at == self.report.n_iter or not self.may_return:  # or if the accepted layout overflows
                    raise
                self.return_to_accepted()
                self.objective.reset()
                returned_at = self.report.n_iter

    def count_step(self) -> None:
        self.report.n_iter += 1
        self.returned = False
        self.bar.update()

    def check_is_due(self) -> bool:
        return self.report.n_iter % self.schedule.check_every == 0

    def check(self) -> bool:
        """Centre the layout if it may drift, and record the loss; return whether a callback requests a stop."""
        if self.objective.floats:
            with np.errstate(over="ignore", invalid="ignore"):  # the loss finds an overflow
                self.Z -= self.objective.execution.sum(self.Z, axis=0) / len(self.Z)
        loss = self.record_loss()
        layout = self.in_given_order() if self.callbacks else self.Z
        answers = [callback(self.report.n_iter, loss, layout) for callback in self.callbacks]  # call all of them
        return any(answers)

    def record_loss(self) -> float:
        loss = self.or_after_return(self.objective.loss)
        self.report.iterations.append(self.report.n_iter)
        self.report.losses.append(loss)
        self.returned = False
        self.bar.set_postfix(loss=f"{loss:.4f}")
        return loss

    def record_end(self) -> None:
        """Record the loss of the final layout, unless it is the last one recorded."""
        if self.report.iterations[-1:] == [self.report.n_iter] and not self.returned:
            return
        state, damping = self.objective.state, self.damping
        if self.returned:
            self.objective.reset()  # charges belong to positions
        self.record_loss()
        if self.damping == damping:  # the layout has not overflowed: nothing else depends on this loss
            self.objective.restore(*state)

    def has_diverged(self) -> bool:
        """Return whether the loss is much higher than with all points in one place, and higher than it was before.

        Attraction by the Gaussian kernel grows with the distance, so steps that are too long become ever longer.
        """
        loss = self.report.losses[-1]
        if not self.schedule.careful or loss < self.objective.divergence_of_one_place + DIVERGED:
            return False
        self.objective.reset()
        risen = loss > self.objective.loss(self.accepted[1])
        self.objective.reset()
        return risen

    def has_converged(self) -> bool:
        """Return whether the loss has converged; if it has increased, restore the last layout and halve the steps."""
        exaggeration = self.schedule.main.exaggeration
        loss = self.report.losses[-1] if exaggeration == 1.0 else self.objective.loss(self.Z, exaggeration)
        decrease = self.accepted[0] - loss
        allowed = self.schedule.tol * self.schedule.check_every * max(abs(loss), SMALL_LOSS)
        if decrease < -allowed and self.schedule.careful:
            self.return_to_accepted()
            return False
        self.accepted = (loss, self.Z.copy())
        self.n_still = self.n_still + 1 if abs(decrease) < allowed else 0
        return self.n_still >= self.schedule.patience

    def return_to_accepted(self) -> None:
        """Return to the accepted layout, and continue with steps half as long."""
        self.damping /= 2
        self.n_still = 0
        self.returned = True
        self.optimizer.reset()
        self.Z = self.accepted[1].copy()

    @property
    def may_return(self) -> bool:
        """Whether to return to the accepted layout after an overflow."""
        return self.schedule.careful and self.damping > SHORTEST_STEPS

    def or_after_return(self, compute: Callable[[Array], Result]) -> Result:
        """Compute from the layout or, if it has overflowed, from the accepted layout after returning to it."""
        try:
            return compute(self.Z)
        except NumericalOverflowError:
            if not self.may_return:
                raise
        self.return_to_accepted()
        self.objective.reset()
        return compute(self.Z)

    def sort_points(self) -> None:
        """If there are many points, sort them so that neighbours in the layout are close in memory."""
        if len(self.Z) >= REORDER_FROM:
            self.permute(locality_order(self.Z, self.objective.execution))

    def permute(self, order: NDArray[np.intp]) -> None:
        with delayed_interrupts():  # a half-permuted state would assign positions to the wrong points
            self.objective.permute(order)
            self.optimizer.permute(order)
            self.Z, self.order = self.Z[order], self.order[order]

    def in_given_order(self) -> Array:
        layout = np.empty_like(self.Z)
        layout[self.order] = self.Z
        return layout
