"""Figure 6: spectral clustering of image data at every perplexity."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from harness.data_sets import title
from harness.experiment import SEPARATOR, Cases, Experiment, Plan, Settings, data_sets_in, finished
from harness.results_page import ABSENT, table

from .clustering import KINDS, adjusted_rand_indices
from .drawing import curves, legend, panels
from .paper_data import IMAGES, QUICK_POINTS, chosen, grid, points_for
from .verdicts import most

SHOWN = ("symmetrised entropic", "symmetric entropic", "symmetric entropic, no self-loops")
SETS = (*IMAGES, "cifar_resnet56")
NEAR = 0.01  # differences of ARI up to this value count as none
FEWEST = 400  # number of points of the smallest data set
MOST = 2000  # number of points used of larger data sets; the eigensolver is too slow for more


def plan(settings: Settings) -> Plan:
    perplexities = grid(QUICK_POINTS if settings.quick else FEWEST, quick=settings.quick)
    return {
        SEPARATOR.join((name, kind, str(xi))): partial(clustered, name, kind, xi, settings)
        for name in chosen(SETS, settings)
        for xi in perplexities
        for kind in SHOWN
    }


def clustered(name: str, kind: str, perplexity: int, settings: Settings) -> dict[str, Any]:
    X, y = points_for(name, perplexity, settings)
    P = KINDS[kind](perplexity).fit_transform(X[:MOST])
    return {
        "data": name,
        "kind": kind,
        "perplexity": perplexity,
        "ari": adjusted_rand_indices(P, y[:MOST], settings.seeds),
    }


def means(cases: Cases) -> dict[str, dict[str, dict[int, float]]]:
    """Return the mean ARI by data set, affinity and perplexity."""
    found: dict[str, dict[str, dict[int, float]]] = {}
    for case in cases.values():
        lines = found.setdefault(case["data"], {})
        lines.setdefault(case["kind"], {})[case["perplexity"]] = float(np.mean(case["ari"]))
    return found


def draw(cases: Cases) -> Figure | None:
    found = means(cases)
    if not found:
        return None
    figure, axes = panels(len(found))
    for ax, (name, lines) in zip(axes, found.items(), strict=True):
        drawn = {kind: (list(values), list(values.values())) for kind, values in lines.items()}
        curves(ax, drawn, SHOWN, title=title(name), x="perplexity", y="ARI")
    legend(figure, axes)
    return figure


def report(cases: Cases) -> str:
    found = means(finished(cases))
    rows = [_row(name, found.get(name, {})) for name in data_sets_in(cases)]
    note = (
        "In the paper, the curve of the symmetric entropic affinity lies above that of the symmetrised entropic "
        "affinity over the whole range of perplexities. The table shows the mean ARI over the perplexities computed, "
        f"and the numbers of perplexities at which the symmetric entropic affinity is above, within {NEAR:g} of, or "
        f'below the symmetrised one. Larger data sets are reduced to their first {MOST:,} points. The verdict is "as '
        'in the paper" if the symmetric entropic affinity is above at more than four fifths of the perplexities, "no '
        f'difference" if the two are within {NEAR:g} at more than four fifths, "mixed" if the symmetric entropic '
        'affinity is above at half or more, and "differs" otherwise.'
    )
    return table(
        ["data", *SHOWN, f"above, within {NEAR:g}, below", "perplexities at which it is below", "verdict"], rows, note
    )


def _row(name: str, lines: dict[str, dict[int, float]]) -> list[Any]:
    averages = [float(np.mean(list(lines[kind].values()))) if kind in lines else None for kind in SHOWN]
    first, second = (lines.get(kind, {}) for kind in SHOWN[:2])
    ahead = {xi: second[xi] - first[xi] for xi in sorted(set(first) & set(second))}
    if not ahead:
        return [title(name), *averages, ABSENT, "", ABSENT]
    above, below = sum(by > NEAR for by in ahead.values()), [xi for xi, by in ahead.items() if by < -NEAR]
    same = len(ahead) - above - len(below)
    judged = "no difference" if same > 0.8 * len(ahead) else most(above, len(ahead))
    return [title(name), *averages, f"{above}, {same}, {len(below)}", ", ".join(map(str, below)), judged]


EXPERIMENT = Experiment("figure6", "Figure 6: clustering of images at every perplexity", plan, report, draw)
