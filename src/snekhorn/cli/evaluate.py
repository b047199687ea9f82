"""snekhorn evaluate: how faithful a layout is to its data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..io.read import check_input
from . import options
from .options import split
from .points import Source, note_spreads
from .session import Session, session

if TYPE_CHECKING:
    import pyarrow as pa

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
        from ..io import read_layouts
        from ..metrics import evaluate as score
        from ..pairs import check_metric
        from ..reduction import fit_scaling
        from .report import label_codes, score_lines

        check_metric(metric)
        with run.stage("read", f"reading {input} and {embedding}"):
            table = Source(input, split(columns), label, id, rep).read()
            found = read_layouts(embedding, columns=split(coordinates))
            order = _order(run, input, embedding, table, found)
        if standardize:
            table.X = fit_scaling(table.X).apply(table.X)
        else:
            note_spreads(run, table)
        y = None if label is None else label_codes(table.values(label))
        with run.stage("scores", "measuring what the layout keeps"):
            scores = {
                key: score(table.X, Z[order], y, metric=metric, sample=sample or "auto", n_jobs=jobs)
                for key, Z in found.layouts.items()
            }
        facts = {"input": str(input), "embedding": str(embedding), "n_points": len(order)}
        facts["scores"] = scores if len(scores) > 1 else next(iter(scores.values()))
        run.result(facts, "\n".join(score_lines(list(scores.values()), list(scores))))


def _order(run: Session, input: Path, embedding: Path, table: Table, found: Layouts) -> Any:
    """Rows of the layout in the order of the input: by a column that names them, else as they are."""
    import numpy as np

    from ..io import InputError

    n, m = table.X.shape[0], len(found.only)
    if n != m:
        raise InputError(f"{input} has {n:,} rows and {embedding} {m:,}; a layout has one for every row of its data.")
    common = [name for name in table.metadata.column_names if name in found.metadata.column_names]
    if table.id is not None and table.id in common:
        ids, places = _texts(table.metadata, table.id), _places(found.metadata, table.id)
        absent = [name for name in ids if name not in places]
        if absent:
            raise InputError(f"id {absent[0]!r} of {input} is not in {embedding}; choose the layout of these points.")
        return np.array([places[name] for name in ids])
    moved = [name for name in common if _texts(table.metadata, name) != _texts(found.metadata, name)]
    for name in moved:
        ids, places = _texts(table.metadata, name), _places(found.metadata, name)
        if len(places) == n and places.keys() == set(ids):
            run.note(f"the files have different orders; rows are matched by column {name!r}")
            return np.array([places[text] for text in ids])
    if moved:
        run.note(f"rows are taken in their order, though column {moved[0]!r} differs; name the rows with --id")
    return np.arange(n)


def _texts(metadata: pa.Table, name: str) -> list[str]:
    """A column as text: a number in one file may be a quoted one in the other."""
    return [str(value) for value in metadata.column(name).to_pylist()]


def _places(metadata: pa.Table, name: str) -> dict[str, int]:
    return {text: place for place, text in enumerate(_texts(metadata, name))}
