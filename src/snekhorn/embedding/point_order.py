"""Sort points so that neighbours in a layout are close in memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..runtime.execution import Execution
from .charge_sums import Array

POINTS_PER_CELL = 16  # on average, in the grid used for sorting; with more, points of one cell are farther apart


def locality_order(Z: Array, execution: Execution) -> NDArray[np.intp]:
    """Return an order that follows the rows of a coarse grid, reversing every other row."""
    n_cells = int(np.sqrt(len(Z) / POINTS_PER_CELL)) + 1
    low, high = execution.min(Z, axis=0), execution.max(Z, axis=0)
    span = (high - low).max() or 1.0
    cell = ((Z - low) / span * n_cells).astype(np.int64)
    key = cell[:, 0]
    for axis in range(1, Z.shape[1]):
        backwards = key % 2 == 1
        key = key * (n_cells + 1) + np.where(backwards, n_cells - cell[:, axis], cell[:, axis])
    return np.argsort(key, kind="stable")
