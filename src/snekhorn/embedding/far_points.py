"""Find the points of a wide layout that lie far from most others.

A grid has a limited number of cells. If it had to hold a few far points as well, its cells would be too wide for all
the others. The pairs of far points are therefore summed directly, and the grid holds only the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .charge_sums import Array

PASSES = 2  # over the axes; with one, the first axis would ignore that far points of the others do not count


def outside_densest_box(Z: Array, side: float) -> NDArray[np.bool_]:
    """Return which points lie outside the box of this side that holds the most points.

    The box is found axis by axis. If m points lie outside the best box, at most m times the number of axes lie outside
    the box found.
    """
    d = Z.shape[1]
    inside = np.ones(Z.shape, dtype=bool)  # one column per axis
    for axis in [*range(d)] * PASSES:
        others = np.delete(inside, axis, axis=1).all(axis=1)
        low = _densest_window(Z[others, axis], side)
        inside[:, axis] = (Z[:, axis] >= low) & (Z[:, axis] <= low + side)
    return np.asarray(~inside.all(axis=1))


def _densest_window(values: NDArray[Any], length: float) -> float:
    """Return the start of the window of this length that holds the most values; of several, the lowest."""
    values = np.sort(values)
    held = np.searchsorted(values, values + length, side="right") - np.arange(values.size)
    return float(values[np.argmax(held)])
