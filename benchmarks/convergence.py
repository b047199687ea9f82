"""Check that the symmetric entropic affinity converges on every data set, at every perplexity and in hard variants."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from harness.data_sets import load_points, title
from harness.experiment import SEPARATOR, Case, Cases, Plan, Settings, finished
from harness.results_page import table
from snekhorn.affinities import SymmetricEntropicAffinity

from .measure import DATA, FLOOR, Array, benchmark, timed

N_POINTS = 5000  # of CIFAR and MNIST; a larger full matrix takes too long at 33 perplexities
PERPLEXITIES = (2, 5, *range(10, 301, 10))
FEW_PERPLEXITIES = (2, 5, 10, 30, 100, 300)
RANGES = (("below 5", 0, 5), ("5 to 9", 5, 10), ("10 and above", 10, np.inf))
TINY = "n = 3 to 10"
Transform = Callable[[Array], Array]


def _same(X: Array) -> Array:
    return X


def _twice(X: Array) -> Array:
    return np.repeat(X[: N_POINTS // 2], 2, axis=0)


GRAPH = "on a neighbour graph"  # of the default number of neighbours; the other variants are of full matrices

# Variant: (rows, change of the points, change of the costs, self-loops, perplexities).
VARIANTS: dict[str, tuple[str, Transform, Transform, bool, tuple[int, ...]]] = {
    "with self-loops": ("raw", _same, _same, True, PERPLEXITIES),
    "without self-loops": ("raw", _same, _same, False, PERPLEXITIES),
    "unit-norm rows": ("unit rows", _same, _same, True, PERPLEXITIES),
    "unit-norm rows, without self-loops": ("unit rows", _same, _same, False, PERPLEXITIES),
    "costs x 1e-12": ("raw", _same, lambda C: 1e-12 * C, True, FEW_PERPLEXITIES),
    "costs x 1e12": ("raw", _same, lambda C: 1e12 * C, True, FEW_PERPLEXITIES),
    "every point twice": ("raw", _twice, _same, True, FEW_PERPLEXITIES),
    "every point twice, without self-loops": ("raw", _twice, _same, False, FEW_PERPLEXITIES),
    GRAPH: ("raw", _same, _same, True, FEW_PERPLEXITIES),
    f"{GRAPH}, without self-loops": ("raw", _same, _same, False, FEW_PERPLEXITIES[1:]),
    f"{GRAPH}, every point twice": ("raw", _twice, _same, True, FEW_PERPLEXITIES),
    "float32": ("raw", _same, lambda C: C.astype(np.float32), True, FEW_PERPLEXITIES),
}


def plan(settings: Settings) -> Plan:
    names = [name for name in DATA if not (settings.quick and name in ("cifar_resnet56", "mnist"))]
    cases: Plan = {
        SEPARATOR.join((variant, name)): partial(solve, variant, name, settings)
        for variant in VARIANTS
        for name in names
    }
    return cases | {TINY: solve_tiny}


def solve(variant: str, name: str, settings: Settings) -> dict[str, Any]:
    """Solve one variant of a data set at all its perplexities."""
    rows, change_points, change_costs, self_loops, perplexities = VARIANTS[variant]
    X = change_points(load_points(f"{name}, {rows}", settings.data, n=N_POINTS)[0])
    C = change_costs(cdist(X, X, "sqeuclidean"))
    chosen = FEW_PERPLEXITIES if settings.quick else perplexities
    n_neighbors = "auto" if variant.startswith(GRAPH) else None
    solves = [_solve(C, xi, self_loops=self_loops, n_neighbors=n_neighbors) for xi in chosen if xi <= len(C) - 2]
    return {"variant": variant, "data": title(name), "solves": solves}


def solve_tiny() -> dict[str, Any]:
    """Solve for 3 to 10 points at the perplexities that they allow."""
    rng = np.random.default_rng(0)
    solves = []
    for n in range(3, 11):
        X = rng.normal(size=(n, 3))
        C = cdist(X, X, "sqeuclidean")
        solves += [_solve(C, xi, self_loops=True) for xi in (1.5, 2, 5) if xi <= n - 1]
    return {"variant": TINY, "data": "Gaussian", "solves": solves}


def _solve(C: Array, perplexity: float, *, self_loops: bool, n_neighbors: str | None = None) -> dict[str, Any]:
    affinity = SymmetricEntropicAffinity(
        perplexity, metric="precomputed", self_loops=self_loops, n_neighbors=n_neighbors
    )
    seconds, _ = timed(lambda: affinity.fit(C))  # no warnings needed: the report says whether it converged
    report = affinity.report_
    return {
        "n": len(C),
        "perplexity": perplexity,
        "affinity_seconds": seconds,
        "converged": report.converged,
        "finite": bool(np.isfinite(affinity.affinity_.sum())),
        "iterations": report.n_iter,
        "passes": report.n_passes,
        "marginal_gap": report.marginal_gap,
        "entropy_gap": report.entropy_gap,
        "floor_rows": report.n_floor_rows,
        "reason": report.reason,
    }


def report(cases: Cases) -> str:
    found = finished(cases).values()
    rows = []
    for variant in dict.fromkeys(case["variant"] for case in found):
        solves = [solve for case in found if case["variant"] == variant for solve in case["solves"]]
        for label, low, high in RANGES:
            group = [solve for solve in solves if low <= solve["perplexity"] < high]
            rows += [_row(variant, label, group)] if group else []
    note = (
        "The table shows the symmetric entropic affinity with its defaults on all data sets (only the first "
        f"{N_POINTS:,} points of CIFAR-10 and MNIST), at perplexities up to n - 2. A pass visits all pairs of points. "
        f"{FLOOR}"
    )
    passes = ["median passes", "most passes"]
    gaps = ["largest marginal gap", "largest entropy gap"]
    head = ["variant", "perplexity", "solved", "failures", *passes, *gaps, "most rows at the floor"]
    return table(head, rows, note)


def _row(variant: str, label: str, group: list[Case]) -> list[Any]:
    passes = [solve["passes"] for solve in group]
    failures = sum(not (solve["converged"] and solve["finite"]) for solve in group)
    gaps = (
        [np.inf if solve[key] is None else solve[key] for solve in group] for key in ("marginal_gap", "entropy_gap")
    )
    worst = [f"{max(values):.1e}" for values in gaps]
    floor = max(solve["floor_rows"] / solve["n"] for solve in group)
    return [variant, label, len(group), failures, f"{np.median(passes):.0f}", max(passes), *worst, f"{floor:.2%}"]


EXPERIMENT = benchmark("convergence", "Convergence", plan, report, timed=False)
