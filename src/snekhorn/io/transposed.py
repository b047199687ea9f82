"""Turn a table with one point per column, such as genes in rows, into one with one point per row."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from ..errors import InputError, first_few
from ..geometry.point_blocks import PointBlocks
from .matrix_files import numbered_names, select_features
from .table import Table, Wanted, no_metadata

POINT = "point"  # name of the column of point names


def transposed(path: Path, table: Table, wanted: Wanted, *, named: bool) -> Table:
    """Swap rows and columns: the names of the rows become those of the features, and the column names those of points.

    Rows are named by the id column or, if there is none, by the first column of text. `named` says whether the columns
    of the file have names.
    """
    if isinstance(table.X, PointBlocks):
        raise InputError(f"--transpose does not apply to {path}, because it is read by blocks; transpose it before.")
    for role, name in (("label", wanted.label), ("id", wanted.id)):
        if name is not None and name not in wanted.elsewhere:
            raise InputError(
                f"--{role} {name} cannot be a column of {path}, whose columns are points with --transpose; pass the "
                f"{role} in another file with --metadata."
            )
    texts = [field.name for field in table.metadata.schema if pa.types.is_string(field.type)]
    by = table.id if table.id is not None else next(iter(texts), None)
    X = table.X.T.tocsr() if sparse.issparse(table.X) else np.ascontiguousarray(table.X.T)
    names = numbered_names(X.shape[1]) if by is None else _row_names(path, table, by)
    X, names = select_features(path, X, names, wanted)
    ignored = [name for name in table.metadata.column_names if name != by]
    notes = [note for note in table.notes if "row names" not in note]
    notes.append(f"transposed: {X.shape[0]:,} columns of {path} are the points")
    if by is not None:
        notes.append(f"column {by!r} names the features")
    if ignored:
        notes.append(f"ignored {first_few(ignored)}, which do not describe points")
    metadata = pa.table({POINT: pa.array(table.columns)}) if named else no_metadata(X.shape[0])
    return Table(X, names, metadata, POINT if named else None, None, notes)


def _row_names(path: Path, table: Table, by: str) -> list[str]:
    """Return the names of the rows, which must be unique."""
    column = table.metadata.column(by).cast(pa.string())
    if column.null_count:
        row = pc.index(pc.is_null(column), True).as_py() + 1
        raise InputError(f"row {row} of {path} has no name in column {by!r}, so it cannot be a feature; add one.")
    names: list[str] = column.to_pylist()
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise InputError(f"{path} has more than one row called {twice!r} in column {by!r}; make the names unique.")
    return names
