"""Does the symmetric entropic affinity converge everywhere? Every set, every perplexity, every hard variant."""

import sys
import time
import warnings

import numpy as np

from snekhorn.affinities import SymmetricEntropicAffinity
from snekhorn.geometry.building import build_cost
from snekhorn.geometry.costs import DenseCost
from snekhorn.runtime.execution import count_threads

from .data import NAMES, load

N_POINTS = 5000  # of CIFAR and MNIST
PERPLEXITIES = (2, 5, *range(10, 301, 10))
FEW_PERPLEXITIES = (2, 5, 10, 30, 100, 300)


def _plain(name):
    return _cost(load(name, N_POINTS))


def _float32(name):
    return _cost(load(name, N_POINTS).astype(np.float32))


def _unit_rows(name):
    return _cost(load(name, N_POINTS, unit_rows=True))


def _duplicated(name):
    return _cost(np.repeat(load(name, N_POINTS // 2), 2, axis=0))


def _cost(X):
    threads = count_threads(None)
    return build_cost(X, metric="sqeuclidean", n_neighbors=None, perplexity=30.0, n_threads=threads).matrix


# variant: (matrix of a data set, factor on the costs, self-loops, perplexities)
VARIANTS = {
    "with self-loops": (_plain, 1.0, True, PERPLEXITIES),
    "without self-loops": (_plain, 1.0, False, PERPLEXITIES),
    "unit-norm rows": (_unit_rows, 1.0, True, PERPLEXITIES),
    "unit-norm rows, without self-loops": (_unit_rows, 1.0, False, PERPLEXITIES),
    "costs x 1e-12": (_plain, 1e-12, True, FEW_PERPLEXITIES),
    "costs x 1e12": (_plain, 1e12, True, FEW_PERPLEXITIES),
    "every point twice": (_duplicated, 1.0, True, FEW_PERPLEXITIES),
    "every point twice, without self-loops": (_duplicated, 1.0, False, FEW_PERPLEXITIES),
    "float32": (_float32, 1.0, True, FEW_PERPLEXITIES),
}


def run(quick: bool) -> dict:  # noqa: FBT001
    """One cell for every variant, data set and perplexity; `quick` takes the few perplexities and the small sets."""
    cells = []
    for variant, (make, factor, self_loops, perplexities) in VARIANTS.items():
        for name in NAMES:
            if quick and name in ("CIFAR", "MNIST"):
                continue
            matrix = make(name)
            matrix *= np.asarray(factor, dtype=matrix.dtype)
            chosen = FEW_PERPLEXITIES if quick else perplexities
            cells += _sweep(variant, name, matrix, chosen, self_loops=self_loops)
            print(f"{variant}: {name}", file=sys.stderr, flush=True)
    return {"cells": cells + _tiny()}


def _tiny():
    """n = 3 to 10, perplexities 1.5, 2, 5 where they fit."""
    rng = np.random.default_rng(0)
    cells = []
    for n in range(3, 11):
        matrix = _cost(rng.normal(size=(n, 3)))
        cells += _sweep("n = 3 to 10", f"n = {n}", matrix, (1.5, 2, 5), margin=1)
    return cells


def _sweep(variant, name, matrix, perplexities, *, self_loops=True, margin=2):
    cost = DenseCost(matrix, count_threads(None))
    return [_cell(variant, name, cost, self_loops, xi) for xi in perplexities if xi <= cost.n_points - margin]


def _cell(variant, name, cost, self_loops, perplexity):
    affinity = SymmetricEntropicAffinity(perplexity, metric="precomputed", self_loops=self_loops)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the cell says whether it converged
        report = affinity.fit(cost.matrix).report_
    return {
        "variant": variant,
        "data": name,
        "n": cost.n_points,
        "perplexity": perplexity,
        "seconds": round(time.perf_counter() - start, 4),
        "converged": report.converged,
        "finite": bool(np.isfinite(affinity.affinity_).all()),
        "iterations": report.n_iter,
        "passes": report.n_passes,
        "marginal_gap": report.marginal_gap,
        "entropy_gap": report.entropy_gap,
        "floor_rows": report.n_floor_rows,
        "reason": report.reason,
    }


def table(results: dict) -> str:
    """Passes and worst gaps, a row a variant and range of perplexity."""
    lines = [
        "Worst gaps and passes over the pairs of the symmetric entropic affinity with default parameters, over all "
        f"data sets (the first {N_POINTS:,} points of CIFAR and MNIST) and perplexities up to n - 2.",
        "",
        "| variant | perplexity | cells | failures | passes, median | passes, most | worst marginal gap | "
        "worst entropy gap | rows at the floor, most |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    cells = results["cells"]
    for variant in dict.fromkeys(c["variant"] for c in cells):
        for label, low, high in (("below 5", 0, 5), ("5 to 9", 5, 10), ("10 up", 10, 1e9)):
            group = [c for c in cells if c["variant"] == variant and low <= c["perplexity"] < high]
            if group:
                lines.append(_row(variant, label, group))
    return "\n".join(lines)


def _row(variant, label, group):
    passes = [c["passes"] for c in group]
    failures = sum(not (c["converged"] and c["finite"]) for c in group)
    marginal, entropy = (max(c[key] for c in group) for key in ("marginal_gap", "entropy_gap"))
    floor = max(f"{c['floor_rows'] / c['n']:.2%}" for c in group)
    return (
        f"| {variant} | {label} | {len(group)} | {failures} | {np.median(passes):.0f} | {max(passes)} | "
        f"{marginal:.1e} | {entropy:.1e} | {floor} |"
    )
