"""Join the points of one file with the metadata of another: by an id, or row by row."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import InputError, first_few
from .row_names import check_ids, settle_ids
from .table import Table, Wanted, decoded


def join_metadata(path: Path, table: Table, file: Path, found: Table, wanted: Wanted) -> None:
    """Add the columns of `found`, which was read from `file`, to the metadata of the table.

    Rows are matched by the id if both files have one, otherwise by position. Both files may call the id by different
    names if the input has its own, such as the names of cells.
    """
    n, m = table.X.shape[0], found.metadata.num_rows
    key = wanted.id or table.id
    if wanted.id is not None and wanted.id not in found.metadata.column_names:
        raise InputError(f"{file} has no column {wanted.id!r} to match the rows by; choose another --id.")
    if table.id is not None and key in found.metadata.column_names:
        check_ids(path, table)
        rows = _rows_by_id(path, table, file, found.metadata, str(key))
        if m > n:
            table.notes.append(f"{m - n:,} of {m:,} rows of {file} have no point in {path}; they are ignored")
        others = found.metadata.take(rows)
        matched = f"matched by {key!r}"
    elif n != m:
        raise InputError(
            f"{path} has {n:,} points, but {file} has {m:,} rows; pass a file with one row per point, or match the "
            "rows with --id."
        )
    else:
        others, matched = found.metadata, "matched by row"
    table.notes.append(f"metadata of {file} {matched}")
    names = _free_names(table, others)
    _append(table, file, others.rename_columns(list(names.values())))
    if renamed := [name for name, new in names.items() if new != name]:
        table.notes.append(
            f"{first_few(renamed)} of {file} get the prefix 'metadata_', because features have the names"
        )
    if table.id is None and (id := wanted.id or found.id) in names:
        of_file = replace(table, id=names[str(id)], lines=found.lines)
        settle_ids(file, of_file, wanted)
        table.id, table.notes = of_file.id, of_file.notes
    table.label = None if wanted.label is None else names.get(wanted.label, wanted.label)


def _rows_by_id(path: Path, table: Table, file: Path, metadata: pa.Table, key: str) -> pa.Array:
    """Return the row of the metadata of each point."""
    mine, theirs = decoded(table.metadata.column(str(table.id))), decoded(metadata.column(key))
    if mine.type != theirs.type:  # such as numbers in one file and text in the other
        mine, theirs = mine.cast(pa.string()), theirs.cast(pa.string())
    theirs = theirs.combine_chunks()
    counts = pc.value_counts(theirs.drop_null())
    repeated = counts.filter(pc.greater(counts.field("counts"), 1))
    used = repeated.field("values").filter(pc.is_in(repeated.field("values"), value_set=mine.combine_chunks()))
    if len(used):
        raise InputError(
            f"{file} has the id {used[0].as_py()!r} more than once in column {key!r}; keep one row per point."
        )
    rows = pc.index_in(mine.combine_chunks(), value_set=theirs)
    if rows.null_count:
        unmatched = mine.filter(pc.is_null(rows)).to_pylist()
        raise InputError(
            f"{len(unmatched):,} of {len(mine):,} points of {path} have no row in {file} with the same {key!r}: "
            f"{first_few(list(map(str, unmatched)))}; add these rows, or choose another --id."
        )
    return rows


def _free_names(table: Table, others: pa.Table) -> dict[str, str]:
    """Return the new names of columns: with a prefix if a feature has the name, so that it means one column."""
    features = set(table.columns)
    taken = {*features, *others.column_names, *table.metadata.column_names}
    names = {name: name for name in others.column_names}
    for name in filter(features.__contains__, others.column_names):
        while names[name] in taken:
            names[name] = f"metadata_{names[name]}"
        taken.add(names[name])
    return names


def _append(table: Table, file: Path, others: pa.Table) -> None:
    """Append columns; those of the metadata file replace columns of the input with the same name and other values."""
    joined, replaced = table.metadata, []
    for name in others.column_names:
        column = others.column(name)
        if name == table.id:
            continue
        if name in joined.column_names:
            place = joined.column_names.index(name)
            if not _same(joined.column(place), column):
                replaced.append(name)
            joined = joined.set_column(place, name, column)
        else:
            joined = joined.append_column(name, column) if joined.num_columns else pa.table({name: column})
    if replaced:
        table.notes.append(f"both files have {first_few(replaced)}; the values of {file} are used")
    table.metadata, table.elsewhere = joined, frozenset(others.column_names) - {table.id}


def _same(mine: pa.ChunkedArray, theirs: pa.ChunkedArray) -> bool:
    return mine.type == theirs.type and bool(mine.equals(theirs))
