"""Figure 1: COIL-20 by t-SNE and t-SNEkhorn, and the row perplexities of their affinities."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..affinities import EntropicAffinity, SymmetricEntropicAffinity
from ..affinities import row_perplexities as perplexities_of
from ..plots import row_perplexities, scatter
from .data import points
from .drawing import panels
from .experiment import Cells, Experiment, Plan, Settings, finished
from .layouts import SCORES, SHOWN, shown_layout, shown_rows
from .markdown import NEAR, table

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


def draw(cells: Cells) -> Figure | None:
    shown = [column for column in SHOWN if column in cells]
    if len(shown) < len(SHOWN) or not set(AFFINITIES) <= set(cells):
        return None
    figure, axes = panels(len(shown) + 1, columns=3)
    histogram = axes.pop(2)  # so that the layouts of a pair are beside each other
    for ax, column in zip(axes, shown, strict=True):
        cell = cells[column]
        said = f"silhouette {cell['silhouette']:.2f}"
        classes = [str(code) for code in cell["classes"]]
        scatter(np.asarray(cell["layout"]), classes, ax=ax, title=column, subtitle=said, legend="none")
    rows = {kind: cells[kind]["perplexities"] for kind in AFFINITIES}
    row_perplexities(rows, target=PERPLEXITY, ax=histogram, title="Row perplexities")
    return figure


def report(cells: Cells) -> str:
    cells = finished(cells)
    spreads = []
    for kind in AFFINITIES:
        rows = cells[kind]["perplexities"] if kind in cells else None
        spreads.append([kind, f"{min(rows):.2f} to {max(rows):.2f}" if rows else None])
    return (
        f"Row perplexities at perplexity {PERPLEXITY} (the paper: those of the symmetrised affinity vary, those of "
        "the symmetric entropic one are equal):\n\n"
        + table(["affinity", "row perplexities"], spreads)
        + "\n\nScores of the layouts (the paper's figure shows t-SNEkhorn above t-SNE in silhouette; within "
        f"{NEAR / 100.0:g} there is no difference):"
        "\n\n" + table(["method", *SCORES, "verdict"], shown_rows(cells))
    )


EXPERIMENT = Experiment("figure1", "Figure 1: COIL-20 layouts and row perplexities", plan, draw, report)
