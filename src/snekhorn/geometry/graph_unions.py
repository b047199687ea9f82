"""Unions of graphs, each given as compressed rows, computed in blocks of rows, so that no graph is copied whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..kernels import graph_rows
from ..runtime.execution import Execution, run_in_blocks
from .distance_metrics import Array

Rows: TypeAlias = tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]], Array]  # indptr, indices and values

FEWEST_BLOCKS = 16  # with fewer, the copies of their rows take more memory; with more, all edges are read more often
BLOCKS_PER_THREAD = 4  # rows differ in length; with fewer blocks, threads wait for the slowest one


def joined(graph: Rows, other: Rows, execution: Execution) -> Rows:
    """Return the edges of both graphs; if both have an edge, with the smaller value."""

    def rows_of_both(start: int, stop: int) -> tuple[Rows, Rows]:
        return graph_rows.sorted_rows(start, stop, *graph), graph_rows.sorted_rows(start, stop, *other)

    return _union(rows_of_both, graph, execution, mean=False)


def both_ways(graph: Rows, execution: Execution, *, mean: bool = False) -> Rows:
    """Return the edges of a graph and of its transpose.

    If both have an edge, it gets the smaller value. With `mean`, every edge gets the mean of its two values, one of
    which is 0 if only one direction exists.
    """

    def rows_of_both(start: int, stop: int) -> tuple[Rows, Rows]:
        return graph_rows.sorted_rows(start, stop, *graph), graph_rows.reversed_rows(start, stop, *graph)

    return _union(rows_of_both, graph, execution, mean=mean)


def mean_with_transpose(P: sparse.csr_matrix, execution: Execution) -> sparse.csr_matrix:
    """Return (P + P^T) / 2 in float64, without its zeros."""
    if not P.has_canonical_format:
        P = P.copy()
        P.sum_duplicates()
    indptr, indices, data = both_ways((P.indptr, P.indices, P.data), execution, mean=True)
    mean = sparse.csr_matrix((data, indices, indptr), shape=P.shape)
    mean.eliminate_zeros()
    return mean


def _union(
    rows_of_both: Callable[[int, int], tuple[Rows, Rows]], graph: Rows, execution: Execution, *, mean: bool
) -> Rows:
    """Return the union of two graphs; a function returns some rows of both, sorted by index."""
    indptr, indices, values = graph
    n = indptr.size - 1

    def count(block: slice) -> None:
        own, others = rows_of_both(block.start, block.stop)
        graph_rows.count_union(*own[:2], *others[:2], counts[block])

    def fill(block: slice) -> None:
        own, others = rows_of_both(block.start, block.stop)
        graph_rows.fill_union(*own, *others, mean, ends[block.start : block.stop + 1], union, union_values)

    n_blocks = max(FEWEST_BLOCKS, BLOCKS_PER_THREAD * execution.n_threads)
    blocks = (n, -(-n // n_blocks), indices.size)
    counts = np.empty(n, dtype=np.int64)
    run_in_blocks(execution, count, *blocks)
    ends = np.concatenate([[0], np.cumsum(counts)])
    dtype = np.float64 if mean else values.dtype  # the mean of two numbers needs one digit more
    union, union_values = np.empty(ends[-1], dtype=indices.dtype), np.empty(ends[-1], dtype=dtype)
    run_in_blocks(execution, fill, *blocks)
    return ends, union, union_values
