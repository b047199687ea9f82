"""Hold points in a table: features to embed, and metadata."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import sparse

from ..errors import InputError, did_you_mean
from ..geometry.point_blocks import PointBlocks
from ..runtime.memory import require_memory

ID_NAMES = ("", "id", "index", "unnamed: 0", "__index_level_0__")  # numbers in these columns are row numbers
LABEL_NAMES = ("label", "labels", "class", "target", "cluster")
GROWTH = 1.1  # growth factor of a full array; larger wastes memory, smaller copies more often
PALETTE = b"palette"  # key of the colours of categories in the metadata of a field
MIN_COUNTED_ROWS = 5  # with fewer rows, consecutive numbers may be measurements


@dataclass
class Table:
    """Points and their metadata, one row per point.

    Attributes
    ----------
    X : ndarray, sparse matrix or PointBlocks of shape (n, p)
        The features.
    columns : list of str
        Names of the columns of X.
    metadata : pyarrow.Table
        All other columns, including the label and the id.
    id, label : str or None
        Metadata columns that hold the names and the classes of the points.
    notes : list of str
        Decisions made while reading that the user may want to know about.
    rep : str or None
        For H5AD files, the source of X: "X" or an entry of obsm.
    """

    X: Any
    columns: list[str]
    metadata: pa.Table
    id: str | None = None
    label: str | None = None
    notes: list[str] = field(default_factory=list)
    rep: str | None = None

    def keep(self, name: str) -> None:
        """Copy a column of X to the metadata."""
        X, place = self.X, self.columns.index(name)
        if isinstance(X, PointBlocks):
            values = X.column(place)
        else:
            values = X.tocsc()[:, [place]].toarray() if sparse.issparse(X) else np.asarray(X[:, place])
        self.metadata = self.metadata.append_column(name, pa.array(values.ravel().astype(float)))

    def values(self, name: str) -> NDArray[Any]:
        """Return a column of the metadata as an array."""
        return column_values(self.metadata, name)


@dataclass(frozen=True)
class Wanted:
    """Columns that the user requested; None means choose automatically."""

    columns: list[str] | None = None
    label: str | None = None
    id: str | None = None
    leading: Callable[[list[str]], list[str]] | None = None  # chooses the features, given the names of all columns
    of_model: bool = False  # whether `columns` are the features of a saved model, all of which are needed

    @property
    def remedy(self) -> str:
        """Remedy for a value that is not a finite number."""
        if self.of_model:
            return "fill it in or drop the row"
        return "fill it in, drop the row, or leave out the column with --columns"


@dataclass(frozen=True)
class Plan:
    """Assignment of the columns of a file to features and metadata."""

    features: list[str]
    metadata: list[str]
    id: str | None
    label: str | None
    notes: list[str]
    wanted: Wanted


@contextmanager
def reading(path: Path, kind: str) -> Iterator[None]:
    """Report any exception as an error that names the file: what damaged bytes make a library raise cannot be listed.

    `kind` is the format that the suffix of the file suggests.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        name = type(error).__name__
        text = (str(error).splitlines() or [name])[0].rstrip(".")[:120]
        reason = text if isinstance(error, OSError | ValueError) else f"{name}: {text}"
        raise InputError(
            f"{path} cannot be read as {kind}, the format that its suffix suggests ({reason}); create it again."
        ) from error


def column_values(table: pa.Table, name: str) -> NDArray[Any]:
    """Return a column as an array."""
    if name not in table.column_names:
        raise InputError(f"there is no column {name!r}; {did_you_mean(name, table.column_names)}")
    column = table.column(name)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _texts(column)
    return np.asarray(column.cast(kind).to_numpy())  # NumPy would turn missing categories into the last one


def _texts(column: pa.ChunkedArray) -> NDArray[Any]:
    """Return text as objects, of which equal ones are the same; millions of separate ones would fill the memory."""
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    chunks = encoded.unify_dictionaries().chunks
    if not chunks:
        return np.empty(0, dtype=object)
    values = np.array([*chunks[0].dictionary.to_pylist(), None], dtype=object)
    missing = len(values) - 1
    return np.concatenate([values[chunk.indices.fill_null(missing).to_numpy()] for chunk in chunks])


