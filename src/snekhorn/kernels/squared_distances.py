"""Compute squared Euclidean distances by direct differences: exact for duplicates, accurate with offsets in X."""

import numpy as np

from .compilation import FAST, compiled, inlined


@inlined(fastmath=FAST)
def squared_distance(x, y):
    """Return sum_k (x_k - y_k)^2."""
    total = 0.0
    for k in range(x.size):
        difference = np.float64(x[k]) - np.float64(y[k])
        total += difference * difference
    return total


@compiled
def dense_squared_distances(start, stop, x, out):
    """Fill `out` with the squared distances between all rows of x; each pair of rows is computed once.

    Row i takes i distances, so rows are processed in pairs (i, n - 1 - i) of equal work. `start` and `stop` are pairs.
    """
    n = x.shape[0]
    for pair in range(start, stop):
        for i in (pair, n - 1 - pair):
            out[i, i] = 0.0
            for j in range(i):
                d = squared_distance(x[i], x[j])
                out[i, j] = d
                out[j, i] = d
            if 2 * pair + 1 == n:
                break


@compiled
def sampled_squared_distances(start, stop, x, sample, out):
    """Compute the squared distances from every sampled point to all points.

    Each point is read once per range of samples.
    """
    for j in range(x.shape[0]):
        for s in range(start, stop):
            out[s, j] = squared_distance(x[sample[s]], x[j])
