"""Search for the nearest neighbours of every point: exact for moderate n, with an inverted file for larger n.

faiss finds candidates in float32. Their costs are then computed from X itself by direct differences, so duplicates have
cost 0 and neither the offset nor the scale of X matters. The recall is measured on a sample in the precision of X. If
float32 is not accurate enough, all points are searched by direct differences. scikit-learn handles sparse points and
other metrics.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..errors import reported_as_input_errors
from ..kernels.squared_distances import squared_distances_to
from ..runtime.execution import Execution
from .distance_metrics import DIRECT_METRICS, Array, from_squared, unit_rows
from .neighbor_graph import NeighborGraph

Indices: TypeAlias = NDArray[np.integer[Any]]

EXACT_LIMIT = 30_000  # points; above this, the inverted file is clearly faster (see the neighbour benchmark)
RECALL_GOAL = 0.96  # of the inverted file; a higher goal takes longer
LEAST_RECALL = 0.9  # below this, float32 cannot resolve the distances, so points are searched by differences
TUNING_SAMPLE, MEASURED_SAMPLE = 300, 200  # points used to tune the number of probes, and to measure the recall
FIRST_PROBES, MORE_PROBES = 4, 1.25  # lists probed at first, and growth factor until the recall is reached
LISTS = 4.0  # number of lists, in units of the square root of the number of points
CENTROID_ITERATIONS = 4
POINTS_PER_LIST = 39  # minimum on average; with fewer, faiss warns that the centres are ill-determined
ROWS_AT_ONCE = 65_536
TREE_FEATURES = 15  # up to this many features a tree is faster than brute force, as in scikit-learn


def find_neighbors(
    X: Any, k: int, metric: str, execution: Execution, *, approximate: bool | None = None
) -> NeighborGraph:
    """Find the k nearest other points of every point; approximate=None chooses by the number of points."""
    indices, costs, recall = _search(X, k, metric, execution, approximate=approximate)

    def search_among(points: NDArray[np.intp], k: int) -> NeighborGraph:
        return find_neighbors(X[points], k, metric, execution)

    return NeighborGraph.from_lists(indices, costs, execution, recall=recall, search_among=search_among)


def _search(
    X: Any, k: int, metric: str, execution: Execution, *, approximate: bool | None
) -> tuple[Indices, Array, float]:
    """Return indices and costs (n, k), nearest first, and the recall."""
    if sparse.issparse(X) or metric not in DIRECT_METRICS:
        return _search_sklearn(X, k, metric, execution)
    X = np.ascontiguousarray(unit_rows(X) if metric == "cosine" else X)
    if approximate is None:
        approximate = X.shape[0] > EXACT_LIMIT
    with faiss_threads(execution) as faiss:
        points = in_frame(X, *frame_of(X))
        candidates = _search_inverted(faiss, points, k) if approximate else _search_exact(faiss, points, k)
    found = _ranked(X, _without_self(candidates), metric, execution)
    if found[2] < LEAST_RECALL:  # groups are so far apart that float32 cannot resolve distances within them
        return _ranked(X, _search_by_differences(X, k, execution), metric, execution)
    return found


@contextmanager
def faiss_threads(execution: Execution) -> Iterator[Any]:
    """Import faiss and limit its threads."""
    import faiss  # imported here because it takes longer to load than the rest of the package

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(execution.n_threads)
    try:
        yield faiss
    finally:
        faiss.omp_set_num_threads(before)


@contextmanager
def faiss_row_by_row(faiss: Any) -> Iterator[None]:
    """Prevent faiss from using matrix products, whose rounding depends on the batch size."""
    before = faiss.cvar.distance_compute_blas_threshold
    faiss.cvar.distance_compute_blas_threshold = 2**31 - 1
    try:
        yield
    finally:
        faiss.cvar.distance_compute_blas_threshold = before


def frame_of(X: Array) -> tuple[Array, float]:
    """Return the centre and half-width of X, with which `in_frame` removes any offset and scale before float32."""
    centre = X.mean(axis=0, dtype=np.float64)
    return centre, max(float(np.max(X.max(axis=0) - centre)), float(np.max(centre - X.min(axis=0)))) or 1.0


def in_frame(X: Array, centre: Array, scale: float) -> Array:
    """Return X centred and scaled, as float32."""
    points = np.empty(X.shape, dtype=np.float32)
    for start in range(0, X.shape[0], ROWS_AT_ONCE):
        block = slice(start, start + ROWS_AT_ONCE)
        points[block] = (X[block] - centre) / scale
    return points


def exact_index(faiss: Any, points: Array) -> Any:
    """Build an index that compares each query with all points."""
    index = faiss.IndexFlatL2(points.shape[1])
    index.add(points)
    return index


def inverted_index(faiss: Any, points: Array, k: int) -> Any:
    """Build an inverted file with the smallest number of probes whose recall on a sample reaches the goal."""
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
        with faiss_row_by_row(faiss):
            found = index.search(points[sample], k + 1)[1]
        recall = np.mean([np.any(t[:, None] == f, axis=1) for t, f in zip(truth, found, strict=True)])
        if recall >= RECALL_GOAL or index.nprobe >= n_lists:
            break
        index.nprobe = min(int(np.ceil(MORE_PROBES * index.nprobe)), n_lists)
    return index


def _search_exact(faiss: Any, points: Array, k: int, queries: Array | None = None) -> Indices:
    found: Indices = exact_index(faiss, points).search(points if queries is None else queries, k + 1)[1]
    return found


def _search_inverted(faiss: Any, points: Array, k: int) -> Indices:
    index = inverted_index(faiss, points, k)
    order = _points_by_list(faiss, index)  # consecutive points probe the same lists, which are still in the cache
    found = np.full((len(points), k + 1), -1, dtype=np.int64)
    # Use blocks of equal size: faiss uses matrix products only for many rows, and they round differently.
    for rows in np.array_split(order, -(-len(order) // ROWS_AT_ONCE)):
        found[rows] = index.search(points[rows], k + 1)[1]
    short = np.flatnonzero((found < 0).any(axis=1))  # the probed lists held fewer than k points
    if short.size:
        found[short] = _search_exact(faiss, points, k, points[short])
    return found


def _points_by_list(faiss: Any, index: Any) -> NDArray[np.int64]:
    """Return the points of an inverted file in the order of its lists."""
    lists = index.invlists
    sizes = [lists.list_size(i) for i in range(index.nlist)]
    ids = [faiss.rev_swig_ptr(lists.get_ids(i), size) for i, size in enumerate(sizes) if size]
    return np.concatenate(ids)


def _search_by_differences(X: Array, k: int, execution: Execution) -> Indices:
    """Find the k nearest other points by direct differences.

    These stay accurate if the data have an offset or distant groups.
    """
    n, p = X.shape
    if p <= TREE_FEATURES:
        from sklearn.neighbors import NearestNeighbors

        tree = NearestNeighbors(n_neighbors=k, algorithm="kd_tree", n_jobs=execution.n_threads).fit(X)
        nearest: Indices = tree.kneighbors(return_distance=False)
        return nearest
    found = np.empty((n, k + 1), dtype=np.int64)
    execution.run(_nearest_of_all, n, n * n, X, found)
    return _without_self(found)


def _nearest_of_all(start: int, stop: int, X: Array, found: Array) -> None:
    """Find the points nearest to these rows, including the rows themselves, in any order."""
    k = found.shape[1] - 1
    for i, squared in enumerate(_squared_to_all(X, np.arange(start, stop)), start):
        found[i] = np.argpartition(squared, k)[: k + 1]


def _squared_to_all(X: Array, rows: Array) -> Iterator[Array]:
    """Yield the squared distances from each of these points to all points, in a reused buffer.

    The distance of a point to itself is -1, so that the point comes first despite duplicates or overflow.
    """
    everyone = np.arange(X.shape[0])[None]
    squared = np.empty(everyone.shape, dtype=X.dtype)
    for s, row in enumerate(rows):
        squared_distances_to(X, X, rows[s : s + 1], everyone, squared)
        squared[0, row] = -1.0
        yield squared[0]


def _ranked(X: Array, indices: Indices, metric: str, execution: Execution) -> tuple[Indices, Array, float]:
    """Sort the neighbours found by their costs in the precision of X, and measure the recall."""
    costs = np.empty(indices.shape, dtype=X.dtype)
    execution.run(_sort_by_cost, X.shape[0], indices.size, X, indices, costs)
    recall = _measure_recall(X, costs, execution)
    return indices, from_squared(costs, metric), recall


def _sort_by_cost(start: int, stop: int, X: Array, indices: Array, costs: Array) -> None:
    """Compute the costs of the neighbours of these rows, and sort both by cost, then by index."""
    near, squared = np.sort(indices[start:stop], axis=1), costs[start:stop]
    squared_distances_to(X, X, np.arange(start, stop), near, squared)
    order = np.argsort(squared, axis=1, kind="stable")
    indices[start:stop] = np.take_along_axis(near, order, axis=1)
    squared[:] = np.take_along_axis(squared, order, axis=1)


def _measure_recall(X: Array, costs: Array, execution: Execution) -> float:
    """Return the fraction of true nearest neighbours among those found, on a sample; ties count as true."""
    n, k = costs.shape
    sample = np.linspace(0, n - 1, min(n, MEASURED_SAMPLE)).astype(np.int64)
    true = np.empty(sample.size)
    execution.run(_count_true, sample.size, sample.size * n, X, sample, costs[sample], true)
    return float(true.mean() / k)


def _count_true(start: int, stop: int, X: Array, sample: Array, costs: Array, out: Array) -> None:
    """Count how many of the costs of these sampled points are among their k smallest."""
    k = costs.shape[1]
    for s, squared in enumerate(_squared_to_all(X, sample[start:stop]), start):
        out[s] = np.sum(costs[s] <= np.partition(squared, k)[k])


def _without_self(found: Indices) -> Indices:
    """Remove every point from its own list or, if duplicates have displaced it, the last entry."""
    n, k1 = found.shape
    own = found == np.arange(n)[:, None]
    own[~own.any(axis=1), -1] = True
    return np.ascontiguousarray(found[~own].reshape(n, k1 - 1))


def _search_sklearn(X: Any, k: int, metric: str, execution: Execution) -> tuple[Indices, Array, float]:
    from sklearn.neighbors import NearestNeighbors

    squared = metric == "sqeuclidean"
    search = NearestNeighbors(n_neighbors=k, metric="euclidean" if squared else metric, n_jobs=execution.n_threads)
    with reported_as_input_errors():  # some metrics need data of a certain kind
        costs, indices = search.fit(X).kneighbors()
    if squared:
        costs = costs**2
    order = np.lexsort((indices, costs), axis=1)
    indices, costs = np.take_along_axis(indices, order, 1), np.take_along_axis(costs, order, 1)
    return indices, np.maximum(costs, 0.0).astype(X.dtype, copy=False), 1.0
