"""snekhorn transform: new points in a layout that was saved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options
from .outputs import Outputs, write_each
from .session import session

if TYPE_CHECKING:
    from ..io import Table

ModelFile = Annotated[Path, typer.Argument(help="Model that 'snekhorn embed --save-model' wrote.", show_default=False)]


def transform(
    model: ModelFile,
    input: options.Input,
    *,
    out: Annotated[Path, typer.Option("--out", "-o", help="Table: .parquet, .csv, .tsv, .arrow or .npy.")],
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
        Outputs(out).check([model, input], force=force, several=False)
        from ..io import Layouts, read_table, write_layouts
        from ..persistence import load_with_notes

        with run.stage("read", f"reading {model} and {input}"):
            estimator, notes = load_with_notes(model)
            estimator.n_jobs = jobs
            wanted = notes.get("columns")
            named = wanted is not None and not _is_array(input)
            table = read_table(input, columns=wanted if named else None, label=label, id=id, rep=rep)
        with run.stage("place", f"placing {table.X.shape[0]:,} points"):
            Z = estimator.transform(_reduced(table, notes))
        write_each(run, {out: lambda file: write_layouts(Layouts({"": Z}, table.metadata), file)})
        facts = {"model": str(model), "input": str(input), "n_points": len(Z), "files": {"table": str(out)}}
        run.result(facts, f"{len(Z):,} points placed\ntable:  {out}")


def _is_array(path: Path) -> bool:
    """Files whose columns have no names that could be asked for."""
    return path.name.lower().endswith((".npy", ".npz", ".mtx", ".mtx.gz", ".h5ad"))


def _reduced(table: Table, notes: dict[str, Any]) -> Any:
    from ..io import InputError
    from ..reduction import Reduction

    n_columns = len(notes.get("columns", table.columns))
    if table.X.shape[1] != n_columns:
        raise InputError(f"the model was made of {n_columns} columns, the new points have {table.X.shape[1]}.")
    if "components" not in notes:
        return table.X
    return Reduction(notes["mean"], notes["components"]).apply(table.X)
