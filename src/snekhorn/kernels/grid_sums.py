"""Spread charges onto a grid and gather fields from it, with a B-spline of degree 7 as the window.

A point in cell c, at a fraction u of the cell (0 <= u < 1), touches the WIDTH nodes c, c + 1, ... along every axis.
The weight of its k-th node is a polynomial in u with coefficients `window[:, k]`, highest power first. `cell` and
`fraction` have one row per axis.

Points are sorted by row of cells, and row r begins at `first[r]`. Every node of a plane therefore sums its charges in
the same order for any number of threads. `excess` tabulates, as a function of the fraction, by how much the grid
overestimates the field of a unit charge at its own position.
"""

import numpy as np

from .compilation import FAST, compiled, inlined

WIDTH = 8  # nodes that a point touches along an axis: the degree of the B-spline plus 1
BATCH = 64  # points weighted together: enough for vector instructions, few enough for their weights to stay in cache
RATIO = 8  # width of a coarse cell in fine cells
BELOW_ONE = 1.0 - 2.0**-24  # the largest float32 below 1: a fraction must not round up to 1


@inlined(fastmath=FAST)
def _weigh(window, u, turned, out):
    """Compute out_ik = p_k(u_i) for a batch of points, column by column so that the inner loop vectorises."""
    for k in range(WIDTH):
        a, b, c, d = window[0, k], window[1, k], window[2, k], window[3, k]
        e, f, g, h = window[4, k], window[5, k], window[6, k], window[7, k]
        for i in range(u.size):
            x = u[i]
            turned[k, i] = ((((((a * x + b) * x + c) * x + d) * x + e) * x + f) * x + g) * x + h
    for i in range(u.size):
        for k in range(WIDTH):
            out[i, k] = turned[k, i]


@inlined(fastmath=FAST)
def _add(line, weight, w):
    """Add weight w_k to line_k."""
    a, b, c, d = line[0] + weight * w[0], line[1] + weight * w[1], line[2] + weight * w[2], line[3] + weight * w[3]
    e, f, g, h = line[4] + weight * w[4], line[5] + weight * w[5], line[6] + weight * w[6], line[7] + weight * w[7]
    line[0], line[1], line[2], line[3], line[4], line[5], line[6], line[7] = a, b, c, d, e, f, g, h


@inlined(fastmath=FAST)
def _dot(line, w):
    """Return sum_k line_k w_k."""
    total = line[0] * w[0]
    for k in range(1, WIDTH):
        total += line[k] * w[k]
    return total


@compiled
def count_rows(z, low, inverse, first):
    """Count points: first[r + 1] is the number of points in the rows of cells 0 ... r."""
    first[:] = 0
    for i in range(z.shape[0]):
        first[int((z[i, 0] - low[0]) * inverse) + 1] += 1
    for row in range(first.size - 1):
        first[row + 1] += first[row]


@compiled
def sort_by_row(z, charges, low, inverse, first, order, cell, fraction, charge):
    """Compute the cell, fraction and charge of every point, stably sorted by row of cells."""
    free = first.copy()
    for i in range(z.shape[0]):
        row = int((z[i, 0] - low[0]) * inverse)
        k = free[row]
        free[row] += 1
        order[k] = i
        charge[k] = charges[i]
        for axis in range(z.shape[1]):
            position = (z[i, axis] - low[axis]) * inverse
            cell[axis, k] = int(position)
            fraction[axis, k] = min(position - int(position), BELOW_ONE)


@compiled
def spread_line(cell, fraction, charge, window, grid):
    """Compute the charges at the nodes of a line: the sums of charge w_a(u) over points."""
    weights, turned = np.empty((BATCH, WIDTH), window.dtype), np.empty((WIDTH, BATCH), window.dtype)
    grid[:] = 0.0
    for begin in range(0, charge.size, BATCH):
        end = min(begin + BATCH, charge.size)
        _weigh(window, fraction[0, begin:end], turned, weights)
        for i in range(begin, end):
            _add(grid[cell[0, i] : cell[0, i] + WIDTH], charge[i], weights[i - begin])


