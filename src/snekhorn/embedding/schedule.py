"""Schedule a descent: its two phases, their steps, and the stopping rule."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from ..runtime.execution import Execution
from ..solvers.descent_steps import Adam, Momentum, Optimizer
from .latent import Latent

EARLY_ITER = 100  # or a third of max_iter if that is less; more gain nothing, fewer may not find the groups
EARLY_RATE = 0.25  # learning rate of the early phase times its exaggeration; larger may overshoot
EARLY_MOMENTUM = 0.8  # larger may throw groups apart while the layout expands
CHECK_EVERY = 50  # iterations between checks of the loss; a check takes as long as an iteration
PATIENCE = 2  # checks; with 1, an oscillating loss may be mistaken for convergence

OptimizerName = Literal["momentum", "adam"]


@dataclass(frozen=True)
class Phase:
    """Number of iterations with constant exaggeration, and the parameters of their steps.

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
        Number of iterations over which the momentum rises from its value in the previous phase.
    """

    n_iter: int
    exaggeration: float
    rate: float
    momentum: float = 0.0
    rise: int = 0


@dataclass(frozen=True)
class Schedule:
    """Early exaggeration, which finds the global arrangement, followed by the main descent.

    Attributes
    ----------
    early, main : Phase
    tol : float
        Stop when the loss decreases by less than `tol` (relative, per iteration).
    check_every : int
        Iterations between checks of the loss.
    patience : int
        Number of consecutive checks with such a small decrease before the descent stops.
    careful : bool
        Whether to return to the last checked layout and halve the steps if the loss has increased.
    """

    early: Phase
    main: Phase
    tol: float
    check_every: int = CHECK_EVERY
    patience: int = PATIENCE
    careful: bool = True

    @property
    def n_iter(self) -> int:
        """Maximum number of iterations."""
        return self.early.n_iter + self.main.n_iter

    def settling(self, n_iter: int) -> Schedule:
        """Return two halves of the main descent with this number of iterations, for a layout that is nearly finished.

        The momentum rises in the second half, as it does in a fit.
        """
        first = replace(self.main, n_iter=n_iter // 2, momentum=self.early.momentum, rise=0)
        return replace(self, early=first, main=replace(self.main, n_iter=n_iter - first.n_iter))

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
    """Build the schedule from the parameters of an estimator.

    Learning rates are divided by the exaggeration, because it multiplies the gradient. Adam, whose steps do not depend
    on the scale of the gradient, follows the paper's protocol: one phase, a check at every iteration, and no return to
    an earlier layout.
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
    """Build the optimiser for a layout of this shape."""
    return Adam(shape) if optimizer == "adam" else Momentum(shape, execution)
