"""Turn a table with one point per column, such as genes in rows, into one with one point per row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from ..errors import InputError, first_few
from ..geometry.point_blocks import PointBlocks
from .column_choice import matching_columns
from .matrix_files import numbered_names, select_features
from .table import Table, Wanted, no_metadata

POINT = "point"  # name of the column of point names


def transposed(path: Path, table: Table, wanted: Wanted, *, named: bool) -> Table:
    """Swap rows and columns: the names of the rows become those of the features, and the column names those of points.

    Rows are named by the id column or, if there is none, by the first column of text. Features and points are left out
    by name. `named` says whether the columns of the file have names.
    """
    if isinstance(table.X, PointBlocks):
        raise InputError(f"--transpose does not apply to {path}, because it is read by blocks; transpose it before.")
    if wanted.label is not None and wanted.label not in wanted.elsewhere:
        raise InputError(
            f"--label {wanted.label} cannot be a column of {path}, whose columns are points with --transpose; pass the "
            "label in another file with --metadata."
        )
    texts = [field.name for field in table.metadata.schema if pa.types.is_string(field.type)]
    by = table.id if table.id is not None else next(iter(texts), None)
    X = table.X.T.tocsr() if sparse.issparse(table.X) else np.ascontiguousarray(table.X.T)
    names = numbered_names(X.shape[1]) if by is None else _row_names(path, table, by)
    points = table.columns
    if named and wanted.exclude is not None:  # the columns of an array have numbers, as its rows do
        excluded = _excluded(path, wanted.exclude, table, names)
        rows = [row for row, point in enumerate(points) if point not in excluded]
        X, points = X[rows], [points[row] for row in rows]
        wanted = replace(wanted, exclude=[name for name in names if name in excluded])
    X, names = select_features(path, X, names, wanted)
    ignored = [name for name in table.metadata.column_names if name != by]
    notes = [*table.notes, f"transposed: {X.shape[0]:,} columns of {path} are the points"]
    if by is not None:
        notes.append(f"column {by!r} names the features")
    if ignored:
        notes.append(f"ignored {first_few(ignored)}, which {'does' if len(ignored) == 1 else 'do'} not describe points")
    metadata = pa.table({POINT: pa.array(points)}) if named else no_metadata(X.shape[0])
    return Table(X, names, metadata, POINT if named else None, None, notes)


def _excluded(path: Path, patterns: Sequence[str], table: Table, features: list[str]) -> set[str]:
    """Return the names of the points, features and other columns of a file to leave out."""
    known = [*table.metadata.column_names, *table.columns, *features]
    excluded = set(matching_columns(path, patterns, known, known))
    if excluded.issuperset(table.columns):
        raise InputError(f"--exclude leaves out all {len(table.columns)} points of {path}; exclude fewer columns.")
    return excluded


def _row_names(path: Path, table: Table, by: str) -> list[str]:
    """Return the names of the rows, which must be unique."""
    column = table.metadata.column(by).cast(pa.string())
    if column.null_count:
        place = table.place(pc.index(pc.is_null(column), True).as_py())
        raise InputError(f"{place} of {path} has no name in column {by!r}, so it cannot be a feature; add one.")
    names: list[str] = column.to_pylist()
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise InputError(f"{path} has more than one row called {twice!r} in column {by!r}; make the names unique.")
    return names
