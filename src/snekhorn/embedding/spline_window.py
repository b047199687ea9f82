"""The window of the grid: the B-spline of degree 7, as polynomials on the cells it covers."""

from __future__ import annotations

import numpy as np
from scipy.interpolate import BSpline, PPoly

from ..kernels.grid_sums import WIDTH
from .potentials import Array

_SPLINE = BSpline.basis_element(np.arange(WIDTH + 1.0))
_PIECES = PPoly.from_spline(_SPLINE).c[:, WIDTH - 1 : 2 * WIDTH - 1]  # between the repeated knots at both ends
WINDOW = np.ascontiguousarray(_PIECES[:, ::-1])  # node k of a point sees the piece WIDTH - 1 - k of the spline
SLOPE = np.roll(WINDOW * np.arange(WIDTH - 1, -1, -1)[:, None], 1, axis=0)  # the highest power is 0


def weights(fractions: Array) -> Array:
    """Weights (m, WIDTH) of the nodes that points at these fractions of a cell touch."""
    return _powers(fractions) @ WINDOW


def slopes(fractions: Array) -> Array:
    """Their derivatives."""
    return _powers(fractions) @ SLOPE


def sampled_transform(angles: Array) -> Array:
    """Transform of the window sampled at the nodes; spread and gather each multiply a grid's kernel by it."""
    nodes = np.arange(1, WIDTH // 2)
    return _SPLINE(WIDTH / 2) + 2.0 * np.cos(np.outer(angles, nodes)) @ _SPLINE(WIDTH / 2 + nodes)


def _powers(u: Array) -> Array:
    return u[:, None] ** np.arange(WIDTH - 1, -1, -1)
