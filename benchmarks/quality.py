"""Compare the scores of layouts with other packages: same data, same perplexities, default parameters.

The other packages take hours, and changes of this library do not affect them, so their cases stay valid as long as
their versions do not change.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from harness.data_sets import load_points, title
from harness.experiment import SEEDS, SEPARATOR, Case, Cases, NotAvailable, Plan, Settings, finished
from harness.machine import version_of
from harness.peers import largest_perplexity, peer_layout
from harness.results_page import ABSENT, table
from snekhorn import TSNEkhorn

from .measure import LAYOUT_DATA, N_THREADS, QUICK_DATA, SCORES, Array, benchmark, layout_scores

GRID = (10, 20, 30, 40, 50, 70, 100, 150, 200, 250, 300)
LARGE = {
    "cifar_resnet56": ((10, 30, 100), 3),
    "mnist": ((30,), 1),
}  # perplexities and number of seeds for data sets on which a run takes minutes
PAPER = {"coil20": 0.523, "olivetti": 0.157, "umist": 0.254, "scgem": 0.393}  # silhouette of the paper's t-SNEkhorn


def ours(X: Array, perplexity: float, seed: int, **parameters: Any) -> Array:
    return TSNEkhorn(perplexity=perplexity, random_state=seed, n_jobs=N_THREADS, **parameters).fit_transform(X)


OURS: dict[str, Callable[[Array, float, int], Array]] = {  # starting from PCA, the seed has no effect
    "t-SNEkhorn": ours,
    "t-SNEkhorn, self-loops": partial(ours, self_loops=True, exaggeration=1.0),
}
TOOLS = (*OURS, "openTSNE", "umap-learn")


def plan(settings: Settings) -> Plan:
    cases: Plan = {}
    for name in QUICK_DATA if settings.quick else LAYOUT_DATA:
        grid, seeds = LARGE.get(name, (GRID, SEEDS))
        grid, seeds = (grid[:2], 1) if settings.quick else (grid, seeds)
        for tool in TOOLS:
            for xi in grid:
                run = partial(solve, name, tool, xi, 1 if tool in OURS else seeds, settings)
                cases[SEPARATOR.join((name, tool, str(xi)))] = run
    return cases


def solve(name: str, tool: str, perplexity: int, seeds: int, settings: Settings) -> dict[str, Any]:
    """Score the layouts of a tool for every seed; lower perplexities that the tool would lower itself."""
    X, y = load_points(name, settings.data, dtype=np.float32 if name == "mnist" else np.float64)
    if perplexity >= len(X):
        raise NotAvailable(f"{title(name)} has only {len(X)} points.")
    used = min(perplexity, largest_perplexity(tool, len(X)))
    run = OURS.get(tool) or partial(peer_layout, tool, n_jobs=N_THREADS)
    rows = [layout_scores(X, y, run(X, used, seed)) for seed in range(seeds)]
    return {
        "data": name,
        "tool": tool,
        "version": None if tool in OURS else version_of(tool),
        "perplexity": perplexity,
        "used": used,
        "rows": rows,
    }


def still_valid(case: Case) -> bool:
    """Return whether a case of another package was computed with the installed version."""
    return case.get("version") is not None and case["version"] == version_of(case["tool"])


def report(cases: Cases) -> str:
    found = list(finished(cases).values())
    parts = []
    for score, short in SCORES.items():
        with_paper = score == "silhouette"
        rows = []
        for name in dict.fromkeys(case["data"] for case in found):
            best = {tool: _best(found, name, tool, score) for tool in TOOLS}
            top = max(value for value, _ in filter(None, best.values()))
            paper = [f"{PAPER[name]:.3f}" if name in PAPER else ""] if with_paper else []
            rows.append([title(name), *(_entry(b, top) for b in best.values()), *paper])
        note = (
            f"The table shows the mean **{short}** over the seeds at the best perplexity, which is in brackets. The "
            "highest value of each row, before rounding, is in bold type."
        )
        parts.append(table(["data", *TOOLS, *(["t-SNEkhorn in the paper"] if with_paper else [])], rows, note))
    return "\n\n".join(parts)


def _entry(best: tuple[float, float] | None, top: float) -> str:
    if best is None:
        return ABSENT
    value, perplexity = best
    bold = "**" if value == top else ""
    return f"{bold}{value:.3f}{bold} ({perplexity:.3g})"


def _best(cases: list[Case], name: str, tool: str, score: str) -> tuple[float, float] | None:
    """Return the largest mean over seeds, and its perplexity; equal lowered perplexities are merged."""
    values: dict[float, list[float]] = {}
    for case in cases:
        if (case["data"], case["tool"]) == (name, tool):
            values.setdefault(case["used"], []).extend(row[score] for row in case["rows"])
    return max(((float(np.mean(scores)), xi) for xi, scores in values.items()), default=None)


EXPERIMENT = benchmark("quality", "Quality of layouts", plan, report, timed=False, reusable=still_valid)
