"""Search for the nearest neighbours of every point: exact for moderate n, in nearby clusters for larger n.

The recall of the search in clusters is measured on a sample in the precision of X. If float32 is not accurate enough,
all points are searched by direct differences. scikit-learn handles sparse points and other metrics.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..runtime.execution import Execution, one_blas_thread
from ..runtime.memory_budget import SEARCH_POINT, UNSORTED, GraphSize
from .distance_metrics import DIRECT_METRICS, Array, from_squared
from .metric_search import DISTANCES_AT_ONCE, MOST_ROWS, nearest_rows
from .neighbor_graph import NeighborGraph
from .point_clusters import CLUSTER_SIZE, POINTS_PER_CENTRE
from .point_search import Indices, PointSearch, queries_at_once

EXACT_SEARCH_LIMIT = 30_000  # points; above this, the search in clusters is clearly faster (see the benchmark)
LEAST_RECALL = 0.9  # below this, float32 cannot resolve the distances, so points are searched by differences
MEASURED_SAMPLE = 200  # points used to measure the recall
TREE_FEATURES = 15  # up to this many features a tree is faster than brute force, as in scikit-learn


def find_neighbors(
    X: Any, k: int, metric: str, execution: Execution, *, approximate: bool | None = None
) -> NeighborGraph:
    """Find the k nearest other points of every point; approximate=None chooses by the number of points."""
    with one_blas_thread():
        indices, costs, recall = _search(X, k, metric, execution, approximate=approximate)
    return graph_of_lists(indices, costs, recall, X, metric, execution)


def graph_of_lists(
    indices: Indices, costs: Array, recall: float, X: Any, metric: str, execution: Execution
) -> NeighborGraph:
    """Return the graph of the lists (n, k) of neighbours that a search in X has found with this recall."""

    def search_among(points: NDArray[np.intp], k: int) -> NeighborGraph:
        return find_neighbors(X[points], k, metric, execution)

    known: dict[str, Any] = {"recall": recall, "search_among": search_among, "checked": True}
    return NeighborGraph.from_lists(indices, costs, execution, **known)


def search_bytes(X: Any, k: int, metric: str, n_threads: int) -> float:
    """Estimate the peak memory of a search, in addition to X: for the lists that are found, and for distances."""
    n, p = (int(size) for size in X.shape)
    item: int = X.dtype.itemsize
    found = GraphSize(n, k, item).lists
    if not sparse.issparse(X) and metric in DIRECT_METRICS:
        copies: float = 4 + 2 * item * (metric == "cosine")  # in float32; unit rows
        copies += 4 * POINTS_PER_CENTRE / CLUSTER_SIZE * (n > EXACT_SEARCH_LIMIT)  # the points that determine clusters
        return found + n * (p * copies + SEARCH_POINT) + n_threads * 6 * queries_at_once(n) * n
    distances = (12 + item) * min(MOST_ROWS * n, DISTANCES_AT_ONCE)
    copy: int = X.nnz * (item + X.indices.itemsize) if sparse.issparse(X) else 0
    found += UNSORTED * n * k
    return found + copy + n_threads * (copy + distances)  # the check and every thread may copy a sparse X


def _search(
    X: Any, k: int, metric: str, execution: Execution, *, approximate: bool | None
) -> tuple[Indices, Array, float]:
    """Return indices and costs (n, k), nearest first, then by index, and the recall."""
    if sparse.issparse(X) or metric not in DIRECT_METRICS:
        indices, costs = nearest_rows(X, None, k, metric, execution)
        return indices, costs.astype(X.dtype), 1.0
    search = PointSearch(X, metric)
    if approximate is None:
        approximate = X.shape[0] > EXACT_SEARCH_LIMIT
    if not approximate:
        indices, squared = search.exact(None, k, X.dtype, execution)
        return indices, from_squared(squared, metric), 1.0
    indices, squared = search.in_clusters(None, k, X.dtype, execution)
    recall = _measure_recall(search, squared, execution)
    if recall < LEAST_RECALL:  # groups are so far apart that float32 cannot resolve distances within them
        indices, squared = search_all_pairs(search, k, X.dtype, execution)
        recall = _measure_recall(search, squared, execution)
    return indices, from_squared(squared, metric), recall


def search_all_pairs(search: PointSearch, k: int, dtype: Any, execution: Execution) -> tuple[Indices, Array]:
    """Return indices and squared distances (n, k) by direct differences, or from a comparison of all points."""
    if search.X.shape[1] <= TREE_FEATURES:
        return search.ranked(_neighbors_in_tree(search.X, k, execution), dtype, execution)
    return search.exact(None, k, dtype, execution)


def _neighbors_in_tree(X: Array, k: int, execution: Execution) -> Indices:
    """Find the k nearest other points by direct differences with a tree, which needs few features."""
    from sklearn.neighbors import NearestNeighbors  # imported here because it is slow to load

    tree = NearestNeighbors(n_neighbors=k, algorithm="kd_tree", n_jobs=execution.n_threads).fit(X)
    nearest: Indices = tree.kneighbors(return_distance=False)
    return nearest


def _measure_recall(search: PointSearch, squared: Array, execution: Execution) -> float:
    """Return the fraction of true nearest neighbours among those found, on a sample; ties count as true."""
    n, k = squared.shape
    sample = np.linspace(0, n - 1, min(n, MEASURED_SAMPLE)).astype(np.int64)
    _, true = search.exact(search.X[sample], k + 1, squared.dtype, execution)  # the first is the point itself
    return float(np.mean(squared[sample] <= true[:, -1:]))
