"""Figure 6: spectral clustering of image data against the perplexity."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from .clustering import KINDS, adjusted_rand_indices
from .data import IMAGES, QUICK_POINTS, chosen, grid, points_for, title
from .drawing import curves, legend, panels
from .experiment import SEPARATOR, Cells, Experiment, Plan, Settings, data_sets, finished
from .markdown import ABSENT, most, table

SHOWN = ("symmetrised entropic", "symmetric entropic", "symmetric entropic, no self-loops")
SETS = (*IMAGES, "cifar_resnet56")
NEAR = 0.01  # of ARI, that counts for nothing
FEWEST, SOME = 400, 2000  # points: of the smallest of the sets, and those of a large one that eigensolvers can take


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
    P = KINDS[kind](perplexity).fit_transform(X[:SOME])
    return {
        "data": name,
        "kind": kind,
        "perplexity": perplexity,
        "ari": adjusted_rand_indices(P, y[:SOME], settings.seeds),
    }


def means(cells: Cells) -> dict[str, dict[str, dict[int, float]]]:
    """Mean ARI by data, affinity and perplexity."""
    found: dict[str, dict[str, dict[int, float]]] = {}
    for cell in cells.values():
        lines = found.setdefault(cell["data"], {})
        lines.setdefault(cell["kind"], {})[cell["perplexity"]] = float(np.mean(cell["ari"]))
    return found


def draw(cells: Cells) -> Figure | None:
    found = means(cells)
    if not found:
        return None
    figure, axes = panels(len(found))
    for ax, (name, lines) in zip(axes, found.items(), strict=True):
        drawn = {kind: (list(values), list(values.values())) for kind, values in lines.items()}
        curves(ax, drawn, SHOWN, title=title(name), x="perplexity", y="ARI")
    legend(figure, axes)
    return figure


def report(cells: Cells) -> str:
    found = means(finished(cells))
    rows = [_row(name, found.get(name, {})) for name in data_sets(cells)]
    return (
        "The paper: the curve of the symmetric entropic affinity is above that of the symmetrised one over the whole "
        f"range. Mean ARI over the perplexities computed; of sets with more than {SOME:,} points, the first {SOME:,}. "
        f"As in the paper: above at more than four fifths of the perplexities; no difference: within {NEAR:g} at as "
        "many; mixed: above at half of them or more.\n\n"
        + table(["data", *SHOWN, f"above, within {NEAR:g}, below", "below at", "verdict"], rows)
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


EXPERIMENT = Experiment("figure6", "Figure 6: clustering of images against the perplexity", plan, draw, report)
