"""Sums over the neighbours of new points, for placing them in a finished layout."""

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def pull_places(start, stop, rows, indices, p, z, places, student, out):
    """For the place of every row: sum_j of P_ij C_ij, of the weights P_ij dC/dr^2, and of weight times z_i - z_j."""
    for i in range(start, stop):
        out[i] = 0.0
        for k in range(p.shape[1]):
            j, share = indices[rows[i], k], p[rows[i], k]
            squared = 0.0
            for axis in range(z.shape[1]):
                squared += (places[i, axis] - z[j, axis]) ** 2
            cost, weight = (np.log1p(squared), share / (1.0 + squared)) if student else (squared, share)
            out[i, 0] += share * cost
            out[i, 1] += weight
            for axis in range(z.shape[1]):
                out[i, 2 + axis] += weight * (places[i, axis] - z[j, axis])


@njit(nogil=True, cache=True)
def add_log(start, stop, values, out):
    """out_i += log(values_i); compiled, so that a value's place in an array leaves no trace."""
    for i in range(start, stop):
        out[i] += np.log(values[i])
