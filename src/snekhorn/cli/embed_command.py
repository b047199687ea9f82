"""snekhorn embed: compute a layout of the points in a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..errors import InputError
from ..io import Layouts, Table, write_layouts
from ..io.table_files import check_input
from ..runtime.checks import check_jobs
from . import options
from .cluster_session import Cluster, fit_on_cluster
from .input_points import Points, Source, read_points
from .layout_names import LayoutValues, layout_title
from .layout_report import LayoutReport, measure
from .options import (
    DEFAULT_EXAGGERATION,
    DEFAULT_PERPLEXITY,
    parse_balance,
    parse_exaggerations,
    parse_perplexities,
    split,
)
from .output_files import Outputs, default_outputs, draw, note_page, save_model, write_each
from .session import USER_ERRORS, Session, session

if TYPE_CHECKING:
    from ..estimators import NeighborEmbedding


def embed(  # noqa: PLR0913
    input: options.Input,
    *,
    perplexity: options.Perplexities = None,
    method: Annotated[
        options.Method, typer.Option("--method", "-m", help="Method of dimension reduction.")
    ] = "tsnekhorn",
    label: options.Label = None,
    id: options.Id = None,
    columns: options.Columns = None,
    rep: options.Rep = None,
    metric: options.Metric = "sqeuclidean",
    pca: options.Pca = None,
    standardize: options.Standardize = False,
    dimensions: Annotated[int, typer.Option("--dimensions", "-d", min=1, max=3, help="Dimension of the layout.")] = 2,
    balance: options.Balance = "auto",
    self_loops: Annotated[
        bool, typer.Option("--self-loops", help="Count each point among its own neighbours.")
    ] = False,
    exaggeration: options.Exaggerations = None,
    max_iter: Annotated[int, typer.Option(min=1, help="Maximum number of iterations.")] = 2000,
    tol: Annotated[
        float, typer.Option(help="Stop when the loss decreases by less than this (relative, per iteration).")
    ] = 5e-5,
    init: Annotated[Literal["pca", "spectral", "random"], typer.Option(help="Initial layout.")] = "pca",
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
    workers: options.Workers = None,
    dask: options.DaskAddress = None,
    max_memory: options.MaxMemory = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Table: .parquet, .csv, .tsv, .arrow, .feather or .npy.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Plot: .png, .svg or .pdf.")] = None,
    html: Annotated[Path | None, typer.Option(help="Interactive page: .html.")] = None,
    save_model: Annotated[
        Path | None, typer.Option(help="Model for 'snekhorn transform' and snekhorn.load: .npz.")
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Folder for the state of a long run; the same command resumes from it.")
    ] = None,
    color: Annotated[str | None, typer.Option(help="Column to colour the points by.  (default: the label)")] = None,
    title: Annotated[str | None, typer.Option(help="Title of the plot and the page.  (default: the file name)")] = None,
    scores: Annotated[bool, typer.Option(help="Measure how faithful the layout is to the data.")] = True,
    escape_formulas: options.EscapeFormulas = False,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Compute a layout of the points in a file, and write a table of coordinates, a plot and an interactive page.

    Numeric columns, except the label and the id, are the features; all other
    columns are kept as metadata. Without --out, --plot, --html or --save-model,
    the command writes a table, a plot and a page to the current folder, named
    after the input.

    snekhorn embed cells.csv --label type

    snekhorn embed cells.h5ad --label leiden --perplexity 10,30,100 --plot sheet.png

    snekhorn embed cells.h5ad --label leiden --exaggeration 1,1.5,2 --plot sheet.png

    snekhorn embed folder-of-blocks --workers 4 --checkpoint state
    """
    with session(as_json=as_json, quiet=quiet, debug=debug) as run:
        check_input(input)
        check_jobs(jobs)
        values = LayoutValues(
            parse_perplexities(perplexity) or [DEFAULT_PERPLEXITY],
            parse_exaggerations(exaggeration) or [DEFAULT_EXAGGERATION],
        )
        outputs = Outputs(out, plot, html, save_model)
        outputs = outputs if outputs.paths else default_outputs(input, method)
        outputs.check([input], force=force, several=values.several)
        cluster = Cluster(workers, dask)
        cluster.check(method, several=values.several)
        if checkpoint is not None:
            _check_checkpoint(run, checkpoint, several=values.several)
        if dimensions != 2 and outputs.html is not None:
            raise InputError(f"the page is 2-dimensional, but --dimensions is {dimensions}; use --out or --plot.")
        model = cluster.model(
            method,
            n_components=dimensions,
            metric=metric,
            balance=parse_balance(balance),
            self_loops=self_loops,
            max_iter=max_iter,
            tol=tol,
            init=init,
            n_jobs=jobs,
            max_memory=max_memory,
            random_state=seed,
            verbose=run.shows_progress,
            checkpoint=checkpoint,
        )
        source = Source(input, split(columns, "--columns"), label, id, rep)
        with cluster.connected(run) as client:
            points = read_points(
                run,
                source,
                metric=metric,
                pca=pca,
                standardize=standardize,
                seed=seed,
                n_jobs=jobs,
                check_resources=model.check_resources if client is None else None,
            )
            _check_color(run, points.table, color)
            fitted = _fit(run, model, points.X, values, client)
        report = LayoutReport.of(input, method, points, fitted)
        if scores and not run.interrupted:
            _measure(run, report, points, fitted, metric, jobs)
        writers = _writers(
            outputs,
            report,
            points,
            fitted,
            color=color or label,
            title=input.name if title is None else title,
            escape_formulas=escape_formulas,
        )
        if outputs.html:
            note_page(run, fitted, points.X.shape[0])
        write_each(run, writers)
        run.result(report.facts(outputs), report.text(outputs, run))


