"""Check that ids, which name the points, are complete and unique."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from ..errors import InputError
from .table import Table, Wanted, decoded, names_note


def check_ids(path: Path, table: Table) -> None:
    """Raise if an id is missing or duplicated."""
    if (problem := _problem(table)) is not None:
        raise InputError(f"{path} {problem}; make the ids complete and unique, or choose another --id.")


def settle_ids(path: Path, table: Table, wanted: Wanted) -> None:
    """Raise if an id is missing or duplicated; without a request for it, leave the points without ids, with a note."""
    if wanted.id is not None:
        check_ids(path, table)
    elif (problem := _problem(table)) is not None:
        used = names_note(str(table.id))
        table.notes[:] = [note for note in table.notes if note != used]
        table.notes.append(f"{path} {problem}, so the column is not used as the row names; rows are numbered")
        table.id = None


def _problem(table: Table) -> str | None:
    """Return what is wrong with the ids, or None."""
    if table.id is None:
        return None
    ids = decoded(table.metadata.column(table.id))
    if ids.null_count:
        return f"has no id in {table.place(pc.index(pc.is_null(ids), True).as_py())} of column {table.id!r}"
    counts = pc.value_counts(ids)
    repeated = counts.filter(pc.greater(counts.field("counts"), 1))
    if not len(repeated):
        return None
    first = repeated[0]["values"]
    place = table.place(*np.flatnonzero(pc.equal(ids, first).to_numpy())[:2].tolist())
    return f"has the id {first.as_py()!r} in {place} of column {table.id!r}"
