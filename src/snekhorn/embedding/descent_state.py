"""State of a descent, from which another process can continue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .charge_grid import GridState
from .charge_sums import Array


@dataclass(frozen=True)
class DescentState:
    """State of a descent after a check, from which another process continues with the same bits.

    Attributes
    ----------
    Z, accepted : array of shape (n, d)
        The layout, and the layout at the last check without an increase of the loss.
    order : array of shape (n,)
        Order of the points in all other arrays.
    damping, accepted_loss, n_still, n_iter, iterations, losses
        See `EmbeddingReport`, and the attributes of the descent.
    optimizer : dict
        State of the optimiser.
    charges : array of shape (n,) or None
        Charges, if Q is doubly stochastic.
    grid : GridState or None
        State of the sums over all pairs, if they are computed on a grid.
    """

    Z: Array
    order: NDArray[np.intp]
    damping: float
    accepted_loss: float
    accepted: Array
    n_still: int
    n_iter: int
    iterations: list[int]
    losses: list[float]
    optimizer: dict[str, Any]
    charges: Array | None
    grid: GridState | None
