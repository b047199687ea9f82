"""The points of a command: a file read, its columns given one spread if asked, and reduced where they are many."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .session import Session

if TYPE_CHECKING:
    from ..geometry.preprocessing import Reduction
    from ..io import Table

FEW_ROWS = 10  # too few to tell a label from a name
UNEQUAL = 100.0  # ratio of spreads from which on columns are likely to have different units
MANY_COLUMNS = 50  # more are reduced to as many principal components, as in the paper


@dataclass(frozen=True)
class Source:
    """A file of points, and what its columns are."""

    path: Path
    columns: list[str] | None = None
    label: str | None = None
    id: str | None = None
    rep: str | None = None
    of_model: bool = False  # whether the columns are those of a model

    def read(self) -> Table:
        from ..io import read_table

        return read_table(
            self.path, columns=self.columns, label=self.label, id=self.id, rep=self.rep, of_model=self.of_model
        )


@dataclass
class Points:
    """What is laid out: the table, its numbers after reduction."""

    table: Table
    X: Any
    reduction: Reduction | None


def read_points(run: Session, source: Source, *, metric: str, pca: int | None, standardize: bool, seed: int) -> Points:
    """Read a file, give its columns one spread if asked, and reduce it where it is wide."""
    from ..geometry.distance_metrics import check_metric
    from ..geometry.preprocessing import fit_reduction, fit_scaling
    from ..io import InputError

    check_metric(metric)
    with run.stage("read", f"reading {source.path}"):
        table = source.read()
        for note in table.notes:
            run.note(note)
    note_names(run, table)
    n, p = table.X.shape
    if n < 2:
        raise InputError(f"{source.path} has 1 row; a layout needs at least 2 points.")
    euclidean = metric in ("sqeuclidean", "euclidean")
    n_components = (MANY_COLUMNS if euclidean else 0) if pca is None else pca
    reduced = 0 < n_components < min(n, p)
    if not standardize:
        note_spreads(run, table)
    if not reduced and not standardize:
        return Points(table, table.X, None)
    what = f"reducing {p:,} columns to {n_components} principal components" if reduced else "giving columns one spread"
    with run.stage("pca", what):
        scaling = fit_scaling(table.X) if standardize else None
        reduction = scaling if scaling and not reduced else fit_reduction(table.X, n_components, seed, scaling)
        return Points(table, reduction.apply(table.X), reduction)


def note_names(run: Session, table: Table) -> None:
    """Say where a label tells no groups."""
    if table.label is None or table.metadata.num_rows < FEW_ROWS:
        return
    column = table.metadata.column(table.label)
    n_classes = len(column.unique())
    if n_classes > len(column) // 2:
        run.note(
            f"column {table.label!r} has {n_classes:,} different values in {len(column):,} rows, and tells no groups: "
            f"if it names the rows, say --id {table.label}"
        )


def note_spreads(run: Session, table: Table) -> None:
    """Say where some columns would drown the others."""
    from ..geometry.preprocessing import spread

    if table.X.shape[1] <= MANY_COLUMNS and (ratio := spread(table.X)) > UNEQUAL:
        run.note(f"the spreads of the columns differ by a factor of {ratio:,.0f}: --standardize gives all the same")
