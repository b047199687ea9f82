"""Check before a fit on a cluster that its client and its workers have enough memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from distributed import Client

from ..errors import MissingMemoryError
from ..estimators.resources import unread_bytes
from ..geometry.neighbor_search import search_bytes
from ..geometry.preprocessing import components_bytes
from ..runtime.memory import require_memory, size_text
from ..runtime.memory_budget import CLIENT_POINT, DOUBLE, LAYOUT_POSITION, SINGLE, WORKER, GraphSize
from .point_pieces import needs_all_points
from .workers import reported_losses

ELSEWHERE = "run the client where more memory is free"


def require_memory_on_cluster(
    X: Any, k: int, client: Client, n_workers: int, *, with_start: bool, stores: bool
) -> None:
    """Raise if the client or a worker has too little memory for a fit of the points X with k neighbours each.

    `with_start` says whether principal components are the initial layout, and `stores` whether there is a checkpoint.
    """
    for needed, *what in _needs_of_client(X, k, with_start=with_start, stores=stores):
        require_memory(needed, *what)
    n, graph = X.shape[0], _graph_size(X, k)
    # Rows of the graph before and after they are moved, the points themselves, and the positions of all points.
    needed = WORKER + (2.0 * graph.edges + _points_bytes(X)) / n_workers + LAYOUT_POSITION * n
    limit = least_memory(client)
    if limit is not None and needed > limit:
        raise MissingMemoryError(
            f"not enough memory on the workers for {n:,} points with {k:,} neighbours each: at least "
            f"{size_text(needed)} needed by each of {n_workers}, but one has only {size_text(limit)}",
            "lower the perplexity",
            "use more workers, or give them more memory",
        )


def client_bytes(X: Any, k: int, *, with_start: bool, stores: bool) -> float:
    """Estimate what the client needs for a fit, in addition to what it uses; X may be an outline of the points.

    The arguments are those of `require_memory_on_cluster`.
    """
    peak: float = max(needed for needed, *_ in _needs_of_client(X, k, with_start=with_start, stores=stores))
    return peak + unread_bytes(X)


def require_memory_for_all_points(X: Any, k: int, metric: str, client: Client) -> None:
    """Raise if a worker cannot search all points X, an array or what has its shape and type, in one task."""
    limit = least_memory(client)
    if limit is None:
        return
    with reported_losses(client):
        n_threads = max(client.nthreads().values())
    n, p = X.shape
    points = 2.0 * n * p * X.dtype.itemsize  # in pieces and as a whole
    needed = WORKER + points + search_bytes(X, k, metric, n_threads)
    if needed > limit:
        raise MissingMemoryError(
            f"single precision cannot resolve the distances between neighbours of these {n:,} points, probably because "
            "of outliers or columns with huge values; each worker would need about "
            f"{size_text(needed)} to compare all points, but one has only {size_text(limit)}",
            "rescale the columns or remove outliers",
            "reduce the columns",
            "give the workers more memory",
        )


def least_memory(client: Client) -> int | None:
    """Return the smallest limit of the memory of a worker, in bytes, or None if there is none."""

    def limit(dask_worker: Any) -> int | None:
        found: int | None = dask_worker.memory_manager.memory_limit
        return found

    with reported_losses(client):
        limits = client.run(limit).values()
    return min((limit for limit in limits if limit), default=None)


def _needs_of_client(X: Any, k: int, *, with_start: bool, stores: bool) -> list[tuple[Any, ...]]:
    """Return what the client needs at its peaks, one after the other: bytes, what they are for, and remedies."""
    n, p = X.shape
    needs: list[tuple[Any, ...]] = [
        (CLIENT_POINT * n, f"the numbers per point that this process holds for {n:,} points", ELSEWHERE)
    ]
    if with_start and needs_all_points(X.shape):
        what = f"the principal components of {n:,} points with {p:,} columns, which this process computes"
        needs.append((_points_bytes(X) + components_bytes(X), what, "reduce the columns first", ELSEWHERE))
    if stores:  # once in pieces and once as a whole
        graph = _graph_size(X, k)
        what = f"the checkpoint of {n:,} points, which passes through this process"
        needs.append((2.0 * max(graph.lists, graph.edges), what, "omit the checkpoint", "lower the perplexity"))
    return needs


def _graph_size(X: Any, k: int) -> GraphSize:
    return GraphSize(X.shape[0], k, _item(X))


def _points_bytes(X: Any) -> float:
    n, p = X.shape
    return float(n) * float(p) * _item(X)


def _item(X: Any) -> int:
    return SINGLE if X.dtype == np.float32 else DOUBLE
