"""Figure 7: SNAREseq layouts of t-SNE and t-SNEkhorn, on raw counts and on rows of unit norm."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from harness.data_sets import class_names
from harness.experiment import Cases, Experiment, Plan, Settings, finished
from harness.results_page import table
from snekhorn.plots import scatter

from .drawing import class_legend, panels
from .layout_protocols import SCORES, SHOWN, shown_layout, shown_rows
from .paper_data import points
from .verdicts import NEAR

PERPLEXITY = 50
ROWS = ("raw", "unit rows")


def plan(settings: Settings) -> Plan:
    name = "digits" if settings.quick else "snareseq"
    return {f"{column}, {rows}": partial(layout, column, rows, name, settings) for rows in ROWS for column in SHOWN}


def layout(column: str, rows: str, name: str, settings: Settings) -> dict[str, Any]:
    X, y = points(f"{name}, {rows}", settings)
    names = class_names(name, settings.data, download=not settings.quick)
    return {**shown_layout(column, X, y, PERPLEXITY), "names": names}


def draw(cases: Cases) -> Figure | None:
    if not cases:
        return None
    figure, axes = panels(len(cases), columns=len(SHOWN), width=3.4)
    for ax, (name, case) in zip(axes, cases.items(), strict=True):
        classes = [str(code) for code in case["classes"]]
        column, rows = name.rsplit(", ", 1)
        said = f"{rows}, silhouette {case['silhouette']:.2f}"
        scatter(np.asarray(case["layout"]), classes, ax=ax, title=column, subtitle=said, legend="none")
    class_legend(figure, next(iter(cases.values()))["names"])
    return figure


def report(cases: Cases) -> str:
    found = [row for rows in ROWS for row in shown_rows(finished(cases), f", {rows}")]
    note = (
        f"The layouts were computed at perplexity {PERPLEXITY} from the raw counts and from the counts scaled to rows "
        "of unit norm. In the paper, t-SNEkhorn separates the classes better than t-SNE. Here, a difference in "
        f"silhouette of at most {NEAR / 100.0:g} counts as no difference."
    )
    return table(["layout", *SCORES, "verdict"], found, note)


EXPERIMENT = Experiment("figure7", "Figure 7: SNAREseq layouts", plan, report, draw)
