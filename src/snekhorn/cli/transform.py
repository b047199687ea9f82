"""snekhorn transform: new points in a layout that was saved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..io import InputError
from ..io.table_files import check_input
from . import options
from .outputs import Outputs, write_each
from .points import Source
from .session import session

if TYPE_CHECKING:
    from ..io import Table

ModelFile = Annotated[Path, typer.Argument(help="Model that 'snekhorn embed --save-model' wrote.", show_default=False)]


def transform(
    model: ModelFile,
    input: options.Input,
    *,
    out: Annotated[Path, typer.Option("--out", "-o", help="Table: .parquet, .csv, .tsv, .arrow, .feather or .npy.")],
    label: options.Label = None,
    id: options.Id = None,
    rep: options.Rep = None,
    jobs: options.Jobs = None,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Place new points in a saved layout, each by itself; the layout stays as it is.

    snekhorn transform digits.npz new.csv --out placed.parquet
    """
    with session(as_json=as_json, quiet=quiet) as run:
        if not model.exists():
            raise InputError(f"{model} does not exist; 'snekhorn embed --save-model' writes one.")
        check_input(input)
        from ..runtime.checks import check_jobs

        check_jobs(jobs)
        Outputs(out).check([model, input], force=force, several=False)
        from ..estimators.saved_models import load_with_notes
        from ..io import Layouts, write_layouts

        with run.stage("read", f"reading {model} and {input}"):
            estimator, notes = load_with_notes(model)
            estimator.n_jobs = jobs
            columns = notes.get("columns", [])
            asked = columns if columns and _names_columns(input, columns) else None
            rep = rep or (notes.get("rep") if input.name.lower().endswith(".h5ad") else None)
            table = Source(input, asked, label, id, rep, of_model=True).read()
        with run.stage("place", f"placing {table.X.shape[0]:,} points"):
            Z = estimator.transform(_reduced(table, notes))
        write_each(run, {out: lambda file: write_layouts(Layouts({"": Z}, table.metadata), file)})
        facts = {"model": str(model), "input": str(input), "n_points": len(Z), "files": {"table": str(out)}}
        run.result(facts, f"{len(Z):,} points placed\ntable:  {out}")


def _names_columns(path: Path, columns: list[str]) -> bool:
    """Whether the columns of the model can be asked for by name: arrays number them, AnnData has them all."""
    if path.name.lower().endswith((".npy", ".npz", ".mtx", ".mtx.gz")):
        return all(name.startswith("column_") for name in columns)
    return not path.name.lower().endswith(".h5ad")


def _reduced(table: Table, notes: dict[str, Any]) -> Any:
    """The new points as the model saw its own."""
    from ..geometry.preprocessing import Reduction

    columns = notes.get("columns", table.columns)
    if table.X.shape[1] != len(columns):
        raise InputError(f"the model was made of {len(columns)} columns, the new points have {table.X.shape[1]}.")
    X = table.X
    if table.rep is not None and table.columns != columns:
        places = {name: place for place, name in enumerate(table.columns)}
        absent = [name for name in columns if name not in places]
        if absent:
            raise InputError(f"the model was made with {absent[0]!r}, which the new points do not have.")
        X = X[:, [places[name] for name in columns]]
    return Reduction(notes["mean"], notes["components"]).apply(X) if "components" in notes else X
