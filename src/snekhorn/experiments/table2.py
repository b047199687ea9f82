"""Table 2: spectral clustering of genomic data by six affinities."""

from __future__ import annotations

from functools import partial
from typing import Any

from matplotlib.figure import Figure

from ..datasets import CUMIDA
from .clustering import KINDS, best, scored
from .data import MICROARRAYS, chosen, grid, points, title
from .experiment import SEPARATOR, Cells, Experiment, Plan, Settings, data_sets, finished
from .markdown import ABSENT, NEAR, OTHERWISE, PENDING, difference, hundredths, table, verdict
from .paper import CLUSTERING

SETS = (*CUMIDA, "scgem", *MICROARRAYS, "snareseq", "snareseq, unit rows")  # the quickest first
OURS = "symmetric entropic"


def plan(settings: Settings) -> Plan:
    return {
        SEPARATOR.join((name, kind)): partial(clustered, name, kind, settings)
        for name in chosen(SETS, settings)
        for kind in KINDS
    }


def clustered(name: str, kind: str, settings: Settings) -> dict[str, Any]:
    """ARI over the grid of one affinity on one data set."""
    X, y = points(name, settings)
    return scored(kind, X, y, grid(len(X), quick=settings.quick), settings.seeds)


def draw(cells: Cells) -> Figure | None:
    return None


def report(cells: Cells) -> str:
    rows = [_row(name, cells) for name in data_sets(cells)]
    return (
        "ARI x 100, mean over seeds at the best point of the grid; the paper's in brackets. Difference and verdict "
        f"are those of the symmetric entropic affinity (the same: within {NEAR:g}). Bandwidths of the first two "
        "affinities are the powers of ten at which the average perplexity is in the range of the others: one or two a "
        "set, so that their figures turn on where these fall.\n\n"
        + table(["data", *KINDS, "difference", "verdict"], rows)
    )


def _row(name: str, cells: Cells) -> list[Any]:
    keys = {kind: SEPARATOR.join((name, kind)) for kind in KINDS}
    found = {kind: finished(cells).get(key) for kind, key in keys.items()}
    absence = {kind: ABSENT if key in cells else PENDING for kind, key in keys.items()}
    ours = {kind: None if cell is None else (best(cell) or (None,))[0] for kind, cell in found.items()}
    theirs = dict(zip(KINDS, CLUSTERING.get(name.split(", ")[0], ()), strict=False))
    shown = [
        f"{hundredths(v) or absence[kind]}{f' ({theirs[kind]})' if kind in theirs else ''}" for kind, v in ours.items()
    ]
    mine, paper = ours[OURS], theirs.get(OURS)
    mine = None if mine is None else 100.0 * mine
    judged = verdict(mine, paper) or "not in the paper"
    return [title(name), *shown, difference(mine, paper), OTHERWISE if theirs and name not in CLUSTERING else judged]


EXPERIMENT = Experiment("table2", "Table 2: clustering of genomic data", plan, draw, report)
