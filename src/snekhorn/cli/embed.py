"""snekhorn embed: a layout of a file's points."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..io.read import check_input
from . import options
from .options import CLASSES, perplexities, split
from .outputs import Outputs, default_outputs
from .points import Points, Source, read_points
from .session import Session, session

if TYPE_CHECKING:
    from ..estimators import NeighborEmbedding
    from ..io import Table
    from .report import Report


def embed(  # noqa: PLR0913
    input: options.Input,
    *,
    perplexity: options.Perplexity = None,
    method: Annotated[options.Method, typer.Option("--method", "-m", help="How to lay out.")] = "tsnekhorn",
    label: options.Label = None,
    id: options.Id = None,
    columns: options.Columns = None,
    rep: options.Rep = None,
    metric: options.Metric = "sqeuclidean",
    pca: options.Pca = None,
    standardize: options.Standardize = False,
    dimensions: Annotated[int, typer.Option("--dimensions", "-d", min=1, max=3, help="Of the layout.")] = 2,
    self_loops: Annotated[bool, typer.Option("--self-loops", help="Let a point be its own neighbour, too.")] = False,
    exaggeration: Annotated[float, typer.Option(help="Above 1: tighter clusters, further apart.")] = 1.0,
    max_iter: Annotated[int, typer.Option(min=1, help="Largest number of iterations.")] = 2000,
    tol: Annotated[float, typer.Option(help="Relative fall of the loss an iteration at which to end.")] = 3e-5,
    init: Annotated[Literal["pca", "spectral", "random"], typer.Option(help="Start of the layout.")] = "pca",
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Table: .parquet, .csv, .tsv, .arrow, .feather or .npy.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Picture: .png, .svg or .pdf.")] = None,
    html: Annotated[Path | None, typer.Option(help="Interactive page: .html.")] = None,
    save_model: Annotated[Path | None, typer.Option(help="Model for 'snekhorn transform': .npz.")] = None,
    color: Annotated[str | None, typer.Option(help="Column that colours the points.  (default: the label)")] = None,
    title: Annotated[str | None, typer.Option(help="Of picture and page.  (default: the name of the file)")] = None,
    scores: Annotated[bool, typer.Option(help="Measure what the layout keeps.")] = True,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Lay out the points of a file: a table of coordinates, a picture, a page to explore.

    Columns of numbers are laid out, all others are kept beside the coordinates. Without --out, --plot, --html or
    --save-model, three files are written here, called after the input.

    snekhorn embed cells.csv --label type

    snekhorn embed cells.h5ad --label leiden --perplexity 10,30,100 --plot sheet.png
    """
    with session(as_json=as_json, quiet=quiet) as run:
        check_input(input)
        from ..runtime.checks import check_jobs

        check_jobs(jobs)
        wanted = perplexities(perplexity)
        outputs = Outputs(out, plot, html, save_model)
        outputs = outputs if outputs.paths else default_outputs(input, method)
        outputs.check([input], force=force, several=len(wanted) > 1)
        _check_dimensions(dimensions, outputs)
        source = Source(input, split(columns), label, id, rep)
        points = read_points(run, source, metric=metric, pca=pca, standardize=standardize, seed=seed)
        model = _model(
            method,
            n_components=dimensions,
            metric=metric,
            self_loops=self_loops,
            exaggeration=exaggeration,
            max_iter=max_iter,
            tol=tol,
            init=init,
            n_jobs=jobs,
            random_state=seed,
            verbose=run.shows_progress,
        )
        _keep_color(run, points.table, color)
        fitted = fit(run, model, points.X, wanted)
        from .report import Report

        report = Report.of(input, method, points, fitted)
        if scores and not run.interrupted:
            _measure(run, report, points, metric, jobs)
        from .results import write_outputs

        color, title = color or label, title or input.name
        write_outputs(run, outputs, report, points, fitted, asked=wanted, color=color, title=title)
        run.result(report.facts(outputs), report.text(outputs, run))


def fit(run: Session, model: NeighborEmbedding, X: Any, wanted: list[float]) -> list[NeighborEmbedding]:
    """Lay out at every perplexity; after an interrupt, what there is by then."""
    from ..embedding.descent import Stop
    from ..estimators.sweep import sweep
    from .doctor import compiled

    names = ", ".join(f"{perplexity:g}" for perplexity in wanted)
    found: list[NeighborEmbedding] = []
    first = "" if compiled()["functions"] else " (compiling, on this first run)"
    with run.stage("layout", f"laying out {X.shape[0]:,} points, perplexity {names}{first}"):
        several = sweep(model, X, wanted) if len(wanted) > 1 else (model.set_params(perplexity=wanted[0]).fit(X),)
        try:
            for fitted in several:
                found.append(fitted)
                if fitted.report_.reason == Stop.INTERRUPTED.value:
                    run.interrupted = True
                    break
        except KeyboardInterrupt:
            if not found:
                raise
            run.interrupted = True
            run.note("interrupted; the layouts finished by then are kept")
    return found


def _measure(run: Session, report: Report, points: Points, metric: str, jobs: int | None) -> None:
    """Score the layouts; what goes wrong here must not cost them."""
    with run.stage("scores", "measuring what the layout keeps"):
        try:
            report.measure(run, points, metric, jobs)
        except KeyboardInterrupt:
            run.interrupted = True
            run.note("interrupted; the layout is kept, without scores")
        except (ValueError, MemoryError) as error:
            run.note(f"no scores: {error}")


def _model(method: str, **parameters: Any) -> NeighborEmbedding:
    import snekhorn

    model: NeighborEmbedding = getattr(snekhorn, CLASSES[method])(**parameters)
    return model


def _check_dimensions(dimensions: int, outputs: Outputs) -> None:
    from ..io import InputError

    if dimensions != 2 and outputs.html is not None:
        raise InputError(f"the page shows 2 dimensions, --dimensions is {dimensions}; choose --out or --plot.")


def _keep_color(run: Session, table: Table, color: str | None) -> None:
    """Raise where there is no such column; one that is laid out is kept beside the coordinates, too."""
    if color is None:
        return
    if color in table.columns and color not in table.metadata.column_names:
        table.keep(color)
        run.note(f"column {color!r} is laid out, too; choose others with --columns if it should only colour")
    table.values(color)
