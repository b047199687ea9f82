"""Apply a permutation to rows in pieces on the workers: every piece sends its rows to the pieces that they go to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.graph_rows import permute_rows, place_rows
from .workers import Array, EdgeArray, LocalStarts, Pieces, RowStarts, Workers, worker_threads


@dataclass(frozen=True)
class Parcel:
    """Rows that one piece sends to another, as compressed rows, and their places there."""

    places: NDArray[np.intp]
    indptr: NDArray[np.int64]
    columns: Array
    values: Array


def permuted_pieces(
    workers: Workers,
    starts: RowStarts,
    columns: EdgeArray,
    values: EdgeArray,
    order: NDArray[np.intp],
    target: Workers | None = None,
) -> tuple[RowStarts, EdgeArray, EdgeArray]:
    """Return rows in another order, with their columns renumbered; `target` has other ranges of rows."""
    target = workers if target is None else target
    places = np.empty(order.size, dtype=columns.dtype)
    places[order] = np.arange(order.size)
    sent = workers.map_pieces(_cut_rows, starts, columns, values, workers.share(places), list(target.ranges))
    parcels = Pieces(workers.split(sent, len(target.ranges)))
    arrived = target.map_pieces(_assembled, parcels)
    new_starts, new_columns, new_values = workers.split(arrived, 3)
    return RowStarts(new_starts), replace(columns, parts=new_columns), replace(values, parts=new_values)


def _cut_rows(
    rows: slice, starts: LocalStarts, columns: Array, values: Array, places: Array, ranges: list[slice]
) -> list[Parcel]:
    """Return the rows of a piece that go to each range."""
    own, lengths, parcels = places[rows], np.diff(starts.indptr), []
    for target in ranges:
        going = np.flatnonzero((own >= target.start) & (own < target.stop))
        indptr = _ends(lengths[going])
        new = (np.empty(indptr[-1], columns.dtype), np.empty(indptr[-1], values.dtype))
        old = (starts.indptr, columns, values, -np.inf, 1.0)  # no entry is left out or scaled
        worker_threads().run(permute_rows, going.size, indptr[-1], going, places, *old, indptr, *new)
        parcels.append(Parcel((own[going] - target.start).astype(np.intp), indptr, *new))
    return parcels


def _assembled(rows: slice, parcels: list[Parcel]) -> tuple[LocalStarts, Array, Array]:
    """Return the starts of the rows of a piece, and their entries, from the parcels of all pieces."""
    lengths = np.zeros(rows.stop - rows.start, dtype=np.int64)
    for parcel in parcels:
        lengths[parcel.places] = np.diff(parcel.indptr)
    indptr = _ends(lengths)
    columns, values = (np.empty(indptr[-1], part.dtype) for part in (parcels[0].columns, parcels[0].values))
    for parcel in parcels:
        arrays = (parcel.places, parcel.indptr, parcel.columns, parcel.values, indptr, columns, values)
        worker_threads().run(place_rows, parcel.places.size, parcel.columns.size, *arrays)
    return LocalStarts(indptr), columns, values


def _ends(lengths: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Return the starts of rows of these lengths, and the end of the last row."""
    ends = np.zeros(lengths.size + 1, dtype=np.int64)
    np.cumsum(lengths, out=ends[1:])
    return ends
