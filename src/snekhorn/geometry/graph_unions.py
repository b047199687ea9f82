"""Unions of graphs, each given as compressed rows, computed in blocks of rows, so that no graph is copied whole."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..kernels.graph_rows import count_union, fill_union, reversed_rows, sorted_rows
from ..runtime.execution import Execution, run_in_blocks
from ..runtime.memory_budget import EDGES_PER_BLOCK
from .distance_metrics import Array

Rows: TypeAlias = tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]], Array]  # indptr, indices and values


class SomeRows(Protocol):
    """Function that returns the rows of a graph from `start` to `stop`, sorted by index."""

    def __call__(self, start: int, stop: int) -> Rows: ...


def joined(graph: Rows, other: Rows, execution: Execution) -> Rows:
    """Return the edges of both graphs; if both have an edge, with the smaller value."""
    return _union(graph, lambda start, stop: sorted_rows(start, stop, *other), execution, mean=False)


def both_ways(graph: Rows, execution: Execution, *, mean: bool = False) -> Rows:
    """Return the edges of a graph and of its transpose.

    If both have an edge, it gets the smaller value. With `mean`, every edge gets the mean of its two values, one of
    which is 0 if only one direction exists.
    """
    return _union(graph, lambda start, stop: reversed_rows(start, stop, *graph), execution, mean=mean)


def mean_with_transpose(P: sparse.csr_matrix, execution: Execution) -> sparse.csr_matrix:
    """Return (P + P^T) / 2 in float64, without its zeros."""
    if not P.has_canonical_format:
        P = P.copy()
        P.sum_duplicates()
    indptr, indices, data = both_ways((P.indptr, P.indices, P.data), execution, mean=True)
    mean = sparse.csr_matrix((data, indices, indptr), shape=P.shape)
    mean.eliminate_zeros()
    return mean


def _union(graph: Rows, rows_of_other: SomeRows, execution: Execution, *, mean: bool) -> Rows:
    """Return the edges of a graph and of another one."""
    indptr, indices, values = graph
    n = indptr.size - 1

    def count(block: slice) -> None:
        other_indptr, other_indices, _ = rows_of_other(block.start, block.stop)
        count_union(block.start, *graph, other_indptr, other_indices, counts[block])

    def fill(block: slice) -> None:
        others = rows_of_other(block.start, block.stop)
        fill_union(block.start, *graph, *others, mean, ends[block.start : block.stop + 1], union, union_values)

    if indices.size <= EDGES_PER_BLOCK:
        whole = rows_of_other(0, n)
        rows_of_other = lambda start, stop: (whole[0][start : stop + 1], *whole[1:])  # noqa: E731
    n_blocks = max(execution.n_threads, -(-indices.size // EDGES_PER_BLOCK))
    blocks = (n, -(-n // n_blocks), indices.size)
    counts = np.empty(n, dtype=np.int64)
    run_in_blocks(execution, count, *blocks)
    ends = np.concatenate([[0], np.cumsum(counts)])
    dtype = np.float64 if mean else values.dtype  # the mean of two numbers needs one digit more
    union, union_values = np.empty(ends[-1], dtype=indices.dtype), np.empty(ends[-1], dtype=dtype)
    run_in_blocks(execution, fill, *blocks)
    return ends, union, union_values
