"""Nearest neighbours of every point: exact for moderate n, by an inverted file above.

faiss finds candidates in float32; their costs are then computed from X itself by direct differences, so
duplicates have cost 0 and neither the offset nor the scale of X matters. The recall is measured on a sample in
the precision of X; where float32 was not enough, all points are searched by direct differences. Sparse points and
other metrics go to scikit-learn. Results do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..kernels.squared_distances import squared_distances_to
from ..runtime.execution import run_rows
from .costs import Array, GraphCost

EXACT_LIMIT = 30_000  # points; above, the inverted file is clearly faster: see benchmarks/neighbors.py
RECALL_GOAL = 0.96
LEAST_RECALL = 0.9
QUERY_EXACT_LIMIT = 50_000  # points: an index takes a second to make, and new points are few
TUNING_SAMPLE, MEASURED_SAMPLE = 300, 200  # points on which the probes are chosen, and the recall is measured
FIRST_PROBES, MORE_PROBES = 4, 1.25
LISTS = 4.0  # times the square root of the number of points
CENTROID_ITERATIONS = 4
POINTS_PER_LIST = 39  # on average at least, and to place its centre by: with fewer, faiss calls it ill-determined
ROWS_AT_ONCE = 65_536
TREE_FEATURES = 15  # up to which a tree saves more comparisons than it costs, as in scikit-learn
FARTHEST = 1e12  # half-widths of the data from its centre to a query
RESOLVED = 2.0**-14  # of its norm: float32, which rounds at 2^-24, knows a longer distance to a thousandth

# Metrics that squared differences give: "minkowski" has order 2, and "nan_euclidean" meets no NaN here.
DIRECT = ("sqeuclidean", "euclidean", "l2", "minkowski", "nan_euclidean", "cosine")


@dataclass(frozen=True)
class Neighbors:
    """Indices and costs (n, k) of the nearest other points, and the share of the true ones among them.

    `among` searches again, among some of the points only.
    """

    indices: NDArray[np.integer[Any]]
    costs: Array
    recall: float
    among: Callable[[Array, int], Neighbors] | None = None

    def graph(self, n_threads: int) -> GraphCost:
        n, k = self.indices.shape
        indptr = np.arange(0, n * k + 1, k)
        return GraphCost(indptr, self.indices.ravel(), self.costs.ravel(), n_threads, self.recall, self.among)


def find_neighbors(X: Any, k: int, metric: str, n_threads: int, *, approximate: bool | None = None) -> Neighbors:
    """The k nearest other points of every point; `approximate` None decides by the number of points."""
    found = _find(X, k, metric, n_threads, approximate=approximate)
    return replace(found, among=lambda rows, k: find_neighbors(X[rows], k, metric, n_threads))


def _find(X: Any, k: int, metric: str, n_threads: int, *, approximate: bool | None) -> Neighbors:
    if sparse.issparse(X) or metric not in DIRECT:
        return _search_sklearn(X, k, metric, n_threads)
    X = np.ascontiguousarray(unit_rows(X) if metric == "cosine" else X)
    if approximate is None:
        approximate = X.shape[0] > EXACT_LIMIT
    with _faiss_threads(n_threads) as faiss:
        points = _centred(X, *_frame(X))
        candidates = _search_inverted(faiss, points, k) if approximate else _search_exact(faiss, points, k)
    found = _ranked(X, _without_self(candidates), metric, n_threads)
    if found.recall < LEAST_RECALL:  # groups so far apart that float32 cannot resolve their inside
        return _ranked(X, _search_by_differences(X, k, n_threads), metric, n_threads)
    return found


def unit_rows(X: Array) -> Array:
    """X with rows of norm one, on which the cosine distance is half the squared Euclidean one."""
    largest = np.abs(X).max(axis=1, keepdims=True)
    if not largest.all():
        raise ValueError(
            f"row {np.flatnonzero(largest == 0)[0]} of X is zero, where metric='cosine' is undefined; drop it."
        )
    X = X / largest  # whose squares neither overflow nor vanish
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def from_squared(squared: Array, metric: str) -> Array:
    """Costs of one of the DIRECT metrics from squared Euclidean distances, in place."""
    if metric == "cosine":
        squared /= 2
    elif metric != "sqeuclidean":
        np.sqrt(squared, out=squared)
    return squared


@contextmanager
def _faiss_threads(n_threads: int) -> Iterator[Any]:
    import faiss  # imported here: it takes longer to load than the rest of the package

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(n_threads)
    try:
        yield faiss
    finally:
        faiss.omp_set_num_threads(before)


def _frame(X: Array) -> tuple[Array, float]:
    """Centre and half-width of X, with which float32 loses nothing to an offset or to extreme units."""
    centre = X.mean(axis=0, dtype=np.float64)
    return centre, max(float(np.max(X.max(axis=0) - centre)), float(np.max(centre - X.min(axis=0)))) or 1.0


def _centred(X: Array, centre: Array, scale: float) -> Array:
    """X in that frame, as float32."""
    points = np.empty(X.shape, dtype=np.float32)
    for start in range(0, X.shape[0], ROWS_AT_ONCE):
        block = slice(start, start + ROWS_AT_ONCE)
        points[block] = (X[block] - centre) / scale
    return points


def _exact_index(faiss: Any, points: Array) -> Any:
    index = faiss.IndexFlatL2(points.shape[1])
    index.add(points)
    return index


def _search_exact(faiss: Any, points: Array, k: int, queries: Array | None = None) -> Array:
    return _exact_index(faiss, points).search(points if queries is None else queries, k + 1)[1]


def _inverted_index(faiss: Any, points: Array, k: int) -> Any:
    """Inverted file with the smallest number of probes, growing, whose recall on a sample reaches the goal."""
    n, p = points.shape
    n_lists = max(1, min(int(LISTS * np.sqrt(n)), n // POINTS_PER_LIST))
    quantizer = faiss.IndexFlatL2(p)
    index = faiss.IndexIVFFlat(quantizer, p, n_lists, faiss.METRIC_L2)
    index.cp.niter = CENTROID_ITERATIONS
    index.cp.max_points_per_centroid = POINTS_PER_LIST
    index.train(points)
    index.add(points)
    sample = np.linspace(0, n - 1, TUNING_SAMPLE).astype(np.int64)
    truth = _search_exact(faiss, points, k, points[sample])
    index.nprobe = FIRST_PROBES
    while True:
        with _row_by_row(faiss):
            found = index.search(points[sample], k + 1)[1]
        recall = np.mean([np.any(t[:, None] == f, axis=1) for t, f in zip(truth, found, strict=True)])
        if recall >= RECALL_GOAL or index.nprobe >= n_lists:
            break
        index.nprobe = min(int(np.ceil(MORE_PROBES * index.nprobe)), n_lists)
    return index


def _search_inverted(faiss: Any, points: Array, k: int) -> Array:
    index = _inverted_index(faiss, points, k)
    order = _listed(faiss, index)  # one after the other, these points look through the same lists, still in the cache
    found = np.full((len(points), k + 1), -1, dtype=np.int64)
    # Blocks of one size: faiss multiplies matrices for many rows and not for few, which rounds differently.
    for rows in np.array_split(order, -(-len(order) // ROWS_AT_ONCE)):
        found[rows] = index.search(points[rows], k + 1)[1]
    short = np.flatnonzero((found < 0).any(axis=1))  # the probed lists held fewer than k points
    if short.size:
        found[short] = _search_exact(faiss, points, k, points[short])
    return found


def _listed(faiss: Any, index: Any) -> NDArray[np.int64]:
    """The points of an inverted file, list by list."""
    lists = index.invlists
    sizes = [lists.list_size(i) for i in range(index.nlist)]
    ids = [faiss.rev_swig_ptr(lists.get_ids(i), size) for i, size in enumerate(sizes) if size]
    return np.concatenate(ids)


def _search_by_differences(X: Array, k: int, n_threads: int) -> Array:
    """Indices of the k nearest other points, from distances that neither an offset nor a far group spoils."""
    n, p = X.shape
    if p <= TREE_FEATURES:
        from sklearn.neighbors import NearestNeighbors

        tree = NearestNeighbors(n_neighbors=k, algorithm="kd_tree", n_jobs=n_threads).fit(X)
        return tree.kneighbors(return_distance=False)
    found = np.empty((n, k + 1), dtype=np.int64)
    run_rows(_nearest_of_all, n, n * n, n_threads, X, found)
    return _without_self(found)


def _nearest_of_all(start: int, stop: int, X: Array, found: Array) -> None:
    """The nearest points of these, themselves included, in any order."""
    k = found.shape[1] - 1
    for i, squared in enumerate(_squared_to_all(X, np.arange(start, stop)), start):
        found[i] = np.argpartition(squared, k)[: k + 1]


def _squared_to_all(X: Array, rows: Array) -> Iterator[Array]:
    """Squared distances of one of these points after the other to all, in a buffer that is used again.

    That of the point to itself is -1, so that it comes first whatever its duplicates or an overflow.
    """
    everyone = np.arange(X.shape[0])[None]
    squared = np.empty(everyone.shape, dtype=X.dtype)
    for s, row in enumerate(rows):
        squared_distances_to(X, X, rows[s : s + 1], everyone, squared)
        squared[0, row] = -1.0
        yield squared[0]


def _ranked(X: Array, indices: Array, metric: str, n_threads: int) -> Neighbors:
    """What was found, nearest first by costs in the precision of X, and how much of it is true."""
    costs = np.empty(indices.shape, dtype=X.dtype)
    run_rows(_sort_by_cost, X.shape[0], indices.size, n_threads, X, indices, costs)
    recall = _measure_recall(X, costs, n_threads)
    return Neighbors(indices, from_squared(costs, metric), recall)


def _sort_by_cost(start: int, stop: int, X: Array, indices: Array, costs: Array) -> None:
    """Compute the costs of these rows' neighbours; sort both by cost, then by index."""
    near, squared = np.sort(indices[start:stop], axis=1), costs[start:stop]
    squared_distances_to(X, X, np.arange(start, stop), near, squared)
    order = np.argsort(squared, axis=1, kind="stable")
    indices[start:stop] = np.take_along_axis(near, order, axis=1)
    squared[:] = np.take_along_axis(squared, order, axis=1)


