"""Tasks of the search for neighbours: pure functions that run on the workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import get_index_dtype

from ..geometry.distance_metrics import from_squared
from ..geometry.neighbor_search import search_all_pairs
from ..geometry.point_clusters import Centres, PointClusters
from ..geometry.point_search import Frame, Indices, PointSearch
from ..runtime.execution import one_blas_thread
from .workers import Array, worker_threads


@dataclass(frozen=True)
class SomePoints:
    """Points with these numbers among all points, in increasing order."""

    numbers: NDArray[np.intp]
    X: Array


@dataclass(frozen=True)
class SomeLists:
    """Lists of the neighbours of the points with these numbers, in increasing order."""

    numbers: NDArray[np.intp]
    indices: Indices
    squared: Array


@dataclass(frozen=True)
class ClusterSearch:
    """What all tasks of a search in clusters have in common."""

    metric: str
    frame: Frame
    centres: Centres
    labels: NDArray[np.int32]
    n_searched: int
    k: int

    def among(self, points: SomePoints) -> tuple[PointSearch, PointClusters]:
        """Return the search among some points, and their clusters."""
        search = PointSearch(points.X, self.metric, self.frame)
        return search, PointClusters(self.centres, self.labels[points.numbers])


@one_blas_thread()
def exact_lists(rows: slice, parts: list[Array], k: int, metric: str) -> tuple[Indices, Array]:
    """Return the lists of some rows, from a comparison with all points."""
    X = np.concatenate(parts)
    return PointSearch(X, metric).exact(None, k, X.dtype, worker_threads(), rows)


@one_blas_thread()
def lists_of_all(parts: list[Array], k: int, metric: str) -> tuple[Indices, Array]:
    """Return the lists of all points, by a search that is slow but resolves any distances."""
    X = np.concatenate(parts)
    return search_all_pairs(PointSearch(X, metric), k, X.dtype, worker_threads())


@one_blas_thread()
def nearest_in_piece(
    rows: slice, X: Array, queries: Array, k: int, metric: str, frame: Frame
) -> tuple[NDArray[np.int64], Array]:
    """Return the points of a piece that are nearest to each query, numbered among all points."""
    search = PointSearch(X, metric, frame)
    found, squared = search.exact(search.prepared(queries), min(k, len(X)), X.dtype, worker_threads())
    return found.astype(np.int64) + rows.start, squared


def prepared_range(rows: slice, X: Array, metric: str) -> tuple[Array, Array]:
    """Return the lowest and highest coordinates of a piece as the search compares them."""
    X = prepared_rows(X, metric)
    return X.min(axis=0), X.max(axis=0)


def prepared_rows(X: Array, metric: str) -> Array:
    """Return rows as the search compares them."""
    return PointSearch.prepared_for(X, metric)


@one_blas_thread()
def nearest_centres_of(rows: slice, X: Array, metric: str, frame: Frame, centres: Centres) -> NDArray[np.intp]:
    """Return the centre nearest to each point of a piece."""
    return centres.nearest(frame.apply(prepared_rows(X, metric)), worker_threads())


def by_cluster(rows: slice, X: Array, shared: ClusterSearch, ends: list[int]) -> list[SomePoints]:
    """Cut the points of a piece by ranges of clusters, which are given by their ends."""
    own = np.searchsorted(ends, shared.labels[rows], side="right")
    return [SomePoints(rows.start + place, X[place]) for place in (np.flatnonzero(own == i) for i in range(len(ends)))]


def merged(parts: list[SomePoints]) -> SomePoints:
    """Return points from several pieces as one."""
    numbers = np.concatenate([part.numbers for part in parts])
    order = np.argsort(numbers, kind="stable")
    return SomePoints(numbers[order], np.concatenate([part.X for part in parts])[order])


@one_blas_thread()
def searched_clusters(points: SomePoints, shared: ClusterSearch, own: range) -> NDArray[np.intp]:
    """Return the clusters that the points of some clusters search."""
    search, clusters = shared.among(points)
    found = [clusters.nearest_to_members(search.points[clusters.members[i]], i, shared.n_searched).ravel() for i in own]
    return np.unique(np.concatenate(found))


def of_clusters(points: SomePoints, shared: ClusterSearch, wanted: NDArray[np.intp]) -> SomePoints:
    """Return the points of some clusters."""
    kept = np.isin(shared.labels[points.numbers], wanted)
    return SomePoints(points.numbers[kept], points.X[kept])


@one_blas_thread()
def lists_by_clusters(parts: list[SomePoints], shared: ClusterSearch, own: range) -> SomeLists:
    """Search for the neighbours of the points of some clusters among the points that they need."""
    points = merged(parts)
    search, clusters = shared.among(points)
    dtype = points.X.dtype
    found, indices, squared = search.by_clusters(clusters, own, shared.n_searched, shared.k, dtype, worker_threads())
    short, numbers = indices < 0, points.numbers.astype(get_index_dtype(maxval=len(shared.labels)))
    indices = numbers[indices]
    indices[short] = -1
    return SomeLists(points.numbers[found], indices, squared)


def incomplete(lists: SomeLists) -> NDArray[np.intp]:
    """Return the points whose lists are too short."""
    return lists.numbers[lists.indices[:, -1] < 0]


def by_rows(lists: SomeLists, ranges: list[slice]) -> list[SomeLists]:
    """Cut lists by ranges of rows."""
    places = [np.flatnonzero((lists.numbers >= rows.start) & (lists.numbers < rows.stop)) for rows in ranges]
    return [SomeLists(lists.numbers[place], lists.indices[place], lists.squared[place]) for place in places]


def lists_of_rows(rows: slice, parts: list[SomeLists], index_type: np.dtype[Any]) -> tuple[Indices, Array]:
    """Return the lists of consecutive rows; of several lists of a row, the last one counts."""
    k = parts[0].indices.shape[1]
    indices = np.empty((rows.stop - rows.start, k), dtype=index_type)
    squared = np.empty(indices.shape, dtype=parts[0].squared.dtype)
    for part in parts:
        indices[part.numbers - rows.start] = part.indices
        squared[part.numbers - rows.start] = part.squared
    return indices, squared


def cut_lists(rows: slice, lists: tuple[Indices, Array]) -> tuple[Indices, Array]:
    """Return the lists of some rows."""
    return lists[0][rows], lists[1][rows]


def some_of(rows: slice, lists: tuple[Indices, Array], wanted: NDArray[np.intp]) -> Array:
    """Return the squared distances of some lists."""
    return lists[1][wanted]


def as_edges(rows: slice, lists: tuple[Indices, Array], metric: str, index_type: np.dtype[Any]) -> tuple[Any, ...]:
    """Return the edges and costs of lists, and the largest cost."""
    indices, squared = lists
    costs = from_squared(squared.copy(), metric).ravel()
    return indices.astype(index_type, copy=False).ravel(), costs, costs.max(initial=0.0)
