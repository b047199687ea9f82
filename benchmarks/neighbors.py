"""Exact search against the inverted file: seconds, recall, and from how many points the second is faster."""

import numpy as np

from snekhorn.geometry.neighbor_search import EXACT_LIMIT, find_neighbors

from .data import load
from .measure import N_THREADS, best_of, figure, fresh, markdown, recall, say

N_NEIGHBORS = 90
REPEATS = 2
SIZES = (5000, 10_000, 20_000, 30_000, 40_000, 50_000, 70_000)


def run(quick: bool = False) -> dict:  # noqa: FBT001, FBT002
    """Both searches for the first n points of MNIST; `quick` takes the smallest sizes."""
    cells = []
    for n in SIZES[:2] if quick else SIZES:
        cells.append({"n": n, **fresh(compare, n=n)})
        say(f"neighbors: {n:,}")
    return {"cells": cells, "crossover": crossover([c for c in cells if "exact" in c]), "limit": EXACT_LIMIT}


def compare(n: int) -> dict:
    """Seconds of both searches, and the recall of the second on all points."""
    X = load("MNIST", n, dtype=np.float32)

    def search(approximate):
        return find_neighbors(X, N_NEIGHBORS, "sqeuclidean", N_THREADS, approximate=approximate)

    exact_seconds, exact = best_of(REPEATS, lambda: search(approximate=False))
    inverted_seconds, inverted = best_of(REPEATS, lambda: search(approximate=True))
    return {
        "exact": exact_seconds,
        "inverted": inverted_seconds,
        "times": exact_seconds / inverted_seconds,
        "recall": recall(inverted.indices, exact.indices),
        "sample_recall": inverted.recall,
    }


def crossover(cells: list[dict]) -> float | None:
    """Number of points from which the inverted file stays faster, between sizes by the logarithms; None if nowhere."""
    log_n = np.log([c["n"] for c in cells])
    advantage = np.log([c["times"] for c in cells])
    if not cells or advantage[-1] <= 0.0:
        return None
    slower = np.flatnonzero(advantage <= 0.0)
    if slower.size == 0:
        return float(cells[0]["n"])
    i = slower[-1]
    return float(np.exp(np.interp(0.0, advantage[i : i + 2], log_n[i : i + 2])))


def table(results: dict) -> str:
    """A row a size."""
    at = results["crossover"]
    where = "is not faster at any size here" if at is None else f"is faster from about {at:,.0f} points"
    caption = (
        f"{N_NEIGHBORS} nearest neighbours of the first n points of MNIST (50 components, float32), {N_THREADS} "
        f"threads, best of {REPEATS}: the inverted file {where}; snekhorn uses it above {results['limit']:,}."
    )
    forms = {
        "n": ("n", ",d"),
        "exact, s": ("exact", ".2f"),
        "inverted file, s": ("inverted", ".2f"),
        "exact / inverted": ("times", ".1f"),
        "recall": ("recall", ".3f"),
        "recall as reported": ("sample_recall", ".3f"),
    }
    rows = [[figure(c, key, form) for key, form in forms.values()] for c in results["cells"]]
    return markdown(caption, list(forms), rows)
