"""snekhorn embed: compute a layout of the points in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError, did_you_mean
from ..io import Layouts, Table, write_layouts
from ..io.h5ad_layouts import H5AD, check_all_kept, describe_layout, write_h5ad
from ..io.table_files import check_input
from ..runtime.checks import check_jobs
from ..runtime.progress import notes_shown_by
from . import options
from .cluster_session import Cluster, fit_on_cluster
from .embed_options import DisplayOptions, MethodOptions, OutputOptions
from .input_points import Points, Source, outline, prepare_points, read_input
from .layout_names import LayoutValues
from .layout_report import LayoutReport, measure
from .options import parse_balance, parse_memory, split
from .output_files import MAX_COMPARED, Outputs, draw, note_page, read_images, save_model, titled, write_each
from .session import OFFERED_BY_EMBED, USER_ERRORS, Session, session

if TYPE_CHECKING:
    from ..estimators import NeighborEmbedding
    from ..page import Thumbnails


def embed(
    input: options.Input,
    *,
    source: options.SourceOptions,
    metadata: options.Metadata = None,
    preparation: options.PreparationOptions,
    method: MethodOptions,
    cluster: Cluster,
    files: OutputOptions,
    display: DisplayOptions,
    scores: Annotated[bool, typer.Option(help="Measure how faithful the layout is to the data.")] = True,
    printing: options.PrintOptions,
) -> None:
    """Compute a layout of the points in a file. Write a table of coordinates, a plot and an interactive page.

    Numeric columns, except the label and the id, are the features; all other
    columns are kept as metadata. Without --out, --plot, --html or --save-model,
    the command writes a table, a plot and a page to the current folder, named
    after the input.

    snekhorn embed cells.csv --label type

    snekhorn embed cells.h5ad --label leiden --perplexity 10,30,100 --plot sheet.png

    snekhorn embed cells.h5ad --label leiden --exaggeration 1,1.5,2 --plot sheet.png

    snekhorn embed folder-of-blocks --workers 4 --checkpoint state
    """
    with session(**vars(printing), offered=OFFERED_BY_EMBED) as run:
        check_input(input)
        check_jobs(preparation.jobs)
        colors = tuple(split(display.color, "--color") or ())
        origin = Source.of(input, source, metadata=metadata, colors=colors)
        outputs = files.outputs(run, input, method, origin.files, display.image)
        cluster.check(method.method, several=method.values.several)
        _check_checkpoint(input, method)
        run.checkpoint = method.checkpoint
        model = _model(run, method, preparation, cluster)
        with cluster.joined(run) as joined:  # quick, unlike reading
            table = read_input(run, origin, preparation.metric)
            _check_colors(table, colors)
            if outputs.table:
                check_all_kept(outputs.table, table, source=input)
            thumbnails = read_images(table, display.image, origin)
            # Starting workers is slow, so the input is checked before.
            with cluster.started(run, joined, model, outline(table.X, preparation)) as client:
                check_resources = model.check_resources if client is None else None
                points = prepare_points(run, origin, table, preparation, check_resources=check_resources)
                fitted = _fit(run, model, points.X, method.values, client)
        if run.interrupted and method.checkpoint is not None:
            run.note("the same command with --force continues from the checkpoint, and replaces the results so far")
        report = LayoutReport.of(input, method.method, points, fitted)
        if scores and not run.interrupted:
            _measure(run, report, points, fitted, preparation)
        shown: dict[str, Any] = {
            "colors": colors or ((source.label,) if source.label else ()),
            "title": input.name if display.title is None else display.title,
            "metric": preparation.metric,
            "thumbnails": thumbnails,
            "escape_formulas": files.escape_formulas,
        }
        if outputs.html:
            note_page(run, points.X.shape[0], data=True)
        write_each(run, _writers(outputs, report, points, fitted, **shown))
        if outputs.table and report.scores and not points.scored_by_components:
            _note_command(run, origin, outputs.table, preparation)
        run.result(report.facts(outputs), report.text(outputs, run))


def _model(run: Session, method: MethodOptions, preparation: options.PreparationOptions, cluster: Cluster) -> Any:
    """Return the estimator, not fitted; raise if its parameters are invalid."""
    return cluster.model(
        method.method,
        n_components=method.dimensions,
        perplexity=method.values.perplexities[0],
        exaggeration=method.values.exaggerations[0],
        metric=preparation.metric,
        balance=parse_balance(method.balance),
        self_loops=method.self_loops,
        max_iter=method.max_iter,
        tol=method.tol,
        init=method.init,
        n_jobs=preparation.jobs,
        max_memory=parse_memory(method.max_memory),
        random_state=preparation.seed,
        verbose=run.shows_progress,
        checkpoint=method.checkpoint,
    )


def _check_checkpoint(input: Path, method: MethodOptions) -> None:
    """Raise if the checkpoint cannot hold what was requested, or would be among the blocks of the input."""
    if method.checkpoint is None:
        return
    if method.values.several:
        raise InputError(
            "--checkpoint holds one layout, but several were requested; pass one --perplexity and one --exaggeration."
        )
    if method.checkpoint.exists() and not method.checkpoint.is_dir():
        raise InputError(f"--checkpoint {method.checkpoint} is a file, not a folder; name another folder.")
    if input.is_dir() and method.checkpoint.resolve() == input.resolve():
        raise InputError(f"--checkpoint is the folder of the input, {input}; choose another folder.")


def _note_command(run: Session, source: Source, table: Path, preparation: options.PreparationOptions) -> None:
    """Print the command that computes the scores again, unless it is the plain one."""
    standardize, metric = preparation.standardize, preparation.metric
    if standardize or metric not in ("sqeuclidean", "euclidean"):
        command = source.evaluate_command(table, standardize=standardize, metric=metric)
        run.note(f"to compute these scores again: {command}")


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
    stage = run.stage("layout", f"computing {values.described(X.shape[0])}{first}")
    with stage as heartbeat, notes_shown_by(run.note):
        if heartbeat is not None:
            model.set_params(callbacks=heartbeat.follow(model.max_iter))
        if values.several:
            several = sweep(model, X, values.perplexities, exaggerations=values.exaggerations)
        else:  # unlike the models of a sweep, this one can place new points
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
    preparation: options.PreparationOptions,
) -> None:
    """Score the layouts; an error here must not discard them."""
    layouts = [model.embedding_ for model in fitted.values()]
    metric = "euclidean" if preparation.metric == "sqeuclidean" else preparation.metric
    with run.stage("scores", "computing the scores"):
        try:
            how = {"metric": metric, "n_jobs": preparation.jobs}
            report.scores = measure(run, points.scored(), layouts, points.table, **how)
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
        descriptions = {key: describe_layout(model, **points.facts()) for key, model in fitted.items()}
        writers[outputs.table] = lambda file: write_h5ad(
            found, file, name=report.method, source=report.input, descriptions=descriptions
        )
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
    with file.open("wb") as page:
        write_page(
            page,
            layouts,
            found.metadata,
            data=points.scored() if len(found.only) <= MAX_COMPARED else None,
            ids=points.table.id,
            summary={title: report.summary(at) for at, title in enumerate(layouts)},
            **shown,
        )
