"""Search for the nearest neighbours of points that are in pieces on the workers.

The lists are those of `snekhorn.geometry.neighbor_search`. Few points are compared with all others. Many points are
grouped by cluster, and every task searches for the neighbours of the points of a range of clusters; it gets the points
of the clusters that they search.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..geometry.inputs import check_range
from ..geometry.neighbor_graph import NeighborGraph
from ..geometry.neighbor_search import EXACT_SEARCH_LIMIT, LEAST_RECALL, MEASURED_SAMPLE, find_neighbors
from ..geometry.point_clusters import Centres, PointClusters, rows_for_centres
from ..geometry.point_search import CLUSTERS_AT_ONCE, TUNING_SAMPLE, Frame, clusters_needed, rows_for_frame
from ..kernels.candidate_ranking import HALF, IGNORED_BITS
from ..runtime.execution import Threads, one_blas_thread
from . import search_tasks
from .graph_pieces import PiecedGraph
from .memory_checks import require_memory_for_all_points
from .point_pieces import PointPieces
from .search_tasks import ClusterSearch, SomeLists
from .task_batch import TaskBatch
from .workers import Array, EdgeArray, Pieces, Workers

POINTS_PER_TASK = 100_000  # points whose neighbours a task searches; more take more memory, fewer are sent more often
TASKS_AHEAD = 2  # tasks per worker that are submitted at once; more take more memory, with fewer a worker may wait


def find_neighbors_on_workers(points: PointPieces, k: int, metric: str, workers: Workers) -> PiecedGraph:
    """Find the k nearest other points of every point; `workers` has the ranges of rows of the graph."""
    with one_blas_thread():
        lists, recall = _lists(points, k, metric, workers)
    n = points.shape[0]
    found = workers.map_pieces(search_tasks.as_edges, Pieces(lists), metric, edge_type(n, k))
    indices, costs, largest = workers.split(found, 3)
    limits = np.finfo(points.dtype)
    if not limits.tiny / limits.eps < max(workers.fetch(largest)) < limits.max:  # rare: find out what is wrong
        near, all_costs = (np.concatenate(workers.fetch(parts)).reshape(n, k) for parts in (indices, costs))
        check_range(all_costs, points.to_array(), metric=metric, near=near)
    return graph_in_pieces(indices, costs, recall, points, k, metric, workers)


def edge_type(n: int, k: int) -> np.dtype[Any]:
    """Return the type of the indices of a graph with k neighbours of each of n points."""
    found: np.dtype[Any] = np.dtype(sparse.get_index_dtype(maxval=max(n, n * k)))
    return found


def graph_in_pieces(
    indices: list[Any], costs: list[Any], recall: float, points: PointPieces, k: int, metric: str, workers: Workers
) -> PiecedGraph:
    """Return the graph whose edges, k per point, and their costs are in these pieces."""
    n, index_type = points.shape[0], edge_type(points.shape[0], k)

    def search_among(some: NDArray[np.intp], k: int) -> NeighborGraph:
        return find_neighbors(points.rows(some), k, metric, Threads(workers.n_threads))

    indptr = np.arange(0, n * k + 1, k, dtype=index_type)
    edges, values = EdgeArray(index_type, parts=indices), EdgeArray(points.dtype, parts=costs)
    known: dict[str, Any] = {"recall": recall, "search_among": search_among, "checked": True}
    return PiecedGraph(indptr, edges, values, workers, starts=workers.starts(indptr), **known)


def _lists(points: PointPieces, k: int, metric: str, workers: Workers) -> tuple[list[Any], float]:
    """Return the lists of every range of rows of the graph, and the recall."""
    n = points.shape[0]
    if n <= EXACT_SEARCH_LIMIT:
        return workers.map_pieces(search_tasks.exact_lists, points.parts.parts, k, metric), 1.0
    frame = _frame(points, metric)
    lists = _lists_in_clusters(points, k, metric, frame, workers)
    recall = _measure_recall(points, lists, k, metric, frame, workers)
    if recall < LEAST_RECALL:  # groups are so far apart that float32 cannot resolve distances within them
        require_memory_for_all_points(points, k, metric, workers.client)
        found = workers.submit(search_tasks.lists_of_all, points.parts.parts, k, metric)
        lists = workers.map_pieces(search_tasks.cut_lists, found)
        recall = _measure_recall(points, lists, k, metric, frame, workers)
    return lists, recall


def _frame(points: PointPieces, metric: str) -> Frame:
    sample = search_tasks.prepared_rows(points.rows(rows_for_frame(points.shape[0])), metric)
    ranges = points.workers.fetch(points.workers.map_pieces(search_tasks.prepared_range, points.parts, metric))
    lowest, highest = zip(*ranges, strict=True)
    return Frame.of(sample, np.min(lowest, axis=0), np.max(highest, axis=0))


def _lists_in_clusters(points: PointPieces, k: int, metric: str, frame: Frame, workers: Workers) -> list[Any]:
    """Return the lists of every range of rows of the graph, from a search in clusters."""
    shared, n_workers = _clusters(points, k, metric, frame), max(1, len(workers.addresses))
    n_ranges = max(n_workers, -(-points.shape[0] // POINTS_PER_TASK))
    ranges = _cluster_ranges(shared.labels, len(shared.centres.positions), n_ranges)
    common = workers.share(shared)
    del shared
    cut = points.workers.map_pieces(search_tasks.by_cluster, points.parts, common, [own.stop for own in ranges])
    by_range = points.workers.split(cut, len(ranges))
    groups = [workers.submit(search_tasks.merged, parts, piece=i) for i, parts in enumerate(by_range)]
    needed = workers.fetch(
        [workers.submit(search_tasks.searched_clusters, groups[i], common, own) for i, own in enumerate(ranges)]
    )
    del cut, by_range
    found: list[Any] = []
    for i, (clusters, wanted) in enumerate(zip(ranges, needed, strict=True)):
        if i >= TASKS_AHEAD * n_workers:  # the points of more tasks would fill the memory of the workers
            workers.wait_for(found[i - TASKS_AHEAD * n_workers])
        batch = TaskBatch(workers)
        own_wanted = [wanted[(wanted >= own.start) & (wanted < own.stop)] for own in ranges]
        parts = [
            batch.add(search_tasks.of_clusters, groups[j], common, own, piece=j)
            for j, own in enumerate(own_wanted)
            if own.size
        ]
        found += batch.send([batch.add(search_tasks.lists_by_clusters, parts, common, clusters, piece=i)])
    short = np.concatenate(workers.fetch([workers.submit(search_tasks.incomplete, lists) for lists in found]))
    if short.size:  # the clusters held too few points
        found.append(workers.share(_exact_lists_of(points, np.sort(short), k, metric, frame)).future)
    cut = [workers.submit(search_tasks.by_rows, lists, list(workers.ranges)) for lists in found]
    index_type = np.dtype(sparse.get_index_dtype(maxval=points.shape[0]))
    return workers.map_pieces(search_tasks.lists_of_rows, Pieces(workers.split(cut, len(workers.ranges))), index_type)


def _clusters(points: PointPieces, k: int, metric: str, frame: Frame) -> ClusterSearch:
    """Find the clusters of the points, and how many of them to search."""
    n, execution = points.shape[0], Threads(points.workers.n_threads)
    sample = frame.apply(search_tasks.prepared_rows(points.rows(rows_for_centres(n)), metric))
    centres = Centres.find(sample, n, execution)
    arguments = (points.parts, metric, frame, points.workers.share(centres))
    nearest = points.workers.fetch(points.workers.map_pieces(search_tasks.nearest_centres_of, *arguments))
    centres, labels = centres.divided(np.concatenate(nearest))
    tuning = np.linspace(0, n - 1, TUNING_SAMPLE).astype(np.intp)
    queries = points.rows(tuning)
    truth, _ = _nearest(points, queries, k + 1, metric, frame)
    places = frame.apply(search_tasks.prepared_rows(queries, metric))
    n_searched = clusters_needed(PointClusters(centres, labels), places, truth)
    return ClusterSearch(metric, frame, centres, labels, n_searched, k)


def _cluster_ranges(labels: NDArray[np.int32], n_clusters: int, n_ranges: int) -> list[range]:
    """Cut clusters into ranges with about equal numbers of points, which start at multiples of CLUSTERS_AT_ONCE."""
    ends = np.cumsum(np.bincount(labels, minlength=n_clusters))
    wanted = np.searchsorted(ends, labels.size * np.arange(1, n_ranges) / n_ranges)
    cuts = np.unique(np.round(wanted / CLUSTERS_AT_ONCE).astype(int) * CLUSTERS_AT_ONCE)
    within = cuts[(cuts > 0) & (cuts < n_clusters)].tolist()
    return [range(start, stop) for start, stop in pairwise([0, *within, n_clusters])]


def _measure_recall(
    points: PointPieces, lists: list[Any], k: int, metric: str, frame: Frame, workers: Workers
) -> float:
    """Return the fraction of true nearest neighbours among those found, on a sample; ties count as true."""
    n = points.shape[0]
    sample = np.linspace(0, n - 1, min(n, MEASURED_SAMPLE)).astype(np.int64)
    local = Pieces([sample[(sample >= rows.start) & (sample < rows.stop)] - rows.start for rows in workers.ranges])
    found = np.concatenate(workers.fetch(workers.map_pieces(search_tasks.some_of, Pieces(lists), local)))
    _, true = _nearest(points, points.rows(sample), k + 1, metric, frame)  # the first is the point itself
    return float(np.mean(found <= true[:, -1:]))


def _nearest(points: PointPieces, queries: Array, k: int, metric: str, frame: Frame) -> tuple[Array, Array]:
    """Return the points nearest to queries among all points, like `PointSearch.exact`."""
    arguments = (points.parts, points.workers.share(queries), k, metric, frame)
    found = points.workers.fetch(points.workers.map_pieces(search_tasks.nearest_in_piece, *arguments))
    indices, squared = (np.concatenate(parts, axis=1) for parts in zip(*found, strict=True))
    return _best(indices, squared, k)


def _best(indices: Array, squared: Array, k: int) -> tuple[Array, Array]:
    """Return the k nearest of some candidates, in the order of `snekhorn.kernels.candidate_ranking`."""
    ranks = (squared.astype(float).view(np.int64) + HALF) >> IGNORED_BITS
    order = np.lexsort((indices, ranks), axis=1)[:, :k]
    order = np.take_along_axis(order, np.argsort(np.take_along_axis(squared, order, 1), axis=1, kind="stable"), 1)
    return np.take_along_axis(indices, order, 1), np.take_along_axis(squared, order, 1)


def _exact_lists_of(points: PointPieces, rows: NDArray[np.intp], k: int, metric: str, frame: Frame) -> SomeLists:
    """Return the lists of some points, from a comparison with all points."""
    indices, squared = _nearest(points, points.rows(rows), k + 1, metric, frame)
    own = indices == rows[:, None]
    own[~own.any(axis=1), -1] = True  # equal to more than k other points
    indices, squared = (values[~own].reshape(rows.size, k) for values in (indices, squared))
    return SomeLists(rows, indices, squared)
