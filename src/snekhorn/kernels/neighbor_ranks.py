"""Compute neighbours, ranks and classes of sampled points from their distances to all points.

Every kernel takes one row of distances per sampled point, and overwrites the point's distance to itself. If two points
are at the same distance, the one with the lower index counts as nearer.
"""

import numpy as np

from .compilation import FAST, compiled, inlined

# Columns of the arrays that the kernels fill.
INTRUSION, EXTRUSION, SHARED, MEAN_X, MEAN_Z, SPREAD_X, SPREAD_Z, SPREAD_XZ, N_COMPARED = range(9)
VOTE, SILHOUETTE, N_CLASSED = range(3)


@inlined
def _nearest(d, k):
    """Return the indices of the k smallest entries, sorted by value, then by index."""
    step = int(np.sqrt(d.size / k))
    reach = np.partition(d[::step], k - 1)[k - 1]  # k-th smallest of a subset, so at least the k-th smallest overall
    found = np.flatnonzero(d <= reach)
    return found[np.argsort(d[found], kind="mergesort")[:k]]


@inlined
def _rank(d, j):
    """Return the rank of d_j, starting at 1, among the entries sorted by value, then by index."""
    rank = 1
    for i in range(j):
        rank += d[i] <= d[j]
    for i in range(j + 1, d.size):
        rank += d[i] < d[j]
    return rank


@inlined
def _excess_ranks(d, chosen):
    """Compute sum_j max(0, rank_j - k) over k chosen entries."""
    total = 0
    for j in chosen:
        total += max(0, _rank(d, j) - chosen.size)
    return total


@inlined(fastmath=FAST)
def _moments(x, z, own, row):
    """Compute the means of x and z and the sums of centred products, excluding the entry `own`."""
    x[own] = z[own] = 0.0
    sum_x = sum_z = 0.0
    for j in range(x.size):
        sum_x += x[j]
        sum_z += z[j]
    mean_x, mean_z = sum_x / (x.size - 1), sum_z / (x.size - 1)
    x[own], z[own] = mean_x, mean_z
    xx = zz = xz = 0.0
    for j in range(x.size):
        a, b = x[j] - mean_x, z[j] - mean_z
        xx += a * a
        zz += b * b
        xz += a * b
    row[MEAN_X], row[MEAN_Z] = mean_x, mean_z
    row[SPREAD_X], row[SPREAD_Z], row[SPREAD_XZ] = xx, zz, xz


@compiled
def compare_rows(start, stop, dx, dz, sample, k_ranks, k_shared, rows):
    """Compute excess ranks, shared neighbours and moments of the distances for every sampled point.

    INTRUSION ranks the k_ranks nearest neighbours in Z by their distances in X. EXTRUSION ranks the k_ranks nearest
    neighbours in X by their distances in Z. SHARED counts the common neighbours among the k_shared nearest.
    """
    k = max(k_ranks, k_shared)
    for s in range(start, stop):
        _moments(dx[s], dz[s], sample[s], rows[s])
        dx[s, sample[s]] = dz[s, sample[s]] = np.inf
        near_x, near_z = _nearest(dx[s], k), _nearest(dz[s], k)
        rows[s, INTRUSION] = _excess_ranks(dx[s], near_z[:k_ranks])
        rows[s, EXTRUSION] = _excess_ranks(dz[s], near_x[:k_ranks])
        rows[s, SHARED] = np.intersect1d(near_x[:k_shared], near_z[:k_shared]).size


@inlined
def _vote(labels, n_classes):
    """Return the most frequent label; ties go to the label that occurs first."""
    counts = np.zeros(n_classes, dtype=np.int64)
    for label in labels:
        counts[label] += 1
    winner = labels[0]
    for label in labels:
        if counts[label] > counts[winner]:
            winner = label
    return winner


@inlined
def _silhouette(totals, sizes, own):
    """Compute (b - a) / max(a, b) from a point's mean distances a to its own class and b to the nearest other class."""
    if sizes[own] == 1:
        return 0.0
    a, b = totals[own] / (sizes[own] - 1), np.inf
    for c in range(sizes.size):
        if c != own:
            b = min(b, totals[c] / sizes[c])
    return (b - a) / max(a, b) if max(a, b) > 0.0 else 0.0


@compiled
def class_rows(start, stop, dz, sample, labels, sizes, k, rows):
    """Compute whether the k nearest points vote for the class of a sampled point, and its silhouette coefficient."""
    for s in range(start, stop):
        own = labels[sample[s]]
        dz[s, sample[s]] = 0.0
        totals = np.zeros(sizes.size)
        for j in range(labels.size):
            totals[labels[j]] += dz[s, j]
        rows[s, SILHOUETTE] = _silhouette(totals, sizes, own)
        dz[s, sample[s]] = np.inf
        rows[s, VOTE] = _vote(labels[_nearest(dz[s], k)], sizes.size) == own
