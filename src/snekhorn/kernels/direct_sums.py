"""Sum charges directly over all pairs, for the Student and the Gaussian kernel.

The field of charges q_j at points z_j is phi(z) = sum_j q_j k(|z - z_j|^2). Points are the columns of arrays with three
rows; missing coordinates are zero.
"""

import numpy as np

from .arithmetic import fast_exp
from .compilation import FAST, compiled, inlined

LOST = 1e-305  # fields below this fraction of the total charge are lost: `fast_exp` replaces what underflows by 1e-308


@inlined(fastmath=FAST)
def _student_sums(x, y, w, charge, x_i, y_i, w_i):
    """Return sum_j q_j k and sum_j q_j dk/dr^2 (z_i - z_j), with k = 1 / (1 + r^2)."""
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


@inlined(fastmath=FAST)
def _gaussian_sums(x, y, w, charge, x_i, y_i, w_i):
    """Return sum_j q_j k and sum_j q_j dk/dr^2 (z_i - z_j), with k = exp(-r^2)."""
    value = by_x = by_y = by_w = 0.0
    for j in range(x.size):
        dx, dy, dw = x_i - x[j], y_i - y[j], w_i - w[j]
        qk = charge[j] * fast_exp(-(dx * dx + dy * dy + dw * dw))
        value += qk
        by_x -= qk * dx
        by_y -= qk * dy
        by_w -= qk * dw
    return value, by_x, by_y, by_w


@inlined
def _field(x, y, w, charge, target, student):
    """Return the field and its gradient at one target."""
    if student:
        value, by_x, by_y, by_w = _student_sums(x, y, w, charge, target[0], target[1], target[2])
    else:
        value, by_x, by_y, by_w = _gaussian_sums(x, y, w, charge, target[0], target[1], target[2])
    return value, 2.0 * by_x, 2.0 * by_y, 2.0 * by_w


@inlined
def _store(value, by_x, by_y, by_w, lost, out):
    """Store a field and its gradient, or zeros if the field is lost."""
    out[0], out[1], out[2], out[3] = value, by_x, by_y, by_w
    if value < lost:
        out[:] = 0.0


@compiled
def direct_sums(start, stop, points, charge, targets, student, out):
    """Compute the field and its gradient at the columns of `targets`, for charges at the columns of `points`."""
    x, y, w = points[0], points[1], points[2]
    lost = LOST * charge.sum()
    for i in range(start, stop):
        target = (targets[0, i], targets[1, i], targets[2, i])
        value, by_x, by_y, by_w = _field(x, y, w, charge, target, student)
        _store(value, by_x, by_y, by_w, lost, out[i])


@compiled
def direct_sums_of_others(start, stop, rows, points, charge, student, out):
    """Compute the field of all other charges, and its gradient, at the points `rows`.

    Subtracting a point's own term afterwards would lose the small terms of distant charges to rounding.
    """
    x, y, w = points[0], points[1], points[2]
    lost = LOST * charge.sum()
    for row in range(start, stop):
        i = rows[row]
        here, rest = (x[i], y[i], w[i]), slice(i + 1, x.size)
        value, by_x, by_y, by_w = _field(x[:i], y[:i], w[:i], charge[:i], here, student)
        after = _field(x[rest], y[rest], w[rest], charge[rest], here, student)
        _store(value + after[0], by_x + after[1], by_y + after[2], by_w + after[3], lost, out[row])


@compiled
def log_gaussian_sums_of_others(start, stop, rows, points, out):
    """Compute log sum_{j != i} exp(-r_ij^2) at the points `rows`, relative to the nearest point to avoid underflow."""
    x, y, w = points[0], points[1], points[2]
    for row in range(start, stop):
        i = rows[row]
        by_x, by_y, by_w = x - x[i], y - y[i], w - w[i]
        squared = by_x * by_x + by_y * by_y + by_w * by_w
        squared[i] = np.inf
        nearest = squared.min()
        out[row] = np.log(np.exp(nearest - squared).sum()) - nearest
