"""Clusters of points, so that the neighbours of a point are searched in the clusters around its own.

Every step is a matrix product in float32, in blocks whose size does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..runtime.execution import Execution, run_in_blocks

Array = NDArray[np.floating[Any]]
Indices = NDArray[np.intp]

CLUSTERS = 4.0  # number of clusters, in units of the square root of the number of points; more take longer to find, ...
LARGEST = 4  # ... fewer hold more points searched in vain; clusters larger than this multiple of the mean are cut
POINTS_PER_CLUSTER = 39  # k-means uses this many points per cluster; with fewer, the centres are ill-determined
CENTRE_ITERATIONS = 4  # of k-means; more take longer and hardly raise the recall
CLUSTERS_PER_REGION = 16  # clusters that follow each other; with more or fewer, other clusters come between neighbours
AROUND = 6  # clusters around a cluster among which those nearest to its members are sought, per cluster wanted
ASSIGNED_AT_ONCE = 512  # points assigned to the nearest centre at once; more leave the cache, fewer are slower


class PointClusters:
    """Points grouped by the nearest of some centres.

    Parameters
    ----------
    centres : float32 array of shape (n_clusters, p)
    labels : int32 array of shape (n,)
        Cluster of every point.
    """

    def __init__(self, centres: Array, labels: NDArray[np.int32]) -> None:
        self.centres, self.labels = centres, labels
        self.members = [np.empty(0, dtype=np.intp)] * len(centres)
        for cluster, members in grouped(labels):
            self.members[cluster] = members
        self._halves = (squared_norms(self.centres) / 2).astype(np.float32)

    @classmethod
    def of(cls, points: Array, execution: Execution) -> PointClusters:
        """Group float32 points (n, p)."""
        rows = rows_for_centres(len(points))
        centres = find_centres(points[rows], len(points), execution)
        return cls(*cut_clusters(centres, nearest_centres(points, centres, execution)))

    def nearest_to_members(self, points: Array, cluster: int, n_nearest: int) -> Indices:
        """Return, for every member of a cluster, the nearest clusters of those around it; `points` are the members."""
        distances = self._halves - self.centres @ self.centres[cluster]
        around = _smallest(distances[None], AROUND * n_nearest)[0]
        nearest: Indices = around[_smallest(self._halves[around] - points @ self.centres[around].T, n_nearest)]
        return nearest

    def around(self, cluster: int, n_clusters: int) -> Indices:
        """Return the points of this cluster and of the nearest others, in increasing order."""
        distances = self._halves - self.centres @ self.centres[cluster]
        distances[cluster] = -np.inf  # first, even if other clusters have the same centre
        nearest = _smallest(distances[None], n_clusters)[0]
        return np.sort(np.concatenate([self.members[other] for other in nearest]))

    def ranks(self, points: Array) -> Indices:
        """Return the rank of every cluster (m, n_clusters) by its distance from each of these points."""
        order = np.argsort(self._halves - points @ self.centres.T, axis=1, kind="stable")
        ranks = np.empty_like(order)
        np.put_along_axis(ranks, order, np.arange(order.shape[1])[None], axis=1)
        return ranks


def squared_norms(points: Array) -> NDArray[np.float64]:
    """Return the squared norms of float32 rows in float64."""
    norms: NDArray[np.float64] = np.einsum("ij,ij->i", points, points, dtype=float)
    return norms


def grouped(labels: NDArray[np.integer[Any]]) -> Iterator[tuple[int, Indices]]:
    """Yield every label that occurs, and the places where it does, in increasing order."""
    order = np.argsort(labels, kind="stable")
    ordered = labels[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    for start, stop in zip(starts, np.append(starts[1:], labels.size), strict=True):
        yield ordered[start], order[start:stop]


def _smallest(values: Array, n: int) -> Indices:
    """Return the columns of the n smallest values of every row, or of all, in any order."""
    if n >= values.shape[1]:
        return np.broadcast_to(np.arange(values.shape[1]), values.shape)
    columns: Indices = np.argpartition(values, n - 1, axis=1)[:, :n]
    return columns


def count_clusters(n: int) -> int:
    """Return the number of clusters of n points, before large ones are cut."""
    return max(1, min(int(CLUSTERS * np.sqrt(n)), n // POINTS_PER_CLUSTER))


def cut_clusters(centres: Array, nearest: Indices) -> tuple[Array, NDArray[np.int32]]:
    """Cut large clusters into several with one centre, and leave out empty ones; return centres and labels."""
    pieces = [
        (centre, piece)
        for centre, members in grouped(nearest)
        for piece in _cut(members, LARGEST * nearest.size // len(centres))
    ]
    labels = np.empty(nearest.size, dtype=np.int32)
    for cluster, (_, members) in enumerate(pieces):
        labels[members] = cluster
    return centres[[centre for centre, _ in pieces]], labels


def _cut(members: Indices, size: int) -> list[Indices]:
    """Cut a cluster into pieces of at most this size, because many equal points would fall into one; none if empty."""
    return [members[start : start + size] for start in range(0, members.size, size)]


def rows_for_centres(n: int) -> Indices:
    """Return the rows, of n, that determine the centres."""
    return _sampled(n, count_clusters(n))


def find_centres(sample: Array, n: int, execution: Execution) -> Array:
    """Return the centres of the clusters of n points from a sample of them, with neighbours after each other."""
    centres = _k_means(sample, count_clusters(n), execution)
    return centres[_neighbors_together(centres, execution)]


def _sampled(n: int, n_clusters: int) -> Indices:
    return np.random.default_rng(0).permutation(n)[: POINTS_PER_CLUSTER * n_clusters]


def _k_means(sample: Array, n_clusters: int, execution: Execution) -> Array:
    """Run a few steps of k-means on a sample; a centre without points stays where it is."""
    centres = sample[:n_clusters]
    for _ in range(CENTRE_ITERATIONS):
        nearest = nearest_centres(sample, centres, execution)
        ones, shape = np.ones(nearest.size), (n_clusters, nearest.size)
        members = sparse.csr_array((ones, (nearest, np.arange(nearest.size))), shape)
        sizes = np.bincount(nearest, minlength=n_clusters)[:, None]
        centres = np.where(sizes > 0, (members @ sample) / np.maximum(sizes, 1), centres).astype(np.float32)
    return centres


def _neighbors_together(centres: Array, execution: Execution) -> Indices:
    """Return an order of the centres in which those of a region follow each other."""
    n_regions = -(-len(centres) // CLUSTERS_PER_REGION)
    regions = _k_means(centres[_sampled(len(centres), n_regions)], n_regions, execution)
    return np.argsort(nearest_centres(centres, regions, execution), kind="stable")


def nearest_centres(points: Array, centres: Array, execution: Execution) -> Indices:
    """Return the index of the centre nearest to each point, in float32."""
    halves = (squared_norms(centres) / 2).astype(np.float32)
    nearest = np.empty(len(points), dtype=np.intp)

    def assign(rows: slice) -> None:
        nearest[rows] = np.argmin(halves - points[rows] @ centres.T, axis=1)

    run_in_blocks(execution, assign, len(points), ASSIGNED_AT_ONCE, points.size)
    return nearest
