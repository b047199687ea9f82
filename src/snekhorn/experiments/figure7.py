"""Figure 7: SNAREseq by t-SNE and t-SNEkhorn, on the raw counts and on rows of unit norm."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..plots import scatter
from .data import class_names, points
from .drawing import class_legend, panels
from .experiment import Cells, Experiment, Plan, Settings, finished
from .layouts import SCORES, SHOWN, shown_layout, shown_rows
from .markdown import NEAR, table

PERPLEXITY = 50
ROWS = ("raw", "unit rows")


def plan(settings: Settings) -> Plan:
    name = "digits" if settings.quick else "snareseq"
    return {f"{column}, {rows}": partial(layout, column, rows, name, settings) for rows in ROWS for column in SHOWN}


def layout(column: str, rows: str, name: str, settings: Settings) -> dict[str, Any]:
    X, y = points(f"{name}, {rows}", settings)
    return {**shown_layout(column, X, y, PERPLEXITY), "names": class_names(name, settings)}


def draw(cells: Cells) -> Figure | None:
    if not cells:
        return None
    figure, axes = panels(len(cells), columns=len(SHOWN), width=3.4)
    for ax, (name, cell) in zip(axes, cells.items(), strict=True):
        classes = [str(code) for code in cell["classes"]]
        column, rows = name.rsplit(", ", 1)
        said = f"{rows}, silhouette {cell['silhouette']:.2f}"
        scatter(np.asarray(cell["layout"]), classes, ax=ax, title=column, subtitle=said, legend="none")
    class_legend(figure, next(iter(cells.values()))["names"])
    return figure


def report(cells: Cells) -> str:
    cells = finished(cells)
    found = [row for rows in ROWS for row in shown_rows(cells, f", {rows}")]
    return (
        f"Perplexity {PERPLEXITY}. The paper shows the classes better separated by t-SNEkhorn than by t-SNE; within "
        f"{NEAR / 100.0:g} of silhouette there is no difference.\n\n" + table(["layout", *SCORES, "verdict"], found)
    )


EXPERIMENT = Experiment("figure7", "Figure 7: SNAREseq layouts", plan, draw, report)
