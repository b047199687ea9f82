"""snekhorn embed: compute a layout of the points in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..errors import InputError, did_you_mean
from ..io import Layouts, Table, write_layouts
from ..io.h5ad_layouts import H5AD, check_all_kept, write_h5ad
from ..io.layout_files import LAYOUT_SUFFIXES
from ..io.table_files import check_input
from ..runtime.checks import check_jobs
from . import options
from .cluster_session import Cluster, fit_on_cluster
from .input_points import Points, Source, read_points
from .layout_names import LayoutValues
from .layout_report import LayoutReport, measure
from .options import (
    DEFAULT_EXAGGERATION,
    DEFAULT_PERPLEXITY,
    parse_balance,
    parse_exaggerations,
    parse_perplexities,
    split,
)
from .output_files import (
    MAX_COMPARED,
    Outputs,
    default_outputs,
    draw,
    note_page,
    read_images,
    save_model,
    titled,
    write_each,
)
from .session import USER_ERRORS, Session, session

if TYPE_CHECKING:
    from ..estimators import NeighborEmbedding
    from ..page import Thumbnails


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
    exclude: options.Exclude = None,
    vector: options.Vector = None,
    rep: options.Rep = None,
    metadata: options.Metadata = None,
    missing: options.Missing = "error",
    transpose: options.Transpose = False,
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
        Path | None, typer.Option("--out", "-o", help="Table: .parquet, .csv, .tsv, .arrow, .feather, .npy or .h5ad.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Plot: .png, .svg or .pdf.")] = None,
    html: Annotated[Path | None, typer.Option(help="Interactive page: .html.")] = None,
    save_model: Annotated[
        Path | None, typer.Option(help="Model for 'snekhorn transform' and snekhorn.load: .npz.")
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Folder for the state of a long run; the same command resumes from it.")
    ] = None,
    color: Annotated[
        list[str] | None,
        typer.Option(
            help="Column to colour by: metadata, a feature, or a gene of an H5AD file; of several, separated by "
            "commas, the page also offers the others.  (default: the label)",
            metavar='A[,B,"C,D"...]',
        ),
    ] = None,
    image: options.Image = None,
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
        outputs = Outputs(out, plot, html, save_model, tables=(*LAYOUT_SUFFIXES, H5AD))
        outputs = outputs if outputs.paths else default_outputs(input, method)
        colors = tuple(split(color, "--color") or ())
        source = Source.of(
            input,
            columns=columns,
            exclude=exclude,
            label=label,
            id=id,
            rep=rep,
            vector=vector,
            metadata=metadata,
            missing=missing,
            transpose=transpose,
            colors=colors,
        )
        outputs.check(source.files, force=force, several=values.several)
        _check_page(outputs, image, dimensions)
        cluster = Cluster(workers, dask)
        cluster.check(method, several=values.several)
        if checkpoint is not None:
            _check_checkpoint(run, checkpoint, several=values.several)
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
            _check_colors(points.table, colors)
            if outputs.table:
                check_all_kept(outputs.table, points.table, source=input)
            thumbnails = read_images(points.table, image, source)
            fitted = _fit(run, model, points.X, values, client)
        report = LayoutReport.of(input, method, points, fitted)
        if scores and not run.interrupted:
            _measure(run, report, points, fitted, metric, jobs)
        shown: dict[str, Any] = {
            "colors": colors or ((label,) if label else ()),
            "title": input.name if title is None else title,
            "metric": metric,
            "thumbnails": thumbnails,
        }
        if outputs.html:
            note_page(run, points.X.shape[0], data=True)
        write_each(run, _writers(outputs, report, points, fitted, escape_formulas=escape_formulas, **shown))
        if outputs.table and report.scores and not points.scored_by_components:
            _note_command(run, source, outputs.table, standardize=standardize, metric=metric)
        run.result(report.facts(outputs), report.text(outputs, run))


def _check_page(outputs: Outputs, image: str | None, dimensions: int) -> None:
    """Raise if the page cannot show what was requested."""
    if image is not None and outputs.html is None:
        raise InputError(f"--image {image} is shown on the page, which was not requested; pass --html.")
    if dimensions != 2 and outputs.html is not None:
        raise InputError(f"the page is 2-dimensional, but --dimensions is {dimensions}; use --out or --plot.")


def _note_command(run: Session, source: Source, table: Path, *, standardize: bool, metric: str) -> None:
    """Print the command that computes the scores again, unless it is the plain one."""
    if standardize or metric not in ("sqeuclidean", "euclidean"):
        command = source.evaluate_command(table, standardize=standardize, metric=metric)
        run.note(f"to compute these scores again: {command}")


def _check_checkpoint(run: Session, folder: Path, *, several: bool) -> None:
    """Raise if a checkpoint cannot serve this run, and print a note if the run resumes."""
    from ..estimators.checkpoints import stages_in

    if several:
        raise InputError(
            "--checkpoint holds one layout, but several were requested; pass one --perplexity and one --exaggeration."
        )
    if stages := stages_in(folder):
        run.note(f"resuming from the {stages[-1]} in {folder}")


def _check_colors(table: Table, colors: Iterable[str]) -> None:
    """Raise if a column to colour by does not exist."""
    known = [*table.metadata.column_names, *table.columns]
    for name in colors:
        if name not in known:
            raise InputError(f"--color: there is no column {name!r}; {did_you_mean(name, known)}")


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
    with run.stage("layout", f"computing {values.described(X.shape[0])}{first}") as heartbeat:
        if heartbeat is not None:
            model.set_params(callbacks=heartbeat.follow(model.max_iter))
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
            report.scores = measure(run, points.scored(), layouts, points.table, metric=metric, n_jobs=jobs)
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
    colors: tuple[str, ...],
    title: str,
    metric: str,
    thumbnails: Thumbnails | None,
    escape_formulas: bool,
) -> dict[Path, Callable[[Path], None]]:
    """Return a function for each requested file; layouts with a key are labelled with their settings."""
    kept = points.table.with_features(points.kept_features(colors))
    found = Layouts({key: model.embedding_ for key, model in fitted.items()}, kept)
    color = colors[0] if colors else None
    model = next(iter(fitted.values()))
    writers: dict[Path, Callable[[Path], None]] = {}
    if outputs.table and outputs.table.suffix.lower() == H5AD:
        writers[outputs.table] = lambda file: write_h5ad(found, file, name=report.method, source=report.input)
    elif outputs.table:
        writers[outputs.table] = lambda file: write_layouts(found, file, escape_formulas=escape_formulas)
    if outputs.plot:
        writers[outputs.plot] = lambda file: draw(
            found, file, color=color, title=title, heading=report.heading(), subtitles=report.subtitles()
        )
    if outputs.html:
        shown: dict[str, Any] = {"color": color, "title": title, "metric": metric, "images": thumbnails}
        writers[outputs.html] = lambda file: _write_page(file, found, points, report, **shown)
    if outputs.model:
        writers[outputs.model] = lambda file: save_model(model, points, file)
    return writers


def _write_page(file: Path, found: Layouts, points: Points, report: LayoutReport, **shown: Any) -> None:
    """Write the page of all layouts, with the neighbours in the data unless there are too many points."""
    from ..page import write_page

    layouts = titled(found)
    write_page(
        file,
        layouts,
        found.metadata,
        data=points.scored() if len(found.only) <= MAX_COMPARED else None,
        ids=points.table.id,
        summary={title: report.summary(at) for at, title in enumerate(layouts)},
        **shown,
    )
