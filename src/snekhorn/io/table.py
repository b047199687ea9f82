"""Hold points in a table: features to embed, and metadata."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from ..errors import InputError, did_you_mean, first_few, option_text
from ..geometry.point_blocks import PointBlocks
from ..runtime.memory import require_memory
from .column_choice import choose_features
from .missing_values import MissingValues, Rule
from .vector_columns import check_vector, is_vector, vector_names, vector_values, vector_width

ID_NAMES = ("", "id", "index", "unnamed: 0", "__index_level_0__")  # numbers in these columns are row numbers
GROWTH = 1.1  # growth factor of a full array; larger wastes memory, smaller copies more often


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
    missing : MissingValues or None
        Missing features, if there were any.
    elsewhere : frozenset of str
        Columns of the metadata that come from another file.
    doubtful : list of str
        Features that are probably ids, dates or codes, about which there are notes.
    lists : list of str
        Columns of lists of numbers, which are ignored.
    integers : list of str
        Features that are whole numbers by the type of the column.
    lines : callable or None
        For text files, returns the line numbers of rows as they were read.
    """

    X: Any
    columns: list[str]
    metadata: pa.Table
    id: str | None = None
    label: str | None = None
    notes: list[str] = field(default_factory=list)
    rep: str | None = None
    missing: MissingValues | None = None
    elsewhere: frozenset[str] = frozenset()
    doubtful: list[str] = field(default_factory=list)
    lists: list[str] = field(default_factory=list)
    integers: list[str] = field(default_factory=list)
    lines: Callable[[Sequence[int]], list[int]] | None = None

    def place(self, *rows: int) -> str:
        """Return where rows, counted from 0, are in the file: "line 7" of text, which has a header, else "row 6"."""
        word, numbers = ("row", [row + 1 for row in rows]) if self.lines is None else ("line", self.lines(rows))
        return f"{word}{'s' * (len(numbers) > 1)} {' and '.join(map(str, numbers))}"

    def with_features(self, names: Iterable[str]) -> pa.Table:
        """Return the metadata with these columns of X, unless they are among the metadata."""
        table = self.metadata
        for name in names:
            if name not in table.column_names:
                column = pa.array(feature_values(self.X, self.columns.index(name)), from_pandas=True)
                table = table.append_column(name, column) if table.num_columns else pa.table({name: column})
        return table

    def values(self, name: str) -> NDArray[Any]:
        """Return a column of the metadata as an array."""
        return column_values(self.metadata, name)


@dataclass(frozen=True)
class Wanted:
    """What the user requested of a file; None means choose automatically.

    Attributes
    ----------
    columns, exclude : list of str or None
        Features, and columns that are no features: names, or patterns such as "gene*".
    label, id : str or None
        Columns that hold the classes and the names of the points.
    vector : str or None
        Column, or array of an NPZ file, that holds the points.
    missing : {"error", "drop", "median"}
        What to do with missing features.
    colors : tuple of str
        Columns to keep in the metadata even if they are neither features nor metadata: the genes of an H5AD file.
    leading : callable or None
        Chooses the features, given the names of all columns.
    of_model : bool
        Whether `columns` are the features of a saved model, all of which are needed.
    elsewhere : frozenset of str
        Columns that come from another file, so that the label and the id may be among them.
    transpose : bool
        Whether the columns of the file are the points, so that the id names features.
    """

    columns: list[str] | None = None
    label: str | None = None
    id: str | None = None
    leading: Callable[[list[str]], list[str]] | None = None
    of_model: bool = False
    exclude: list[str] | None = None
    vector: str | None = None
    missing: Rule = "error"
    colors: tuple[str, ...] = ()
    elsewhere: frozenset[str] = frozenset()
    transpose: bool = False

    def check_roles(self, path: Path, names: Iterable[str], *, kind: str = "column") -> None:
        """Raise if the label or the id is not among these columns."""
        known = list(names)
        for name in (self.label, self.id):
            if name is not None and name not in known and name not in self.elsewhere:
                others = sorted(self.elsewhere)
                if not known and not others:
                    raise InputError(f"{path} has no named columns, so none is {name!r}; pass a table as --metadata.")
                either = f"{path} and its metadata have" if others else f"{path} has"
                raise InputError(f"{either} no {kind} {name!r}; {did_you_mean(name, [*others, *known])}")


@dataclass(frozen=True)
class Plan:
    """Assignment of the columns of a file to features and metadata; a vector becomes features when it is read."""

    features: list[str]
    metadata: list[str]
    id: str | None
    label: str | None
    notes: list[str]
    vector: str | None = None
    lists: list[str] = field(default_factory=list)
    integers: list[str] = field(default_factory=list)

    @property
    def read_columns(self) -> list[str]:
        """Columns to read."""
        return [*([self.vector] if self.vector else self.features), *self.metadata]


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


def feature_values(X: Any, place: int) -> NDArray[Any]:
    """Return a column of the features."""
    if isinstance(X, PointBlocks):
        values = X.column(place)
    else:
        values = X.tocsc()[:, [place]].toarray() if sparse.issparse(X) else np.asarray(X[:, place])
    return values.ravel().astype(float)


def decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the values of a column of categories; any other column as it is."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


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


def is_whole(kind: pa.DataType) -> bool:
    """Return whether a column of this type holds whole numbers."""
    return bool(pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.scale == 0))


def names_note(id: str) -> str:
    """Return the note about an id that was not requested."""
    return f"column {id!r} is used as the row names"


def no_metadata(n: int) -> pa.Table:
    """Return a table with n rows and no columns."""
    return pa.table({"row": pa.nulls(n)}).select([])


