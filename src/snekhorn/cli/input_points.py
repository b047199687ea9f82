"""Read the input points of a command and preprocess them: standardise, reduce to principal components."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ..errors import InputError, first_few, option_text
from ..geometry.point_blocks import MANY_COLUMNS, PointBlocks
from ..io.column_hints import MOST_CODES
from ..io.missing_values import Rule
from ..io.table import decoded
from ..io.table_files import has_numbered_columns
from .options import PreparationOptions, RoleOptions, split
from .session import Session

if TYPE_CHECKING:
    from ..geometry.preprocessing import Preprocessing
    from ..io import Table

FEW_ROWS = 10  # with fewer rows, distinct values do not show whether a column is a label or an id
MOST_KEPT = 2_000_000  # values of features that are written next to the metadata; more make large pages
UNEQUAL = 100.0  # ratio of standard deviations above which columns probably have different units


@dataclass(frozen=True)
class Source:
    """Input file and the roles of its columns."""

    path: Path
    columns: list[str] | None = None
    label: str | None = None
    id: str | None = None
    rep: str | None = None
    of_model: bool = False  # whether `columns` are the features of a saved model
    exclude: list[str] | None = None
    vector: str | None = None
    metadata: Path | None = None
    missing: Rule = "error"
    transpose: bool = False
    colors: tuple[str, ...] = ()  # genes of an H5AD file to add to the metadata

    @classmethod
    def of(cls, path: Path, options: RoleOptions, **others: Any) -> Source:
        """Build the source from the options of a command, in which columns are separated by commas."""
        lists = {name: split(getattr(options, name, None), f"--{name}") for name in ("columns", "exclude")}
        return cls(path, **{**vars(options), **lists, **others})

    @property
    def files(self) -> list[Path]:
        """Files to read."""
        return [self.path] if self.metadata is None else [self.path, self.metadata]

    def read(self) -> Table:
        from ..io import read_table

        options = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "path"}
        return read_table(self.path, **options)

    def column_names(self, table: Table) -> list[str] | None:
        """Return the column names, or None if the columns are only numbered."""
        chosen = self.columns is not None or self.exclude is not None
        return None if not chosen and has_numbered_columns(self.path) else table.columns

    def evaluate_command(self, layout: Path, *, standardize: bool, metric: str) -> str:
        """Return the command that scores a layout of these points in the same way."""
        words = [shlex.join(["snekhorn", "evaluate", str(self.path), str(layout)])]
        for name in ("columns", "exclude"):
            if (values := getattr(self, name)) is not None:
                words.append(option_text(f"--{name}", *values))
        for name in ("label", "id", "rep", "vector", "metadata"):
            if (value := getattr(self, name)) is not None:
                words.append(option_text(f"--{name}", str(value)))
        words += ["--missing", self.missing] if self.missing != "error" else []
        words += ["--transpose"] if self.transpose else []
        words += ["--standardize"] if standardize else []
        words += ["--metric", metric] if metric not in ("sqeuclidean", "euclidean") else []
        return " ".join(words)

    def facts(self, table: Table) -> dict[str, Any]:
        """Return what `transform` needs to read new points in the same way."""
        how = {"rep": table.rep, "vector": self.vector, "missing": self.missing if self.missing == "drop" else None}
        return {name: value for name, value in how.items() if value is not None}


@dataclass(frozen=True)
class Points:
    """Points to lay out.

    Parameters
    ----------
    table : Table
        The file as read.
    X : array or sparse matrix
        The features after preprocessing.
    preprocessing : Preprocessing or None
        Preprocessing to apply to new points; None if there is none, not even selecting columns by name.
    source : Source
        Where the points come from.
    dominant : str or None
        Feature that dominates the distances because of its units, if there is one.
    """

    table: Table
    X: Any
    preprocessing: Preprocessing | None
    source: Source
    dominant: str | None = None

    @property
    def n_components(self) -> int | None:
        """Number of principal components, if the columns were reduced."""
        return None if self.X.shape[1] == self.table.X.shape[1] else int(self.X.shape[1])

    @property
    def variance_kept(self) -> float | None:
        """Share of the variance that the principal components keep."""
        return None if self.preprocessing is None else self.preprocessing.variance_kept_

    def facts(self) -> dict[str, Any]:
        """Return what the layout was made from, as far as it is known: None for what does not apply."""
        standardize = self.preprocessing is not None and self.preprocessing.standardize
        return {"use_rep": self.table.rep, "n_pcs": self.n_components, "standardize": standardize or None}

    @property
    def scored_by_components(self) -> bool:
        """Whether scores compare a layout with the principal components, because the input is not in memory."""
        return self.n_components is not None and isinstance(self.table.X, PointBlocks)

    @property
    def caution(self) -> str:
        """What to keep in mind about the scores: features that are probably none, or that dominate; else empty."""
        if self.dominant is not None:
            return f"these scores depend mostly on column {self.dominant!r}; see the notes above"
        if doubtful := self.table.doubtful:
            one = len(doubtful) == 1
            named = f"column{'s' * (not one)} {first_few(doubtful)}"
            meant = "a feature" if one else "features"
            return f"these scores depend on {named}, probably not meant as {meant}; see the notes above"
        return ""

    def kept_features(self, colors: Iterable[str]) -> list[str]:
        """Return the features to write next to the metadata: all if they are few, otherwise those to colour by."""
        n, p = self.table.X.shape
        few = p <= MANY_COLUMNS and n * p <= MOST_KEPT and isinstance(self.table.X, np.ndarray)
        names = self.source.column_names(self.table) or []
        return list(dict.fromkeys([name for name in colors if name in self.table.columns] + (names if few else [])))

    def scored(self) -> Any:
        """Return the points that scores compare a layout with: the input, filled in and standardised if requested."""
        if self.preprocessing is None or self.n_components is None or self.scored_by_components:
            return self.X
        return self.preprocessing.before_reduction(self.table.X)


def named(path: Path) -> str:
    """Return a path as progress messages name it; the name of a folder alone may look like a part of the sentence."""
    return f"the folder {path}" if path.is_dir() else str(path)


def read_input(run: Session, source: Source, metric: str) -> Table:
    """Check the metric, read a file, and print notes about it."""
    from ..geometry.distance_metrics import check_metric

    check_metric(metric)
    with run.stage("read", f"reading {named(source.path)}"):
        table = source.read()
        for note in table.notes:
            run.note(note)
    note_odd_label(run, table)
    check_distances(source.path, table, metric)
    if table.X.shape[0] < 2:
        raise InputError(f"{source.path} has 1 row; a layout needs at least 2 points.")
    return table


def outline(X: Any, preparation: PreparationOptions) -> Any:
    """Return an array with the shape and type that points will have after `prepare_points`, but without memory.

    Points that stay as they are in memory are returned themselves.
    """
    n, p = X.shape
    n_components = _count_components(preparation)
    if isinstance(X, PointBlocks):
        return X.outline(n_components or None)
    if 0 < n_components < min(n, p):
        return np.broadcast_to(np.zeros((), np.float32), (n, n_components))
    return np.broadcast_to(np.zeros((), X.dtype), X.shape) if preparation.standardize else X


def _count_components(preparation: PreparationOptions) -> int:
    """Return the number of principal components to which more columns are reduced, or 0."""
    default = MANY_COLUMNS if preparation.metric in ("sqeuclidean", "euclidean") else 0
    return default if preparation.pca is None else preparation.pca


def prepare_points(
    run: Session,
    source: Source,
    table: Table,
    preparation: PreparationOptions,
    *,
    check_resources: Callable[[Any], None] | None = None,
) -> Points:
    """Standardise the columns of a table if requested, and reduce many columns to principal components.

    `check_resources` raises if points of this shape and type need too much memory. It is called before they are read,
    if they are read by blocks.
    """
    from ..geometry.preprocessing import Preprocessing

    metric, standardize, median = preparation.metric, preparation.standardize, source.missing == "median"
    n, p = table.X.shape
    n_components = _count_components(preparation)
    if isinstance(table.X, PointBlocks) and check_resources is not None:
        check_resources(outline(table.X, preparation))
    dominant = None if standardize else note_unequal_columns(run, table.X, table.columns, metric)
    preprocessing = Preprocessing(
        standardize=standardize,
        missing="median" if median else "error",
        n_components=n_components or None,
        random_state=preparation.seed,
        n_jobs=preparation.jobs,
    )
    names = source.column_names(table)
    if 0 < n_components < min(n, p):
        stage = f"reducing {columns_text(p)} to {n_components} principal components"
    elif standardize:
        stage = "standardising columns"
    elif median:
        stage = "filling in missing values"
    else:
        if names is not None:
            preprocessing.fit(table.X, feature_names=names)
        X = table.X
        if isinstance(X, PointBlocks):
            with run.stage("read", f"reading {n:,} points with {columns_text(p)}"):
                X = X.to_array()
            dominant = note_unequal_columns(run, X, table.columns, metric)
        return Points(table, X, None if names is None else preprocessing, source, dominant)
    with run.stage("pca", stage):
        preprocessing.fit(table.X, feature_names=names)
        return Points(table, preprocessing.transform(table.X), preprocessing, source, dominant)


def check_distances(path: Path, table: Table, metric: str) -> None:
    """Raise unless points that are given by their distances are a square matrix."""
    n, p = table.X.shape
    if metric == "precomputed" and n != p:
        raise InputError(
            f"--metric precomputed needs a square matrix of distances, but {path} has {n:,} points and "
            f"{columns_text(p)}; use another metric for features."
        )


def columns_text(p: int) -> str:
    """Return the number of columns with its noun."""
    return f"{p:,} column{'s' * (p != 1)}"


def note_odd_label(run: Session, table: Table) -> None:
    """Print a note if a label column does not define groups: it seems to hold measurements, or to identify the rows."""
    if table.label is None or table.metadata.num_rows < FEW_ROWS:
        return
    column = decoded(table.metadata.column(table.label))
    n_classes = len(column.unique())
    if _is_measured(column.drop_null(), n_classes):
        run.note(
            f"label column {table.label!r} has {n_classes:,} distinct numbers, so it does not define groups; for "
            f"measurements, pass {option_text('--color', table.label)} instead of --label"
        )
    elif n_classes > len(column) // 2:
        run.note(
            f"label column {table.label!r} has {n_classes:,} distinct values in {len(column):,} rows, so it does "
            f"not define groups; if it identifies the rows, pass {option_text('--id', table.label)}"
        )


def _is_measured(column: pa.ChunkedArray, n_classes: int) -> bool:
    """Return whether a label column holds many numbers with decimals; few may be classes, such as doses."""
    if not pa.types.is_floating(column.type) or n_classes <= MOST_CODES:
        return False
    values = np.asarray(column.to_numpy())
    return bool((values % 1.0 > 0.0).any())


def note_unequal_columns(run: Session, X: Any, names: Sequence[str], metric: str) -> str | None:
    """Print a note if a column varies so much more than others that it dominates the distances, and return its name.

    Points that are not in memory are not read for this note.
    """
    from ..geometry.column_statistics import spreads
    from ..geometry.distance_metrics import UNIT_METRICS

    if X.shape[1] > MANY_COLUMNS or metric not in UNIT_METRICS or isinstance(X, PointBlocks):
        return None
    deviations = spreads(X)
    varying = [j for j, deviation in enumerate(deviations) if deviation > 0.0]
    if not varying:
        return None
    least, most = (choose(varying, key=deviations.__getitem__) for choose in (min, max))
    if (ratio := deviations[most] / deviations[least]) <= UNEQUAL:
        return None
    run.note(
        f"the standard deviations of the columns differ by a factor of up to {ratio:,.0f}: distances depend mostly "
        f"on {names[most]!r}, and hardly on {names[least]!r}; pass --standardize to make them equal"
    )
    return names[most]
