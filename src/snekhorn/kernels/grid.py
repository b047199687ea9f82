"""Charges to a grid and back, with the B-spline of degree 7 as window.

A point in cell c with fraction u (its place within the cell, 0 <= u < 1) touches the WIDTH nodes from c on along
every axis; the weight of the k-th is a polynomial in u whose coefficients are `window[:, k]`, highest power first.
Loops of WIDTH steps are written out: the compiler then keeps them in one vector register. In the plane, points
come sorted by row of cells and `first[r]` is where row r begins, so that every node sums its charges in one
order, whatever the threads. `own` holds, by fraction of the cell, what the grid gives a charge of 1 at its own place
in excess of the truth.
"""

import numpy as np
from numba import njit

from .threads import FAST

WIDTH = 8
RATIO = 8  # fine cells in a coarse one
BELOW_ONE = 1.0 - 2.0**-24  # the largest float32 below 1, which rounding must not give


@njit(fastmath=FAST, cache=True, error_model="numpy")
def _weigh(window, u, out):
    """out_k = p_k(u)"""
    a, b, c, d = window[0, 0], window[0, 1], window[0, 2], window[0, 3]
    e, f, g, h = window[0, 4], window[0, 5], window[0, 6], window[0, 7]
    for m in range(1, window.shape[0]):
        a = a * u + window[m, 0]
        b = b * u + window[m, 1]
        c = c * u + window[m, 2]
        d = d * u + window[m, 3]
        e = e * u + window[m, 4]
        f = f * u + window[m, 5]
        g = g * u + window[m, 6]
        h = h * u + window[m, 7]
    out[0], out[1], out[2], out[3], out[4], out[5], out[6], out[7] = a, b, c, d, e, f, g, h


@njit(fastmath=FAST, cache=True, error_model="numpy")
def _add(line, weight, w):
    """line_k += weight w_k"""
    a, b, c, d = line[0] + weight * w[0], line[1] + weight * w[1], line[2] + weight * w[2], line[3] + weight * w[3]
    e, f, g, h = line[4] + weight * w[4], line[5] + weight * w[5], line[6] + weight * w[6], line[7] + weight * w[7]
    line[0], line[1], line[2], line[3], line[4], line[5], line[6], line[7] = a, b, c, d, e, f, g, h


@njit(fastmath=FAST, cache=True, error_model="numpy")
def _dot(line, w):
    """sum_k line_k w_k"""
    total = line[0] * w[0]
    for k in range(1, WIDTH):
        total += line[k] * w[k]
    return total


@njit(nogil=True, cache=True)
def bounds(z, low, high):
    """Smallest and largest coordinate along every axis."""
    low[:], high[:] = z[0], z[0]
    for i in range(1, z.shape[0]):
        for axis in range(z.shape[1]):
            low[axis] = min(low[axis], z[i, axis])
            high[axis] = max(high[axis], z[i, axis])


@njit(nogil=True, cache=True)
def count_rows(z, low, inverse, first):
    """first[r + 1]: number of points in the rows of cells up to r."""
    first[:] = 0
    for i in range(z.shape[0]):
        first[int((z[i, 0] - low[0]) * inverse) + 1] += 1
    for row in range(first.size - 1):
        first[row + 1] += first[row]


@njit(nogil=True, cache=True)
def sort_by_row(z, charges, low, inverse, first, order, cell, fraction, charge):
    """Cell, fraction and charge of every point, sorted by row of cells, stable."""
    place = first.copy()
    for i in range(z.shape[0]):
        row = int((z[i, 0] - low[0]) * inverse)
        k = place[row]
        place[row] += 1
        order[k] = i
        charge[k] = charges[i]
        for axis in range(z.shape[1]):
            position = (z[i, axis] - low[axis]) * inverse
            cell[k, axis] = int(position)
            fraction[k, axis] = min(position - int(position), BELOW_ONE)


