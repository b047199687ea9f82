"""Table 2: spectral clustering of genomic data with six affinities."""

from __future__ import annotations

from functools import partial
from typing import Any

from harness.data_sets import title
from harness.experiment import SEPARATOR, Cases, Experiment, Plan, Settings, data_sets_in, finished
from harness.results_page import ABSENT, PENDING, table
from snekhorn.datasets import CUMIDA

from .clustering import KINDS, best, scored
from .paper import CLUSTERING
from .paper_data import MICROARRAYS, chosen, grid, points
from .verdicts import NEAR, OTHERWISE, difference, hundredths, verdict

SETS = (*CUMIDA, "scgem", *MICROARRAYS, "snareseq", "snareseq, unit rows")  # the fastest first
OURS = "symmetric entropic"


def plan(settings: Settings) -> Plan:
    return {
        SEPARATOR.join((name, kind)): partial(clustered, name, kind, settings)
        for name in chosen(SETS, settings)
        for kind in KINDS
    }


def clustered(name: str, kind: str, settings: Settings) -> dict[str, Any]:
    """Return the ARI of one affinity on one data set over its grid."""
    X, y = points(name, settings)
    return scored(kind, X, y, grid(len(X), quick=settings.quick), settings.seeds)


def report(cases: Cases) -> str:
    rows = [_row(name, cases) for name in data_sets_in(cases)]
    note = (
        "The table shows the ARI × 100: the mean over the seeds at the best point of the grid, with the paper's "
        "number in brackets. The difference, our number minus the paper's, and the verdict refer to the symmetric "
        f'entropic affinity; "the same" means a difference of at most {NEAR:g}. The row-stochastic and the doubly '
        "stochastic affinity have a bandwidth instead of a perplexity. Their grid consists of the powers of ten for "
        "which the average perplexity lies in the range of the other grids. Only one or two powers of ten qualify per "
        "data set, so these scores depend on where the powers of ten happen to fall."
    )
    return table(["data", *KINDS, "difference", "verdict"], rows, note)


def _row(name: str, cases: Cases) -> list[Any]:
    keys = {kind: SEPARATOR.join((name, kind)) for kind in KINDS}
    found = {kind: finished(cases).get(key) for kind, key in keys.items()}
    absence = {kind: ABSENT if key in cases else PENDING for kind, key in keys.items()}
    ours = {kind: None if case is None else best(case) for kind, case in found.items()}
    theirs = dict(zip(KINDS, CLUSTERING.get(name.split(", ")[0], ()), strict=False))
    shown = [
        f"{hundredths(v) or absence[kind]}{f' ({theirs[kind]})' if kind in theirs else ''}" for kind, v in ours.items()
    ]
    mine, paper = ours[OURS], theirs.get(OURS)
    mine = None if mine is None else 100.0 * mine
    judged = verdict(mine, paper) or "not in the paper"
    return [title(name), *shown, difference(mine, paper), OTHERWISE if theirs and name not in CLUSTERING else judged]


EXPERIMENT = Experiment("table2", "Table 2: clustering of genomic data", plan, report)