def plan_columns(path: Path, schema: pa.Schema, wanted: Wanted) -> Plan:
    """Decide how each column is used."""
    names = schema.names
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise InputError(f"{path} has more than one column called {twice!r}; rename the duplicates.")
    wanted.check_roles(path, names)
    notes: list[str] = []
    id = wanted.id if wanted.id in names else None
    if wanted.id is None:
        id = next((name for name in names if name.lower() in ID_NAMES and name not in (wanted.columns or [])), None)
        if id is not None and not wanted.transpose:
            notes.append(names_note(id))
    label = wanted.label if wanted.label in names else None
    lists = [name for name in names if pa.types.is_nested(schema.field(name).type) and name != wanted.vector]
    if wanted.vector is not None:
        features = _vector_features(path, schema, wanted)
    else:
        features = _features(path, schema, replace(wanted, id=id), lists)
    vectors = [name for name in lists if is_vector(schema.field(name).type)]
    if vectors and wanted.leading is None and wanted.vector is None:
        notes.append(f"ignored {first_few(vectors)}; {_vector_hint(vectors[0])}")
    if ignored := [name for name in lists if name not in vectors or wanted.vector is not None]:
        notes.append(f"ignored {first_few(ignored)}: metadata cannot be lists")
    used = {*features, *lists, wanted.vector}
    others = [name for name in names if name not in used]
    integers = [name for name in features if is_whole(schema.field(name).type)]
    return Plan(features, others, id, label, notes, wanted.vector, vectors, integers)


def _vector_features(path: Path, schema: pa.Schema, wanted: Wanted) -> list[str]:
    """Check the column of vectors; its features have no names before it is read."""
    name = str(wanted.vector)
    if name not in schema.names:
        raise InputError(f"{path} has no column {name!r}; {did_you_mean(name, schema.names)}")
    if wanted.exclude is not None or (wanted.columns is not None and not wanted.of_model):
        raise InputError(f"--vector {name} uses no other columns as features; omit --columns and --exclude.")
    if name in (wanted.label, wanted.id):
        raise InputError(f"column {name!r} is the vector, but it is also the label or the id; use it for one purpose.")
    check_vector(path, schema, name)
    return []


def _vector_hint(name: str) -> str:
    return f"to lay out lists of numbers, pass {option_text('--vector', name)}"


def _features(path: Path, schema: pa.Schema, wanted: Wanted, lists: list[str]) -> list[str]:
    numeric = [field.name for field in schema if is_number(field.type)]
    if wanted.leading is not None:
        found = wanted.leading(schema.names)
        if not found:
            raise InputError(f"{path} does not start with columns x and y; name the coordinates with --coordinates.")
        for name in found:
            if name not in numeric:
                raise InputError(
                    f"column {name!r} of {path} does not contain numbers; name the coordinates with --coordinates."
                )
        return found
    features = choose_features(path, schema.names, numeric, wanted)
    known = set(numeric)
    for name in features:
        if name not in known:
            remedy = "the model requires this column to be numeric" if wanted.of_model else "leave it out of --columns"
            raise InputError(f"column {name!r} of {path} does not contain numbers; {remedy}.")
        if name in (wanted.label, wanted.id):
            use = "a feature of the model" if wanted.of_model else "in --columns"
            raise InputError(
                f"column {name!r} is {use}, but it is also the label or the id; use it for only one purpose."
            )
    if not features and wanted.columns is None:
        vectors = [name for name in lists if is_vector(schema.field(name).type)]
        remedy = _vector_hint(vectors[0]) if vectors else "add a numeric column"
        raise InputError(
            f"{path} has no numeric columns to use as features; its columns are {first_few(schema.names)}; {remedy}."
        )
    return features


def assemble(path: Path, batches: Iterable[pa.RecordBatch], plan: Plan) -> Table:
    """Read all batches into one table, with a single copy of the features in memory."""
    features = list(plan.features)
    X = np.empty((0, len(features)))
    others: list[pa.RecordBatch] = []
    n = 0
    for batch in batches:
        batch.validate(full=True)  # loops of Arrow trust the offsets and indices of a file
        if plan.vector is not None and not features:
            width = vector_width(path, plan.vector, batch.column(plan.vector))
            if width is None and batch.num_rows:
                raise InputError(f"{path} starts with {batch.num_rows:,} rows without a list in {plan.vector!r}.")
            features = vector_names(plan.vector, width or 0)
            X = np.empty((0, len(features)))
        stop = n + batch.num_rows
        if stop > len(X):  # growing a large array does not copy it: the system remaps its pages
            n_rows = int(GROWTH * stop)
            require_memory(8.0 * (n_rows - len(X)) * X.shape[1], f"reading {path}", "use fewer rows or columns")
            X.resize((n_rows, X.shape[1]), refcheck=False)
        if plan.vector is not None:
            X[n:stop] = vector_values(path, plan.vector, batch.column(plan.vector), X.shape[1], n)
        for j, name in enumerate(plan.features):
            X[n:stop, j] = as_numbers(batch.column(name))
        others.append(batch.select(plan.metadata))
        n = stop
    if n == 0:
        raise InputError(f"{path} has 0 rows; pass a file with points.")
    X.resize((n, X.shape[1]), refcheck=False)
    metadata = pa.Table.from_batches(others) if plan.metadata else no_metadata(n)
    return Table(X, features, metadata, plan.id, plan.label, plan.notes, lists=plan.lists, integers=plan.integers)


def as_numbers(column: pa.Array) -> NDArray[Any]:
    """Return a numeric column as an array, with NaN for missing values."""
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    return np.asarray(column.to_numpy(zero_copy_only=False))
