"""How time and memory grow: dense to 10,000 points, sparse to 70,000, and what the first use costs."""

import os
import subprocess
import tempfile
import time
import venv
from pathlib import Path

import numpy as np

from snekhorn.affinities import SymmetricEntropicAffinity
from snekhorn.geometry.neighbor_search import find_neighbors

from .data import load
from .measure import N_THREADS, ROOT, best_of, figure, floor_rows, fresh, gaps, markdown, peak_gigabytes, recall, say

PERPLEXITY = 30
N_NEIGHBORS = 90
REPEATS = 2
N_DENSE, N_SPARSE = 10_000, 70_000
SIZES = (1000, 2000, 5000, 10_000, 20_000, 40_000, 70_000)
FITTED_FROM = 5000  # points; below, the time is mostly a constant
N_SAMPLE = 1000  # points whose neighbours are checked

FIRST_USE = """
import numpy as np
from snekhorn.affinities import SymmetricEntropicAffinity
X = np.random.default_rng(0).normal(size=(1000, 50))
SymmetricEntropicAffinity(n_neighbors={n_neighbors!r}).fit(X)
"""


def run(quick: bool = False) -> dict:  # noqa: FBT001, FBT002
    """Dense, sparse, growth and first use; `quick` takes a tenth of the points."""
    n_dense, n_sparse, *sizes = (n // 10 if quick else n for n in (N_DENSE, N_SPARSE, *SIZES))
    dense = []
    for dtype in ("float64", "float32"):
        repeated = [fresh(solve_dense, n=n_dense, dtype=dtype) for _ in range(REPEATS)]
        dense.append({"dtype": dtype, **min(repeated, key=lambda r: r.get("seconds", np.inf))})
        say(f"scale: dense, {dtype}")
    sparse = []
    for self_loops in (True, False):
        sparse.append({"self_loops": self_loops, **fresh(solve_sparse, n=n_sparse, self_loops=self_loops)})
        say(f"scale: sparse, self-loops {self_loops}")
    growth = fresh(grow, sizes=sizes)
    say("scale: growth")
    return {"dense": dense, "sparse": sparse, "growth": growth, "first_use": _first_use()}


def _affinity(**parameters):
    return SymmetricEntropicAffinity(PERPLEXITY, n_jobs=N_THREADS, **parameters)


def solve_dense(n: int, dtype: str) -> dict:
    """From points to affinity, compiled code warm; the memory is that of the whole process."""
    X = load("CIFAR", n, dtype=np.dtype(dtype).type)
    affinity = _affinity().fit(X[:500])
    seconds, _ = best_of(1, lambda: affinity.fit(X))
    peak = peak_gigabytes()  # before the gaps, which take memory of their own
    return {"n": n, "seconds": seconds, "peak_gb": peak, **_quality(affinity, affinity.affinity_, affinity.report_)}


def solve_sparse(n: int, *, self_loops: bool) -> dict:
    """Neighbours, then the affinity of the graph that they give."""
    X = load("MNIST", n, dtype=np.float32)
    affinity = _affinity(n_neighbors=N_NEIGHBORS, self_loops=self_loops).fit(X[:1000])
    cell, (P, report) = _two_stages(X, affinity)
    return {**cell, "pairs": int(P.nnz), "peak_gb": peak_gigabytes(), **_quality(affinity, P, report)}


def _two_stages(X, affinity):
    n = X.shape[0]
    neighbor_seconds, found = best_of(REPEATS, lambda: find_neighbors(X, N_NEIGHBORS, "sqeuclidean", N_THREADS))
    graph = found.graph(N_THREADS)
    seconds, result = best_of(REPEATS, lambda: affinity._compute(graph))
    return {"n": n, "neighbor_seconds": neighbor_seconds, "recall": _recall(X, found), "seconds": seconds}, result


def _recall(X, found):
    """Share of the true neighbours on a sample, by brute force in float64."""
    sample = np.random.default_rng(1).choice(X.shape[0], min(N_SAMPLE, X.shape[0]), replace=False)
    points = X.astype(float)
    squared = (points**2).sum(axis=1)
    costs = squared - 2.0 * points[sample] @ points.T
    costs[np.arange(sample.size), sample] = np.inf
    return recall(found.indices[sample], np.argpartition(costs, N_NEIGHBORS, axis=1)[:, :N_NEIGHBORS])


def _quality(affinity, P, report):
    at_floor = floor_rows(report, affinity.entropy_dual_)
    return {
        "passes": report.n_passes,
        **gaps(P, PERPLEXITY, at_floor),
        "floor_rows": int(at_floor.sum()),
        "unreachable_rows": int(report.unreachable_rows.size),
        "outcome": report.reason,
    }


def grow(sizes: list[int]) -> dict:
    """The two stages for the first n points of MNIST, and the exponents of their times in n."""
    X = load("MNIST", max(sizes), dtype=np.float32)
    affinity = _affinity(n_neighbors=N_NEIGHBORS).fit(X[:1000])
    cells = []
    for n in sizes:
        cell, (_, report) = _two_stages(np.ascontiguousarray(X[:n]), affinity)
        cells.append({**cell, "passes": report.n_passes})
    fitted = [c for c in cells if c["n"] >= min(FITTED_FROM, max(sizes) // 4)]
    log_n = np.log([c["n"] for c in fitted])
    exponents = {
        key: float(np.polyfit(log_n, np.log([c[key] for c in fitted]), 1)[0]) for key in ("neighbor_seconds", "seconds")
    }
    return {"cells": cells, "exponents": exponents, "fitted_from": fitted[0]["n"]}


def _first_use():
    """Wall-clock seconds of whole processes, and of the imports, where snekhorn alone is installed.

    In an environment of its own: scikit-learn imports pandas and others wherever it finds them.
    """
    cells = {}
    with tempfile.TemporaryDirectory() as folder:
        python = _install(Path(folder))
        for name, n_neighbors in (("dense", None), ("sparse", "auto")):
            code = FIRST_USE.format(n_neighbors=n_neighbors)
            cache = Path(folder) / name
            first, *later = (_process_seconds(python, code, cache) for _ in range(4))
            cells[name] = {"first": first, "later": min(later)}
            say(f"scale: first use, {name}")
        bare = min(_process_seconds(python, "pass") for _ in range(3))
        for module in ("snekhorn", "snekhorn.affinities"):
            seconds = min(_process_seconds(python, f"import {module}") for _ in range(3))
            cells[f"import {module}"] = {"later": seconds - bare}
    return cells


def _install(folder):
    """The Python of a new environment with snekhorn and what it requires, imported once."""
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", ROOT], check=True)
    _process_seconds(python, "import snekhorn.affinities")  # Python compiles what it imports for the first time
    return python


def _process_seconds(python, code, cache=None):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = str(cache)
    start = time.perf_counter()
    subprocess.run([python, "-c", code], env=environment, cwd=python.parent, check=True)
    return time.perf_counter() - start


def table(results: dict) -> str:
    """Four tables."""
    parts = (_dense_table, _sparse_table, _growth_table, _first_use_table)
    keys = ("dense", "sparse", "growth", "first_use")
    return "\n\n".join(part(results[key]) for part, key in zip(parts, keys, strict=True))


QUALITY = ["passes", "worst marginal gap", "worst entropy gap", "rows at the floor", "outcome"]


def _quality_cells(c):
    return [
        figure(c, "passes", "d"),
        figure(c, "marginal_gap", ".1e"),
        figure(c, "entropy_gap", ".1e"),
        figure(c, "floor_rows", "d"),
        c.get("outcome", "failed: " + c.get("failed", "")),
    ]


def _dense_table(cells):
    caption = (
        f"Dense symmetric entropic affinity, CIFAR features (50 components), perplexity {PERPLEXITY}, {N_THREADS} "
        f"threads, compiled code warm: seconds from points to matrix, peak memory of the process; best of "
        f"{REPEATS} processes."
    )
    rows = [
        [figure(c, "n", ",d"), c["dtype"], figure(c, "seconds", ".1f"), figure(c, "peak_gb", ".2f"), *_quality_cells(c)]
        for c in cells
    ]
    return markdown(caption, ["n", "input", "seconds", "peak, GB", *QUALITY], rows)


def _sparse_table(cells):
    caption = (
        f"Sparse symmetric entropic affinity, MNIST (50 components, float32), {N_NEIGHBORS} neighbours, perplexity "
        f"{PERPLEXITY}, {N_THREADS} threads, compiled code warm, best of {REPEATS}: neighbours, then the affinity; "
        f"recall on {N_SAMPLE:,} points against brute force."
    )
    rows = [
        [
            figure(c, "n", ",d"),
            "yes" if c["self_loops"] else "no",
            figure(c, "neighbor_seconds", ".1f"),
            figure(c, "recall", ".3f"),
            figure(c, "seconds", ".2f"),
            figure(c, "pairs", ",d"),
            figure(c, "peak_gb", ".2f"),
            *_quality_cells(c),
        ]
        for c in cells
    ]
    header = ["n", "self-loops", "neighbours, s", "recall", "affinity, s", "entries", "peak, GB", *QUALITY]
    return markdown(caption, header, rows)


def _growth_table(growth):
    if "failed" in growth:
        return f"Growth with n: failed ({growth['failed']})."
    exponents = growth["exponents"]
    caption = (
        f"Growth with n, sparse as above: from n = {growth['fitted_from']:,} the time of the neighbours grows as "
        f"n^{exponents['neighbor_seconds']:.2f}, that of the affinity as n^{exponents['seconds']:.2f} (least squares "
        "on the logarithms)."
    )
    forms = (("n", ",d"), ("neighbor_seconds", ".2f"), ("recall", ".3f"), ("seconds", ".3f"), ("passes", "d"))
    rows = [[figure(c, key, form) for key, form in forms] for c in growth["cells"]]
    return markdown(caption, ["n", "neighbours, s", "recall", "affinity, s", "passes"], rows)


def _first_use_table(cells):
    caption = (
        "Symmetric entropic affinity of 1,000 points in 50 dimensions, snekhorn alone installed: seconds of a whole "
        "process, interpreter and imports included, with an empty cache of compiled code and later (best of 3); for an "
        "import, what it adds."
    )
    rows = [[name, figure(c, "first", ".1f"), figure(c, "later", ".2f")] for name, c in cells.items()]
    return markdown(caption, ["process", "first, s", "later, s"], rows)
