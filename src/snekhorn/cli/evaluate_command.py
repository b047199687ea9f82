"""snekhorn evaluate: measure how faithful a layout is to its data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pyarrow as pa
import typer
from numpy.typing import NDArray

from ..errors import InputError
from ..io import Layouts, read_layouts
from ..io.table_files import check_input
from ..runtime.checks import check_jobs
from . import options
from .input_points import Source, check_distances, named, note_odd_label, note_unequal_columns
from .layout_report import measure, score_lines
from .options import split
from .session import Session, session

if TYPE_CHECKING:
    from ..io import Table

Order = NDArray[np.intp]


def evaluate(
    input: options.Input,
    embedding: options.Layout,
    *,
    source: options.SourceOptions,
    metadata: options.Metadata = None,
    standardize: options.Standardize = False,
    coordinates: options.Coordinates = None,
    metric: options.Metric = "euclidean",
    sample: Annotated[
        int | None,
        typer.Option(min=2, help="Number of points to sample.  (default: all up to 5,000, otherwise 1,000)"),
    ] = None,
    jobs: options.Jobs = None,
    printing: options.PrintOptions,
) -> None:
    """Measure how faithful a layout is to its data. The layout may come from any program.

    Rows are matched by the --id column, or by another column that identifies the rows in
    both files. Without such a column, both files must list the points in the
    same order.

    snekhorn evaluate cells.csv cells.tsnekhorn.parquet --label type
    """
    with session(**vars(printing)) as run:
        for path in (input, embedding):
            check_input(path)
        check_jobs(jobs)
        from ..geometry.distance_metrics import check_metric
        from ..geometry.preprocessing import Preprocessing

        check_metric(metric)
        with run.stage("read", f"reading {named(input)} and {embedding}"):
            table = Source.of(input, source, metadata=metadata).read()
            for note in table.notes:
                run.note(note)
            note_odd_label(run, table)
            check_distances(input, table, metric)
            found = read_layouts(embedding, columns=split(coordinates, "--coordinates"))
            _check_lengths(input, embedding, table, found)
            order = _match_rows(run, input, embedding, table, found, asked=source.id is not None)
        if not standardize:
            note_unequal_columns(run, table.X, table.columns, metric)
        if standardize or source.missing == "median":
            rule: Any = "median" if source.missing == "median" else "error"
            table.X = Preprocessing(standardize=standardize, missing=rule).fit_transform(table.X)
        with run.stage("scores", "computing the scores"):
            layouts = [Z[order] for Z in found.layouts.values()]
            measured = measure(run, table.X, layouts, table, metric=metric, sample=sample or "auto", n_jobs=jobs)
            scores = dict(zip(found.layouts, measured, strict=True))
        scored_by = "the standardised columns" if standardize else ""
        facts = {"input": str(input), "embedding": str(embedding), "n_points": len(order)}
        facts["scores"] = scores if len(scores) > 1 else next(iter(scores.values()))
        run.result(facts, "\n".join(score_lines(list(scores.values()), list(scores), scored_by=scored_by)))


def _check_lengths(input: Path, embedding: Path, table: Table, found: Layouts) -> None:
    n, m = table.X.shape[0], len(found.only)
    if n != m:
        raise InputError(
            f"{input} has {n:,} rows, but {embedding} has {m:,}; pass a layout with one row per row of the data."
        )


def _match_rows(run: Session, input: Path, embedding: Path, table: Table, found: Layouts, *, asked: bool) -> Order:
    """Return the rows of the layout in the order of the input.

    Match by the id column if there is one. Otherwise match by any column that identifies the rows in both files, unless
    another column shows that the rows are already in the same order.
    """
    in_order = np.arange(table.X.shape[0])
    if asked and table.id not in found.metadata.column_names:
        run.note(f"{embedding} has no column {table.id!r}; rows are assumed to be in the same order")
        return in_order
    common = [name for name in table.metadata.column_names if name in found.metadata.column_names]
    if table.id in common:
        common = [table.id]
    both = {name: _common_values(table.metadata, found.metadata, name) for name in common}
    orders = {name: order for name in common if (order := _permutation(*both[name])) is not None}
    if table.id in common and not orders:
        raise InputError(
            f"column {table.id!r} does not identify the same rows in {input} and {embedding}; "
            f"pass a layout of the points in {input}."
        )
    moved = {name: order for name, order in orders.items() if (order != in_order).any()}
    if not moved or len(moved) < len(orders):
        differing = [name for name, (mine, theirs) in both.items() if mine != theirs]
        if differing and not orders:
            run.note(
                f"rows are assumed to be in the same order, although column {differing[0]!r} differs; "
                "pass --id to match them"
            )
        return in_order
    name, order = next(iter(moved.items()))
    if table.id is None:
        run.note(f"the files list the rows in different orders; they are matched by column {name!r}")
    return order


def _permutation(mine: list[Any], theirs: list[Any]) -> Order | None:
    """Return the positions in `theirs` of the values in `mine`, or None if they do not identify the same rows."""
    positions = {value: position for position, value in enumerate(theirs)}
    if len(positions) < len(theirs) or positions.keys() != set(mine):
        return None
    return np.array([positions[value] for value in mine])


def _common_values(mine: pa.Table, theirs: pa.Table, name: str) -> tuple[list[Any], list[Any]]:
    """Return a column of both tables in a common type: the type in `mine`, else the type in `theirs`, else text."""
    column, other = mine.column(name), theirs.column(name)
    for kind in (column.type, other.type):
        try:
            return column.cast(kind).to_pylist(), other.cast(kind).to_pylist()
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue
    return list(map(str, column.to_pylist())), list(map(str, other.to_pylist()))
