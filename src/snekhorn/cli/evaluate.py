"""snekhorn evaluate: how faithful a layout is to its data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pyarrow as pa
import typer
from numpy.typing import NDArray

from ..errors import InputError
from ..io.read import check_input
from . import options
from .options import split
from .points import Source, note_spreads
from .session import Session, session

if TYPE_CHECKING:
    from ..io import Layouts, Table


def evaluate(  # noqa: PLR0913
    input: options.Input,
    embedding: Annotated[Path, typer.Argument(help="Layout of these points, as 'snekhorn embed' writes it.")],
    *,
    label: options.Label = None,
    id: options.Id = None,
    columns: options.Columns = None,
    rep: options.Rep = None,
    standardize: options.Standardize = False,
    coordinates: Annotated[list[str] | None, typer.Option(help="Columns of the layout.  (default: x and y)")] = None,
    metric: options.Metric = "euclidean",
    sample: Annotated[
        int | None, typer.Option(min=2, help="Points to look from.  (default: all up to 5,000, else 1,000)")
    ] = None,
    jobs: options.Jobs = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Measure what a layout keeps of its data; it may come from any program.

    Rows are matched by the id, or by another column that both files have and that names the rows; where there is none,
    they are taken in their order.

    snekhorn evaluate cells.csv cells.tsnekhorn.parquet --label type
    """
    with session(as_json=as_json, quiet=quiet) as run:
        for path in (input, embedding):
            check_input(path)
        from ..runtime.checks import check_jobs

        check_jobs(jobs)
        from ..geometry.distance_metrics import check_metric
        from ..geometry.preprocessing import fit_scaling
        from ..io import read_layouts
        from .report import measure, score_lines

        check_metric(metric)
        with run.stage("read", f"reading {input} and {embedding}"):
            table = Source(input, split(columns), label, id, rep).read()
            found = read_layouts(embedding, columns=split(coordinates))
            order = _order(run, input, embedding, table, found, named=id is not None)
        if standardize:
            table.X = fit_scaling(table.X).apply(table.X)
        else:
            note_spreads(run, table)
        with run.stage("scores", "measuring what the layout keeps"):
            layouts = [Z[order] for Z in found.layouts.values()]
            measured = measure(run, table.X, layouts, table, metric=metric, sample=sample or "auto", n_jobs=jobs)
            scores = dict(zip(found.layouts, measured, strict=True))
        facts = {"input": str(input), "embedding": str(embedding), "n_points": len(order)}
        facts["scores"] = scores if len(scores) > 1 else next(iter(scores.values()))
        run.result(facts, "\n".join(score_lines(list(scores.values()), list(scores))))


def _order(
    run: Session, input: Path, embedding: Path, table: Table, found: Layouts, *, named: bool
) -> NDArray[np.intp]:
    """Rows of the layout in the order of the input: by a column that names them, else as they are."""
    n, m = table.X.shape[0], len(found.only)
    if n != m:
        raise InputError(f"{input} has {n:,} rows and {embedding} {m:,}; a layout has one for every row of its data.")
    if named and table.id not in found.metadata.column_names:
        run.note(f"{embedding} has no column {table.id!r}; rows are taken in their order")
        return np.arange(n)
    common = [name for name in table.metadata.column_names if name in found.metadata.column_names]
    if table.id in common:
        common = [table.id]
    both = {name: _values(table.metadata, found.metadata, name) for name in common}
    orders = {name: order for name in common if (order := _places(*both[name])) is not None}
    if table.id in common and not orders:
        raise InputError(
            f"column {table.id!r} does not name the same rows in {input} and {embedding}; choose the layout of these."
        )
    moved = {name: order for name, order in orders.items() if (order != np.arange(n)).any()}
    if len(moved) < len(orders) or not moved:  # one of them says that the rows are in order, or none says anything
        differing = [name for name, (mine, theirs) in both.items() if mine != theirs]
        if differing and not orders:
            run.note(f"rows are taken in their order, though column {differing[0]!r} differs; name the rows with --id")
        return np.arange(n)
    name, order = next(iter(moved.items()))
    if table.id is None:
        run.note(f"the files have different orders; rows are matched by column {name!r}")
    return order


def _places(mine: list[Any], theirs: list[Any]) -> NDArray[np.intp] | None:
    """Where each of my values is among theirs; None where they do not name the same rows."""
    places = {value: place for place, value in enumerate(theirs)}
    if len(places) < len(theirs) or places.keys() != set(mine):
        return None
    return np.array([places[value] for value in mine])


def _values(mine: pa.Table, theirs: pa.Table, name: str) -> tuple[list[Any], list[Any]]:
    """A column of both as values of one type, that of mine, or as text where theirs does not have it."""
    column, other = mine.column(name), theirs.column(name)
    for kind in (column.type, other.type):
        try:
            return column.cast(kind).to_pylist(), other.cast(kind).to_pylist()
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue
    return list(map(str, column.to_pylist())), list(map(str, other.to_pylist()))
