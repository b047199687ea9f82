"""The schedule of a descent: its two phases, the steps of each, and when to stop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..runtime.execution import Execution
from ..solvers.descent_steps import Adam, Momentum, Optimizer
from .latent import Latent

EARLY_ITER = 250  # a third of max_iter if that is less; with fewer, points may not find their groups
EARLY_RATE = 0.25  # learning rate under early exaggeration, before division by it; a larger one may overshoot
EARLY_MOMENTUM = 0.8  # a larger one may fling groups apart while the layout expands
CHECK_EVERY = 50  # iterations between checks of the loss, each of which takes as long as an iteration
PATIENCE = 2  # checks; with 1, a loss that oscillates may pass for one that has settled

OptimizerName = Literal["momentum", "adam"]


@dataclass(frozen=True)
class Phase:
    """A number of iterations with one exaggeration, and their steps.

    Attributes
    ----------
    n_iter : int
    exaggeration : float
        Factor of the attraction.
    rate : float
        Learning rate.
    momentum : float
        Momentum, if the optimiser takes one.
    rise : int
        Iterations in which the momentum rises to that value from the one of the phase before.
    """

    n_iter: int
    exaggeration: float
    rate: float
    momentum: float = 0.0
    rise: int = 0


@dataclass(frozen=True)
class Schedule:
    """Early exaggeration, which finds the global arrangement, then the main descent.

    Attributes
    ----------
    early, main : Phase
    tol : float
        Stop when the loss decreases by less than `tol` (relative, per iteration).
    check_every : int
        Iterations between checks of the loss.
    patience : int
        Number of consecutive checks that must find so small a decrease.
    careful : bool
        Whether to return to the last layout that was checked, and halve the steps, when the loss has risen.
    """

    early: Phase
    main: Phase
    tol: float
    check_every: int = CHECK_EVERY
    patience: int = PATIENCE
    careful: bool = True

    @property
    def n_iter(self) -> int:
        """Largest number of iterations."""
        return self.early.n_iter + self.main.n_iter

    def momentum_at(self, iteration: int) -> float:
        """Return the momentum of an iteration of the main descent."""
        risen = 1.0 if iteration >= self.main.rise else iteration / self.main.rise
        return self.early.momentum + risen * (self.main.momentum - self.early.momentum)


def make_schedule(
    latent: Latent,
    *,
    optimizer: OptimizerName,
    learning_rate: float | Literal["auto"],
    early_exaggeration: float,
    exaggeration: float,
    max_iter: int,
    tol: float,
) -> Schedule:
    """Build the schedule of an estimator's parameters.

    Learning rates are divided by the exaggeration, because it multiplies the gradient. Adam, whose steps do not depend
    on the scale of the gradient, follows the paper's protocol: one phase, a check at every iteration, no way back.
    """
    rate = 1.0 if learning_rate == "auto" else float(learning_rate)
    if optimizer == "adam":
        nothing, main = Phase(0, 1.0, rate), Phase(max_iter, exaggeration, rate)
        return Schedule(nothing, main, tol, check_every=1, patience=1, careful=False)
    n_early = min(EARLY_ITER, max_iter // 3)
    early_rate, main_rate = rate * EARLY_RATE / early_exaggeration, rate * latent.rate / exaggeration
    early = Phase(n_early, early_exaggeration, early_rate, EARLY_MOMENTUM)
    main = Phase(max_iter - n_early, exaggeration, main_rate, latent.momentum, latent.rise)
    return Schedule(early, main, tol)


def make_optimizer(optimizer: OptimizerName, shape: tuple[int, ...], execution: Execution) -> Optimizer:
    """Build the optimiser of a layout of this shape."""
    return Adam(shape) if optimizer == "adam" else Momentum(shape, execution)
