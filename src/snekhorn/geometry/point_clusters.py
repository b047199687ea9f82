"""Clusters of points, so that the neighbours of a point are searched in the clusters around its own.

Clusters hold about the same number of points, however many points there are. They are found on two levels, regions and
the clusters of each region, so that a point is compared with the centres of a few regions only.
Every step is a matrix product in float32, in blocks whose size does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..runtime.execution import Execution, Threads, run_in_blocks

Array = NDArray[np.floating[Any]]
Indices = NDArray[np.intp]

CLUSTER_SIZE = 120  # mean number of points; more are compared for nothing, fewer take more and smaller products
LARGEST = 4  # in units of CLUSTER_SIZE; larger clusters are cut, because many equal points would fall into one
POINTS_PER_CENTRE = 20  # k-means uses this many points per centre; with fewer, the centres are ill-determined
MOST_SAMPLED = 4_000_000  # points that k-means uses; more take more memory in one place
CENTRE_ITERATIONS = 4  # of k-means; more take longer and hardly raise the recall
CENTRES_TOGETHER = 16  # centres that follow each other; with more or fewer, others come between neighbours
MOST_CENTRES = 2000  # in a region; equal points cannot be divided, and more centres would take quadratic time
LARGEST_REGION, MOST_DIVISIONS = 2.0, 6  # larger regions, in units of the mean, are divided again, up to this often
REGIONS_PROBED = 8  # regions in which the centre nearest to a point is sought; more take longer, fewer miss it
REGIONS_AROUND = 64  # regions in which the centres nearest to a centre are sought; fewer lower the recall
AROUND = 10  # clusters around a cluster among which those nearest to its members are sought, per cluster wanted
ASSIGNED_AT_ONCE = 2048  # points assigned to the nearest centre at once; more leave the cache, fewer are slower; pieces
# of points on a cluster must end at multiples of it, because a product in another block may be rounded differently


@dataclass(frozen=True)
class Centres:
    """Centres of clusters, by region.

    Parameters
    ----------
    positions : float32 array of shape (n_clusters, p)
        Those of a region follow each other.
    region : array of shape (n_clusters,)
        Region of every centre, in increasing order; no region is empty.
    regions : float32 array of shape (n_regions, p)
        Centres of the regions.
    """

    positions: Array
    region: Indices
    regions: Array

    @classmethod
    def find(cls, sample: Array, n: int, execution: Execution) -> Centres:
        """Find the centres of the clusters of n points from the sample of them in `rows_for_centres`."""
        n_clusters = count_clusters(n)
        size = len(sample) / max(1, round(np.sqrt(n_clusters)))
        members = _divided_into_regions(sample, np.arange(len(sample)), size, execution)
        found: list[Any] = [None] * len(members)

        def find_in_region(region: slice) -> None:
            points = sample[members[region.start]]
            centres = _k_means(points, min(MOST_CENTRES, max(1, n_clusters * len(points) // len(sample))), Threads())
            found[region.start] = centres[_neighbors_together(centres)]

        run_in_blocks(execution, find_in_region, len(members), 1, sample.size)
        region = np.repeat(np.arange(len(found)), [len(centres) for centres in found])
        centres = cls(np.concatenate(found), region, np.stack([part.mean(axis=0) for part in found]))
        nearest = centres.nearest(sample, execution)  # which may be in another region
        return cls(_means(sample, nearest, centres.positions), region, centres.regions)

    @cached_property
    def halves(self) -> Array:
        """Half the squared norms of the centres."""
        return _half_norms(self.positions)

    @cached_property
    def starts(self) -> Indices:
        """First centre of every region, and the number of centres."""
        return np.searchsorted(self.region, np.arange(len(self.regions) + 1))

    @cached_property
    def regions_around(self) -> Indices:
        """Nearest regions of every region, itself included, nearest first."""
        distances = _half_norms(self.regions) - self.regions @ self.regions.T
        return np.argsort(distances, axis=1, kind="stable")[:, :REGIONS_AROUND]

    def nearest(self, points: Array, execution: Execution) -> Indices:
        """Return the centre nearest to each point among those of the regions around it."""
        halves, nearest = _half_norms(self.regions), np.empty(len(points), dtype=np.intp)

        def assign(rows: slice) -> None:
            block = points[rows]
            for region, places in grouped(np.argmin(halves - block @ self.regions.T, axis=1)):
                around = self._centres_of(self.regions_around[region, :REGIONS_PROBED])
                distances = self.halves[around] - block[places] @ self.positions[around].T
                nearest[rows.start + places] = around[np.argmin(distances, axis=1)]

        run_in_blocks(execution, assign, len(points), ASSIGNED_AT_ONCE, points.size)
        return nearest

    def around(self, centre: int, n_nearest: int) -> Indices:
        """Return the centres nearest to one of them, itself included, in any order."""
        others = self._centres_of(self.regions_around[self.region[centre]])
        if others.size < n_nearest:
            others = np.arange(len(self.positions))
        distances = self.halves[others] - self.positions[others] @ self.positions[centre]
        distances[others == centre] = -np.inf  # first, even if other clusters have the same centre
        nearest: Indices = others[_smallest(distances[None], n_nearest)[0]]
        return nearest

    def _centres_of(self, regions: Indices) -> Indices:
        """Return the centres of some regions."""
        return np.concatenate([np.arange(self.starts[region], self.starts[region + 1]) for region in regions])

    def divided(self, nearest: Indices) -> tuple[Centres, NDArray[np.int32]]:
        """Divide large clusters, and drop empty ones; return the centres, and the cluster of every point."""
        pieces = [
            (centre, piece) for centre, members in grouped(nearest) for piece in _cut(members, LARGEST * CLUSTER_SIZE)
        ]
        labels = np.empty(nearest.size, dtype=np.int32)
        for cluster, (_, members) in enumerate(pieces):
            labels[members] = cluster
        kept = np.array([centre for centre, _ in pieces])
        regions, region = np.unique(self.region[kept], return_inverse=True)
        return Centres(self.positions[kept], region, self.regions[regions]), labels


class PointClusters:
    """Points grouped by the nearest of some centres.

    Parameters
    ----------
    centres : Centres
    labels : int32 array of shape (n,)
        Cluster of every point.
    """

    def __init__(self, centres: Centres, labels: NDArray[np.int32]) -> None:
        self.centres, self.labels = centres, labels
        self.members = [np.empty(0, dtype=np.intp)] * len(centres.positions)
        for cluster, members in grouped(labels):
            self.members[cluster] = members

    @classmethod
    def of(cls, points: Array, execution: Execution) -> PointClusters:
        """Group float32 points (n, p)."""
        centres = Centres.find(points[rows_for_centres(len(points))], len(points), execution)
        return cls(*centres.divided(centres.nearest(points, execution)))

    def nearest_to_members(self, points: Array, cluster: int, n_nearest: int) -> Indices:
        """Return, for every member of a cluster, the nearest clusters of those around it; `points` are the members."""
        around = self.centres.around(cluster, AROUND * n_nearest)
        distances = self.centres.halves[around] - points @ self.centres.positions[around].T
        nearest: Indices = around[_smallest(distances, n_nearest)]
        return nearest

    def around(self, cluster: int, n_clusters: int) -> Indices:
        """Return the points of this cluster and of the nearest others, in increasing order."""
        return np.sort(np.concatenate([self.members[other] for other in self.centres.around(cluster, n_clusters)]))

    def ranks(self, points: Array) -> Indices:
        """Return the rank of every cluster (m, n_clusters) by its distance from each of these points."""
        order = np.argsort(self.centres.halves - points @ self.centres.positions.T, axis=1, kind="stable")
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


def count_clusters(n: int) -> int:
    """Return the number of clusters of n points, before large ones are divided."""
    return max(1, n // CLUSTER_SIZE)


def rows_for_centres(n: int) -> Indices:
    """Return the rows, of n, that determine the centres, in random order."""
    return _sampled(n, min(POINTS_PER_CENTRE * count_clusters(n), MOST_SAMPLED))


def _sampled(n: int, size: int) -> Indices:
    return np.random.default_rng(0).permutation(n)[:size]


def _divided_into_regions(
    sample: Array, rows: Indices, size: float, execution: Execution, n_divisions: int = 0
) -> list[Indices]:
    """Divide these rows of the sample into regions of about this size, in an order in which neighbours are together.

    With heavy tails, k-means gives most points to one centre, whose region is then divided again.
    """
    n_regions = round(len(rows) / size)
    if n_regions <= LARGEST_REGION or n_divisions == MOST_DIVISIONS:
        return [rows]
    points = sample[rows]
    regions = _k_means(points[: POINTS_PER_CENTRE * n_regions], n_regions, execution)
    parts = grouped(nearest_centres(points, regions[_neighbors_together(regions)], execution))
    return [
        region
        for _, places in parts
        for region in _divided_into_regions(sample, rows[places], size, execution, n_divisions + 1)
    ]


def _k_means(sample: Array, n_clusters: int, execution: Execution) -> Array:
    """Run a few steps of k-means on a sample in random order; a centre without points stays where it is."""
    centres = sample[:n_clusters]
    for _ in range(CENTRE_ITERATIONS):
        centres = _means(sample, nearest_centres(sample, centres, execution), centres)
    return centres


def _means(sample: Array, nearest: Indices, centres: Array) -> Array:
    """Return the means of the points nearest to each centre; a centre without points stays where it is."""
    ones, shape = np.ones(nearest.size, dtype=np.float32), (len(centres), nearest.size)
    members = sparse.csr_array((ones, (nearest, np.arange(nearest.size))), shape)
    sizes = np.bincount(nearest, minlength=len(centres))[:, None]
    means: Array = np.where(sizes > 0, (members @ sample) / np.maximum(sizes, 1), centres).astype(np.float32)
    return means


def _neighbors_together(centres: Array) -> Indices:
    """Return an order of the centres in which neighbours follow each other."""
    n_groups = -(-len(centres) // CENTRES_TOGETHER)
    groups = _k_means(centres[_sampled(len(centres), len(centres))], n_groups, Threads())
    return np.argsort(nearest_centres(centres, groups, Threads()), kind="stable")


def nearest_centres(points: Array, centres: Array, execution: Execution) -> Indices:
    """Return the index of the centre nearest to each point, in float32."""
    halves, nearest = _half_norms(centres), np.empty(len(points), dtype=np.intp)

    def assign(rows: slice) -> None:
        nearest[rows] = np.argmin(halves - points[rows] @ centres.T, axis=1)

    run_in_blocks(execution, assign, len(points), ASSIGNED_AT_ONCE, points.size)
    return nearest


def _half_norms(points: Array) -> Array:
    return (squared_norms(points) / 2).astype(np.float32)


def _smallest(values: Array, n: int) -> Indices:
    """Return the columns of the n smallest values of every row, or of all, in any order."""
    if n >= values.shape[1]:
        return np.broadcast_to(np.arange(values.shape[1]), values.shape)
    columns: Indices = np.argpartition(values, n - 1, axis=1)[:, :n]
    return columns


def _cut(members: Indices, size: int) -> list[Indices]:
    """Cut a cluster into pieces of at most this size."""
    return [members[start : start + size] for start in range(0, members.size, size)]
