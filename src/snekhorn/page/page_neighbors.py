"""Find the nearest neighbours of every point in the data, and how many of them each layout preserves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..geometry.inputs import check_points

N_NEIGHBORS = 15  # as many as for the score "neighbour recall", an estimate of the mean over the points
ROWS_AT_ONCE = 4096  # whose ranks are compared at a time; more take more memory


@dataclass(frozen=True)
class DataNeighbors:
    """Nearest neighbours in the data.

    Attributes
    ----------
    indices : ndarray of shape (n, k)
        The neighbours of each point, nearest first.
    preserved : list of ndarray of shape (n,)
        For each layout, how many of them are also among the k nearest neighbours of the point in the layout.
    """

    indices: NDArray[np.int64]
    preserved: list[NDArray[np.uint8]]


def check_data(data: Any, n: int) -> Any:
    """Return the data of n points as a finite array or sparse matrix."""
    data = check_points(data, name="data")
    if data.shape[0] != n:
        raise InputError(f"data has {data.shape[0]} rows for the {n} points of Z; pass the points that were laid out.")
    return data


def data_neighbors(data: Any, layouts: Iterable[NDArray[Any]], *, metric: str) -> DataNeighbors | None:
    """Find the neighbours in the data, and compare them with each layout; None if there are fewer than 2 points."""
    n = data.shape[0]
    if n < 2:
        return None
    k = min(N_NEIGHBORS, n - 1)
    indices = _nearest(data, k, metric)
    return DataNeighbors(indices, [_count_shared(indices, nearest_in_layout(Z, k)) for Z in layouts])


def _nearest(data: Any, k: int, metric: str) -> NDArray[np.int64]:
    from ..geometry.costs import search_neighbors  # compiled code, which is slow to load
    from ..geometry.distance_metrics import check_metric, whitened
    from ..runtime.execution import choose_execution

    check_metric(metric)
    if metric == "precomputed":
        raise InputError("metric='precomputed' has no data to search for neighbours; pass features and their metric.")
    execution = choose_execution(None)
    points, metric = whitened(data, metric, execution)
    return search_neighbors(points, k, metric, execution).indices.reshape(-1, k).astype(np.int64)


def nearest_in_layout(Z: NDArray[Any], k: int) -> NDArray[np.int64]:
    """Return the k nearest other points of every point of a layout, nearest first."""
    from scipy.spatial import cKDTree

    found = cKDTree(Z).query(Z, k + 1, workers=-1)[1]
    own = found == np.arange(len(Z))[:, None]
    own[~own.any(axis=1), -1] = True  # among more than k points in one place, a point may not find itself
    return np.asarray(found[~own].reshape(-1, k))


def _count_shared(a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Count the common entries of each row."""
    counts = np.empty(len(a), dtype=np.uint8)
    for start in range(0, len(a), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        counts[rows] = (a[rows, :, None] == b[rows, None, :]).any(axis=2).sum(axis=1)
    return counts
