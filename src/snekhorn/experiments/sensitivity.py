"""Appendix: scores of the layouts against the perplexity, from the cells of Table 3."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from .data import title
from .drawing import curves, legend, panels
from .experiment import Cells, Experiment, finished
from .layouts import SCORES
from .markdown import PENDING, most, table
from .paper import EMBEDDINGS
from .table3 import means
from .table3 import plan as plan_of_table3
from .verdicts import Found

SHOWN = ("t-SNEkhorn", "t-SNEkhorn with self-loops", "t-SNE", "t-SNEkhorn, paper's protocol", "t-SNE, paper's protocol")

PAIRS = (("t-SNEkhorn", "t-SNE"), ("t-SNEkhorn, paper's protocol", "t-SNE, paper's protocol"))


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
            curves(ax, drawn, SHOWN, title=title(name), x="perplexity", y=score)
    legend(figure, axes)
    return figure


def report(cells: Cells) -> str:
    cells = finished(cells)
    found = means(cells)
    rows, sums = [], np.zeros((len(PAIRS) * len(SCORES), 2), int)
    for name in dict.fromkeys(name for name, _, _ in found):
        counts = np.array([_above(found, name, pair, score) for pair in PAIRS for score in SCORES])
        rows.append([title(name), *(f"{above} of {shared}" if shared else PENDING for above, shared in counts)])
        sums += counts * (name in EMBEDDINGS)
    rows.append(
        [
            "the paper's sets",
            *(f"{above} of {shared}: {most(above, shared)}" if shared else PENDING for above, shared in sums),
        ]
    )
    head = ["data", *(f"{score}, {how}" for how in ("our defaults", "paper's protocol") for score in SCORES)]
    return (
        "The paper: t-SNEkhorn is above t-SNE over a wide range of perplexities. Perplexities at which t-SNEkhorn is "
        "above t-SNE, both run in the same way (as in the paper: more than four "
        "fifths of them; mixed: half of them or more):\n\n" + table(head, rows)
    )


def _above(found: Found, name: str, pair: tuple[str, str], score: str) -> tuple[int, int]:
    """At how many perplexities the first is above the second, of how many."""
    first, second = (found.get((name, column, score), {}) for column in pair)
    shared = set(first) & set(second)
    return sum(first[xi] > second[xi] for xi in shared), len(shared)


EXPERIMENT = Experiment(
    "sensitivity", "Appendix: sensitivity to the perplexity", plan_of_table3, draw, report, source="table3"
)
