"""Count missing features, and drop their rows, leave them to be filled in, or raise an error."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from ..errors import InputError
from ..geometry.point_blocks import PASS_ROWS_AT_ONCE, PointBlocks

if TYPE_CHECKING:
    from .table import Table, Wanted

Rule = Literal["error", "drop", "median"]
FEW = 6  # columns to list with their numbers of missing values


@dataclass(frozen=True)
class MissingValues:
    """Missing features of a table.

    Attributes
    ----------
    rule : {"drop", "median"}
        What was done about them.
    n_rows : int
        Number of rows with at least one missing value.
    columns : dict of str to int
        Number of missing values by column, without columns that have none.
    """

    rule: Rule
    n_rows: int
    columns: dict[str, int]

    @property
    def n_values(self) -> int:
        """Number of missing values."""
        return sum(self.columns.values())


def settle_missing(path: Path, table: Table, wanted: Wanted) -> None:
    """Apply the rule for missing values; raise for infinite ones.

    With the rule "median", values stay missing here: `snekhorn.geometry.preprocessing.Preprocessing` fills them in, so
    that new points get the same medians.
    """
    X, rule = table.X, wanted.missing
    if isinstance(X, PointBlocks):  # checked when they are read
        if rule != "error":
            raise InputError(
                f"--missing {rule} does not apply to {path}, because it is read by blocks; fill in its missing values, "
                "or drop their rows, before."
            )
        return
    if X.dtype.kind != "f":
        return
    columns, rows = _count(path, table)
    found = MissingValues(rule, int(rows.sum()), {table.columns[j]: int(columns[j]) for j in np.flatnonzero(columns)})
    if not found.columns:
        return
    if rule == "error":
        raise _error(path, table, rows, found, wanted)
    if rule == "median":
        if sparse.issparse(X):
            raise InputError(
                f"{path} has {_listed(found)}, but --missing median does not apply to sparse points; pass --missing "
                "drop."
            )
        filled = "the medians of the model" if wanted.of_model else "the median of their column"
        table.notes.append(f"{_listed(found)} filled in with {filled}")
    else:
        if rows.all():
            raise InputError(f"every row of {path} has missing values ({_listed(found)}); pass --missing median.")
        table.notes.append(f"{found.n_rows:,} of {len(rows):,} rows left out: {_listed(found)}")
        table.X = X[~rows]
        table.metadata = table.metadata.filter(pa.array(~rows)) if table.metadata.num_columns else table.metadata
    table.missing = found


def _count(path: Path, table: Table) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the number of missing values of each column, and which rows have any; raise for infinite values."""
    X = table.X
    n, p = X.shape
    columns, rows = np.zeros(p, np.int64), np.zeros(n, np.bool_)
    if sparse.issparse(X):
        entries = X.tocoo()
        _check_infinite(path, table, entries.data, entries.row, entries.col)
        holes = np.isnan(entries.data)
        np.add.at(columns, entries.col[holes], 1)
        rows[entries.row[holes]] = True
        return columns, rows
    for start in range(0, n, PASS_ROWS_AT_ONCE):
        block = X[start : start + PASS_ROWS_AT_ONCE]
        if np.isfinite(block).all():
            continue
        i, j = np.nonzero(~np.isfinite(block))
        _check_infinite(path, table, block[i, j], i + start, j)
        np.add.at(columns, j, 1)
        rows[i + start] = True
    return columns, rows


def _check_infinite(path: Path, table: Table, values: Any, rows: Any, columns: Any) -> None:
    at = np.flatnonzero(np.isinf(values))
    if at.size:
        place, name = table.place(int(rows[at[0]])), table.columns[columns[at[0]]]
        raise InputError(
            f"{path}: the value in {place}, column {name!r} is infinite; fix it, drop the row, or leave out the "
            "column with --exclude."
        )


def _error(path: Path, table: Table, rows: NDArray[np.bool_], found: MissingValues, wanted: Wanted) -> InputError:
    place = table.place(int(np.flatnonzero(rows)[0]))
    if found.n_values == 1:
        (name,) = found.columns
        problem = f"{path}: the value in {place}, column {name!r} is empty or not a number"
        remedy = "fill it in or drop the row" if wanted.of_model else "fill it in, or pass --missing drop or median"
    else:
        problem = f"{path}: {_listed(found)}, the first in {place}"
        remedy = "fill them in or drop the rows"
        if not wanted.of_model:
            left = f"--missing drop to leave out {found.n_rows:,} of {len(rows):,} rows"
            remedy = f"pass {left}, --missing median to fill them in, or leave out columns with --exclude"
    return InputError(f"{problem}; {remedy}.")


def _listed(found: MissingValues) -> str:
    """Return the numbers of missing values by column, the largest first."""
    ordered = sorted(found.columns.items(), key=lambda item: -item[1])
    texts = [f"{count:,} in {name!r}" for name, count in ordered[:FEW]]
    more = f" and {len(ordered) - FEW:,} more columns" if len(ordered) > FEW else ""
    noun = "value" if found.n_values == 1 else "values"
    return f"{found.n_values:,} missing {noun} ({', '.join(texts)}{more})"
