"""Compare layouts at the default settings with openTSNE and umap-learn, on random subsamples of every data set.

All tools lay out the same points. Five subsamples of nine tenths of the points show how much of a difference is chance.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from harness.data_sets import load_points, title
from harness.experiment import SEEDS, SEPARATOR, Case, Cases, Plan, Settings
from harness.machine import version_of
from harness.peers import largest_perplexity, peer_layout, require, umap_layout
from harness.results_page import part_tables, table
from snekhorn import SNEkhorn, TSNEkhorn
from snekhorn.datasets import make_heteroscedastic_multinomial
from snekhorn.metrics import silhouette

from .measure import LAYOUT_DATA, N_THREADS, QUICK_DATA, SCORES, Array, benchmark, layout_scores
from .rankings import MARGIN

MOST_POINTS = 10_000  # of a data set; all of MNIST would take hours
SHARE = 0.9  # of the points in a subsample
PERPLEXITY = 30.0
DEFAULTS = "t-SNEkhorn"
EXAGGERATED = {"t-SNEkhorn, exaggeration 1.5": 1.5, "t-SNEkhorn, exaggeration 2": 2.0}
OURS = (DEFAULTS, *EXAGGERATED)
PEERS = ("openTSNE", "umap-learn")
METHODS = {"SNEkhorn": SNEkhorn, "TSNEkhorn": TSNEkhorn}


def plan(settings: Settings) -> Plan:
    names, repeats = (QUICK_DATA, 1) if settings.quick else (LAYOUT_DATA, SEEDS)
    cases: Plan = {
        SEPARATOR.join((name, tool, str(repeat))): partial(solve, name, tool, repeat, settings)
        for name in names
        for tool in (*OURS, *PEERS)
        for repeat in range(repeats)
    }
    noise: Plan = {SEPARATOR.join(("noise", name)): partial(solve_noise, name, settings) for name in METHODS}
    return cases | noise


def solve(name: str, tool: str, repeat: int, settings: Settings) -> dict[str, Any]:
    """Score the layout of one subsample."""
    X, y = load_points(name, settings.data, sample=MOST_POINTS)
    chosen = np.random.default_rng(repeat).permutation(len(X))[: round(SHARE * len(X))]
    X, y = np.ascontiguousarray(X[chosen]), y[chosen]
    perplexity = min(PERPLEXITY, largest_perplexity("openTSNE", len(X)))
    return {
        "part": "sets",
        "data": name,
        "tool": tool,
        "version": version_of(tool) if tool in PEERS else None,
        "n": len(X),
        "perplexity": perplexity,
        **layout_scores(X, y, _layout(tool, X, perplexity, repeat)),
    }


def _layout(tool: str, X: Array, perplexity: float, seed: int) -> Array:
    if tool == "umap-learn":
        require(tool)
        return umap_layout(X, random_state=seed)
    if tool in PEERS:
        return peer_layout(tool, X, perplexity, seed, N_THREADS)
    model = TSNEkhorn(perplexity=perplexity, exaggeration=EXAGGERATED.get(tool, 1.0), n_jobs=N_THREADS)
    return model.fit_transform(X)


def solve_noise(name: str, settings: Settings) -> dict[str, Any]:
    """Score a layout of the paper's data with two levels of noise: classes should separate, and batches should not."""
    X, y, batch = make_heteroscedastic_multinomial(200 if settings.quick else 1000)
    model = METHODS[name](n_jobs=N_THREADS).fit(X)
    Z, report = model.embedding_, model.affinity_report_
    return {
        "part": "noise",
        "method": name,
        "classes": silhouette(Z, y),
        "batches": silhouette(Z[y == 1], batch[y == 1]),
        "inequality": report.inequality,
        "balance": report.balance,
    }


def still_valid(case: Case) -> bool:
    """Return whether a case of another package was computed with the installed version."""
    return case.get("version") is not None and case["version"] == version_of(case["tool"])


def report(cases: Cases) -> str:
    return part_tables(cases, {"sets": _sets_tables, "noise": _noise_table})


def _sets_tables(cases: list[Case]) -> str:
    names = list(dict.fromkeys(case["data"] for case in cases))
    tools = [tool for tool in (*OURS, *PEERS) if any(case["tool"] == tool for case in cases)]
    means = {
        (name, tool, score): _mean(cases, name, tool, score) for name in names for tool in tools for score in SCORES
    }
    note = (
        f"The table shows the mean score over {len(names)} data sets and {SEEDS} random subsamples of {SHARE:.0%} of "
        f"the points of each (of at most {MOST_POINTS:,} points). t-SNEkhorn and openTSNE run at perplexity "
        f"{PERPLEXITY:g}, or a third of the number of points if that is less. All other parameters are the tools' own "
        "defaults, except where a column names an exaggeration."
    )
    rows = [[short, *_bold([_over(means, names, tool, score) for tool in tools])] for score, short in SCORES.items()]
    parts = [table(["mean score", *tools], rows, note), _wins_table(means, names, tools)]
    for score, short in SCORES.items():
        rows = [[title(name), *_bold([means[name, tool, score] for tool in tools])] for name in names]
        parts.append(table(["data", *tools], rows, f"The table shows the mean **{short}** by data set."))
    return "\n\n".join(parts)


def _wins_table(means: dict[Any, float | None], names: list[str], tools: list[str]) -> str:
    """Return on how many data sets each of our columns is at or above each peer."""
    rows = []
    for ours in (tool for tool in OURS if tool in tools):
        for peer in (tool for tool in PEERS if tool in tools):
            wins = []
            for score in SCORES:
                pairs = [(means[name, ours, score], means[name, peer, score]) for name in names]
                both = [(mine, theirs) for mine, theirs in pairs if mine is not None and theirs is not None]
                wins.append(f"{sum(mine >= theirs - MARGIN for mine, theirs in both)} of {len(both)}")
            rows.append([ours, peer, *wins])
    note = f"The table shows on how many data sets the mean score is at least that of the peer minus {MARGIN}."
    return table(["tool", "peer", *SCORES.values()], rows, note)


def _noise_table(cases: list[Case]) -> str:
    note = (
        "The table shows layouts of the paper's heteroscedastic multinomial data at the defaults: the silhouette of "
        "the two classes, and of the two batches of one class, which differ only in noise, so that 0 is right. The "
        "inequality is that of the column sums of the entropic affinity, from which the balance is decided."
    )
    keys = ("classes", "batches", "inequality", "balance")
    rows = [[case["method"], *(f"{case[key]:.3f}" for key in keys)] for case in cases]
    return table(["method", "silhouette of classes", "silhouette of batches", "inequality", "balance"], rows, note)


def _mean(cases: list[Case], name: str, tool: str, score: str) -> float | None:
    found = [case[score] for case in cases if (case["data"], case["tool"]) == (name, tool)]
    return float(np.mean(found)) if found else None


def _over(means: dict[Any, float | None], names: list[str], tool: str, score: str) -> float | None:
    """Return the mean over the data sets, or None if one is missing."""
    found = [means[name, tool, score] for name in names]
    return None if None in found else float(np.mean(found))  # type: ignore[arg-type]


def _bold(values: list[float | None]) -> list[str | None]:
    """Format scores, with the highest, before rounding, in bold type."""
    top = max((value for value in values if value is not None), default=None)
    return [None if value is None else f"**{value:.3f}**" if value == top else f"{value:.3f}" for value in values]


EXPERIMENT = benchmark("defaults", "Quality at the defaults", plan, report, timed=False, reusable=still_valid)