@njit(nogil=True, cache=True)
def spread_line(cell, fraction, charge, window, grid):
    """Sum over points of charge w_a(u), for the nodes of a line."""
    weights = np.empty(WIDTH, window.dtype)
    grid[:] = 0.0
    for i in range(charge.size):
        _weigh(window, fraction[i, 0], weights)
        _add(grid[cell[i, 0] : cell[i, 0] + WIDTH], charge[i], weights)


@njit(nogil=True, cache=True)
def gather_line(start, stop, order, cell, fraction, charge, window, slope, field, own, out):
    """Value and derivative of the field at the points: the two columns of `out`."""
    weights = np.empty(WIDTH, window.dtype)
    for i in range(start, stop):
        line = field[cell[i, 0] : cell[i, 0] + WIDTH]
        excess = own[int(fraction[i, 0] * own.shape[0])]
        _weigh(window, fraction[i, 0], weights)
        out[order[i], 0] = _dot(line, weights) - charge[i] * excess[0]
        _weigh(slope, fraction[i, 0], weights)
        out[order[i], 1] = _dot(line, weights) - charge[i] * excess[1]


@njit(nogil=True, cache=True)
def spread_plane(start, stop, first, cell, fraction, charge, window, grid):
    """Sum over points of charge w_a(u) w_b(v), for the rows start ... stop of the grid."""
    down, across = np.empty(WIDTH, window.dtype), np.empty(WIDTH, window.dtype)
    grid[start:stop] = 0.0
    for row in range(max(0, start - WIDTH + 1), min(stop, first.size - 1)):
        low, high = max(0, start - row), min(WIDTH, stop - row)
        for i in range(first[row], first[row + 1]):
            _weigh(window, fraction[i, 0], down)
            _weigh(window, fraction[i, 1], across)
            column = cell[i, 1]
            for a in range(low, high):
                _add(grid[row + a, column : column + WIDTH], charge[i] * down[a], across)


@njit(nogil=True, cache=True)
def gather_plane(start, stop, order, cell, fraction, charge, window, slope, field, own, out):
    """Value and both derivatives of the field at the points: the three columns of `out`."""
    down, across = np.empty(WIDTH, window.dtype), np.empty(WIDTH, window.dtype)
    down_slope, across_slope = np.empty(WIDTH, window.dtype), np.empty(WIDTH, window.dtype)
    for i in range(start, stop):
        _weigh(window, fraction[i, 0], down)
        _weigh(window, fraction[i, 1], across)
        _weigh(slope, fraction[i, 0], down_slope)
        _weigh(slope, fraction[i, 1], across_slope)
        row, column = cell[i, 0], cell[i, 1]
        value = by_row = by_column = window.dtype.type(0.0)
        for a in range(WIDTH):
            line = field[row + a, column : column + WIDTH]
            along = _dot(line, across)
            value += down[a] * along
            by_row += down_slope[a] * along
            by_column += down[a] * _dot(line, across_slope)
        excess = own[int(fraction[i, 0] * own.shape[0]), int(fraction[i, 1] * own.shape[1])]
        k = order[i]
        out[k, 0] = value - charge[i] * excess[0]
        out[k, 1] = by_row - charge[i] * excess[1]
        out[k, 2] = by_column - charge[i] * excess[2]


@njit(nogil=True, fastmath=FAST, cache=True, error_model="numpy")
def _add_row(row, weight, out):
    """out += weight row"""
    for k in range(out.size):
        out[k] += weight * row[k]


@njit(nogil=True, cache=True)
def restrict_rows(start, stop, fine, table, coarse):
    """Rows of a grid to rows of one RATIO times as coarse: coarse_c = sum_a table[a % RATIO, c - a // RATIO] fine_a"""
    for c in range(start, stop):
        coarse[c] = 0.0
        for a in range(max(0, RATIO * (c - WIDTH + 1)), min(fine.shape[0], RATIO * (c + 1))):
            _add_row(fine[a], table[a % RATIO, c - a // RATIO], coarse[c])


@njit(nogil=True, cache=True)
def prolong_rows(start, stop, coarse, table, fine):
    """The transpose, added to the fine rows."""
    for a in range(start, stop):
        for k in range(WIDTH):
            _add_row(coarse[a // RATIO + k], table[a % RATIO, k], fine[a])
