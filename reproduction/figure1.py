"""Figure 1: COIL-20 layouts of t-SNE and t-SNEkhorn, and the row perplexities of their affinities."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from harness.experiment import Cases, Experiment, Plan, Settings, finished
from harness.results_page import table
from snekhorn.affinities import EntropicAffinity, SymmetricEntropicAffinity
from snekhorn.affinities import row_perplexities as perplexities_of
from snekhorn.plots import row_perplexities, scatter

from .drawing import panels
from .layout_protocols import SCORES, SHOWN, shown_layout, shown_rows
from .paper_data import points
from .verdicts import NEAR

PERPLEXITY = 30
AFFINITIES = {
    "symmetrised entropic": EntropicAffinity(PERPLEXITY, symmetrize=True),
    "symmetric entropic": SymmetricEntropicAffinity(PERPLEXITY),
}


def plan(settings: Settings) -> Plan:
    name = "digits" if settings.quick else "coil20"
    rows: Plan = {kind: partial(rows_of, kind, name, settings) for kind in AFFINITIES}
    return rows | {column: partial(layout, column, name, settings) for column in SHOWN}


def rows_of(kind: str, name: str, settings: Settings) -> dict[str, Any]:
    return {"perplexities": perplexities_of(AFFINITIES[kind].fit_transform(points(name, settings)[0]))}


def layout(column: str, name: str, settings: Settings) -> dict[str, Any]:
    X, y = points(name, settings)
    return shown_layout(column, X, y, PERPLEXITY)


def draw(cases: Cases) -> Figure | None:
    shown = [column for column in SHOWN if column in cases]
    if len(shown) < len(SHOWN) or not set(AFFINITIES) <= set(cases):
        return None
    figure, axes = panels(len(shown) + 1, columns=3)
    histogram = axes.pop(2)  # so that the two layouts of a pair are side by side
    for ax, column in zip(axes, shown, strict=True):
        case = cases[column]
        said = f"silhouette {case['silhouette']:.2f}"
        classes = [str(code) for code in case["classes"]]
        scatter(np.asarray(case["layout"]), classes, ax=ax, title=column, subtitle=said, legend="none")
    rows = {kind: cases[kind]["perplexities"] for kind in AFFINITIES}
    row_perplexities(rows, target=PERPLEXITY, ax=histogram, title="Row perplexities")
    return figure


def report(cases: Cases) -> str:
    cases = finished(cases)
    spreads = []
    for kind in AFFINITIES:
        rows = cases[kind]["perplexities"] if kind in cases else None
        spreads.append([kind, f"{min(rows):.2f} to {max(rows):.2f}" if rows else None])
    perplexities = (
        "The first table shows the range of the row perplexities of two affinities computed for perplexity "
        f"{PERPLEXITY}. In the paper, the row perplexities vary for the symmetrised affinity and are equal for the "
        "symmetric entropic affinity."
    )
    layouts = (
        "The second table shows the scores of the layouts. In the paper's figure, t-SNEkhorn has a higher silhouette "
        f"than t-SNE. Here, a difference of at most {NEAR / 100.0:g} counts as no difference."
    )
    return "\n\n".join(
        [
            table(["affinity", "row perplexities"], spreads, perplexities),
            table(["method", *SCORES, "verdict"], shown_rows(cases), layouts),
        ]
    )


EXPERIMENT = Experiment("figure1", "Figure 1: COIL-20 layouts and row perplexities", plan, report, draw)
