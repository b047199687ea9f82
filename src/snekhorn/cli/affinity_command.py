"""snekhorn affinity: compute an affinity matrix."""

from __future__ import annotations

import inspect
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ..errors import InputError
from ..io.table_files import check_input
from ..registry import AFFINITIES
from ..runtime.checks import check_jobs, check_seed
from . import options
from .input_points import Source, prepare_points, read_input
from .options import DEFAULT_PERPLEXITY, parse_perplexities
from .output_files import check_files, write_each
from .session import OFFERED_BY_AFFINITY, Session, session, with_option_names

SUM_TOLERANCE = 1e-3  # report that rows were scaled to sum to 1 if a sum differs from 1 by more than this


def affinity(
    input: options.Input,
    *,
    kind: Annotated[
        options.Kind,
        typer.Option("--kind", "-k", help=f"Kind of affinity: {', '.join(AFFINITIES)}.", metavar="KIND"),
    ] = "symmetric-entropic",
    perplexity: Annotated[
        list[str] | None,
        typer.Option(
            "--perplexity",
            "-p",
            help="Effective number of neighbours per point; 'multiscale' takes several values, separated by commas.  "
            "(default: 30; for 'multiscale', a range that fits the data)",
            metavar="N[,N...]",
        ),
    ] = None,
    neighbors: Annotated[
        int,
        typer.Option("--neighbors", help="Number of neighbours per point; 0 means 1.5 times the perplexity."),
    ] = 0,
    self_loops: Annotated[
        bool, typer.Option(help="Count each point among its own neighbours; 'embed' does not do so by default.")
    ] = True,
    out: Annotated[Path, typer.Option("--out", "-o", help="Sparse matrix: .npz (SciPy) or .mtx.")],
    source: options.SourceOptions,
    preparation: options.PreparationOptions,
    force: options.Force = False,
    printing: options.PrintOptions,
) -> None:
    """Compute an affinity matrix of the points in a file. The matrix is sparse; a report says how accurate it is.

    snekhorn affinity cells.csv --perplexity 30 --out P.npz
    """
    with session(**vars(printing), offered=OFFERED_BY_AFFINITY) as run:
        check_input(input)
        check_jobs(preparation.jobs)
        check_seed(preparation.seed)
        perplexities = parse_perplexities(perplexity)
        if neighbors < 0:
            raise InputError(f"--neighbors must be at least 0, got {neighbors}.")
        check_files([(out, (".npz", ".mtx"))], [input], force=force)
        model = _make_affinity(run, kind, perplexities)
        origin = Source.of(input, source)
        points = prepare_points(run, origin, read_input(run, origin, preparation.metric), preparation)
        model.set_params(metric=preparation.metric, n_jobs=preparation.jobs)
        model.set_params(n_neighbors=neighbors or "auto", self_loops=self_loops)
        with run.stage("affinity", f"computing the {kind} affinity of {points.X.shape[0]:,} points"):
            P = model.set_params(verbose=run.shows_progress).fit_transform(points.X)
        write_each(run, {out: lambda file: _write(P, file)})
        _report(run, P, model.report_, {"input": str(input), "kind": kind}, out)


def _report(run: Session, P: Any, report: Any, facts: dict[str, Any], out: Path) -> None:
    """Print what the matrix is like."""
    rows, scaled, n_empty = _row_perplexities(P)
    reason = with_option_names(report.reason)
    facts |= {
        "n_points": P.shape[0],
        "n_entries": int(P.nnz),
        "row_perplexities": {"min": rows.min(), "median": np.median(rows), "max": rows.max()},
        "rows_scaled_to_sum_to_1": scaled,
        "rows_without_mass": n_empty,
        "report": {**asdict(report), "reason": reason, "n_floor_rows": report.n_floor_rows},
        "files": {"affinity": str(out)},
    }
    empty = "1 row that sums to 0" if n_empty == 1 else f"{n_empty:,} rows that sum to 0"
    remarks = ", ".join(["rows scaled to sum to 1"] * scaled + [f"without {empty}"] * bool(n_empty))
    run.result(
        facts,
        f"{P.shape[0]:,} points, {P.nnz:,} entries\n{replace(report, reason=reason)}\n"
        f"row perplexities from {rows.min():.2f} to {rows.max():.2f}{f' ({remarks})' if remarks else ''}\n"
        f"affinity: {out}",
    )


def _make_affinity(run: Session, kind: str, perplexities: list[float]) -> Any:
    """Build a registered affinity with the perplexities it takes: several, one or none."""
    entry = AFFINITIES[kind]
    accepted = inspect.signature(entry.load()).parameters
    given: dict[str, Any] = {}
    if "perplexities" in accepted:
        given = {"perplexities": perplexities} if perplexities else {}
    elif "perplexity" in accepted:
        if len(perplexities) > 1:
            names = ", ".join(f"{perplexity:g}" for perplexity in perplexities)
            raise InputError(
                f"--kind {kind} takes one perplexity, but got {names}; pass only one, or use --kind multiscale."
            )
        given = {"perplexity": perplexities[0] if perplexities else DEFAULT_PERPLEXITY}
    elif perplexities:
        run.note(f"--perplexity is ignored: --kind {kind} does not use it")
    return entry.load()(**{**given, **entry.parameters})


def _write(P: Any, file: Path) -> None:
    from scipy import io as scipy_io
    from scipy import sparse

    write = sparse.save_npz if file.suffix == ".npz" else scipy_io.mmwrite
    write(str(file), P)


def _row_perplexities(P: Any) -> tuple[Any, bool, int]:
    """Return the perplexities of the rows, scaled to sum to 1, and whether scaling made a difference.

    Rows that sum to 0 have none; also return their number.
    """
    from scipy import sparse

    from ..affinities import row_perplexities

    sums = np.asarray(P.sum(axis=1)).ravel()
    with_mass = sums > 0.0
    rows = row_perplexities(sparse.diags_array(1.0 / sums[with_mass]) @ P[with_mass])
    return rows, bool(abs(sums - 1.0).max() > SUM_TOLERANCE), int(np.count_nonzero(~with_mass))