def is_number(kind: pa.DataType) -> bool:
    """Return whether a column of this type can be a feature."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def palette_of(metadata: pa.Table, name: str) -> dict[str, str] | None:
    """Return the colours of the categories of a column, if the file has any."""
    stored = (metadata.schema.field(name).metadata or {}).get(PALETTE)
    return None if stored is None else dict(json.loads(stored))


def no_metadata(n: int) -> pa.Table:
    """Return a table with n rows and no columns."""
    return pa.table({"row": pa.nulls(n)}).select([])


def plan_columns(path: Path, schema: pa.Schema, wanted: Wanted) -> Plan:
    """Decide how each column is used."""
    names = schema.names
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise InputError(f"{path} has more than one column called {twice!r}; rename the duplicates.")
    for name in [*(wanted.columns or []), wanted.label, wanted.id]:
        if name is not None and name not in names:
            model = ", which the model needs" if wanted.of_model and name in (wanted.columns or []) else ""
            raise InputError(f"{path} has no column {name!r}{model}; {did_you_mean(name, names)}")
    notes: list[str] = []
    id = wanted.id
    if id is None:
        id = next((name for name in names if name.lower() in ID_NAMES and name not in (wanted.columns or [])), None)
        if id is not None:
            notes.append(f"column {id!r} is used as the row names")
    features = _features(path, schema, wanted, id)
    nested = [name for name in names if pa.types.is_nested(schema.field(name).type)]
    if nested:
        notes.append(f"ignored {', '.join(map(repr, nested))}: list columns are not supported")
    if wanted.columns is None and wanted.label is None:
        notes += [
            f"column {name!r} is used as a feature; if it holds classes, pass --label {name}"
            for name in features
            if name.lower() in LABEL_NAMES
        ]
    excluded = {*features, *nested}
    others = [name for name in names if name not in excluded]
    return Plan(features, others, id, wanted.label, notes, wanted)


def _features(path: Path, schema: pa.Schema, wanted: Wanted, id: str | None) -> list[str]:
    if wanted.columns is not None:
        for name in wanted.columns:
            if not is_number(schema.field(name).type):
                remedy = (
                    "the model requires this column to be numeric" if wanted.of_model else "leave it out of --columns"
                )
                raise InputError(f"column {name!r} of {path} does not contain numbers; {remedy}.")
            if name in (wanted.label, wanted.id):
                use = "a feature of the model" if wanted.of_model else "in --columns"
                raise InputError(
                    f"column {name!r} is {use}, but it is also the label or the id; use it for only one purpose."
                )
        return list(dict.fromkeys(wanted.columns))
    if wanted.leading is not None:
        found = wanted.leading(schema.names)
        if not found:
            raise InputError(f"{path} does not start with columns x and y; name the coordinates with --coordinates.")
        for name in found:
            if not is_number(schema.field(name).type):
                raise InputError(
                    f"column {name!r} of {path} does not contain numbers; name the coordinates with --coordinates."
                )
        return found
    features = [field.name for field in schema if is_number(field.type) and field.name not in (id, wanted.label)]
    if not features:
        few = ", ".join(map(repr, schema.names[:8])) + (", ..." if len(schema.names) > 8 else "")
        raise InputError(f"{path} has no numeric columns to use as features; its columns are {few}.")
    return features


def assemble(path: Path, batches: Iterable[pa.RecordBatch], plan: Plan) -> Table:
    """Read all batches into one table, with a single copy of the features in memory."""
    X = np.empty((0, len(plan.features)))
    others: list[pa.RecordBatch] = []
    n = 0
    for batch in batches:
        batch.validate(full=True)  # loops of Arrow trust the offsets and indices of a file
        stop = n + batch.num_rows
        if stop > len(X):  # growing a large array does not copy it: the system remaps its pages
            n_rows = int(GROWTH * stop)
            require_memory(8.0 * (n_rows - len(X)) * X.shape[1], f"reading {path}", "use fewer rows or columns")
            X.resize((n_rows, X.shape[1]), refcheck=False)
        _fill(X[n:stop], path, batch, plan, n)
        others.append(batch.select(plan.metadata))
        n = stop
    if n == 0:
        raise InputError(f"{path} has 0 rows; pass a file with points.")
    X.resize((n, X.shape[1]), refcheck=False)
    metadata = pa.Table.from_batches(others) if plan.metadata else no_metadata(n)
    notes = [
        f"column {name!r} is used as a feature; if it names the rows, pass --id {name}"
        for j, name in enumerate(plan.features)
        if plan.id is None and plan.wanted.columns is None and _counts_rows(name, X[:, j])
    ]
    return Table(X, plan.features, metadata, plan.id, plan.label, plan.notes + notes)


def _fill(block: NDArray[Any], path: Path, batch: pa.RecordBatch, plan: Plan, n_before: int) -> None:
    """Copy the features of a batch; raise an error if one is not finite."""
    for j, name in enumerate(plan.features):
        block[:, j] = as_numbers(batch.column(name))
    if not np.isfinite(block).all():
        row, j = np.argwhere(~np.isfinite(block))[0]
        problem = "is empty or not a number" if np.isnan(block[row, j]) else "is infinite"
        raise InputError(
            f"{path}: the value in row {n_before + row + 1}, column {plan.features[j]!r} {problem}; "
            f"{plan.wanted.remedy}."
        )


def as_numbers(column: pa.Array) -> NDArray[Any]:
    """Return a numeric column as an array, with NaN for missing values."""
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _counts_rows(name: str, x: NDArray[Any]) -> bool:
    """Return whether a feature looks like row names: consecutive numbers, or unique ones in a column called ...id."""
    if len(x) < MIN_COUNTED_ROWS or (x[:MIN_COUNTED_ROWS] % 1.0).any():  # quick answer for most columns
        return False
    if (np.diff(x) == 1.0).all():
        return True
    return name.lower().endswith("id") and not (x % 1.0).any() and len(np.unique(x)) == len(x)


def check_ids(path: Path, table: Table) -> None:
    """Raise an error if an id is missing or duplicated."""
    if table.id is None:
        return
    ids = table.metadata.column(table.id)
    if ids.null_count:
        row = pc.index(pc.is_null(ids), True).as_py() + 1
        raise InputError(f"row {row} of {path} has no id in column {table.id!r}; add one, or choose another --id.")
    counts = pc.value_counts(ids)
    repeated = counts.filter(pc.greater(counts.field("counts"), 1))
    if len(repeated):
        first = repeated[0]["values"]
        rows = np.flatnonzero(pc.equal(ids, first).to_numpy())[:2] + 1
        raise InputError(
            f"{path} has the id {first.as_py()!r} in rows {rows[0]} and {rows[1]} of column {table.id!r}; "
            "make ids unique, or choose another --id."
        )
