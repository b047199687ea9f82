"""snekhorn affinity: the matrix itself."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer

from ..errors import InputError
from ..io.table_files import check_input
from . import options
from .options import perplexities, split
from .outputs import check_files, write_each
from .points import Source, read_points
from .session import session

SUMS_TO_ONE = 1e-3  # a row within this of it counts as doing so

Kind = Literal["symmetric-entropic", "entropic", "symmetrized-entropic", "doubly-stochastic", "gaussian", "self-tuning"]


def affinity(  # noqa: PLR0913
    input: options.Input,
    *,
    kind: Annotated[Kind, typer.Option("--kind", "-k", help="Which affinity.")] = "symmetric-entropic",
    perplexity: Annotated[float, typer.Option("--perplexity", "-p", help="Effective number of neighbours.")] = 30.0,
    neighbors: Annotated[
        int, typer.Option("--neighbors", help="Neighbours it is restricted to; 0 for three times the perplexity.")
    ] = 0,
    self_loops: Annotated[bool, typer.Option(help="Let a point be its own neighbour, too; embed does not.")] = True,
    out: Annotated[Path, typer.Option("--out", "-o", help="Sparse matrix: .npz (SciPy) or .mtx.")],
    columns: options.Columns = None,
    label: options.Label = None,
    id: options.Id = None,
    rep: options.Rep = None,
    metric: options.Metric = "sqeuclidean",
    pca: options.Pca = None,
    standardize: options.Standardize = False,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Compute an affinity between the points of a file, as a sparse matrix, and say how well it was solved.

    snekhorn affinity cells.csv --perplexity 30 --out P.npz
    """
    with session(as_json=as_json, quiet=quiet) as run:
        check_input(input)
        from ..runtime.checks import check_jobs

        check_jobs(jobs)
        from scipy import io as scipy_io
        from scipy import sparse

        perplexities([str(perplexity)])
        if neighbors < 0:
            raise InputError(f"--neighbors must be 0 or more, got {neighbors}.")
        check_files([(out, (".npz", ".mtx"))], [input], force=force)
        source = Source(input, split(columns), label, id, rep)
        points = read_points(run, source, metric=metric, pca=pca, standardize=standardize, seed=seed)
        model = _affinity(kind, perplexity)
        model.set_params(metric=metric, n_neighbors=neighbors or "auto", self_loops=self_loops, n_jobs=jobs)
        with run.stage("affinity", f"computing the {kind} affinity of {points.X.shape[0]:,} points"):
            P = model.set_params(verbose=run.shows_progress).fit_transform(points.X)
        write = sparse.save_npz if out.suffix.lower() == ".npz" else scipy_io.mmwrite
        write_each(run, {out: lambda file: write(str(file), P)})
        rows, scaled = _row_perplexities(P)
        report = {**asdict(model.report_), "n_floor_rows": model.report_.n_floor_rows}
        facts = {
            "input": str(input),
            "kind": kind,
            "n_points": P.shape[0],
            "n_entries": int(P.nnz),
            "row_perplexities": {"min": rows.min(), "median": float(sorted(rows)[len(rows) // 2]), "max": rows.max()},
            "rows_scaled_to_sum_to_1": scaled,
            "report": report,
            "files": {"affinity": str(out)},
        }
        run.result(
            facts,
            f"{P.shape[0]:,} points, {P.nnz:,} entries\n{model.report_}\nrow perplexities from {rows.min():.2f} to "
            f"{rows.max():.2f}{' (rows scaled to sum to 1)' if scaled else ''}\naffinity: {out}",
        )


def _row_perplexities(P: Any) -> tuple[Any, bool]:
    """Of the rows, which are scaled to sum to one; and whether they had to be."""
    from scipy import sparse

    from ..affinities import row_perplexities

    sums = np.asarray(P.sum(axis=1)).ravel()
    return row_perplexities(sparse.diags_array(1.0 / sums) @ P), bool(abs(sums - 1.0).max() > SUMS_TO_ONE)


def _affinity(kind: str, perplexity: float) -> Any:
    from .. import affinities

    makers = {
        "symmetric-entropic": lambda: affinities.SymmetricEntropicAffinity(perplexity),
        "entropic": lambda: affinities.EntropicAffinity(perplexity),
        "symmetrized-entropic": lambda: affinities.EntropicAffinity(perplexity, symmetrize=True),
        "doubly-stochastic": lambda: affinities.DoublyStochasticAffinity(perplexity=perplexity),
        "gaussian": lambda: affinities.GaussianAffinity(perplexity=perplexity),
        "self-tuning": lambda: affinities.SelfTuningAffinity(),
    }
    return makers[kind]()
