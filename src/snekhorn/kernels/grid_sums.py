"""Spread charges onto a grid and gather fields from it, with a B-spline as the window.

Positions are in units of the spacing, one row per axis. A point at c + u along an axis, with c an integer and
0 <= u < 1, touches the nodes c, c + 1, ... The weight of its k-th node is a polynomial in u with coefficients
`window[:, k]`, highest power first. The length of the tuple `taps` is the number of nodes touched per axis: the
compiler knows the length of a tuple, and unrolls the loops over nodes.

Points are sorted by box, in rows of boxes, and row r begins at `first[r]`. Every node therefore sums its charges in the
same order for any number of threads. `sides` are the sides of a box in units of the spacing, and `box` is the first of
them. For the sort, every thread counts and moves one chunk of the points.
"""

import numpy as np

from .compilation import FAST, compiled, inlined

BATCH = 64  # points weighted together: enough for vector instructions, few enough for their weights to stay in cache


@inlined
def _box_of(z, i, low, inverse, sides, n_boxes):
    """Return the index of a point's box, with the last axis varying fastest."""
    index = 0
    for axis in range(z.shape[1]):
        index = index * n_boxes[axis] + int((z[i, axis] - low[axis]) * inverse / sides[axis])
    return index


@compiled
def count_points(start, stop, z, low, inverse, sides, n_boxes, box_of, counts):
    """Compute every point's box, and count the points of every chunk per box; a chunk is a range of points."""
    n, n_chunks = z.shape[0], counts.shape[0]
    for chunk in range(start, stop):
        counts[chunk] = 0
        for i in range(n * chunk // n_chunks, n * (chunk + 1) // n_chunks):
            box_of[i] = _box_of(z, i, low, inverse, sides, n_boxes)
            counts[chunk, box_of[i]] += 1


@compiled
def start_boxes(counts, first):
    """Compute the start of every box, and replace the counts by the start of every chunk in every box."""
    total = 0
    for box in range(counts.shape[1]):
        first[box] = total
        for chunk in range(counts.shape[0]):
            count = counts[chunk, box]
            counts[chunk, box] = total
            total += count
    first[counts.shape[1]] = total


@compiled
def sort_points(start, stop, z, charges, low, inverse, most, box_of, places, order, position, charge):
    """Sort the points stably by box: indices, positions in units of the spacing, and charges, limited to `most`.

    `places` are the starts of every chunk in every box; the loop moves them.
    """
    n, n_chunks = z.shape[0], places.shape[0]
    for chunk in range(start, stop):
        for i in range(n * chunk // n_chunks, n * (chunk + 1) // n_chunks):
            k = places[chunk, box_of[i]]
            places[chunk, box_of[i]] = k + 1
            order[k], charge[k] = i, min(charges[i], most)
            for axis in range(z.shape[1]):
                position[axis, k] = (z[i, axis] - low[axis]) * inverse


@inlined(fastmath=FAST)
def _weigh(taps, window, position, begin, end, out):
    """Compute out[axis, k, i] = p_k(u_i) along every axis for a batch of points; the inner loop vectorises."""
    for axis in range(position.shape[0]):
        for k in range(len(taps)):
            for i in range(begin, end):
                u = position[axis, i] - np.floor(position[axis, i])
                value = window[0, k]
                for power in range(1, len(taps)):
                    value = value * u + window[power, k]
                out[axis, k, i - begin] = value


@inlined
def _points_of_rows(start, stop, n_taps, first, box):
    """Return the range of points that may touch these rows of nodes; it may contain other points at its ends."""
    last_row = first.size - 1
    begin = max(0, int((start - n_taps + 0.5) / box))  # half a cell for rounding
    end = int(stop / box) + 1
    return first[min(begin, last_row)], first[min(end, last_row)]


@compiled
def spread_line(start, stop, taps, first, box, position, charge, window, grid):
    """Compute the charges at the nodes of a line: the sums of charge w_a(u) over points."""
    weights = np.empty((1, len(taps), BATCH), window.dtype)
    grid[start:stop] = 0.0
    least, last = _points_of_rows(start, stop, len(taps), first, box)
    for begin in range(least, last, BATCH):
        end = min(begin + BATCH, last)
        _weigh(taps, window, position, begin, end, weights)
        for i in range(begin, end):
            node = int(position[0, i])
            for a in range(max(0, start - node), min(len(taps), stop - node)):
                grid[node + a] += charge[i] * weights[0, a, i - begin]


@compiled
def spread_plane(start, stop, taps, first, box, position, charge, window, grid):
    """Compute the charges at the nodes of a plane, the sums of charge w_a(u) w_b(v), for rows of the grid."""
    weights = np.empty((2, len(taps), BATCH), window.dtype)
    grid[start:stop] = 0.0
    least, last = _points_of_rows(start, stop, len(taps), first, box)
    for begin in range(least, last, BATCH):
        end = min(begin + BATCH, last)
        _weigh(taps, window, position, begin, end, weights)
        for i in range(begin, end):
            m, row, column = i - begin, int(position[0, i]), int(position[1, i])
            for a in range(max(0, start - row), min(len(taps), stop - row)):
                weight = charge[i] * weights[0, a, m]
                for b in range(len(taps)):
                    grid[row + a, column + b] += weight * weights[1, b, m]


@compiled
def spread_space(start, stop, taps, first, box, position, charge, window, grid):
    """Compute the charges at the nodes in space, the sums of charge w_a(u) w_b(v) w_c(w), for slabs of the grid."""
    weights = np.empty((3, len(taps), BATCH), window.dtype)
    grid[start:stop] = 0.0
    least, last = _points_of_rows(start, stop, len(taps), first, box)
    for begin in range(least, last, BATCH):
        end = min(begin + BATCH, last)
        _weigh(taps, window, position, begin, end, weights)
        for i in range(begin, end):
            m, slab, row, column = i - begin, int(position[0, i]), int(position[1, i]), int(position[2, i])
            for a in range(max(0, start - slab), min(len(taps), stop - slab)):
                for b in range(len(taps)):
                    weight = charge[i] * weights[0, a, m] * weights[1, b, m]
                    for c in range(len(taps)):
                        grid[slab + a, row + b, column + c] += weight * weights[2, c, m]


@compiled
def multiply(start, stop, factors, values):
    """Multiply rows of complex values by real factors, in place."""
    for i in range(start, stop):
        for j in range(factors.shape[1]):
            values[i, j] *= factors[i, j]


@compiled
def gather_line(start, stop, taps, order, position, charge, window, slope, field, excess, near, out):
    """Compute the field and its derivative at the points, as the two columns of `out`.

    `near` is the part of the field that is not on the grid, in sorted order; `out` is in the order of the layout.
    """
    weights = np.empty((1, len(taps), BATCH), window.dtype)
    slopes = np.empty_like(weights)
    for begin in range(start, stop, BATCH):
        end = min(begin + BATCH, stop)
        _weigh(taps, window, position, begin, end, weights)
        _weigh(taps, slope, position, begin, end, slopes)
        for i in range(begin, end):
            m, node = i - begin, int(position[0, i])
            value = derivative = window.dtype.type(0.0)
            for a in range(len(taps)):
                value += weights[0, a, m] * field[node + a]
                derivative += slopes[0, a, m] * field[node + a]
            u = int((position[0, i] - node) * excess.shape[0])
            out[order[i], 0] = near[i, 0] + value - charge[i] * excess[u, 0]
            out[order[i], 1] = near[i, 1] + derivative - charge[i] * excess[u, 1]


@compiled
def gather_plane(start, stop, taps, order, position, charge, window, slope, field, excess, near, out):
    """Compute the field and both derivatives at the points, as the three columns of `out`."""
    weights = np.empty((2, len(taps), BATCH), window.dtype)
    slopes = np.empty_like(weights)
    zero = window.dtype.type(0.0)
    for begin in range(start, stop, BATCH):
        end = min(begin + BATCH, stop)
        _weigh(taps, window, position, begin, end, weights)
        _weigh(taps, slope, position, begin, end, slopes)
        for i in range(begin, end):
            m, row, column = i - begin, int(position[0, i]), int(position[1, i])
            value = by_row = by_column = zero
            for a in range(len(taps)):
                along = along_slope = zero
                for b in range(len(taps)):
                    along += field[row + a, column + b] * weights[1, b, m]
                    along_slope += field[row + a, column + b] * slopes[1, b, m]
                value += weights[0, a, m] * along
                by_row += slopes[0, a, m] * along
                by_column += weights[0, a, m] * along_slope
            u = int((position[0, i] - row) * excess.shape[0])
            v = int((position[1, i] - column) * excess.shape[1])
            k = order[i]
            out[k, 0] = near[i, 0] + value - charge[i] * excess[u, v, 0]
            out[k, 1] = near[i, 1] + by_row - charge[i] * excess[u, v, 1]
            out[k, 2] = near[i, 2] + by_column - charge[i] * excess[u, v, 2]


@compiled
def gather_space(start, stop, taps, order, position, charge, window, slope, field, excess, near, out):
    """Compute the field and its three derivatives at the points, as the four columns of `out`."""
    weights = np.empty((3, len(taps), BATCH), window.dtype)
    slopes = np.empty_like(weights)
    total = np.empty(4, window.dtype)
    zero = window.dtype.type(0.0)
    for begin in range(start, stop, BATCH):
        end = min(begin + BATCH, stop)
        _weigh(taps, window, position, begin, end, weights)
        _weigh(taps, slope, position, begin, end, slopes)
        for i in range(begin, end):
            m, slab, row, column = i - begin, int(position[0, i]), int(position[1, i]), int(position[2, i])
            total[:] = zero
            for a in range(len(taps)):
                value = by_row = by_column = zero
                for b in range(len(taps)):
                    along = along_slope = zero
                    for c in range(len(taps)):
                        along += field[slab + a, row + b, column + c] * weights[2, c, m]
                        along_slope += field[slab + a, row + b, column + c] * slopes[2, c, m]
                    value += weights[1, b, m] * along
                    by_row += slopes[1, b, m] * along
                    by_column += weights[1, b, m] * along_slope
                total[0] += weights[0, a, m] * value
                total[1] += slopes[0, a, m] * value
                total[2] += weights[0, a, m] * by_row
                total[3] += weights[0, a, m] * by_column
            t = int((position[0, i] - slab) * excess.shape[0])
            u = int((position[1, i] - row) * excess.shape[1])
            v = int((position[2, i] - column) * excess.shape[2])
            for k in range(4):
                out[order[i], k] = near[i, k] + total[k] - charge[i] * excess[t, u, v, k]
