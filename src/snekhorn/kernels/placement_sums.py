"""Sums over the neighbours of new points, for placing them in a finished layout."""

import numpy as np
from numba import njit

from .arithmetic import FAST
from .attraction import row_energy


@njit(fastmath=FAST, cache=True, error_model="numpy")
def _weigh(p, squared, student, out):
    """out_k = P_k dC/dr^2; their sum"""
    total = 0.0
    for k in range(p.size):
        out[k] = p[k] / (1.0 + squared[k]) if student else p[k]
        total += out[k]
    return total


@njit(fastmath=FAST, cache=True, error_model="numpy")
def _dot(a, b):
    total = 0.0
    for k in range(a.size):
        total += a[k] * b[k]
    return total


@njit(nogil=True, cache=True)
def pull_places(start, stop, rows, indices, p, z, places, student, out):
    """For the place of every row: sum_j of P_ij C_ij, of the weights P_ij dC/dr^2, and of weight times z_i - z_j."""
    k, d = p.shape[1], z.shape[1]
    away, squared, weights = np.empty((d, k)), np.empty(k), np.empty(k)
    for i in range(start, stop):
        near, shares = indices[rows[i]], p[rows[i]]
        squared[:] = 0.0
        for axis in range(d):
            for j in range(k):
                away[axis, j] = places[i, axis] - z[near[j], axis]
                squared[j] += away[axis, j] ** 2
        out[i, 0] = row_energy(shares, squared, student)
        out[i, 1] = _weigh(shares, squared, student, weights)
        for axis in range(d):
            out[i, 2 + axis] = _dot(weights, away[axis])


@njit(nogil=True, cache=True)
def add_log(start, stop, values, out):
    """out_i += log(values_i); compiled, so that a value's place in an array leaves no trace."""
    for i in range(start, stop):
        out[i] += np.log(values[i])
