"""Search for the points nearest to queries by Euclidean distance: among all points, or in nearby clusters.

A matrix product in float32 finds candidates. These are ranked by their costs in the precision of X, computed by direct
differences, then by index, so duplicates have cost 0 and neither the offset nor the scale of X matters. A bound on the
rounding of float32 tells whether other points may be as near as the last one found, as with ties, or if groups are far
apart; then all points within that bound are ranked. So the result does not depend on how a product is rounded, which
differs by the size of a batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..kernels.candidate_ranking import distances_from_products, keep_nearest, rank_candidates, rank_within
from ..runtime.execution import Execution, run_in_blocks
from .distance_metrics import SAME_DIRECTION, Array, unit_rows
from .point_clusters import PointClusters, grouped, squared_norms

Indices: TypeAlias = NDArray[np.integer[Any]]

SPARE = 8  # extra candidates per query; with fewer, more queries are ranked twice, and more take longer
PRODUCTS_AT_ONCE = 2**21  # inner products per block; more take more memory per thread, ...
QUERIES_AT_ONCE = 192  # ... and fewer, or fewer queries, are slower to compute; the points are read anew for each block
FEWEST_AT_ONCE = 8  # queries per block, whatever the number of points
CHUNKS_PER_CANDIDATE = 8  # chunks of points whose minima select the candidates; with fewer, too many are selected
LONGEST_CHUNK = 64  # points; shorter chunks take longer to compare, longer ones to search
POINTS_AT_ONCE = 4096  # points whose given candidates are ranked at once; more keep fewer threads busy
CONVERTED_AT_ONCE = 1024  # rows converted to float32 at a time, so that their float64 copy stays in the cache
CENTRE_SAMPLE = 1000  # points whose median is the centre; more take longer and change little
FARTHEST = 1e12  # in half-widths of the data from its centre; queries farther away would overflow float32
RESOLVED = 2.0**-14  # relative to the norm; float32 rounds at 2^-24, so longer distances are accurate to a thousandth

CLUSTERS_AT_ONCE = 32  # clusters searched together; fewer take more and smaller products, more keep fewer threads busy
RECALL_GOAL = 0.97  # of the search in clusters; a higher goal takes longer
TUNING_SAMPLE = 300  # points whose neighbours tell how many clusters to search


@dataclass(frozen=True)
class Frame:
    """Centre and scale of points; coordinates relative to them have neither an offset nor a unit."""

    centre: NDArray[np.float64]
    scale: float

    @classmethod
    def of(cls, sample: Array, lowest: Array, highest: Array) -> Frame:
        """Determine the frame from some points, and from the lowest and highest coordinates of all points."""
        centre = np.median(sample, axis=0).astype(float)  # not the mean, which an outlier shifts
        return cls(centre, max(float((highest - centre).max()), float((centre - lowest).max())) or 1.0)

    def apply(self, X: Array) -> Array:
        """Return X centred and scaled, which removes any offset and unit, as float32."""
        points = np.empty(X.shape, dtype=np.float32)
        for start in range(0, len(X), CONVERTED_AT_ONCE):
            block = slice(start, start + CONVERTED_AT_ONCE)
            centred = X[block] - self.centre
            centred /= self.scale
            points[block] = np.clip(centred, -FARTHEST, FARTHEST, out=centred)
        return points


class PointSearch:
    """Search for the points nearest to queries.

    Parameters
    ----------
    X : array of shape (n, p)
        Points.
    metric : str
        One of the DIRECT_METRICS; "cosine" searches among unit rows.
    frame : Frame or None
        Frame of the points; None determines it from X.
    """

    def __init__(self, X: Array, metric: str, frame: Frame | None = None) -> None:
        self.metric = metric
        self.X = self.prepared(X)
        self.zero = 0.0  # squared distances up to this are rounding errors
        if metric == "cosine":
            self.zero = float(SAME_DIRECTION * np.finfo(self.X.dtype).eps) ** 2
        if frame is None:
            frame = Frame.of(self.X[rows_for_frame(len(X))], self.X.min(axis=0), self.X.max(axis=0))
        self.frame = frame
        self.points = self.frame.apply(self.X)
        self.norms = squared_norms(self.points).astype(np.float32)
        self._clusters: PointClusters | None = None
        self._centre_search: PointSearch | None = None
        self._n_searched: dict[tuple[int, bool], int] = {}  # number of clusters searched, by what is asked

    def prepared(self, X: Array) -> Array:
        """Return points or queries as rows whose Euclidean distances are searched; memory order affects rounding."""
        return self.prepared_for(X, self.metric)

    @staticmethod
    def prepared_for(X: Array, metric: str) -> Array:
        """Return points or queries of a search with this metric."""
        return np.ascontiguousarray(unit_rows(X) if metric == "cosine" else X)

    def exact(
        self, queries: Array | None, k: int, dtype: Any, execution: Execution, rows: slice | None = None
    ) -> tuple[Indices, Array]:
        """Return indices and squared distances (m, k) of the nearest points, nearest first, then by index.

        With queries=None, every point is a query, and is not its own neighbour. With `rows`, only these queries count.
        """
        found = _Lists(self.X, queries, k, dtype, self.zero)
        rows = slice(0, found.size) if rows is None else rows
        self._fill_exactly(found, np.arange(rows.start, rows.stop), execution)
        return found.indices[rows], found.squared[rows]

    def by_clusters(
        self, clusters: PointClusters, own: range, n_searched: int, k: int, dtype: Any, execution: Execution
    ) -> tuple[NDArray[np.intp], Indices, Array]:
        """Search for the neighbours of the points of some clusters in the clusters nearest to each point.

        Return these points, and indices and squared distances, with index -1 if the clusters hold too few points. The
        first of the clusters must be a multiple of CLUSTERS_AT_ONCE.
        """
        found = _Lists(self.X, None, k, dtype, self.zero)
        self._fill_by_clusters(found, clusters, own, n_searched, execution)
        points = np.sort(np.concatenate([clusters.members[cluster] for cluster in own]))
        return points, found.indices[points], found.squared[points]

    def in_clusters(self, queries: Array | None, k: int, dtype: Any, execution: Execution) -> tuple[Indices, Array]:
        """Return most of the nearest points, like `exact`, but faster with many points.

        A point is compared with the points of the clusters nearest to it, and a new query with those of the clusters
        around its own. A new query whose neighbours float32 cannot resolve is searched exactly, so that it finds its
        equals.
        """
        found = _Lists(self.X, queries, k, dtype, self.zero)
        clusters = self._point_clusters(execution)
        n_searched = self._clusters_to_search(found.n_wanted, execution, around_cluster=queries is not None)
        if queries is None:
            self._fill_by_clusters(found, clusters, range(len(clusters.members)), n_searched, execution)
        else:
            self._fill_by_queries(found, clusters, n_searched, execution)
        again = found.indices[:, -1] < 0  # the clusters held too few points
        if queries is not None:
            reach = np.sqrt(found.squared[:, -1]) / self.frame.scale
            again |= reach <= RESOLVED * np.sqrt(squared_norms(self.frame.apply(queries)))
        self._fill_exactly(found, np.flatnonzero(again), execution)
        return found.indices, found.squared

    def ranked(self, candidates: Indices, dtype: Any, execution: Execution) -> tuple[Indices, Array]:
        """Rank the candidates (n, k) of every point, like `exact`."""
        found = _Lists(self.X, None, candidates.shape[1], dtype, self.zero)

        def rank(rows: slice) -> None:
            found.rank(np.arange(rows.start, rows.stop), candidates[rows])

        run_in_blocks(execution, rank, found.size, POINTS_AT_ONCE, candidates.size)
        return found.indices, found.squared

    def _fill_exactly(self, found: _Lists, rows: NDArray[np.intp], execution: Execution) -> None:
        """Fill the lists of these queries with the nearest of all points."""
        size = queries_at_once(len(self.X))

        def search(block: slice) -> None:
            self._fill_among(found, rows[block], None)

        run_in_blocks(execution, search, rows.size, size, rows.size * len(self.X))

    def _fill_by_clusters(
        self, found: _Lists, clusters: PointClusters, among: range, n_searched: int, execution: Execution
    ) -> None:
        """Fill the lists of the points of some clusters, those of neighbouring clusters together.

        For each cluster, one matrix product compares its points with all the queries that search it.
        """
        n_candidates = min(len(self.X), found.n_wanted + SPARE)

        def search(block: slice) -> None:
            own = among[block]
            rows = np.concatenate([clusters.members[cluster] for cluster in own])
            queries = self.points[rows]
            searched = np.concatenate(
                [clusters.nearest_to_members(self.points[clusters.members[i]], i, n_searched) for i in own]
            )
            near = np.full((rows.size, n_candidates), -1, dtype=np.int64)
            distances = np.full(near.shape, np.inf, dtype=np.float32)
            others_last = searched + len(clusters.members) * (searched != clusters.labels[rows][:, None])
            for label, places in grouped(others_last.ravel()):
                members, asking = clusters.members[label % len(clusters.members)], places // searched.shape[1]
                products = queries[asking] @ self.points[members].T
                keep_nearest(products, self.norms[members], members, asking, near, distances)
            found.rank(rows, near)

        run_in_blocks(execution, search, len(among), CLUSTERS_AT_ONCE, found.size * len(self.X))

    def _fill_by_queries(self, found: _Lists, clusters: PointClusters, n_searched: int, execution: Execution) -> None:
        """Fill the lists of queries with the nearest points of the clusters around their own cluster.

        Both are searched exactly, so that each query is independent of its batch.
        """
        if self._centre_search is None:
            self._centre_search = PointSearch(clusters.centres.positions, "sqeuclidean")
        nearest, _ = self._centre_search.exact(self.frame.apply(found.queries), 1, np.float32, execution)
        groups = list(grouped(nearest[:, 0]))

        def search(group: slice) -> None:
            cluster, rows = groups[group.start]
            self._fill_among(found, rows, clusters.around(cluster, n_searched))

        run_in_blocks(execution, search, len(groups), 1, found.size * len(self.X))

    def _fill_among(self, found: _Lists, rows: NDArray[np.intp], among: NDArray[np.intp] | None) -> None:
        """Fill the lists of these queries with the nearest of the points `among`; None means all."""
        points, norms = (self.points, self.norms) if among is None else (self.points[among], self.norms[among])
        n = len(points)
        n_candidates = min(n, found.n_wanted + SPARE)
        chunk = max(1, min(LONGEST_CHUNK, n // (CHUNKS_PER_CANDIDATE * n_candidates)))
        size = queries_at_once(n)
        for start in range(0, rows.size, size):
            block = rows[start : start + size]
            queries = self.points[block] if found.exclude_self else self.frame.apply(found.queries[block])
            distances = queries @ points.T
            minima = np.empty((len(queries), -(-n // chunk)), dtype=np.float32)
            distances_from_products(distances, norms, minima)  # less the squared norm of the query
            limits = np.partition(minima, n_candidates - 1, axis=1)[:, n_candidates - 1]
            found.rank_within(block, distances, minima, limits, among)
            needed = self._radii(found.squared[block, -1], queries) - squared_norms(queries)
            unsure = needed >= limits
            found.rank_within(block[unsure], distances[unsure], minima[unsure], needed[unsure], among)

    def _radii(self, squared: Array, points: Array) -> Array:
        """Return the squared distances in float32 beyond which no point can be nearer than the `squared` ones.

        The rounding errors of a product are at most about c (|x| + |y|)^2, and |y| <= |x| + d, so a point at distance d
        appears within ``d^2 + c (8 |x|^2 + 2 d^2)``. Errors of both signs add up like a random walk, hence the root in
        c. If X overflows, nothing can be resolved, and nothing is searched again.
        """
        p = points.shape[1]
        c = (8.0 + 4.0 * np.sqrt(p)) * 2.0**-24
        near = squared.astype(float) / self.frame.scale / self.frame.scale
        radii = near + c * (8.0 * squared_norms(points) + 2.0 * near) + p * float(np.finfo(np.float32).tiny)
        return np.where(np.isfinite(near), radii, -np.inf)

    def _point_clusters(self, execution: Execution) -> PointClusters:
        """Return the clusters of the points."""
        if self._clusters is None:
            self._clusters = PointClusters.of(self.points, execution)
        return self._clusters

    def _clusters_to_search(self, k: int, execution: Execution, *, around_cluster: bool) -> int:
        """Return the smallest number of clusters that hold the k nearest points of a sample often enough.

        Clusters are ordered by their distance from the points or from the centres of the points' clusters.
        """
        key = (k, around_cluster)
        if key not in self._n_searched:
            clusters = self._point_clusters(execution)
            sample = np.linspace(0, len(self.X) - 1, TUNING_SAMPLE).astype(np.intp)
            truth, _ = self.exact(self.X[sample], k, self.X.dtype, execution)
            places = clusters.centres.positions[clusters.labels[sample]] if around_cluster else self.points[sample]
            self._n_searched[key] = clusters_needed(clusters, places, truth)
        return self._n_searched[key]


def clusters_needed(clusters: PointClusters, places: Array, truth: Indices) -> int:
    """Return how many clusters nearest to these places to search, so that they hold enough of the true neighbours."""
    ranks = np.sort(np.take_along_axis(clusters.ranks(places), clusters.labels[truth], 1), axis=None)
    return int(ranks[int(np.ceil(RECALL_GOAL * ranks.size)) - 1]) + 1


class _Lists:
    """Lists of the nearest points of every query."""

    def __init__(self, X: Array, queries: Array | None, k: int, dtype: Any, zero: float) -> None:
        self.X, self.zero = X, zero
        self.exclude_self = queries is None
        self.queries = X if queries is None else queries
        self.n_wanted = k + self.exclude_self
        self.size = len(self.queries)
        self.indices = np.empty((self.size, k), dtype=sparse.get_index_dtype(maxval=len(X)))  # as in a graph
        self.squared = np.empty((self.size, k), dtype=dtype)

    def rank(self, rows: NDArray[np.intp], candidates: Indices) -> None:
        """Fill the lists of the queries `rows` with the nearest of their candidates."""
        rank_candidates(self.X, self.queries, rows, candidates, *self._settings)

    def rank_within(
        self, rows: NDArray[np.intp], distances: Array, minima: Array, limits: Array, among: NDArray[np.intp] | None
    ) -> None:
        """Fill the lists of the queries `rows` with the nearest of the points whose distances are within limits."""
        rank_within(self.X, self.queries, rows, distances, minima, limits, among, *self._settings)

    @property
    def _settings(self) -> tuple[Any, ...]:
        return self.exclude_self, self.zero, self.indices, self.squared


def rows_for_frame(n: int) -> NDArray[np.intp]:
    """Return the rows, of n, whose median is the centre."""
    return np.linspace(0, n - 1, min(n, CENTRE_SAMPLE)).astype(np.intp)


def queries_at_once(n: int) -> int:
    """Return the number of queries that are compared with n points at once."""
    return max(FEWEST_AT_ONCE, min(QUERIES_AT_ONCE, PRODUCTS_AT_ONCE // n))
