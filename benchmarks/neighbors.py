"""Compare exact neighbour search with the search in clusters: time, recall and crossover point."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from harness.data_sets import load_points
from harness.experiment import Case, Cases, Plan, Settings, finished
from harness.results_page import figure_table
from snekhorn.geometry.neighbor_search import EXACT_SEARCH_LIMIT

from .measure import N_THREADS, benchmark, best_of, recall, search_neighbors

N_NEIGHBORS = 90
REPEATS = 2
SIZES = (5000, 10_000, 20_000, 30_000, 40_000, 50_000, 70_000)


def plan(settings: Settings) -> Plan:
    return {f"{n:,} points": partial(compare, n, settings) for n in (SIZES[:2] if settings.quick else SIZES)}


def compare(n: int, settings: Settings) -> dict[str, Any]:
    """Return the times of both searches, and the recall of the search in clusters on all points."""
    X = load_points("mnist", settings.data, n=n, dtype=np.float32)[0]
    exact_seconds, exact = best_of(REPEATS, lambda: search_neighbors(X, N_NEIGHBORS, approximate=False))
    clusters_seconds, clusters = best_of(REPEATS, lambda: search_neighbors(X, N_NEIGHBORS, approximate=True))
    return {
        "n": n,
        "exact_seconds": exact_seconds,
        "clusters_seconds": clusters_seconds,
        "ratio": exact_seconds / clusters_seconds,
        "recall": recall(*(graph.indices.reshape(n, -1) for graph in (clusters, exact))),
        "sample_recall": clusters.recall,
        "limit": EXACT_SEARCH_LIMIT,
    }


def crossover(cases: list[Case]) -> float | None:
    """Return the interpolated number of points above which the search in clusters is faster, or None if it never is."""
    log_n = np.log([c["n"] for c in cases])
    advantage = np.log([c["ratio"] for c in cases])
    if not cases or advantage[-1] <= 0.0:
        return None
    slower = np.flatnonzero(advantage <= 0.0)
    if slower.size == 0:
        return float(cases[0]["n"])
    i = slower[-1]
    return float(np.exp(np.interp(0.0, advantage[i : i + 2], log_n[i : i + 2])))


def report(cases: Cases) -> str:
    found = list(finished(cases).values())
    if not found:
        return ""
    at = crossover(found)
    where = "at none of these sizes" if at is None else f"at about {round(at, -2):,.0f} points"
    note = (
        f"The table shows the search for the {N_NEIGHBORS} nearest neighbours of the first n points of MNIST (50 "
        f"principal components, float32), with {N_THREADS} threads; best of {REPEATS} runs. The approximate search "
        f"compares the points of nearby clusters. It overtakes the exact search {where}; snekhorn uses it "
        f"above {found[0]['limit']:,} points. Its recall is measured on all points; the reported "
        "recall is the estimate that users see."
    )
    columns = {
        "n": ("n", ",d"),
        "exact, s": ("exact_seconds", ".2f"),
        "in clusters, s": ("clusters_seconds", ".2f"),
        "exact / in clusters": ("ratio", ".1f"),
        "recall": ("recall", ".3f"),
        "reported recall": ("sample_recall", ".3f"),
    }
    return figure_table(columns, found, note)


EXPERIMENT = benchmark("neighbors", "Neighbours", plan, report)
