"""Apply a permutation to rows in pieces on the workers: every piece sends its rows to the pieces that they go to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .graph_tasks import positions_of_rows
from .workers import Array, EdgeArray, LocalStarts, Pieces, RowStarts, Workers


@dataclass(frozen=True)
class Parcel:
    """Rows that one piece sends to another: their places there, their lengths, and their entries, row after row."""

    places: NDArray[np.intp]
    lengths: NDArray[np.integer[Any]]
    entries: list[Array]


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
    arrived = target.map_pieces(assembled, parcels)
    new_starts, new_columns, new_values = workers.split(arrived, 3)
    return RowStarts(new_starts), replace(columns, parts=new_columns), replace(values, parts=new_values)


def _cut_rows(
    rows: slice, starts: LocalStarts, columns: Array, values: Array, places: Array, ranges: list[slice]
) -> list[Parcel]:
    """Return the rows of a piece that go to each range."""
    own, parcels = places[rows], []
    for target in ranges:
        going = np.flatnonzero((own >= target.start) & (own < target.stop))
        edges = positions_of_rows(starts.indptr, going)
        lengths = np.diff(starts.indptr)[going]
        entries = [places[columns[edges]], values[edges]]
        parcels.append(Parcel((own[going] - target.start).astype(np.intp), lengths, entries))
    return parcels


def assembled(rows: slice, parcels: list[Parcel]) -> tuple[Any, ...]:
    """Return the starts of the rows of a piece, and their entries, from the parcels of all pieces."""
    lengths = np.zeros(rows.stop - rows.start, dtype=np.int64)
    for parcel in parcels:
        lengths[parcel.places] = parcel.lengths
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    found = [np.empty(indptr[-1], dtype=part.dtype) for part in parcels[0].entries]
    for parcel in parcels:
        positions = positions_of_rows(indptr, parcel.places)
        for part, entries in zip(found, parcel.entries, strict=True):
            part[positions] = entries
    return LocalStarts(indptr), *found
