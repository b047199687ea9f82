"""Squared Euclidean distances by direct differences: exact for duplicates, indifferent to an offset of X."""

import numpy as np
from numba import njit

from .threads import FAST


@njit(fastmath=FAST, cache=True)
def _squared_distance(x, y):
    """sum_k (x_k - y_k)^2"""
    total = 0.0
    for k in range(x.size):
        difference = np.float64(x[k]) - np.float64(y[k])
        total += difference * difference
    return total


@njit(nogil=True, cache=True)
def dense_squared_distances(start, stop, x, out):
    """Fill rows and columns of `out` for the pairs j < i of the strided rows i; each entry is written once.

    Row i costs i distances, so rows are dealt in pairs (i, n - 1 - i) of equal total work.
    """
    n = x.shape[0]
    for pair in range(start, stop):
        for i in (pair, n - 1 - pair):
            out[i, i] = 0.0
            for j in range(i):
                d = _squared_distance(x[i], x[j])
                out[i, j] = d
                out[j, i] = d
            if 2 * pair + 1 == n:
                break


@njit(nogil=True, cache=True)
def sampled_squared_distances(start, stop, x, sample, out):
    """Distances of every sampled point to all points; each point is read once for a range of samples."""
    for j in range(x.shape[0]):
        for s in range(start, stop):
            out[s, j] = _squared_distance(x[sample[s]], x[j])


@njit(nogil=True, cache=True)
def neighbor_squared_distances(start, stop, x, indices, out):
    """Distances of every row of `indices` to its point, both sorted by distance, then by index."""
    for i in range(start, stop):
        order = np.argsort(indices[i])
        near = indices[i][order]
        d = np.empty(near.size)
        for k in range(near.size):
            d[k] = _squared_distance(x[i], x[near[k]])
        order = np.argsort(d, kind="mergesort")
        indices[i] = near[order]
        out[i] = d[order]


@njit(nogil=True, cache=True)
def kth_squared_distance(start, stop, x, sample, k, out):
    """Squared distance of every sampled point to its k-th nearest other point, by looking at all."""
    d = np.empty(x.shape[0])
    for s in range(start, stop):
        i = sample[s]
        for j in range(x.shape[0]):
            d[j] = _squared_distance(x[i], x[j])
        d[i] = np.inf
        out[s] = np.partition(d, k - 1)[k - 1]


@njit(nogil=True, cache=True)
def query_squared_distances(start, stop, x, queries, indices, out):
    """Distances of every query to the points that its row of `indices` lists."""
    for i in range(start, stop):
        for k in range(indices.shape[1]):
            out[i, k] = _squared_distance(queries[i], x[indices[i, k]])
