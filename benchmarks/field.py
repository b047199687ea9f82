"""Compare t-SNEkhorn with the methods that people would name today, in all scores, on 22 data sets.

Every method lays out the same random subsamples of nine tenths of the points. In the first part, a method has one
setting for all data: its own defaults, with perplexity 30 for methods with a perplexity. In the second part, its
neighbourhood is a third, once or three times as large, and the best of the three counts. MNIST is also laid out whole,
once.

Choices that keep a run at about 45 minutes on two cores (`python -m benchmarks field --jobs 2`), of which the first
part takes 20 minutes, the second 10 and all of MNIST 10:

- At most 5,000 points per set: 4,500 take scikit-learn and openTSNE about ten seconds on one core, 10,000 over thirty.
- Five subsamples of sets of up to 2,500 points, and three of larger ones and of every set in the second part, which
  has no larger sets.
- Neighbours of more than 2,500 points are compared for a sample of 1,000, which saves five of seven seconds.
- TorchDR only up to 400 points, and all of MNIST only for methods that need at most a few minutes.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from harness.data_sets import load_points
from harness.experiment import SEPARATOR, Case, Cases, Plan, Settings
from harness.results_page import part_tables

from .field_methods import METHODS, ONE_THREAD, lay_out, still_valid, value_used, version, warm_up
from .field_report import grid_text, sets_text, whole_text
from .layout_measures import all_scores
from .measure import LAYOUT_DATA, QUICK_DATA, Array, benchmark, timed

SMALL_DATA = (  # at most 2,500 points
    *(name for name in LAYOUT_DATA if name not in ("cifar_resnet56", "mnist")),
    *("wine, standardised columns", "movement_libras", "breast_cancer, standardised columns", "pbmc68k"),
    *("scipy_texts", "digits", "segment, standardised columns"),
)
LARGE_DATA = ("spambase, log", "satimage", "penbased", "letter", "cifar_resnet56", "mnist")
MOST_POINTS = 5_000
SHARE = 0.9  # of the points in a subsample
REPEATS, FEW_REPEATS = 5, 3
FACTORS = (1 / 3, 1.0, 3.0)  # sizes of the neighbourhood in the second part, relative to the default
WHOLE = "mnist"
SLOW = ("scikit-learn", "TorchDR")  # not run on all of MNIST, where they would take from ten minutes to hours


def plan(settings: Settings) -> Plan:
    small, large, repeats = (QUICK_DATA[-1:], (), 1) if settings.quick else (SMALL_DATA, LARGE_DATA, REPEATS)
    few = min(repeats, FEW_REPEATS)
    cases: Plan = {}
    for names, times in ((small, repeats), (large, few)):
        for name in names:
            for method in METHODS:
                for repeat in range(times):
                    cases[_key(name, method, 1.0, repeat)] = partial(solve, name, method, 1.0, repeat, settings)
    for name in small:
        for method in METHODS:
            for factor in FACTORS:
                for repeat in range(few) if factor != 1.0 else ():
                    cases[_key(name, method, factor, repeat)] = partial(solve, name, method, factor, repeat, settings)
    for method in METHODS if not settings.quick else ():
        if method not in SLOW:
            cases[SEPARATOR.join((f"{WHOLE}, all points", method))] = partial(solve_whole, method, settings)
    return cases


def _key(name: str, method: str, factor: float, repeat: int) -> str:
    return SEPARATOR.join((name, method, f"{factor:.3g}", str(repeat)))


def solve(name: str, method: str, factor: float, repeat: int, settings: Settings) -> dict[str, Any]:
    """Score the layout of one subsample; sets with a few points more than the limit are sampled first."""
    X, y = load_points(name, settings.data, sample=MOST_POINTS)
    chosen = np.random.default_rng(repeat).permutation(len(X))[: round(SHARE * len(X))]
    found = scored(np.ascontiguousarray(X[chosen]), y[chosen], method, factor, repeat)
    return {"part": "sets", "data": name, "factor": round(factor, 3), "repeat": repeat, **found}


def solve_whole(method: str, settings: Settings) -> dict[str, Any]:
    """Score the layout of all of MNIST."""
    X, y = load_points(WHOLE, settings.data, dtype=np.float32)
    return {"part": "whole", "data": WHOLE, "factor": 1.0, "repeat": 0, **scored(X, y, method, 1.0, 0)}


def scored(X: Array, y: Array, method: str, factor: float, seed: int) -> dict[str, Any]:
    """Return the scores and the time of one layout on one thread."""
    warm_up(method)
    seconds, Z = timed(lambda: lay_out(method, X, seed, ONE_THREAD, factor))
    return {
        "method": method,
        "version": version(method),
        "n": len(X),
        "value": value_used(method, len(X), factor),
        "layout_seconds": seconds,
        **all_scores(X, y, Z, ONE_THREAD),
    }


def report(cases: Cases) -> str:
    return part_tables(cases, {"sets": _sets_and_grid, "whole": whole_text})


def _sets_and_grid(cases: list[Case]) -> str:
    return "\n\n".join(filter(None, (sets_text(cases), grid_text(cases))))


EXPERIMENT = benchmark("field", "The field", plan, report, timed=False, reusable=still_valid)