@compiled
def gather_line(start, stop, order, cell, fraction, charge, window, slope, field, excess, out):
    """Compute the field and its derivative at the points, as the two columns of `out`."""
    weights, turned = np.empty((2, BATCH, WIDTH), window.dtype), np.empty((WIDTH, BATCH), window.dtype)
    for begin in range(start, stop, BATCH):
        end = min(begin + BATCH, stop)
        _weigh(window, fraction[0, begin:end], turned, weights[0])
        _weigh(slope, fraction[0, begin:end], turned, weights[1])
        for i in range(begin, end):
            line = field[cell[0, i] : cell[0, i] + WIDTH]
            own = excess[int(fraction[0, i] * excess.shape[0])]
            for k in range(2):
                out[order[i], k] = _dot(line, weights[k, i - begin]) - charge[i] * own[k]


@compiled
def spread_plane(start, stop, first, cell, fraction, charge, window, grid):
    """Compute the charges at the nodes of a plane, the sums of charge w_a(u) w_b(v), for rows of the grid."""
    down, across = np.empty((BATCH, WIDTH), window.dtype), np.empty((BATCH, WIDTH), window.dtype)
    turned = np.empty((WIDTH, BATCH), window.dtype)
    grid[start:stop] = 0.0
    last = first[min(stop, first.size - 1)]
    for begin in range(first[max(0, min(start - WIDTH + 1, first.size - 1))], last, BATCH):
        end = min(begin + BATCH, last)
        _weigh(window, fraction[0, begin:end], turned, down)
        _weigh(window, fraction[1, begin:end], turned, across)
        for i in range(begin, end):
            row, column = cell[0, i], cell[1, i]
            for a in range(max(0, start - row), min(WIDTH, stop - row)):
                _add(grid[row + a, column : column + WIDTH], charge[i] * down[i - begin, a], across[i - begin])


@compiled
def gather_plane(start, stop, order, cell, fraction, charge, window, slope, field, excess, out):
    """Compute the field and both derivatives at the points, as the three columns of `out`."""
    down, across = np.empty((BATCH, WIDTH), window.dtype), np.empty((BATCH, WIDTH), window.dtype)
    down_slope, across_slope = np.empty((BATCH, WIDTH), window.dtype), np.empty((BATCH, WIDTH), window.dtype)
    turned = np.empty((WIDTH, BATCH), window.dtype)
    for begin in range(start, stop, BATCH):
        end = min(begin + BATCH, stop)
        u, v = fraction[0, begin:end], fraction[1, begin:end]
        _weigh(window, u, turned, down)
        _weigh(window, v, turned, across)
        _weigh(slope, u, turned, down_slope)
        _weigh(slope, v, turned, across_slope)
        for i in range(begin, end):
            m, row, column = i - begin, cell[0, i], cell[1, i]
            value = by_row = by_column = window.dtype.type(0.0)
            for a in range(WIDTH):
                line = field[row + a, column : column + WIDTH]
                along = _dot(line, across[m])
                value += down[m, a] * along
                by_row += down_slope[m, a] * along
                by_column += down[m, a] * _dot(line, across_slope[m])
            own = excess[int(u[m] * excess.shape[0]), int(v[m] * excess.shape[1])]
            k = order[i]
            out[k, 0] = value - charge[i] * own[0]
            out[k, 1] = by_row - charge[i] * own[1]
            out[k, 2] = by_column - charge[i] * own[2]


@inlined(fastmath=FAST)
def _add_row(row, weight, out):
    """Add weight times row to out."""
    for k in range(out.size):
        out[k] += weight * row[k]


@compiled
def restrict_rows(start, stop, fine, table, coarse):
    """Restrict rows to a grid RATIO times as coarse: coarse_c = sum_a table[a % RATIO, c - a // RATIO] fine_a."""
    for c in range(start, stop):
        coarse[c] = 0.0
        for a in range(max(0, RATIO * (c - WIDTH + 1)), min(fine.shape[0], RATIO * (c + 1))):
            _add_row(fine[a], table[a % RATIO, c - a // RATIO], coarse[c])


@compiled
def prolong_rows(start, stop, coarse, table, fine):
    """Prolong coarse rows, by the transpose of the restriction, and add them to the fine rows."""
    for a in range(start, stop):
        for k in range(WIDTH):
            _add_row(coarse[a // RATIO + k], table[a % RATIO, k], fine[a])
