"""What the paper's protocol leaves open: the step of Adam, and whether a point is its own neighbour."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from .data import points_for, title
from .experiment import SEPARATOR, Cells, Experiment, Plan, Settings, finished
from .layouts import PAPER_COLUMNS, SCORES, paper_layout, scores
from .markdown import table
from .paper import EMBEDDINGS
from .verdicts import PLACES, beside_paper

SETS = ("scgem", "olivetti", "umist")  # of the paper's, and small
STEPS = (0.1, 0.5, 1.0)  # those of the authors' scripts
PERPLEXITIES = (10, 30)
LOOPLESS = "t-SNEkhorn without self-loops, paper's protocol"
# Which figure of the paper a column stands beside.
THEIRS = {**PLACES, LOOPLESS: PLACES["t-SNEkhorn, paper's protocol"]}


def plan(settings: Settings) -> Plan:
    names, perplexities = (("digits",), (20,)) if settings.quick else (SETS, PERPLEXITIES)
    return {
        SEPARATOR.join((name, column, f"{step:g}", str(xi))): partial(seeded, name, column, step, xi, settings)
        for name in names
        for column in PAPER_COLUMNS
        for step in STEPS
        for xi in perplexities
    }


def seeded(name: str, column: str, step: float, perplexity: int, settings: Settings) -> dict[str, Any]:
    """Scores for every seed."""
    X, y = points_for(name, perplexity, settings)
    rows = [scores(X, y, paper_layout(column, X, perplexity, seed, step=step)) for seed in settings.seeds]
    found = {score: [row[score] for row in rows] for score in SCORES}
    return {"data": name, "column": column, "step": step, "perplexity": perplexity, **found}


def draw(cells: Cells) -> Figure | None:
    return None


def report(cells: Cells) -> str:
    cells = finished(cells)
    tried = sorted({cell["perplexity"] for cell in cells.values()})
    pairs = list(dict.fromkeys((cell["data"], cell["column"]) for cell in cells.values()))
    rows = [_row(name, column, score, cells) for score in SCORES for name, column in pairs]
    head = [
        "score",
        "data",
        "method",
        *(f"step {step:g}" for step in STEPS),
        "the paper's",
        "verdict at the nearest step",
    ]
    return (
        'The paper trains "with default parameters", and the scripts of its authors with steps of 0.1 (SNAREseq), 0.5 '
        "(Figure 1) and 1 (COIL); they also stop after other numbers of steps, and compute five steps of Sinkhorn, "
        "which were not tried here. Mean and standard deviation over seeds, x 100, at the best of perplexities "
        f"{', '.join(map(str, tried))}; the verdict, by the rule of Table 3, is of the step whose mean is nearest to "
        f"the paper's. {_findings(cells)}\n\n{table(head, rows)}"
    )


def _row(name: str, column: str, score: str, cells: Cells) -> list[Any]:
    found = {step: best for step in STEPS if (best := _best(name, column, score, step, cells))}
    shown = [f"{found[step][0]:.1f} ± {found[step][1]:.1f}" if step in found else None for step in STEPS]
    row = [score, title(name), column.removesuffix(", paper's protocol"), *shown]
    if name not in EMBEDDINGS:
        return [*row, "", ""]
    paper = EMBEDDINGS[name][SCORES.index(score)][THEIRS[column]]
    nearest = min((mean for mean, _ in found.values()), key=lambda mean: abs(mean - paper), default=None)
    return [*row, *beside_paper(nearest, name, score, THEIRS[column])]


def _best(name: str, column: str, score: str, step: float, cells: Cells) -> tuple[float, float] | None:
    """Largest mean over the perplexities, with the standard deviation there."""
    values = [c[score] for c in cells.values() if (c["data"], c["column"], c["step"]) == (name, column, step)]
    return max(((100.0 * float(np.mean(v)), 100.0 * float(np.std(v))) for v in values), default=None)


def _findings(cells: Cells) -> str:
    """How far the step moves silhouettes, and what leaving out self-loops adds."""
    said = []
    for name in dict.fromkeys(cell["data"] for cell in cells.values()):
        means = {
            column: [best[0] for step in STEPS if (best := _best(name, column, "silhouette", step, cells))]
            for column in PAPER_COLUMNS
        }
        loops, loopless = means["t-SNEkhorn, paper's protocol"], means[LOOPLESS]
        if loops and loopless:
            said.append(
                f"on {title(name)} the step moves the silhouette of t-SNEkhorn by {np.ptp(loops):.1f}, and without "
                f"self-loops its best is {max(loopless):.1f}, with them {max(loops):.1f}"
            )
    return f"Found: {'; '.join(said)}." if said else ""


EXPERIMENT = Experiment("protocol", "What the paper's protocol leaves open", plan, draw, report)
