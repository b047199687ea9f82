"""Read the input points of a command and preprocess them: standardise, reduce to principal components."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..geometry.point_blocks import MANY_COLUMNS, PointBlocks
from ..io.table_files import has_numbered_columns
from .session import Session

if TYPE_CHECKING:
    from ..geometry.preprocessing import Preprocessing
    from ..io import Table

FEW_ROWS = 10  # with fewer rows, distinct values do not show whether a column is a label or an id
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

    def read(self) -> Table:
        from ..io import read_table

        return read_table(
            self.path, columns=self.columns, label=self.label, id=self.id, rep=self.rep, of_model=self.of_model
        )

    def column_names(self, table: Table) -> list[str] | None:
        """Return the column names, or None if the columns are only numbered."""
        numbered = self.columns is None and has_numbered_columns(self.path)
        return None if numbered else table.columns


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
    """

    table: Table
    X: Any
    preprocessing: Preprocessing | None


def read_points(
    run: Session,
    source: Source,
    *,
    metric: str,
    pca: int | None,
    standardize: bool,
    seed: int,
    n_jobs: int | None,
    check_resources: Callable[[Any], None] | None = None,
) -> Points:
    """Read a file, standardise its columns if requested, and reduce many columns to principal components.

    `check_resources` raises if points of this shape and type need too much memory. It is called before they are read,
    if they are read by blocks.
    """
    from ..geometry.distance_metrics import check_metric
    from ..geometry.preprocessing import Preprocessing

    check_metric(metric)
    with run.stage("read", f"reading {source.path}"):
        table = source.read()
        for note in table.notes:
            run.note(note)
    note_label_like_id(run, table)
    n, p = table.X.shape
    if n < 2:
        raise InputError(f"{source.path} has 1 row; a layout needs at least 2 points.")
    default = MANY_COLUMNS if metric in ("sqeuclidean", "euclidean") else 0
    n_components = default if pca is None else pca
    if isinstance(table.X, PointBlocks) and check_resources is not None:
        check_resources(table.X.outline(n_components or None))
    if not standardize:
        note_unequal_columns(run, table)
    preprocessing = Preprocessing(
        standardize=standardize, n_components=n_components or None, random_state=seed, n_jobs=n_jobs
    )
    names = source.column_names(table)
    if 0 < n_components < min(n, p):
        stage = f"reducing {p:,} columns to {n_components} principal components"
    elif standardize:
        stage = "standardising columns"
    else:
        if names is not None:
            preprocessing.fit(table.X, feature_names=names)
        X = table.X
        if isinstance(X, PointBlocks):
            with run.stage("read", f"reading {n:,} points with {p:,} columns"):
                X = X.to_array()
        return Points(table, X, None if names is None else preprocessing)
    with run.stage("pca", stage):
        preprocessing.fit(table.X, feature_names=names)
        return Points(table, preprocessing.transform(table.X), preprocessing)


def note_label_like_id(run: Session, table: Table) -> None:
    """Print a note if a label column has so many distinct values that it seems to identify the rows."""
    if table.label is None or table.metadata.num_rows < FEW_ROWS:
        return
    column = table.metadata.column(table.label)
    n_classes = len(column.unique())
    if n_classes > len(column) // 2:
        run.note(
            f"label column {table.label!r} has {n_classes:,} distinct values in {len(column):,} rows, so it does "
            f"not define groups; if it identifies the rows, pass --id {table.label}"
        )


def note_unequal_columns(run: Session, table: Table) -> None:
    """Print a note if some columns vary so much more than others that they dominate the distances."""
    from ..geometry.preprocessing import spread_ratio

    if table.X.shape[1] <= MANY_COLUMNS and (ratio := spread_ratio(table.X)) > UNEQUAL:
        run.note(
            f"the standard deviations of the columns differ by a factor of up to {ratio:,.0f}; "
            "pass --standardize to make them equal"
        )
