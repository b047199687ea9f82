"""Measure the peak memory of every stage of a fit, and compare it with the estimate made before the fit.

Set SNEKHORN_MEMORY_SIZES to measure other numbers of points, for example to 3000000,10000000.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial, wraps
from pathlib import Path
from pkgutil import resolve_name
from typing import Any
from unittest.mock import patch

from harness.experiment import Cases, Plan, Settings, finished
from harness.results_page import figure_table
from snekhorn import TSNEkhorn
from snekhorn.runtime.memory import used_bytes

from .growth import augmented
from .measure import N_THREADS, Array, benchmark, forget_peak, peak_gigabytes, quiet
from .speed import compile_ours

SIZES = (200_000, 1_000_000)
SIZES_VARIABLE = "SNEKHORN_MEMORY_SIZES"
N_ITER = 150  # enough for both phases of the descent, each of which sorts the points
ESTIMATE = "snekhorn.estimators.resources.require_memory"  # called with the estimate
# Functions with which a stage begins.
STAGES = {
    "search": "snekhorn.geometry.costs.find_neighbors",
    "graph": "snekhorn.geometry.costs.check_range",
    "more edges": "snekhorn.affinities.symmetric_solver.feed_starved",
    "local order": "snekhorn.geometry.neighbor_graph.NeighborGraph.in_local_order",
    "solver": "snekhorn.affinities.symmetric_solver.SymmetricSolver.climb",
    "affinity": "snekhorn.affinities.symmetric_dual.SymmetricDual.entries",
    "layout": "snekhorn.estimators.layout_parts.make_objective",
}


def plan(settings: Settings) -> Plan:
    asked = os.environ.get(SIZES_VARIABLE)
    sizes = [int(n) for n in asked.split(",")] if asked else [n // 20 if settings.quick else n for n in SIZES]
    return {f"{n:,} points": partial(measure, n, settings.data) for n in sizes}


class StagePeaks:
    """Peak memory of every stage, in units of 10^9 bytes; stages that are entered again count together."""

    def __init__(self) -> None:
        self.peaks: dict[str, float] = {}
        self.current = "start"

    def begin(self, stage: str) -> None:
        """Record the peak of the stage that ends, and begin another one."""
        self.peaks[self.current] = max(self.peaks.get(self.current, 0.0), peak_gigabytes())
        forget_peak()
        self.current = stage

    def marked(self, function: Callable[..., Any], stage: str) -> Callable[..., Any]:
        """Return the function, which then begins a stage."""

        @wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if stage != self.current:
                self.begin(stage)
            return function(*args, **kwargs)

        return wrapper


def estimated_gigabytes(model: TSNEkhorn, X: Array) -> float:
    """Return the peak memory that a fit expects before it starts, of the whole process, in units of 10^9 bytes."""
    estimates: list[float] = []
    with patch(ESTIMATE, lambda needed, *_: estimates.append((used_bytes() + needed) / 1e9)):
        model.check_resources(X)
    return estimates[0]


def measure(n: int, folder: Path | None) -> dict[str, Any]:
    """Lay out n points, and measure the peaks of all stages."""
    X = augmented(n, folder)
    compile_ours(X)
    model = TSNEkhorn(max_iter=N_ITER, n_jobs=N_THREADS)
    estimate, peaks = estimated_gigabytes(model, X), _stage_peaks(model, X)
    return {
        "n": n,
        "estimate_gb": estimate,
        "peak_gb": max(peaks.values()),
        "bytes_per_point": max(peaks.values()) * 1e9 / n,
        "entries_per_point": model.affinity_.nnz / n,
        **{f"{stage}_gb": peaks.get(stage) for stage in STAGES},
    }


def _stage_peaks(model: TSNEkhorn, X: Array) -> dict[str, float]:
    """Fit the model, and return the peak of every stage."""
    stages = StagePeaks()
    with ExitStack() as patches:
        for stage, name in STAGES.items():
            patches.enter_context(patch(name, stages.marked(resolve_name(name), stage)))
        stages.begin("start")
        stages.peaks.clear()  # the points were made before
        quiet(lambda: model.fit(X))
        stages.begin("end")
    return stages.peaks


def report(cases: Cases) -> str:
    columns = {
        "points": ("n", ",d"),
        **{stage: (f"{stage}_gb", ".2f") for stage in STAGES},
        "peak": ("peak_gb", ".2f"),
        "estimate": ("estimate_gb", ".2f"),
        "bytes per point": ("bytes_per_point", ",.0f"),
        "entries of P per point": ("entries_per_point", ".1f"),
    }
    note = (
        "The table shows the peak memory of the whole process in GB during each stage of `TSNEkhorn().fit(X)`, and "
        "the estimate made before the fit. X is MNIST, augmented with rotated and shifted copies (50 principal "
        f"components, float32, 200 bytes per point, included in all numbers), with {N_THREADS} threads and "
        f"{N_ITER} iterations."
    )
    return figure_table(columns, finished(cases).values(), note)


EXPERIMENT = benchmark("memory", "Memory by stage", plan, report)