def _count_true(start: int, stop: int, X: Array, sample: Array, costs: Array, out: Array) -> None:
    """How many of the costs of these sampled points are among their k smallest."""
    k = costs.shape[1]
    for s, squared in enumerate(_squared_to_all(X, sample[start:stop]), start):
        out[s] = np.sum(costs[s] <= np.partition(squared, k)[k])


def _measure_recall(X: Array, costs: Array, n_threads: int) -> float:
    """Share of the true nearest neighbours among those found, on a sample; ties count as true."""
    n, k = costs.shape
    sample = np.linspace(0, n - 1, min(n, MEASURED_SAMPLE)).astype(np.int64)
    true = np.empty(sample.size)
    run_rows(_count_true, sample.size, sample.size * n, n_threads, X, sample, costs[sample], true)
    return float(true.mean() / k)


def _without_self(found: Array) -> Array:
    """Drop every point from its own list or, where duplicates have crowded it out, the last entry."""
    n, k1 = found.shape
    own = found == np.arange(n)[:, None]
    own[~own.any(axis=1), -1] = True
    return np.ascontiguousarray(found[~own].reshape(n, k1 - 1))


def _search_sklearn(X: Any, k: int, metric: str, n_threads: int) -> Neighbors:
    from sklearn.neighbors import NearestNeighbors

    squared = metric == "sqeuclidean"
    search = NearestNeighbors(n_neighbors=k, metric="euclidean" if squared else metric, n_jobs=n_threads)
    costs, indices = search.fit(X).kneighbors()
    if squared:
        costs = costs**2
    order = np.lexsort((indices, costs), axis=1)
    indices, costs = np.take_along_axis(indices, order, 1), np.take_along_axis(costs, order, 1)
    return Neighbors(indices, np.maximum(costs, 0.0).astype(X.dtype, copy=False), 1.0)


