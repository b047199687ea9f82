"""Solve affinities on neighbour graphs with hubs: high dimensions, heavy tails, points with thousands of neighbours."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from harness.experiment import SEPARATOR, Cases, Plan, Settings, finished
from harness.results_page import figures, table
from snekhorn.affinities import SymmetricEntropicAffinity, row_perplexities
from snekhorn.geometry.costs import count_neighbors

from .measure import (
    FLOOR,
    N_THREADS,
    QUALITY,
    Array,
    affinity_quality,
    benchmark,
    best_of,
    quiet,
    search_neighbors,
    with_or_without,
    yes_or_no,
)

N_POINTS = 20_000
DIMENSION = 200
PERPLEXITY = 30
N_NEIGHBORS = count_neighbors("auto", N_POINTS, PERPLEXITY) or 0
REPEATS = 2
CLOUDS = ("Gaussian", "multivariate t, 2 degrees", "independent t, 3 degrees")


def plan(settings: Settings) -> Plan:
    n = N_POINTS // 10 if settings.quick else N_POINTS
    return {
        SEPARATOR.join((cloud, with_or_without(self_loops))): partial(solve, cloud, n, self_loops=self_loops)
        for cloud in CLOUDS
        for self_loops in (True, False)
    }


def draw_points(cloud: str, n: int) -> Array:
    """Draw n points in 200 dimensions with a fixed seed."""
    rng = np.random.default_rng(0)
    if cloud == "independent t, 3 degrees":
        return rng.standard_t(3, size=(n, DIMENSION))
    X = rng.normal(size=(n, DIMENSION))
    return X if cloud == "Gaussian" else X / np.sqrt(rng.chisquare(2, size=(n, 1)) / 2)


def solve(cloud: str, n: int, *, self_loops: bool) -> dict[str, Any]:
    """Solve the affinity of the neighbour graph."""
    X = draw_points(cloud, n)
    affinity = SymmetricEntropicAffinity(PERPLEXITY, metric="precomputed", self_loops=self_loops, n_jobs=N_THREADS)
    quiet(lambda: affinity.fit(search_neighbors(X[:1000], N_NEIGHBORS)))  # compile
    graph = search_neighbors(X, N_NEIGHBORS)
    seconds, _ = best_of(REPEATS, lambda: affinity.fit(graph))
    P, floor_rows = affinity.affinity_, affinity.report_.floor_rows
    perplexities = row_perplexities(P)
    return {
        "cloud": cloud,
        "n": n,
        "self_loops": self_loops,
        "affinity_seconds": seconds,
        **affinity_quality(affinity, PERPLEXITY),
        "floor_perplexity": float(perplexities[floor_rows].min()) if floor_rows.size else None,
        "lowest_perplexity": float(perplexities.min()),
        "largest_degree": int(np.diff(P.indptr).max()) - self_loops,
    }


def report(cases: Cases) -> str:
    found = list(finished(cases).values())
    if not found:
        return ""
    note = (
        f"The table shows the symmetric entropic affinity of {found[0]['n']:,} points in {DIMENSION} dimensions at "
        f"perplexity {PERPLEXITY}, with {N_NEIGHBORS} neighbours and {N_THREADS} threads; best of {REPEATS} runs. The "
        f"time excludes the neighbour search and the compilation of the code. {FLOOR} The entropy gap of such a row "
        "does not count. A row is unreachable if the graph does not support the requested perplexity."
    )
    columns = {
        "largest degree": ("largest_degree", ",d"),
        "seconds": ("affinity_seconds", ".2f"),
        **QUALITY,
        "lowest perplexity at the floor": ("floor_perplexity", ".2f"),
        "lowest perplexity of all rows": ("lowest_perplexity", ".2f"),
        "unreachable rows": ("unreachable_rows", ",d"),
    }
    rows = [
        [_title(c["cloud"]), yes_or_no(c["self_loops"]), *figures(c, columns.values()), c["outcome"]] for c in found
    ]
    return table(["distribution", "self-loops", *columns, "outcome"], rows, note)


def _title(cloud: str) -> str:
    return cloud.replace("degrees", "degrees of freedom")


EXPERIMENT = benchmark("hubs", "Hubs", plan, report)
