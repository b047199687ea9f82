"""A table of points: numbers to lay out, and what is known of them beside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import sparse

from ..errors import InputError, did_you_mean

ID_NAMES = ("", "id", "index", "unnamed: 0", "__index_level_0__")  # numbers in them count rows, they measure nothing
WHOLE = r"^(0|-?[1-9][0-9]{0,17})$"
DECIMAL = r"^-?(0|[1-9][0-9]*)([.][0-9]+)?(e[-+]?[0-9]+)?$"
GROWTH = 1.1  # of the space for rows, when more of them come than it holds
FEW_ROWS = 5  # too few to tell a count from a measure
LABEL_NAMES = ("label", "labels", "class", "target", "cluster")


@dataclass
class Table:
    """Points and their metadata, row by row.

    Attributes
    ----------
    X : ndarray or sparse matrix of shape (n, p)
        The numbers.
    columns : list of str
        Names of the columns of X.
    metadata : pyarrow.Table
        Other columns, labels and ids among them.
    id, label : str or None
        The metadata column that names the points, and the one that groups them.
    rep : str or None
        Of an H5AD file, what X is.
    notes : list of str
        What the reader decided that its user may want to know.
    """

    X: Any
    columns: list[str]
    metadata: pa.Table
    id: str | None = None
    label: str | None = None
    notes: list[str] = field(default_factory=list)
    rep: str | None = None

    def keep(self, name: str) -> None:
        """Have a column of X among the metadata."""
        X, place = self.X, self.columns.index(name)
        values = X.tocsc()[:, [place]].toarray() if sparse.issparse(X) else np.asarray(X[:, place])
        self.metadata = self.metadata.append_column(name, pa.array(values.ravel().astype(float)))

    def values(self, name: str) -> NDArray[Any]:
        """A column of the metadata as an array."""
        return column_values(self.metadata, name)


@dataclass(frozen=True)
class Wanted:
    """Columns the user asked for by name; None leaves the choice to the file."""

    columns: list[str] | None = None
    label: str | None = None
    id: str | None = None
    leading: Callable[[list[str]], list[str]] | None = None  # chooses among the first columns
    of_model: bool = False  # the columns are those that a model was made of: all are needed

    @property
    def remedy(self) -> str:
        """Of a cell that is not a finite number."""
        return "fill it in, " + (
            "or drop the row" if self.of_model else "drop the row, or leave the column out with --columns"
        )


@dataclass(frozen=True)
class Plan:
    """Which columns of a file are features, which metadata."""

    features: list[str]
    metadata: list[str]
    id: str | None
    label: str | None
    notes: list[str]
    wanted: Wanted


def column_values(table: pa.Table, name: str) -> NDArray[Any]:
    """A column as an array."""
    if name not in table.column_names:
        raise InputError(f"no column is called {name!r}; {did_you_mean(name, table.column_names)}")
    column = table.column(name)
    if pa.types.is_dictionary(column.type):  # of which NumPy would take missing values for the last category
        column = column.cast(column.type.value_type)
    return np.asarray(column.to_numpy())


def is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def plan_columns(path: Any, schema: pa.Schema, wanted: Wanted) -> Plan:
    """Decide what every column is for."""
    names = schema.names
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise InputError(f"{path} has two columns called {twice!r}; rename one.")
    for name in [*(wanted.columns or []), wanted.label, wanted.id]:
        if name is not None and name not in names:
            model = ", which the model was made with" if wanted.of_model and name in (wanted.columns or []) else ""
            raise InputError(f"{path} has no column {name!r}{model}; {did_you_mean(name, names)}")
    notes: list[str] = []
    id = wanted.id
    if id is None:
        id = next((name for name in names if name.lower() in ID_NAMES and name not in (wanted.columns or [])), None)
        if id is not None:
            notes.append(f"column {id!r} names the rows")
    features = _features(path, schema, wanted, id)
    nested = [name for name in names if pa.types.is_nested(schema.field(name).type)]
    if nested:
        notes.append(f"left out {', '.join(map(repr, nested))}: lists have no place in a table")
    if wanted.columns is None and wanted.label is None:
        notes += [
            f"column {name!r} is used as a number; if it is a label, say --label {name}"
            for name in features
            if name.lower() in LABEL_NAMES
        ]
    left = {*features, *nested}
    others = [name for name in names if name not in left]
    return Plan(features, others, id, wanted.label, notes, wanted)


def _features(path: Any, schema: pa.Schema, wanted: Wanted, id: str | None) -> list[str]:
    if wanted.columns is not None:
        for name in wanted.columns:
            if not is_number(schema.field(name).type):
                remedy = "the model needs them: mend it" if wanted.of_model else "leave it out of --columns"
                raise InputError(f"column {name!r} of {path} is not made of numbers; {remedy}.")
            if name in (wanted.label, wanted.id):
                where = "among those of the model" if wanted.of_model else "in --columns"
                raise InputError(f"column {name!r} is {where} and is the label or the id too; choose one.")
        return list(dict.fromkeys(wanted.columns))
    if wanted.leading is not None:
        found = wanted.leading(schema.names)
        if not found:
            raise InputError(f"{path} does not begin with columns x and y; name the coordinates with --coordinates.")
        return found
    features = [field.name for field in schema if is_number(field.type) and field.name not in (id, wanted.label)]
    if not features:
        raise InputError(f"{path} has no column of numbers to lay out; its columns are {_few(schema.names)}.")
    return features


def assemble(path: Any, batches: Iterable[pa.RecordBatch], plan: Plan) -> Table:
    """Read all rows, holding the numbers once."""
    X = np.empty((0, len(plan.features)))
    others: list[pa.RecordBatch] = []
    n = 0
    for batch in batches:
        stop = n + batch.num_rows
        if stop > len(X):  # moved by the system, not copied, where it is large
            X.resize((int(GROWTH * stop), X.shape[1]), refcheck=False)
        _fill(X[n:stop], path, batch, plan, n)
        others.append(batch.select(plan.metadata))
        n = stop
    if n == 0:
        raise InputError(f"{path} has 0 rows; there is nothing to lay out.")
    X.resize((n, X.shape[1]), refcheck=False)
    metadata = pa.Table.from_batches(others) if plan.metadata else no_metadata(n)
    notes = [
        f"column {name!r} is used as a number; if it names the rows, say --id {name}"
        for j, name in enumerate(plan.features)
        if plan.id is None and plan.wanted.columns is None and _counts_rows(name, X[:, j])
    ]
    return Table(X, plan.features, metadata, plan.id, plan.label, plan.notes + notes)


def _counts_rows(name: str, x: NDArray[Any]) -> bool:
    """Whether numbers look like names of rows: one after another, or all different in a column called so."""
    if len(x) < FEW_ROWS or (x[:FEW_ROWS] % 1.0).any():  # most columns end here
        return False
    if (np.diff(x) == 1.0).all():
        return True
    return name.lower().endswith("id") and not (x % 1.0).any() and len(np.unique(x)) == len(x)


def no_metadata(n: int) -> pa.Table:
    """A table of n rows without columns."""
    return pa.table({"row": pa.nulls(n)}).select([])


def tighten(table: pa.Table) -> pa.Table:
    """Columns of text that are all whole numbers, or all numbers, as such."""
    for i, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        if pa.types.is_string(column.type):
            table = table.set_column(i, name, _as_numbers(column))
    return table


def check_ids(path: Any, table: Table) -> None:
    """Raise where two points have one name, or one has none."""
    if table.id is None:
        return
    ids = table.metadata.column(table.id)
    if ids.null_count:
        row = pc.index(pc.is_null(ids), True).as_py() + 1
        raise InputError(f"row {row} of {path} has no id in column {table.id!r}; give it one, or choose another --id.")
    counts = pc.value_counts(ids)
    repeated = counts.filter(pc.greater(counts.field("counts"), 1))
    if len(repeated):
        first = repeated[0]["values"]
        rows = np.flatnonzero(pc.equal(ids, first).to_numpy())[:2] + 1
        raise InputError(
            f"id {first.as_py()!r} is in rows {rows[0]} and {rows[1]} of {path} (column {table.id!r}); "
            "ids must differ: mend them, or choose another --id."
        )


def _as_numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Text as whole numbers, or as numbers, if nothing is lost: '007', '1E2' and '1.10' beside '1.1' are names."""
    if column.null_count == len(column):
        return column
    for kind, form in ((pa.int64(), WHOLE), (pa.float64(), DECIMAL)):
        if pc.all(pc.match_substring_regex(column, form)).as_py():
            numbers = column.cast(kind)
            return numbers if pc.count_distinct(numbers).as_py() == pc.count_distinct(column).as_py() else column
    return column


def _fill(block: NDArray[Any], path: Any, batch: pa.RecordBatch, plan: Plan, before: int) -> None:
    """Copy the features of a batch, which must be finite."""
    for j, name in enumerate(plan.features):
        column = batch.column(name)
        if pa.types.is_decimal(column.type):
            column = column.cast(pa.float64())
        block[:, j] = column.to_numpy(zero_copy_only=False)
    if not np.isfinite(block).all():
        row, j = np.argwhere(~np.isfinite(block))[0]
        what = "is empty or not a number" if np.isnan(block[row, j]) else "is infinite"
        raise InputError(f"{path}: row {before + row + 1}, column {plan.features[j]!r} {what}; {plan.wanted.remedy}.")


def _few(names: list[str]) -> str:
    return ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")
