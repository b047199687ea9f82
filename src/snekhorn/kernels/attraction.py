"""Sum over the stored pairs of P: the attraction between similar points, and its energy.

The latent cost is C = log(1 + r^2) for the Student kernel and C = r^2 for the Gaussian kernel. P is in CSR format. Its
`indices` must be unsigned: the compiled code then skips the test for negative indices, which saves a quarter of the
time.
"""

import numpy as np

from .arithmetic import fast_log
from .compilation import FAST, compiled, inlined
from .graph_rows import longest_row

HALF, MASK = np.uint64(32), np.uint64(2**32 - 1)  # shift and mask that separate the two halves of a word


@inlined(fastmath=FAST)
def _attract_in_plane(begin, end, indices, p, z, i, student):
    """Return sum_j P_ij dC/dr^2 (z_i - z_j) in two dimensions."""
    by_x = by_y = z.dtype.type(0.0)
    one = z.dtype.type(1.0)
    x, y = z[i, 0], z[i, 1]
    for k in range(begin, end):
        dx, dy = x - z[indices[k], 0], y - z[indices[k], 1]
        weight = p[k] / (one + dx * dx + dy * dy) if student else p[k]
        by_x += weight * dx
        by_y += weight * dy
    return by_x, by_y


@inlined(fastmath=FAST)
def _attract(begin, end, indices, p, z, i, student, out):
    """Compute sum_j P_ij dC/dr^2 (z_i - z_j) in any number of dimensions."""
    out[:] = 0.0
    for k in range(begin, end):
        j = indices[k]
        weight = p[k]
        if student:
            squared = z.dtype.type(1.0)
            for axis in range(z.shape[1]):
                away = z[i, axis] - z[j, axis]
                squared += away * away
            weight /= squared
        for axis in range(z.shape[1]):
            out[axis] += weight * (z[i, axis] - z[j, axis])


@compiled
def attract(start, stop, indptr, indices, p, z, student, factor, out):
    """Add `factor` times sum_j P_ij dC/dr^2 (z_i - z_j) to every row i of `out`."""
    pull = np.empty(z.shape[1], z.dtype)
    for i in range(start, stop):
        begin, end = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        if z.shape[1] == 2:
            pull[0], pull[1] = _attract_in_plane(begin, end, indices, p, z, i, student)
        else:
            _attract(begin, end, indices, p, z, i, student, pull)
        for axis in range(z.shape[1]):
            out[i, axis] += factor * pull[axis]


@compiled
def pack(start, stop, z, packed):
    """Copy positions into columns of float32; columns without a coordinate are zero."""
    for i in range(start, stop):
        for axis in range(packed.shape[1]):
            packed[i, axis] = z[i, axis] if axis < z.shape[1] else 0.0


@inlined
def _low(word):
    """Return the first of the two float32 values of a word."""
    return np.uint32(word & MASK).view(np.float32)


@inlined
def _high(word):
    """Return the second one; a function that returned both would make the compiler read memory twice."""
    return np.uint32(word >> HALF).view(np.float32)


@inlined(fastmath=FAST)
def _attract_packed_in_plane(begin, end, indices, p, words, i, student):
    """Return sum_j P_ij dC/dr^2 (z_i - z_j) in up to two dimensions."""
    by_x = by_y = np.float32(0.0)
    one = np.float32(1.0)
    x, y = _low(words[i]), _high(words[i])
    for k in range(begin, end):
        word = words[indices[k]]
        dx, dy = x - _low(word), y - _high(word)
        weight = p[k] / (one + dx * dx + dy * dy) if student else p[k]
        by_x += weight * dx
        by_y += weight * dy
    return by_x, by_y


@inlined(fastmath=FAST)
def _attract_packed_in_space(begin, end, indices, p, words, i, student):
    """Return the same in three dimensions."""
    by_x = by_y = by_w = np.float32(0.0)
    one = np.float32(1.0)
    x, y, w = _low(words[2 * i]), _high(words[2 * i]), _low(words[2 * i + 1])
    for k in range(begin, end):
        j = np.uint64(2) * indices[k]
        word, last = words[j], words[j + np.uint64(1)]
        dx, dy, dw = x - _low(word), y - _high(word), w - _low(last)
        weight = p[k] / (one + dx * dx + dy * dy + dw * dw) if student else p[k]
        by_x += weight * dx
        by_y += weight * dy
        by_w += weight * dw
    return by_x, by_y, by_w


@compiled
def attract_packed(start, stop, indptr, indices, p, words, student, factor, out):
    """Compute the same as `attract` from positions in float32, two coordinates per word of 64 bits.

    A word is read at once, so this loop takes two thirds of the time.
    """
    for i in range(start, stop):
        begin, end = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        if out.shape[1] < 3:
            x, y = _attract_packed_in_plane(begin, end, indices, p, words, i, student)
            pull = (x, y, np.float32(0.0))
        else:
            pull = _attract_packed_in_space(begin, end, indices, p, words, i, student)
        for axis in range(out.shape[1]):
            out[i, axis] += factor * pull[axis]


@inlined(fastmath=FAST)
def row_energy(p, squared, student):
    """Return sum_k P_k C(squared_k), or infinity or NaN if any distance is infinite or NaN."""
    total = spread = 0.0
    for k in range(p.size):
        total += p[k] * (fast_log(1.0 + squared[k]) if student else squared[k])
        spread += squared[k]
    return total if np.isfinite(spread) else spread  # fast_log would hide an overflow


@inlined(fastmath=FAST)
def _squared_distances(near, z, i, out):
    """Compute |z_i - z_j|^2 for the neighbours j of one point."""
    if z.shape[1] == 2:  # a single loop that the compiler vectorises
        x, y = z[i, 0], z[i, 1]
        for k in range(near.size):
            dx, dy = np.float64(x - z[near[k], 0]), np.float64(y - z[near[k], 1])
            out[k] = dx * dx + dy * dy
        return
    for k in range(near.size):
        out[k] = 0.0
        for axis in range(z.shape[1]):
            away = np.float64(z[i, axis] - z[near[k], axis])
            out[k] += away * away


@compiled
def energy(start, stop, indptr, indices, p, z, student, out):
    """Compute sum_j P_ij C_ij for every row i."""
    squared = np.empty(longest_row(start, stop, indptr))
    for i in range(start, stop):
        row = slice(indptr[i], indptr[i + 1])
        near = indices[row]
        _squared_distances(near, z, i, squared[: near.size])
        out[i] = row_energy(p[row], squared[: near.size], student)
