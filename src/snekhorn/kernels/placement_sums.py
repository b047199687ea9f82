"""Sum over the neighbours of new points, to place the points in a finished layout."""

import numpy as np

from .attraction import row_energy
from .compilation import FAST, compiled, inlined


@inlined(fastmath=FAST)
def _attraction_weights(p, squared, student, out):
    """Compute P_k dC/dr^2 for every neighbour k, and return the sum.

    A loop that writes is only vectorised if its arrays are some way apart in memory. A sum in the same loop would
    depend on where they happen to be.
    """
    for k in range(p.size):
        out[k] = p[k] / (1.0 + squared[k]) if student else p[k]
    total = 0.0
    for k in range(p.size):
        total += out[k]
    return total


@inlined(fastmath=FAST)
def _dot(a, b):
    total = 0.0
    for k in range(a.size):
        total += a[k] * b[k]
    return total


@compiled
def placement_sums(start, stop, rows, indices, p, z, positions, student, out):
    """Sum over the neighbours j of new points i = rows[0], rows[1], ..., each at its row of `positions`.

    The columns of `out` are the sums of P_ij C_ij, of the weights P_ij dC/dr^2, and of weight times (z_i - z_j).
    """
    k, d = p.shape[1], z.shape[1]
    away, squared, weights = np.empty((d, k)), np.empty(k), np.empty(k)
    for i in range(start, stop):
        near, p_row = indices[rows[i]], p[rows[i]]
        squared[:] = 0.0
        for axis in range(d):
            for j in range(k):
                away[axis, j] = positions[i, axis] - z[near[j], axis]
                squared[j] += away[axis, j] * away[axis, j]
        out[i, 0] = row_energy(p_row, squared, student)
        out[i, 1] = _attraction_weights(p_row, squared, student, weights)
        for axis in range(d):
            out[i, 2 + axis] = _dot(weights, away[axis])


@compiled
def add_log(start, stop, values, out):
    """Add log(values_i) to out_i.

    NumPy's vectorised logarithm may round a value differently depending on its index in the array; this loop does not,
    so the position of a new point does not depend on the batch.
    """
    for i in range(start, stop):
        out[i] += np.log(values[i])
