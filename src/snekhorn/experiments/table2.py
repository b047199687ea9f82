"""Table 2: spectral clustering of genomic data by six affinities."""

from __future__ import annotations

from functools import partial
from typing import Any

from matplotlib.figure import Figure

from .clustering import KINDS, best, scored
from .data import GENOMICS, STAND_INS, chosen, grid, points, title
from .experiment import Cells, Experiment, Plan, Settings
from .markdown import difference, hundredths, table, verdict
from .paper import CLUSTERING

SETS = (*GENOMICS, *(name for name in STAND_INS if name != "cifar_resnet56"))
UNIT_ROWS = "snareseq, unit rows"


def plan(settings: Settings) -> Plan:
    names = (*chosen(SETS, settings), *(() if settings.quick else (UNIT_ROWS,)))
    return {f"{name}, {kind}": partial(clustered, name, kind, settings) for name in names for kind in KINDS}


def clustered(name: str, kind: str, settings: Settings) -> dict[str, Any]:
    """ARI over the grid of one affinity on one data set."""
    X, y = points(name, settings)
    return scored(kind, X, y, grid(len(X), quick=settings.quick), settings.seeds)


def draw(cells: Cells) -> Figure | None:
    return None


def report(cells: Cells) -> str:
    names = list(dict.fromkeys([*SETS, UNIT_ROWS, *(key.rsplit(", ", 1)[0] for key in cells if _is_quick(key))]))
    rows = []
    for name in names:
        found = [cells.get(f"{name}, {kind}") for kind in KINDS]
        ours = [None if cell is None else (best(cell) or (None,))[0] for cell in found]
        theirs = CLUSTERING.get(name.split(", ")[0])
        se = None if ours[4] is None else 100.0 * ours[4]
        paper = None if theirs is None else theirs[4]
        shown = [
            f"{hundredths(value) or 'not available'}{'' if theirs is None or i > 4 else f' ({theirs[i]})'}"
            for i, value in enumerate(ours)
        ]
        rows.append([title(name), *shown, difference(se, paper), verdict(se, paper) or "no such row in the paper"])
    return (
        "ARI x 100, mean over seeds at the best point of the grid; the paper's in brackets. Difference and verdict "
        "are those of the symmetric entropic affinity.\n\n" + table(["data", *KINDS, "difference", "verdict"], rows)
    )


def _is_quick(key: str) -> bool:
    return key.startswith("digits")


EXPERIMENT = Experiment("table2", "Table 2: clustering of genomic data", plan, draw, report)
