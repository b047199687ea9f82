"""Neighbour graphs with hubs: high dimension and heavy tails, where a few points are neighbours of thousands."""

import warnings

import numpy as np

from snekhorn.affinities import SymmetricEntropicAffinity
from snekhorn.affinities.affinity import row_perplexities
from snekhorn.geometry.neighbor_search import find_neighbors

from .measure import N_THREADS, best_of, figure, floor_rows, fresh, gaps, markdown, say

N_POINTS = 20_000
DIMENSION = 200
N_NEIGHBORS = 90
PERPLEXITY = 30
REPEATS = 2
CLOUDS = ("Gaussian", "multivariate t, 2 degrees", "independent t, 3 degrees")


def run(quick: bool = False) -> dict:  # noqa: FBT001, FBT002
    """Three clouds, with and without self-loops; `quick` takes a tenth of the points."""
    n = N_POINTS // 10 if quick else N_POINTS
    cells = []
    for cloud in CLOUDS:
        for self_loops in (True, False):
            case = {"cloud": cloud, "n": n, "self_loops": self_loops}
            cells.append({**case, **fresh(solve, **case)})
            say(f"hubs: {cloud}, self-loops {self_loops}")
    return {"cells": cells}


def draw(cloud: str, n: int) -> np.ndarray:
    """n points in 200 dimensions, always the same."""
    rng = np.random.default_rng(0)
    if cloud == "independent t, 3 degrees":
        return rng.standard_t(3, size=(n, DIMENSION))
    X = rng.normal(size=(n, DIMENSION))
    return X if cloud == "Gaussian" else X / np.sqrt(rng.chisquare(2, size=(n, 1)) / 2)


def solve(cloud: str, n: int, *, self_loops: bool) -> dict:
    """The affinity of the graph, and how its rows at the floor do."""
    X = draw(cloud, n)
    affinity = SymmetricEntropicAffinity(
        PERPLEXITY, n_neighbors=N_NEIGHBORS, self_loops=self_loops, n_jobs=N_THREADS
    ).fit(X[:1000])
    graph = find_neighbors(X, N_NEIGHBORS, "sqeuclidean", N_THREADS).graph(N_THREADS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the cell says whether it converged
        seconds, (P, report) = best_of(REPEATS, lambda: affinity._compute(graph))
    at_floor = floor_rows(report, affinity.entropy_dual_)
    perplexities = row_perplexities(P)
    return {
        "seconds": seconds,
        "passes": report.n_passes,
        **gaps(P, PERPLEXITY, at_floor),
        "floor_rows": int(at_floor.sum()),
        "floor_perplexity": float(perplexities[at_floor].min()) if at_floor.any() else None,
        "unreachable_rows": int(report.unreachable_rows.size),
        "lowest_perplexity": float(perplexities.min()),
        "largest_degree": int(graph.symmetrized().degrees.max()),
        "outcome": report.reason,
    }


def table(results: dict) -> str:
    """A row a cloud, with and without self-loops."""
    caption = (
        f"Symmetric entropic affinity of {results['cells'][0]['n']:,} points in {DIMENSION} dimensions, {N_NEIGHBORS} "
        f"neighbours, perplexity {PERPLEXITY}, {N_THREADS} threads, compiled code warm, best of {REPEATS} (after the "
        "neighbours); a row at the floor may have a higher perplexity than asked, and its entropy gap does not count."
    )
    forms = {
        "largest degree": ("largest_degree", ",d"),
        "seconds": ("seconds", ".2f"),
        "passes": ("passes", "d"),
        "worst marginal gap": ("marginal_gap", ".1e"),
        "worst entropy gap": ("entropy_gap", ".1e"),
        "rows at the floor": ("floor_rows", ",d"),
        "their lowest perplexity": ("floor_perplexity", ".2f"),
        "lowest perplexity": ("lowest_perplexity", ".2f"),
        "unreachable rows": ("unreachable_rows", ",d"),
    }
    rows = [
        [
            c["cloud"],
            "yes" if c["self_loops"] else "no",
            *(figure(c, key, form) for key, form in forms.values()),
            c.get("outcome", "failed: " + c.get("failed", "")),
        ]
        for c in results["cells"]
    ]
    return markdown(caption, ["cloud", "self-loops", *forms, "outcome"], rows)
