"""Let the last 10,000 points of MNIST join a layout of the first 60,000, and compare it with a fresh layout of all."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

import numpy as np

from harness.data_sets import load_points
from harness.experiment import Cases, Plan, Settings, finished
from harness.results_page import figure_table
from snekhorn import TSNEkhorn

from .measure import N_THREADS, SCORES, Array, benchmark, best_of, layout_scores
from .speed import compile_ours

REPEATS = 2
PULLS = (0.0, 0.001, 0.01, 0.1)  # strengths of the springs; the default is 0.01
FRESH, PLACED = "fresh layout", "transform"
SHOWN = ("neighbor_recall", "knn_accuracy", "silhouette")


def plan(settings: Settings) -> Plan:
    n = 5000 if settings.quick else 70_000
    return {f"{n:,} points": partial(compare, n, n * 6 // 7, settings)}


def compare(n: int, n_old: int, settings: Settings) -> dict[str, Any]:
    """Return times, movements and scores of a fresh layout, of `transform` alone, and of several pulls."""
    X, y = load_points("mnist", settings.data, n=n, dtype=np.float32)
    compile_ours(X)
    few = TSNEkhorn(n_jobs=N_THREADS, n_neighbors=90, method="fft").fit(X[:3500])
    few.extend(X[3500:3600], max_iter=1)  # compile the rest
    seconds, fresh = best_of(REPEATS, lambda: TSNEkhorn(n_jobs=N_THREADS).fit_transform(X))
    rows = [{"how": FRESH, "total_seconds": seconds, **layout_scores(X, y, fresh)}]
    model = TSNEkhorn(n_jobs=N_THREADS).fit(X[:n_old])
    old = model.embedding_
    seconds, placed = best_of(REPEATS, lambda: copy.deepcopy(model).transform(X[n_old:]))
    rows.append({"how": PLACED, "total_seconds": seconds, **layout_scores(X, y, np.concatenate([old, placed]))})
    for pull in PULLS:
        seconds, Z = best_of(REPEATS, partial(_extended, model, X[n_old:], pull))
        how = {"how": f"extend, pull {pull:g}", "total_seconds": seconds, **_movement(Z[:n_old], old)}
        rows.append({**how, **layout_scores(X, y, Z)})
    return {"n": n, "n_old": n_old, "rows": rows}


def _extended(model: TSNEkhorn, X: Array, pull: float) -> Array:
    return copy.deepcopy(model).extend(X, pull=pull).embedding_


def _movement(Z: Array, old: Array) -> dict[str, float]:
    """Return how far old points have moved, in percent of the width of the old layout."""
    moved = 100.0 * np.linalg.norm(Z - old, axis=1) / np.ptp(old, axis=0).max()
    return {"median_movement": float(np.median(moved)), "most_movement": float(np.quantile(moved, 0.95))}


def report(cases: Cases) -> str:
    parts = []
    for case in finished(cases).values():
        note = (
            f"The table compares ways to lay out {case['n']:,} points of MNIST of which {case['n_old']:,} have a "
            f"layout already: a fresh layout of all points, the others placed by `transform`, and the others added by "
            f"`extend`, with springs of several strengths; the default is 0.01. Movements are those of the old points, "
            f"in percent of the longer side of their layout. All times are the best of {REPEATS} runs with "
            f"{N_THREADS} threads, and include the affinity of all points."
        )
        columns = {
            "": ("how", ""),
            "time, s": ("total_seconds", ".1f"),
            "median movement, %": ("median_movement", ".2f"),
            "95th percentile, %": ("most_movement", ".2f"),
            **{SCORES[score]: (score, ".3f") for score in SHOWN},
        }
        parts.append(figure_table(columns, case["rows"], note))
    return "\n\n".join(parts)


EXPERIMENT = benchmark("extend", "Points that join a layout", plan, report)
