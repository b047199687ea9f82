"""Steps of gradient descent, computed from the gradient alone."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..kernels.momentum import momentum_step
from ..runtime.execution import Execution

COORDINATES_PER_PAIR = 10  # coordinates updated in the time that one pair of points takes; used to estimate the work

Array = NDArray[np.floating[Any]]


class Optimizer(Protocol):
    """Rule that turns gradients into steps."""

    def step(self, Z: Array, gradient: Array, rate: float, momentum: float) -> None:
        """Move Z in place."""

    def permute(self, order: Any) -> None:
        """Apply the permutation `order` to the points."""

    def reset(self) -> None:
        """Forget the steps so far, after the objective or the layout has changed."""

    @property
    def state(self) -> dict[str, Any]:
        """Everything that the next step depends on, by the name of the attribute."""

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a state."""


class Momentum:
    """Momentum with one gain per coordinate, as in t-SNE.

    Parameters
    ----------
    shape : tuple of int
        Shape of the layout.
    execution : Execution
    """

    def __init__(self, shape: tuple[int, ...], execution: Execution) -> None:
        self.execution = execution
        self.velocity = np.zeros(shape)
        self.gains = np.ones(shape)

    def step(self, Z: Array, gradient: Array, rate: float, momentum: float) -> None:
        arrays = (Z, gradient, self.velocity, self.gains)
        self.execution.run(momentum_step, Z.shape[0], Z.size // COORDINATES_PER_PAIR, *arrays, rate, momentum)

    def permute(self, order: Any) -> None:
        self.velocity, self.gains = self.velocity[order], self.gains[order]

    def reset(self) -> None:
        self.velocity[:] = 0.0
        self.gains[:] = 1.0

    @property
    def state(self) -> dict[str, Any]:
        return {"velocity": self.velocity, "gains": self.gains}

    def restore(self, state: dict[str, Any]) -> None:
        self.velocity, self.gains = state["velocity"], state["gains"]


class Adam:
    """Adam (Kingma and Ba, 2015), the optimiser used in the paper's experiments.

    Parameters
    ----------
    shape : tuple of int
        Shape of the gradient.
    decay : pair of float
        Decay rates of the running means of the gradient and of its square.
    """

    epsilon = 1e-8  # keeps the step finite if the gradient has always been 0; a larger value shortens small steps

    def __init__(self, shape: tuple[int, ...], *, decay: tuple[float, float] = (0.9, 0.999)) -> None:
        self.decay = decay
        self.mean = np.zeros(shape)
        self.square = np.zeros(shape)
        self.n_steps = 0

    def update(self, gradient: Array, rate: float) -> Array:
        """Return the step along the gradient: add it to ascend, subtract it to descend."""
        first, second = self.decay
        self.n_steps += 1
        self.mean = first * self.mean + (1.0 - first) * gradient
        self.square = second * self.square + (1.0 - second) * gradient**2
        mean, square = self.mean / (1.0 - first**self.n_steps), self.square / (1.0 - second**self.n_steps)
        return np.asarray(rate * mean / (np.sqrt(square) + self.epsilon))

    def step(self, Z: Array, gradient: Array, rate: float, momentum: float) -> None:
        """Move Z in place; `momentum` is ignored because `decay` takes its role."""
        Z -= self.update(gradient, rate)

    def permute(self, order: Any) -> None:
        self.mean, self.square = self.mean[order], self.square[order]

    def reset(self) -> None:
        self.mean, self.square = np.zeros_like(self.mean), np.zeros_like(self.square)
        self.n_steps = 0

    @property
    def state(self) -> dict[str, Any]:
        return {"mean": self.mean, "square": self.square, "n_steps": self.n_steps}

    def restore(self, state: dict[str, Any]) -> None:
        self.mean, self.square, self.n_steps = state["mean"], state["square"], state["n_steps"]