class Index:
    """The k nearest of the points X to other points, each by itself, so that a batch leaves no trace.

    faiss finds them in float32. Rows of which it found too few, or whose last neighbour is nearer than float32
    can tell, are searched again by differences in float64: a point of X always finds itself.
    """

    def __init__(self, X: Array, k: int, n_threads: int) -> None:
        self.X, self.k = X, k
        self.centre, self.scale = _frame(X)
        with _faiss_threads(n_threads) as faiss:
            points = _centred(X, self.centre, self.scale)
            exact = len(X) <= QUERY_EXACT_LIMIT
            self.index = _exact_index(faiss, points) if exact else _inverted_index(faiss, points, k - 1)

    def search(self, queries: Array, n_threads: int) -> NDArray[np.integer[Any]]:
        """Indices (m, k) of points that are the nearest, or as near to a thousandth; in no particular order."""
        reach = FARTHEST * self.scale  # queries further away overflow float32
        points = _centred(np.clip(queries, self.centre - reach, self.centre + reach), self.centre, self.scale)
        with _faiss_threads(n_threads) as faiss, _row_by_row(faiss):
            squared, found = self.index.search(points, self.k)
        short = (found < 0).any(axis=1)  # the probed lists held fewer than k points
        blurred = np.sqrt(squared[:, -1]) <= RESOLVED * np.linalg.norm(points, axis=1)
        again = np.flatnonzero(short | blurred)
        if again.size:
            found[again] = self._search_by_differences(queries[again], n_threads)
        return found

    def _search_by_differences(self, queries: Array, n_threads: int) -> NDArray[np.integer[Any]]:
        """Slow, so that of equal queries, as the many blank rows of some data, one is asked."""
        different, which = np.unique(queries, axis=0, return_inverse=True)
        found = np.empty((len(different), self.k), dtype=np.int64)
        run_rows(_nearest, len(found), len(found) * len(self.X), n_threads, self.X, different, found)
        return found[which.ravel()]


@contextmanager
def _row_by_row(faiss: Any) -> Iterator[None]:
    """Keep faiss from matrix products, which round by the size of the batch."""
    before = faiss.cvar.distance_compute_blas_threshold
    faiss.cvar.distance_compute_blas_threshold = 2**31 - 1
    try:
        yield
    finally:
        faiss.cvar.distance_compute_blas_threshold = before


def _nearest(start: int, stop: int, X: Array, queries: Array, found: Array) -> None:
    """The nearest points of these queries by differences, of equally near ones the first."""
    everyone = np.arange(len(X))[None]
    k = found.shape[1]
    squared = np.empty(everyone.shape)
    for row in range(start, stop):
        squared_distances_to(X, queries, np.array([row]), everyone, squared)
        near = np.flatnonzero(squared[0] <= np.partition(squared[0], k - 1)[k - 1])
        found[row] = near[np.argsort(squared[0, near], kind="stable")[:k]]
