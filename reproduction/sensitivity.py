"""Appendix: scores of the layouts at every perplexity, from the cases of Table 3."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from harness.data_sets import title
from harness.experiment import Cases, Experiment, finished
from harness.results_page import PENDING, table

from .drawing import curves, legend, panels
from .layout_protocols import SCORES
from .paper import EMBEDDINGS
from .table3 import Found, means
from .table3 import plan as plan_of_table3
from .verdicts import most

SHOWN = ("t-SNEkhorn", "t-SNEkhorn with self-loops", "t-SNE", "t-SNEkhorn, paper's protocol", "t-SNE, paper's protocol")
PAIRS = (("t-SNEkhorn", "t-SNE"), ("t-SNEkhorn, paper's protocol", "t-SNE, paper's protocol"))


def draw(cases: Cases) -> Figure | None:
    found = means(cases)
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


def report(cases: Cases) -> str:
    found = means(finished(cases))
    rows, sums = [], np.zeros((len(PAIRS) * len(SCORES), 2), int)
    for name in dict.fromkeys(name for name, _, _ in found):
        counts = np.array([count_above(found, name, pair, score) for pair in PAIRS for score in SCORES])
        rows.append([title(name), *(f"{above} of {shared}" if shared else PENDING for above, shared in counts)])
        sums += counts * (name in EMBEDDINGS)
    judged = (f"{above} of {shared}: {most(above, shared)}" if shared else PENDING for above, shared in sums)
    rows.append(["sum over the paper's data sets", *judged])
    head = ["data", *(f"{score}, {how}" for how in ("our defaults", "paper's protocol") for score in SCORES)]
    note = (
        "In the paper, t-SNEkhorn has higher scores than t-SNE over a wide range of perplexities. The table shows at "
        'how many perplexities t-SNEkhorn has a higher score than t-SNE under the same protocol. The verdict is "as '
        'in the paper" if this is the case at more than four fifths of the perplexities, "mixed" if it is the case at '
        'half or more, and "differs" otherwise. The last row sums over the data sets that are also in the paper.'
    )
    return table(head, rows, note)


def count_above(found: Found, name: str, pair: tuple[str, str], score: str) -> tuple[int, int]:
    """Return the number of perplexities at which the first is above the second, and the number they share."""
    first, second = (found.get((name, column, score), {}) for column in pair)
    shared = set(first) & set(second)
    return sum(first[xi] > second[xi] for xi in shared), len(shared)


EXPERIMENT = Experiment(
    "sensitivity", "Appendix: sensitivity to the perplexity", plan_of_table3, report, draw, source="table3"
)
