"""Measure how time and memory grow, dense up to 10,000 points and sparse up to 70,000, and the cost of first use."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
import venv
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from harness.data_sets import load_points
from harness.experiment import SEPARATOR, Case, Cases, Plan, Settings
from harness.machine import ROOT
from harness.results_page import figure_table, figures, part_tables, table
from snekhorn.affinities import SymmetricEntropicAffinity

from .measure import (
    FLOOR,
    N_THREADS,
    QUALITY,
    Array,
    affinity_quality,
    benchmark,
    best_of,
    peak_gigabytes,
    recall,
    search_neighbors,
    with_or_without,
    yes_or_no,
)

PERPLEXITY = 30
N_NEIGHBORS = 90
REPEATS = 2
N_DENSE, N_SPARSE = 10_000, 70_000
SIZES = (1000, 2000, 5000, 10_000, 20_000, 40_000, 70_000)
FITTED_FROM = 5000  # points; with fewer, the time is mostly constant and would lower the exponent
N_SAMPLE = 1000  # number of points whose neighbours are checked

FIRST_USE = """
import numpy as np
from snekhorn.affinities import SymmetricEntropicAffinity
X = np.random.default_rng(0).normal(size=(1000, 50))
SymmetricEntropicAffinity(n_neighbors={n_neighbors!r}).fit(X)
"""


def plan(settings: Settings) -> Plan:
    n_dense, n_sparse, *sizes = (n // 10 if settings.quick else n for n in (N_DENSE, N_SPARSE, *SIZES))
    cases: Plan = {}
    for dtype in ("float64", "float32"):
        for turn in range(1 if settings.quick else REPEATS):
            cases[SEPARATOR.join(("dense", dtype, f"run {turn + 1}"))] = partial(solve_dense, n_dense, dtype, settings)
    for self_loops in (True, False):
        key = SEPARATOR.join(("sparse", with_or_without(self_loops)))
        cases[key] = partial(solve_sparse, n_sparse, settings, self_loops=self_loops)
    return cases | {"growth": partial(grow, sizes, settings), "first use": first_use}


def solve_dense(n: int, dtype: str, settings: Settings) -> dict[str, Any]:
    """Time the computation from points to affinity, code already compiled; measure the memory of the process."""
    X = load_points("cifar_resnet56", settings.data, n=n, dtype=np.dtype(dtype).type)[0]
    affinity = SymmetricEntropicAffinity(PERPLEXITY, n_jobs=N_THREADS).fit(X[:500])
    seconds, _ = best_of(1, lambda: affinity.fit(X))
    peak = peak_gigabytes()  # before computing the gaps, which also takes memory
    case = {"part": "dense", "dtype": dtype, "n": n, "affinity_seconds": seconds, "peak_gb": peak}
    return {**case, **affinity_quality(affinity, PERPLEXITY)}


def solve_sparse(n: int, settings: Settings, *, self_loops: bool) -> dict[str, Any]:
    """Time the neighbour search, then the affinity of the graph."""
    X = load_points("mnist", settings.data, n=n, dtype=np.float32)[0]
    _two_stages(X[:1000], self_loops=self_loops)  # compile
    case, affinity = _two_stages(X, self_loops=self_loops)
    case |= {"pairs": int(affinity.affinity_.nnz), "peak_gb": peak_gigabytes()}
    return {"part": "sparse", "self_loops": self_loops, **case, **affinity_quality(affinity, PERPLEXITY)}


def _two_stages(X: Array, *, self_loops: bool = True) -> tuple[dict[str, Any], SymmetricEntropicAffinity]:
    neighbor_seconds, graph = best_of(REPEATS, lambda: search_neighbors(X, N_NEIGHBORS))
    affinity = SymmetricEntropicAffinity(PERPLEXITY, metric="precomputed", self_loops=self_loops, n_jobs=N_THREADS)
    seconds, _ = best_of(REPEATS, lambda: affinity.fit(graph))
    measured = _recall(X, graph.indices.reshape(len(X), -1))
    case = {"n": len(X), "neighbor_seconds": neighbor_seconds, "recall": measured, "affinity_seconds": seconds}
    return case, affinity


def _recall(X: Array, found: Array) -> float:
    """Return the recall on a sample, compared with brute force in float64."""
    sample = np.random.default_rng(1).choice(X.shape[0], min(N_SAMPLE, X.shape[0]), replace=False)
    points = X.astype(float)
    squared = (points**2).sum(axis=1)
    costs = squared - 2.0 * points[sample] @ points.T
    costs[np.arange(sample.size), sample] = np.inf
    return recall(found[sample], np.argpartition(costs, N_NEIGHBORS, axis=1)[:, :N_NEIGHBORS])


def grow(sizes: list[int], settings: Settings) -> dict[str, Any]:
    """Time the two stages for the first n points of MNIST, and fit their growth exponents."""
    X = load_points("mnist", settings.data, n=max(sizes), dtype=np.float32)[0]
    _two_stages(X[:1000])  # compile
    found = []
    for n in sizes:
        case, affinity = _two_stages(np.ascontiguousarray(X[:n]))
        found.append({**case, "passes": affinity.report_.n_passes})
    fitted = [c for c in found if c["n"] >= min(FITTED_FROM, max(sizes) // 4)]
    log_n = np.log([c["n"] for c in fitted])
    exponents = {
        key: float(np.polyfit(log_n, np.log([c[key] for c in fitted]), 1)[0])
        for key in ("neighbor_seconds", "affinity_seconds")
    }
    return {"part": "growth", "sizes": found, "exponents": exponents, "fitted_from": fitted[0]["n"]}


def first_use() -> dict[str, Any]:
    """Time complete processes and imports with only snekhorn installed.

    This uses a new environment, because scikit-learn imports pandas and other packages if they are installed.
    """
    processes: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        python = _install(Path(folder))
        for name, n_neighbors in (("dense", None), ("sparse", "auto")):
            code = FIRST_USE.format(n_neighbors=n_neighbors)
            cache = Path(folder) / name
            first, *later = (_process_seconds(python, code, cache) for _ in range(4))
            processes[name] = {"first": first, "later": min(later)}
        bare = min(_process_seconds(python, "pass") for _ in range(3))
        for module in ("snekhorn", "snekhorn.affinities"):
            seconds = min(_process_seconds(python, f"import {module}") for _ in range(3))
            processes[f"import {module}"] = {"later": seconds - bare}
    return {"part": "first use", "processes": processes}


def _install(folder: Path) -> Path:
    """Return the Python interpreter of a new environment with snekhorn and its requirements, imported once."""
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", ROOT], check=True)
    _process_seconds(python, "import snekhorn.affinities")  # Python compiles modules on first import
    return python


def _process_seconds(python: Path, code: str, cache: Path | None = None) -> float:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = str(cache)
    start = time.perf_counter()
    subprocess.run([python, "-c", code], env=environment, cwd=python.parent, check=True)
    return time.perf_counter() - start


def report(cases: Cases) -> str:
    tables = {"dense": _dense_table, "sparse": _sparse_table, "growth": _growth_table, "first use": _first_use_table}
    return part_tables(cases, tables)


def _dense_table(cases: list[Case]) -> str:
    note = (
        "The table shows the dense symmetric entropic affinity of CIFAR-10 features (50 principal components) at "
        f"perplexity {PERPLEXITY}, with {N_THREADS} threads. The time covers all steps from the points to P, with the "
        f"code already compiled; the memory is that of the whole process. Each row shows the best of {REPEATS} "
        f"processes. A pass visits all pairs. The gaps are the largest violations of the constraints. {FLOOR}"
    )
    dtypes = dict.fromkeys(c["dtype"] for c in cases)
    best = [min((c for c in cases if c["dtype"] == dtype), key=lambda c: c["affinity_seconds"]) for dtype in dtypes]
    measured = {"seconds": ("affinity_seconds", ".1f"), "peak memory, GB": ("peak_gb", ".2f"), **QUALITY}
    rows = [[f"{c['n']:,}", c["dtype"], *figures(c, measured.values()), c["outcome"]] for c in best]
    return table(["n", "input", *measured, "outcome"], rows, note)


def _sparse_table(cases: list[Case]) -> str:
    note = (
        "The next table shows the sparse symmetric entropic affinity of MNIST (50 principal components, float32) at "
        f"perplexity {PERPLEXITY}, with {N_NEIGHBORS} neighbours and {N_THREADS} threads. The neighbour search and "
        f"the affinity are timed separately, with the code already compiled. Each row shows the best of {REPEATS} "
        f"runs. The recall of the search is measured on {N_SAMPLE:,} points by comparison with brute force."
    )
    measured = {
        "neighbour search, s": ("neighbor_seconds", ".1f"),
        "recall": ("recall", ".3f"),
        "affinity, s": ("affinity_seconds", ".2f"),
        "entries": ("pairs", ",d"),
        "peak memory, GB": ("peak_gb", ".2f"),
        **QUALITY,
    }
    rows = [[f"{c['n']:,}", yes_or_no(c["self_loops"]), *figures(c, measured.values()), c["outcome"]] for c in cases]
    return table(["n", "self-loops", *measured, "outcome"], rows, note)


def _growth_table(cases: list[Case]) -> str:
    (growth,) = cases
    exponents = growth["exponents"]
    note = (
        "The next table shows how the times of the same sparse affinity, with self-loops, grow with n. From n = "
        f"{growth['fitted_from']:,} upwards, the time of the neighbour search grows as "
        f"n^{exponents['neighbor_seconds']:.2f} and the time of the affinity as n^{exponents['affinity_seconds']:.2f} "
        "(least-squares fit on a logarithmic scale)."
    )
    columns = {
        "n": ("n", ",d"),
        "neighbour search, s": ("neighbor_seconds", ".2f"),
        "recall": ("recall", ".3f"),
        "affinity, s": ("affinity_seconds", ".3f"),
        "passes": ("passes", "d"),
    }
    return figure_table(columns, growth["sizes"], note)


def _first_use_table(cases: list[Case]) -> str:
    note = (
        "The last table shows the times of complete processes, including the interpreter and the imports, with only "
        "snekhorn and its dependencies installed. Each process computes the dense or the sparse symmetric entropic "
        "affinity of 1,000 points in 50 dimensions, first with an empty cache of compiled code (first) and then with "
        "a filled cache (later, best of 3). For an import, the table shows the time that the import adds to that of "
        "the interpreter."
    )
    processes = cases[0]["processes"].items()
    return table(
        ["process", "first, s", "later, s"],
        [[name, *figures(c, [("first", ".1f"), ("later", ".2f")])] for name, c in processes],
        note,
    )


EXPERIMENT = benchmark("scale", "Time and memory", plan, report)
