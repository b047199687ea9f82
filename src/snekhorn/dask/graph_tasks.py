"""Tasks on the pieces of a neighbour graph: pure functions of arrays that run on the workers.

A piece holds the edges of consecutive rows: `starts` of the rows in its own edges, `indices` of points among all n
points, and `costs`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..geometry.graph_unions import joined
from ..geometry.neighbor_graph import edges_of_rows
from .workers import Array, LocalStarts, worker_threads


def rows_of(starts: LocalStarts, indices: Array, data: Array, n: int) -> sparse.csr_matrix:
    """Return a piece as a sparse matrix of its rows and all n columns, with sorted rows."""
    rows = sparse.csr_matrix((data, indices, starts.indptr), shape=(starts.indptr.size - 1, n))
    return rows if rows.has_sorted_indices else rows.sorted_indices()


def cut_columns(
    rows: slice, starts: LocalStarts, indices: Array, costs: Array, n: int, ranges: list[slice]
) -> list[sparse.csr_matrix]:
    """Return the columns of a piece, cut into ranges."""
    own = rows_of(starts, indices, costs, n)
    return [own[:, columns] for columns in ranges]


def united_with_transpose(
    rows: slice, starts: LocalStarts, indices: Array, costs: Array, n: int, columns: list[sparse.csr_matrix]
) -> tuple[LocalStarts, Array, Array]:
    """Add the missing directions of edges to a piece; `columns` are its columns in all pieces."""
    back = sparse.vstack(columns, format="csr").tocsc()  # its compressed columns are the rows of the transpose
    return united(rows, starts, indices, costs, n, back)


def united(
    rows: slice, starts: LocalStarts, indices: Array, costs: Array, n: int, other: Any
) -> tuple[LocalStarts, Array, Array]:
    """Return the union of a piece and compressed rows."""
    own = rows_of(starts, indices, costs, n)
    other_rows = (other.indptr, other.indices, other.data)
    ends, union, new_costs = joined((own.indptr, own.indices, own.data), other_rows, worker_threads())
    return LocalStarts(ends), union, new_costs


def with_diagonal(
    rows: slice, starts: LocalStarts, indices: Array, entries: Array, diagonal: Array, n: int
) -> tuple[LocalStarts, Array, Array]:
    """Add self-loops to the rows of a piece."""
    own = rows_of(starts, indices, entries, n)
    values = diagonal[rows].astype(entries.dtype)
    loops = sparse.csr_matrix((values, np.arange(rows.start, rows.stop), np.arange(values.size + 1)), shape=own.shape)
    found = (own + loops).tocsr().sorted_indices()
    return LocalStarts(found.indptr), found.indices, found.data


def values_at(rows: slice, values: Array, positions: NDArray[np.intp]) -> Array:
    """Return some values of a piece."""
    return values[positions]


def positive_of(rows: slice, values: Array) -> Array:
    """Return the positive values of a piece."""
    return values[values > 0.0]


def largest_of(rows: slice, values: Array) -> float:
    """Return the largest value of a piece."""
    return float(values.max(initial=0.0))


def divided(rows: slice, values: Array, unit: float) -> Array:
    """Divide the values of a piece, without changing their type."""
    return values / unit


def edges_of(
    rows: slice, starts: LocalStarts, indices: Array, costs: Array, wanted: NDArray[np.intp]
) -> tuple[Array, Array]:
    """Return the indices and costs of the edges of some rows of a piece."""
    edges = edges_of_rows(starts.indptr, wanted - rows.start)
    return indices[edges], costs[edges]


def unseen_neighbors(
    rows: slice, starts: LocalStarts, indices: Array, wanted: NDArray[np.intp], seen: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], Array]:
    """Return how many neighbours of each of these rows have not been seen, and which."""
    local = wanted - rows.start
    near = indices[edges_of_rows(starts.indptr, local)]
    new = ~seen[near]
    owner = np.repeat(np.arange(local.size), np.diff(starts.indptr)[local])
    return np.bincount(owner[new], minlength=local.size), near[new]