def _check_checkpoint(run: Session, folder: Path, *, several: bool) -> None:
    """Raise if a checkpoint cannot serve this run, and print a note if the run resumes."""
    from ..estimators.checkpoints import stages_in

    if several:
        raise InputError(
            "--checkpoint holds one layout, but several were requested; pass one --perplexity and one --exaggeration."
        )
    if stages := stages_in(folder):
        run.note(f"resuming from the {stages[-1]} in {folder}")


def _check_color(run: Session, table: Table, color: str | None) -> None:
    """Raise if the column to colour by does not exist; if it is a feature, copy it to the metadata."""
    if color is None:
        return
    if color in table.columns and color not in table.metadata.column_names:
        table.keep(color)
        run.note(f"column {color!r} is also a feature; to use it for colour only, list the features with --columns")
    table.values(color)


def _fit(
    run: Session, model: NeighborEmbedding, X: Any, values: LayoutValues, client: Any
) -> dict[str, NeighborEmbedding]:
    """Compute a layout for each pair of values, by key; after an interrupt, return the finished layouts.

    `client` is that of a Dask cluster, or None.
    """
    from ..estimators.sweep import sweep
    from .doctor_command import compiled_code

    code = compiled_code()
    first = " (and compiling the code)" if code["enabled"] and not code["functions"] else ""
    found: dict[str, NeighborEmbedding] = {}
    with run.stage("layout", f"computing {values.described(X.shape[0])}{first}"):
        if values.several:
            several = sweep(model, X, values.perplexities, exaggerations=values.exaggerations)
        else:  # unlike the models of a sweep, this one can place new points
            model.set_params(perplexity=values.perplexities[0], exaggeration=values.exaggerations[0])
            several = iter([model.fit(X) if client is None else fit_on_cluster(model, X, client)])
        try:
            for fitted in several:
                found[values.key(fitted)] = fitted
                if fitted.report_.interrupted:
                    run.interrupted = True
                    break
        except KeyboardInterrupt:
            if not found:
                raise
            run.interrupted = True
            run.note("interrupted; the layouts finished so far are kept")
    return found


def _measure(
    run: Session,
    report: LayoutReport,
    points: Points,
    fitted: dict[str, NeighborEmbedding],
    metric: str,
    jobs: int | None,
) -> None:
    """Score the layouts; an error here must not discard them."""
    layouts = [model.embedding_ for model in fitted.values()]
    metric = "euclidean" if metric == "sqeuclidean" else metric
    with run.stage("scores", "computing the scores"):
        try:
            report.scores = measure(run, points.X, layouts, points.table, metric=metric, n_jobs=jobs)
        except KeyboardInterrupt:
            run.interrupted = True
            run.note("interrupted; the layout is kept, without scores")
        except USER_ERRORS as error:
            run.note(f"the scores could not be computed: {error}")
        except Exception as error:
            run.postpone(error)


def _writers(
    outputs: Outputs,
    report: LayoutReport,
    points: Points,
    fitted: dict[str, NeighborEmbedding],
    *,
    color: str | None,
    title: str,
    escape_formulas: bool,
) -> dict[Path, Callable[[Path], None]]:
    """Return a function for each requested file; layouts with a key are labelled with their settings."""
    found = Layouts({key: model.embedding_ for key, model in fitted.items()}, points.table.metadata)
    first, model = next(iter(fitted.items()))
    writers: dict[Path, Callable[[Path], None]] = {}
    if outputs.table:
        writers[outputs.table] = lambda file: write_layouts(found, file, escape_formulas=escape_formulas)
    if outputs.plot:
        writers[outputs.plot] = lambda file: draw(found, file, color=color, title=title, subtitles=report.subtitles())
    if outputs.html:
        page_title = f"{title}, {layout_title(first)}" if first else title
        writers[outputs.html] = lambda file: _write_page(file, found, points, report, color=color, title=page_title)
    if outputs.model:
        writers[outputs.model] = lambda file: save_model(model, points, file)
    return writers


def _write_page(
    file: Path, found: Layouts, points: Points, report: LayoutReport, *, color: str | None, title: str
) -> None:
    """Write the page for the first layout."""
    from ..page import write_page

    write_page(
        file, found.only, found.metadata, color=color, ids=points.table.id, title=title, summary=report.summary(0)
    )
