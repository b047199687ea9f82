"""Why our figures on SNAREseq differ from the paper's: preprocessing, and affinities that have not converged."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..affinities import SymmetricEntropicAffinity
from .clustering import adjusted_rand_indices
from .data import points, prepared
from .drawing import curves, legend, panels
from .experiment import Cells, Experiment, Plan, Settings, finished
from .markdown import ABSENT, table
from .paper import CLUSTERING

PREPARATIONS = ("raw", "standardised", "unit rows", "log")
SOLVERS: dict[str, dict[str, Any]] = {
    "converged": {},
    **{f"Adam, {n} steps": {"solver": "adam", "max_iter": n, "gamma_squared": False} for n in (100, 1000, 5000)},
}
PERPLEXITIES = (10, 30, 50, 100, 200, 300)
THEIRS = CLUSTERING["snareseq"][-1]


def plan(settings: Settings) -> Plan:
    name, grid = ("digits", (20,)) if settings.quick else ("snareseq", PERPLEXITIES)
    solvers = tuple(SOLVERS)[:2] if settings.quick else tuple(SOLVERS)
    return {
        f"{how}, {solver}, {xi}": partial(clustered, how, solver, xi, name, settings)
        for how in PREPARATIONS
        for solver in solvers
        for xi in grid
    }


def clustered(how: str, solver: str, perplexity: float, name: str, settings: Settings) -> dict[str, Any]:
    """ARI of spectral clustering, and how far the affinity is from what it should be."""
    X, y = points(name, settings)
    affinity = SymmetricEntropicAffinity(perplexity, **SOLVERS[solver])
    P = affinity.fit_transform(prepared(X, how))
    facts = {"how": how, "solver": solver, "perplexity": perplexity}
    gaps = {"marginal_gap": affinity.report_.marginal_gap, "entropy_gap": affinity.report_.entropy_gap}
    return {**facts, **gaps, "ari": adjusted_rand_indices(P, y, settings.seeds)}


def _means(cells: Cells) -> dict[tuple[str, str], dict[float, float]]:
    found: dict[tuple[str, str], dict[float, float]] = {}
    for cell in cells.values():
        found.setdefault((cell["how"], cell["solver"]), {})[cell["perplexity"]] = float(np.mean(cell["ari"]))
    return found


def draw(cells: Cells) -> Figure | None:
    found = _means(cells)
    shown = [how for how in PREPARATIONS if any(key[0] == how for key in found)]
    if not shown:
        return None
    figure, axes = panels(len(shown))
    for ax, how in zip(axes, shown, strict=True):
        lines = {solver: (list(v), list(v.values())) for (kind, solver), v in found.items() if kind == how}
        curves(ax, lines, title=how, x="perplexity", y="ARI")
        ax.set_ylim(0.0, 1.0)
    legend(figure, axes[0], columns=4)
    return figure


def report(cells: Cells) -> str:
    cells = finished(cells)
    found = _means(cells)
    rows = []
    for how in PREPARATIONS:
        for solver in SOLVERS:
            values = found.get((how, solver))
            if not values:
                continue
            at = max(values, key=lambda xi: values[xi])
            gap = max(c["marginal_gap"] or 0.0 for c in cells.values() if (c["how"], c["solver"]) == (how, solver))
            rows.append([how, solver, f"{100 * values[at]:.1f}", f"{at:g}", f"{gap:.0e}"])
    if not rows:
        return ABSENT
    head = ["rows", "affinity", "best ARI x 100", "at perplexity", "worst row sum, from 1"]
    return f"The paper's symmetric entropic affinity reaches {THEIRS}.\n\n{table(head, rows)}"


EXPERIMENT = Experiment("snareseq", "SNAREseq: what makes the difference", plan, draw, report)
