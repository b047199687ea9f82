"""The potential of charges by the direct sum over all pairs, for the Student and the Gaussian kernel."""

from numba import njit

from .arithmetic import FAST, fast_exp


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
def _row(x, y, w, charge, place, student):
    """Value and gradient at one place."""
    if student:
        value, by_x, by_y, by_w = _student_row(x, y, w, charge, place[0], place[1], place[2])
    else:
        value, by_x, by_y, by_w = _gaussian_row(x, y, w, charge, place[0], place[1], place[2])
    return value, 2.0 * by_x, 2.0 * by_y, 2.0 * by_w


@njit(nogil=True, cache=True)
def direct_sums(start, stop, points, charge, places, student, out):
    """Value and gradient, at the columns of `places`, of the potential of charges at the columns of `points`.

    Both have three rows: coordinates that the layout does not have are zero.
    """
    x, y, w = points[0], points[1], points[2]
    for i in range(start, stop):
        out[i] = _row(x, y, w, charge, (places[0, i], places[1, i], places[2, i]), student)


@njit(nogil=True, cache=True)
def others_sums(start, stop, points, charge, student, out):
    """The same at the points themselves, without a charge's own term, which would drown those of charges far away."""
    x, y, w = points[0], points[1], points[2]
    for i in range(start, stop):
        here, rest = (x[i], y[i], w[i]), slice(i + 1, x.size)
        before = _row(x[:i], y[:i], w[:i], charge[:i], here, student)
        after = _row(x[rest], y[rest], w[rest], charge[rest], here, student)
        for k in range(4):
            out[i, k] = before[k] + after[k]
