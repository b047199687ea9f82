"""The potential of charges by the direct sum over all pairs, for the Student and the Gaussian kernel."""

import numpy as np
from numba import njit

from .fastexp import fast_exp
from .threads import FAST


@njit(fastmath=FAST, cache=True, error_model="numpy")
def _student_row(x, y, w, charge, x_i, y_i, w_i):
    """sum_j of q k and of q dk/dr^2 times each coordinate's difference, k = 1 / (1 + r^2)"""
    value = by_x = by_y = by_w = 0.0
    for j in range(x.size):
        dx, dy, dw = x_i - x[j], y_i - y[j], w_i - w[j]
        k = 1.0 / (1.0 + dx * dx + dy * dy + dw * dw)
        qk = charge[j] * k
        slope = qk * k
        value += qk
        by_x -= slope * dx
        by_y -= slope * dy
        by_w -= slope * dw
    return value, by_x, by_y, by_w


@njit(fastmath=FAST, cache=True, error_model="numpy")
def _gaussian_row(x, y, w, charge, x_i, y_i, w_i):
    """The same for k = exp(-r^2)."""
    value = by_x = by_y = by_w = 0.0
    for j in range(x.size):
        dx, dy, dw = x_i - x[j], y_i - y[j], w_i - w[j]
        qk = charge[j] * fast_exp(-(dx * dx + dy * dy + dw * dw))
        value += qk
        by_x -= qk * dx
        by_y -= qk * dy
        by_w -= qk * dw
    return value, by_x, by_y, by_w


@njit(nogil=True, cache=True)
def direct_sums(start, stop, points, charge, places, student, out):
    """Value and gradient, at the columns of `places`, of the potential of charges at the columns of `points`.

    Both have three rows: coordinates that the layout does not have are zero.
    """
    x, y, w = points[0], points[1], points[2]
    for i in range(start, stop):
        x_i, y_i, w_i = places[0, i], places[1, i], places[2, i]
        if student:
            value, by_x, by_y, by_w = _student_row(x, y, w, charge, x_i, y_i, w_i)
        else:
            value, by_x, by_y, by_w = _gaussian_row(x, y, w, charge, x_i, y_i, w_i)
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = value, 2.0 * by_x, 2.0 * by_y, 2.0 * by_w


@njit(nogil=True, cache=True)
def others_sums(start, stop, points, charge, student, out):
    """The same at the points themselves, without a charge's own term, which would drown those of charges far away."""
    for i in range(start, stop):
        out[i] = 0.0
        here = points[:, i : i + 1]
        before, after = out[i : i + 1], np.empty((1, 4))
        direct_sums(0, 1, points[:, :i], charge[:i], here, student, before)
        direct_sums(0, 1, points[:, i + 1 :], charge[i + 1 :], here, student, after)
        out[i] += after[0]
