"""snekhorn transform: place new points in a saved layout."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import typer

from ..errors import InputError
from ..io import Layouts, Table, write_layouts
from ..io.table import decoded
from ..io.table_files import READERS, can_have_lists, check_input, has_numbered_columns
from ..runtime.checks import check_jobs
from . import options
from .input_points import Source, named
from .output_files import MODELS, Outputs, draw, note_page, write_each
from .session import Session, session

Plot = Annotated[
    Path | None, typer.Option("--plot", help="Plot of the new points, above the others in grey: .png, .svg or .pdf.")
]
Html = Annotated[
    Path | None, typer.Option("--html", help="Interactive page of the new points, above the others in grey: .html.")
]
ModelFile = Annotated[Path, typer.Argument(help="Model from 'snekhorn embed --save-model'.", show_default=False)]

TRAINING = "training points"  # what the page calls the points of the model


@dataclass(frozen=True)
class NewPointOptions(options.RoleOptions):
    """Options about the columns of a file of new points."""

    rep: Annotated[
        str | None, typer.Option("--rep", help="H5AD only: entry of obsm to use, or X.  (default: as for the model)")
    ] = None


def transform(
    model: ModelFile,
    input: options.Input,
    *,
    out: options.TableFile,
    roles: NewPointOptions,
    metadata: options.Metadata = None,
    plot: Plot = None,
    html: Html = None,
    jobs: options.Jobs = None,
    escape_formulas: options.EscapeFormulas = False,
    force: options.Force = False,
    printing: options.PrintOptions,
) -> None:
    """Place new points in a saved layout. Each is placed independently of the others, and the layout does not change.

    snekhorn transform digits.npz new.csv --out placed.parquet --plot placed.png
    """
    with session(**vars(printing)) as run:
        _check_model_file(model)
        check_input(input)
        check_jobs(jobs)
        outputs = Outputs(out, plot, html)
        outputs.check([model, input, *([] if metadata is None else [metadata])], force=force, several=False)
        from ..estimators.saved_models import load_with_source

        with run.stage("read", f"reading {model} and {named(input)}"):
            fitted, source = load_with_source(model)
            layout = _steps(fitted)[-1]
            old = layout.embedding_
            _check_drawable(old, outputs)
            for step in _steps(fitted):
                step.set_params(n_jobs=jobs)
            new = _source(input, roles, metadata, source, fitted)
            table, X = _read_new_points(run, fitted, new)
            for note in table.notes:
                run.note(note)
        with run.stage("place", f"placing {X.shape[0]:,} points"), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names")  # columns are matched above
            Z = np.asarray(fitted.transform(X))
        placed = Layouts({"": Z}, table.metadata)
        writers: dict[Path, Callable[[Path], None]] = {
            out: partial(write_layouts, placed, escape_formulas=escape_formulas)
        }
        if plot is not None:
            writers[plot] = partial(
                draw,
                placed,
                color=roles.label,
                title=input.name,
                heading=f"{_heading(layout)}; {TRAINING} in grey",
                background=old,
            )
        if html is not None:
            note_page(run, len(old) + len(Z), data=False, n_new=len(Z))
            writers[html] = partial(_write_page, placed, old, label=roles.label, id=table.id, title=input.name)
        write_each(run, writers)
        files = {kind: str(path) for kind, path in outputs.paths.items()}
        facts = {"model": str(model), "input": str(input), "n_points": len(Z), "files": files}
        shown = [f"{f'{kind}:':<7} {path}" for kind, path in files.items()]
        run.result(facts, "\n".join([f"{len(Z):,} points placed", *shown]))


def _source(path: Path, roles: NewPointOptions, metadata: Path | None, of_model: dict[str, Any], fitted: Any) -> Source:
    """Return the source of new points, to be read like those of the model unless the options differ."""
    rep, vector = roles.rep, roles.vector
    if path.name.lower().endswith(".h5ad") and rep is None:
        rep = of_model.get("rep")
    if can_have_lists(path) and vector is None:
        vector = of_model.get("vector")
    fills_in = any(getattr(step, "missing", None) == "median" for step in _steps(fitted))
    missing = "median" if fills_in else of_model.get("missing", "error")
    return Source.of(path, roles, rep=rep, vector=vector, metadata=metadata, missing=missing, of_model=True)


def _check_model_file(path: Path) -> None:
    """Raise if the name of a file shows that it is not a model."""
    if path.suffix.lower() not in MODELS and path.name.lower().endswith(tuple(READERS)):
        raise InputError(
            f"{path} is a table of points or of a layout, not a model; pass first the model that 'snekhorn embed "
            "--save-model' wrote (.npz), then the new points."
        )


def _steps(model: Any) -> list[Any]:
    """Return the estimators of a model: its steps if it is a pipeline."""
    return [step for _, step in model.steps] if hasattr(model, "steps") else [model]


def _heading(layout: Any) -> str:
    """Return the method and, if the affinity has a single one, the perplexity."""
    own = layout.affinity
    has_one = own is None or (own.own_perplexity() is not None and not hasattr(own, "perplexities"))
    return f"{type(layout).__name__}{f', perplexity {layout.perplexity_:g}' if has_one else ''}"


def _check_drawable(old: Any, outputs: Outputs) -> None:
    """Raise if points cannot be drawn above the layout."""
    if (outputs.plot or outputs.html) and old.shape[1] != 2:
        raise InputError(
            f"the layout of the model has {old.shape[1]} dimension{'s' * (old.shape[1] > 1)}, but --plot and --html "
            "show new points only in two; leave them out."
        )


def _write_page(placed: Layouts, old: Any, file: Path, *, label: str | None, id: str | None, title: str) -> None:
    """Write a page of the new points and, behind them, the training points, which have no metadata."""
    from ..page import write_page

    metadata, n_new = placed.metadata, len(placed.only)
    ids = range(n_new) if id is None else decoded(metadata.column(id)).to_pylist()
    rows = pa.array(np.arange(len(old))).cast(pa.string())
    old_names = pc.binary_join_element_wise("training", rows, " ")  # without a Python object per training point
    new_names = pa.array([f"new {row}" if id is None else str(row) for row in ids], pa.string())
    codes = pa.array(np.repeat(np.array([0, 1], dtype=np.int8), [len(old), n_new]))
    kinds = pa.DictionaryArray.from_arrays(codes, [TRAINING, "new points"])
    name, kind = id or _free_name("name", metadata), _free_name("points", metadata)
    columns: dict[pa.Field, Any] = {
        pa.field(name, pa.string()): pa.chunked_array([old_names, new_names]),
        pa.field(kind, kinds.type): kinds,
    }
    for field, column in zip(metadata.schema, metadata.columns, strict=True):
        if field.name != id:
            columns[field] = pa.chunked_array([pa.nulls(len(old), field.type), *column.chunks], field.type)
    with file.open("wb") as page:
        write_page(
            page,
            np.concatenate([old, placed.only]),
            pa.table(list(columns.values()), schema=pa.schema(list(columns))),
            color=label or kind,
            ids=name,
            background=(kind, TRAINING),
            title=title,
        )


def _free_name(name: str, metadata: pa.Table) -> str:
    """Return a name that no column has."""
    while name in metadata.column_names:
        name = f"snekhorn_{name}"
    return name


def _read_new_points(run: Session, model: Any, source: Source) -> tuple[Table, Any]:
    """Read a file; return its table, and the columns that the model needs in the model's order."""
    from ..geometry.point_blocks import select_columns
    from ..geometry.preprocessing import column_positions

    names = list(getattr(model, "feature_names_in_", []))
    path = source.path
    if not names:
        table = source.read()
        if source.column_names(table) is not None:
            run.note(f"the model has no column names; all numeric columns of {path} are used in file order")
    elif path.name.lower().endswith(".h5ad") or source.transpose:
        table = source.read()
        positions = column_positions(names, table.columns)
        return table, table.X if table.columns == names else select_columns(table.X, positions)
    elif source.vector is not None or (
        has_numbered_columns(path) and not all(name.startswith("column_") for name in names)
    ):
        table = source.read()  # an array has no column names to match
    else:
        table = replace(source, columns=names).read()
    if table.X.shape[1] != model.n_features_in_:
        raise InputError(
            f"the model was fitted to {model.n_features_in_} columns, but {path} has {table.X.shape[1]}; "
            "add or remove columns to match."
        )
    return table, table.X
