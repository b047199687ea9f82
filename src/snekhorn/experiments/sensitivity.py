"""Appendix: scores of the layouts against the perplexity, from the cells of Table 3."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from .data import title
from .drawing import curves, legend, panels
from .experiment import Cells, Experiment, finished
from .markdown import PENDING, table
from .table3 import SCORES, means
from .table3 import plan as plan_of_table3

SHOWN = ("t-SNEkhorn", "t-SNEkhorn with self-loops", "t-SNE", "t-SNEkhorn, paper's protocol", "t-SNE, paper's protocol")


def draw(cells: Cells) -> Figure | None:
    found = means(cells)
    names = list(dict.fromkeys(name for name, _, _ in found))
    if not names:
        return None
    figure, axes = panels(2 * len(names), columns=4)
    for i, name in enumerate(names):
        for ax, score in zip(axes[2 * i : 2 * i + 2], SCORES, strict=True):
            lines = {c: found[name, c, score] for c in SHOWN if (name, c, score) in found}
            drawn = {column: (list(values), list(values.values())) for column, values in lines.items()}
            curves(ax, drawn, title=title(name), x="perplexity", y=score)
    legend(figure, axes[0])
    return figure


def report(cells: Cells) -> str:
    cells = finished(cells)
    found = means(cells)
    rows = []
    for name in dict.fromkeys(name for name, _, _ in found):
        shares = []
        for pair in (("t-SNEkhorn", "t-SNE"), ("t-SNEkhorn, paper's protocol", "t-SNE, paper's protocol")):
            for score in SCORES:
                ours, other = (found.get((name, column, score), {}) for column in pair)
                shared = set(ours) & set(other)
                shares.append(
                    f"{np.sum([ours[xi] > other[xi] for xi in shared])} of {len(shared)}" if shared else PENDING
                )
        rows.append([title(name), *shares])
    head = ["data", *(f"{score}, {how}" for how in ("our defaults", "paper's protocol") for score in SCORES)]
    return (
        "The paper: t-SNEkhorn is above t-SNE over a wide range of perplexities. Perplexities at which t-SNEkhorn is "
        "above t-SNE, both run in the same way:\n\n" + table(head, rows)
    )


EXPERIMENT = Experiment(
    "sensitivity", "Appendix: sensitivity to the perplexity", plan_of_table3, draw, report, source="table3"
)
