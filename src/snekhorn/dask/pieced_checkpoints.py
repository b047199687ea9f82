"""Store the affinity of a fit on a cluster in a checkpoint, and restore it.

The files are those of a fit on one machine, so either can resume the other. What they hold passes through the process
of the client, which therefore needs memory for the neighbours and for the affinity.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..affinities.affinity import Affinity
from ..estimators.checkpoints import Checkpoint, NoCheckpoint, restore_affinity, store_affinity
from ..runtime.progress import shown_stage
from .graph_pieces import PiecedGraph, PiecedMatrix
from .neighbor_pieces import edge_type, find_neighbors_on_workers, graph_in_pieces
from .point_pieces import PointPieces
from .workers import EdgeArray, Workers


def fit_affinity_on_workers(
    affinity: Affinity, points: PointPieces, k: int, workers: Workers, checkpoint: Checkpoint | NoCheckpoint
) -> PiecedMatrix:
    """Compute the affinity of the points on a graph of k neighbours, or restore it from the checkpoint."""
    found = checkpoint.load("affinity")
    if found is not None:
        return _cut_matrix(restore_affinity(affinity, found), workers)
    affinity.fit_costs(_neighbors(affinity, points, k, workers, checkpoint))
    P: PiecedMatrix = affinity.affinity_
    if checkpoint.stores:  # otherwise, P need not pass through this process
        store_affinity(affinity, _whole_matrix(P), checkpoint)
    return P


def _neighbors(
    affinity: Affinity, points: PointPieces, k: int, workers: Workers, checkpoint: Checkpoint | NoCheckpoint
) -> PiecedGraph:
    """Search for the neighbours and store them, or restore them."""
    found = checkpoint.load("neighbors")
    if found is not None:
        return _graph_of_lists(found, points, affinity.metric, workers)
    with shown_stage("neighbours", verbose=affinity.verbose):
        graph = find_neighbors_on_workers(points, k, affinity.metric, workers)
    if checkpoint.stores:
        shape = (points.shape[0], k)
        indices, costs = (_whole(values, workers).reshape(shape) for values in (graph.indices, graph.costs))
        checkpoint.store("neighbors", {"indices": indices, "costs": costs, "recall": graph.recall})
    return graph


def _graph_of_lists(found: dict[str, Any], points: PointPieces, metric: str, workers: Workers) -> PiecedGraph:
    """Return the graph of stored lists, like `find_neighbors_on_workers`."""
    n, k = found["indices"].shape
    indices = found["indices"].astype(edge_type(n, k), copy=False)
    edges, costs = (_cut_rows(values, workers) for values in (indices, found["costs"]))
    return graph_in_pieces(edges, costs, found["recall"], points, k, metric, workers)


def _whole_matrix(P: PiecedMatrix) -> sparse.csr_matrix:
    """Return a matrix in pieces as one matrix."""
    starts = P.execution.fetch(P.indptr.parts)
    lengths = np.concatenate([np.diff(part.indptr) for part in starts])
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(P.indices.dtype)
    return sparse.csr_matrix((_whole(P.data, P.execution), _whole(P.indices, P.execution), indptr), shape=P.shape)


def _cut_matrix(P: sparse.csr_matrix, workers: Workers) -> PiecedMatrix:
    """Return a matrix in pieces."""
    indices, data = (_cut(values, P.indptr, workers) for values in (P.indices, P.data))
    return PiecedMatrix(P.shape, P.nnz, workers.starts(P.indptr), indices, data, workers)


def _whole(values: EdgeArray, workers: Workers) -> NDArray[Any]:
    assert values.parts is not None
    return np.concatenate(workers.fetch(values.parts))


def _cut(values: NDArray[Any], indptr: NDArray[np.integer[Any]], workers: Workers) -> EdgeArray:
    parts = [values[indptr[rows.start] : indptr[rows.stop]] for rows in workers.ranges]
    return EdgeArray(values.dtype, parts=_sent(parts, workers))


def _cut_rows(lists: NDArray[Any], workers: Workers) -> list[Any]:
    return _sent([lists[rows].ravel() for rows in workers.ranges], workers)


def _sent(parts: list[NDArray[Any]], workers: Workers) -> list[Any]:
    return [workers.share(part, piece=i).future for i, part in enumerate(parts)]
