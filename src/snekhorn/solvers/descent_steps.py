"""Descent steps that know nothing but a gradient."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..kernels.momentum import momentum_step
from ..runtime.execution import run_rows

COORDINATES_A_PAIR = 10  # a step moves that many in the time in which a pair of points is looked at

Array = NDArray[np.floating[Any]]


class Descent(Protocol):
    """An optimiser: it moves Z in place."""

    def step(self, Z: Array, gradient: Array, rate: float, momentum: float) -> None: ...

    def permute(self, order: Any) -> None:
        """Follow the points into another order."""

    def forget(self) -> None:
        """Start anew: the objective has changed."""


class Momentum:
    """Momentum with a gain for every coordinate, the descent of t-SNE."""

    def __init__(self, shape: tuple[int, int], *, n_threads: int = 1) -> None:
        self.n_threads = n_threads
        self.velocity = np.zeros(shape)
        self.gains = np.ones(shape)

    def step(self, Z: Array, gradient: Array, rate: float, momentum: float) -> None:
        arrays = (Z, gradient, self.velocity, self.gains)
        run_rows(momentum_step, Z.shape[0], Z.size // COORDINATES_A_PAIR, self.n_threads, *arrays, rate, momentum)

    def permute(self, order: Any) -> None:
        self.velocity, self.gains = self.velocity[order], self.gains[order]

    def forget(self) -> None:
        self.velocity[:] = 0.0
        self.gains[:] = 1.0


class Adam:
    """Adam (Kingma and Ba, 2015), the descent of the paper's experiments; its momenta are its own."""

    def __init__(self, shape: tuple[int, int], *, decay: tuple[float, float] = (0.9, 0.999)) -> None:
        self.decay = decay
        self.mean = np.zeros(shape)
        self.square = np.zeros(shape)
        self.n_steps = 0

    def step(self, Z: Array, gradient: Array, rate: float, momentum: float) -> None:
        first, second = self.decay
        self.n_steps += 1
        self.mean = first * self.mean + (1.0 - first) * gradient
        self.square = second * self.square + (1.0 - second) * gradient**2
        mean, square = self.mean / (1.0 - first**self.n_steps), self.square / (1.0 - second**self.n_steps)
        Z -= rate * mean / (np.sqrt(square) + 1e-8)

    def permute(self, order: Any) -> None:
        self.mean, self.square = self.mean[order], self.square[order]

    def forget(self) -> None:
        self.__init__(self.mean.shape, decay=self.decay)  # type: ignore[misc]
