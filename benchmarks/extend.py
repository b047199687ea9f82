"""Let new points join a layout, and compare it with a fresh layout of all: MNIST, and digits by other writers."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from harness.data_sets import load_points
from harness.experiment import Cases, Plan, Settings, finished
from harness.results_page import figure_table
from snekhorn import TSNEkhorn

from .measure import N_THREADS, SCORES, Array, benchmark, best_of, layout_scores
from .speed import compile_ours

REPEATS = 2
PULLS = (0.0, 0.002, 0.02, 0.2)  # strengths of the springs; the default is 0.02
FRESH, PLACED = "fresh layout", "transform"
DIGITS_BEFORE = (900, 1200, 1500)  # of 1,797, which are in the order of their writers
ISOLATED = 0.03  # distance to the nearest point, relative to the width of the layout; fresh layouts have hardly any
SHOWN = ("neighbor_recall", "knn_accuracy", "silhouette")


def plan(settings: Settings) -> Plan:
    n = 5000 if settings.quick else 70_000
    digits = {f"digits after {n_old}": partial(compare, "digits", 1797, n_old, settings) for n_old in DIGITS_BEFORE}
    return {f"{n:,} points": partial(compare, "mnist", n, n * 6 // 7, settings), **digits}


def compare(name: str, n: int, n_old: int, settings: Settings) -> dict[str, Any]:
    """Return times, movements and scores of a fresh layout, of `transform` alone, and of several pulls."""
    X, y = load_points(name, settings.data, n=n, dtype=np.float32)
    compile_ours(X)
    few = TSNEkhorn(n_jobs=N_THREADS, n_neighbors=90, method="fft").fit(X[:1600])
    few.extend(X[1600:1700], max_iter=2)  # compile the rest
    seconds, fresh = best_of(REPEATS, lambda: TSNEkhorn(n_jobs=N_THREADS).fit_transform(X))
    rows = [{"how": FRESH, "total_seconds": seconds, **_scores(X, y, fresh, n_old)}]
    model = TSNEkhorn(n_jobs=N_THREADS).fit(X[:n_old])
    old = model.embedding_
    seconds, placed = best_of(REPEATS, lambda: copy.deepcopy(model).transform(X[n_old:]))
    placed = np.concatenate([old, placed])
    rows.append({"how": PLACED, "total_seconds": seconds, **_scores(X, y, placed, n_old)})
    for pull in PULLS:
        seconds, Z = best_of(REPEATS, partial(_extended, model, X[n_old:], pull))
        how = {"how": f"extend, pull {pull:g}", "total_seconds": seconds, **_movement(Z[:n_old], old)}
        rows.append({**how, **_scores(X, y, Z, n_old)})
    return {"name": name, "n": n, "n_old": n_old, "rows": rows}


def _extended(model: TSNEkhorn, X: Array, pull: float) -> Array:
    return copy.deepcopy(model).extend(X, pull=pull).embedding_


def _scores(X: Array, y: Array, Z: Array, n_old: int) -> dict[str, float]:
    """Return the scores of a layout, the number of isolated new points, and the largest gap around one, in percent."""
    gaps = NearestNeighbors(n_neighbors=1).fit(Z).kneighbors()[0][n_old:, 0] / np.ptp(Z, axis=0).max()
    isolated = {"isolated": int(np.count_nonzero(gaps > ISOLATED)), "largest_gap": 100.0 * float(gaps.max())}
    return {**isolated, **layout_scores(X, y, Z)}


def _movement(Z: Array, old: Array) -> dict[str, float]:
    """Return how far old points have moved, in percent of the width of the old layout."""
    moved = 100.0 * np.linalg.norm(Z - old, axis=1) / np.ptp(old, axis=0).max()
    return {"median_movement": float(np.median(moved)), "most_movement": float(np.quantile(moved, 0.95))}


def report(cases: Cases) -> str:
    parts = []
    for case in finished(cases).values():
        note = (
            f"The table compares ways to lay out {case['n']:,} points of {case['name']}, of which {case['n_old']:,} "
            f"have a layout already: a fresh layout of all points, the others placed by `transform`, and the others "
            f"added by `extend`, with springs of several strengths; the default is 0.02. Movements are those of the "
            f"old points, in percent of the longer side of their layout. A new point is isolated if no other point is "
            f"within {ISOLATED:.0%} of that side. All times are the best of {REPEATS} runs with "
            f"{N_THREADS} threads, and include the affinity of all points."
        )
        columns = {
            "": ("how", ""),
            "time, s": ("total_seconds", ".1f"),
            "median movement, %": ("median_movement", ".2f"),
            "95th percentile, %": ("most_movement", ".2f"),
            "isolated new points": ("isolated", "d"),
            "largest gap, %": ("largest_gap", ".1f"),
            **{SCORES[score]: (score, ".3f") for score in SHOWN},
        }
        parts.append(figure_table(columns, case["rows"], note))
    return "\n\n".join(parts)


EXPERIMENT = benchmark("extend", "Points that join a layout", plan, report)
