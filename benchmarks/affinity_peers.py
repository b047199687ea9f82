"""Compare affinities with TorchDR (symmetric entropic), openTSNE and scikit-learn (entropic)."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np

from harness import peers
from harness.data_sets import load_points, title
from harness.experiment import SEPARATOR, Case, Cases, Plan, Settings
from harness.results_page import figures, part_tables, table
from snekhorn.affinities import EntropicAffinity, SymmetricEntropicAffinity, row_entropies

from .measure import (
    N_THREADS,
    Array,
    affinity_quality,
    benchmark,
    best_of,
    gaps,
    recall,
    search_neighbors,
    timed,
    with_or_without,
    yes_or_no,
)

PERPLEXITY = 30
N_NEIGHBORS = 90
REPEATS = 5
OURS = "snekhorn"

DATA = ("snareseq", "coil20", "scgem")
QUICK_DATA = ("scgem",)
DEFAULTS = "Adam, rate 0.1, 500 iterations"
SETTINGS: dict[str, dict[str, Any]] = {  # of TorchDR
    DEFAULTS: {},
    "Adam, rate 0.03, 5,000 iterations": {"lr": 0.03, "max_iter": 5000},
    "Adam, rate 0.01, 5,000 iterations": {"lr": 0.01, "max_iter": 5000},
    "L-BFGS, at most 500 iterations": {"optimizer": "LBFGS", "lr": 1.0, "max_iter": 500},
}
LONG_CASE = ("snareseq", True)  # the only case with every setting, because 5,000 iterations take minutes


def plan(settings: Settings) -> Plan:
    cases: Plan = {}
    for name in QUICK_DATA if settings.quick else DATA:
        for self_loops in (True, False):
            key, given = (name, with_or_without(self_loops)), (name, self_loops, settings)
            cases[SEPARATOR.join((*key, OURS))] = partial(solve_ours, *given)
            every = not settings.quick and (name, self_loops) == LONG_CASE
            for setting in SETTINGS if every else (DEFAULTS,):
                cases[SEPARATOR.join((*key, f"TorchDR, {setting}"))] = partial(solve_torchdr, *given, setting)
    for tool in TOOLS:
        cases[SEPARATOR.join(("mnist", tool))] = partial(solve_entropic, tool, settings)
    return cases


def solve_ours(name: str, self_loops: bool, settings: Settings) -> dict[str, Any]:  # noqa: FBT001
    """Solve our symmetric entropic affinity with its defaults, with the code already compiled."""
    X = load_points(name, settings.data)[0]
    affinity = SymmetricEntropicAffinity(PERPLEXITY, self_loops=self_loops, n_jobs=N_THREADS).fit(X)
    seconds, _ = best_of(REPEATS, lambda: affinity.fit(X))
    case = {"part": "symmetric", "data": name, "self_loops": self_loops, "tool": OURS, "n": len(X)}
    return {**case, "affinity_seconds": seconds, **affinity_quality(affinity, PERPLEXITY)}


def solve_torchdr(name: str, self_loops: bool, settings: Settings, setting: str) -> dict[str, Any]:  # noqa: FBT001
    """Solve TorchDR's affinity on the same data in the same precision; compute the gaps from the P it returns."""
    peers.require("TorchDR")
    X = load_points(name, settings.data)[0]
    case = {"part": "symmetric", "data": name, "self_loops": self_loops, "tool": f"TorchDR, {setting}", "n": len(X)}
    start = time.perf_counter()
    try:
        affinity, P = peers.torchdr_affinity(X, PERPLEXITY, N_THREADS, self_loops=self_loops, **SETTINGS[setting])
    except ValueError as error:
        if "NaN" not in str(error):
            raise
        return {**case, "affinity_seconds": time.perf_counter() - start, "outcome": "NaN, raised as an error"}
    seconds = time.perf_counter() - start
    worst = gaps(P, PERPLEXITY)
    reached = all(gap <= affinity.tol for gap in worst.values())
    return {
        **case,
        "affinity_seconds": seconds,
        "passes": int(affinity.n_iter_) + 1 if affinity.optimizer == "Adam" else None,  # L-BFGS does not report it
        **worst,
        "outcome": f"below its tolerance, {affinity.tol:g}" if reached else "not converged",
    }


def solve_entropic(tool: str, settings: Settings) -> dict[str, Any]:
    """Time the entropic affinity of t-SNE on exact neighbours, and end to end with the tool's own neighbours."""
    peers.require(tool)
    X = load_points("mnist", settings.data, n=5000 if settings.quick else None, dtype=np.float32)[0]
    exact = search_neighbors(X, N_NEIGHBORS, approximate=False)
    indices, costs = (values.reshape(len(X), -1) for values in (exact.indices, exact.costs))
    same_neighbors, end_to_end = TOOLS[tool]
    seconds, rows = same_neighbors(indices, np.sqrt(costs.astype(float)))
    whole, found = end_to_end(X)
    return {
        "part": "entropic",
        "tool": tool,
        "n": len(X),
        "affinity_seconds": seconds,
        "entropy_gap": float(np.abs(row_entropies(rows) - np.log(PERPLEXITY) - 1.0).max()),
        "total_seconds": whole,
        "recall": recall(found, indices),
    }


# For each tool: (indices, distances) -> seconds, rows before symmetrising; X -> seconds, neighbours found.


def _ours_same(indices: Array, distances: Array) -> tuple[float, Any]:
    pair = (indices, (distances**2).astype(np.float32))
    given: dict[str, Any] = {"self_loops": False, "metric": "precomputed", "n_jobs": N_THREADS}
    rows = EntropicAffinity(PERPLEXITY, **given).fit_transform(pair)
    return best_of(REPEATS, lambda: EntropicAffinity(PERPLEXITY, symmetrize=True, **given).fit(pair))[0], rows


def _ours_all(X: Array) -> tuple[float, Array]:
    given: dict[str, Any] = {"self_loops": False, "n_neighbors": N_NEIGHBORS, "n_jobs": N_THREADS}
    rows = EntropicAffinity(PERPLEXITY, **given).fit_transform(X)
    seconds, _ = best_of(2, lambda: EntropicAffinity(PERPLEXITY, symmetrize=True, **given).fit(X))
    return seconds, rows.indices.reshape(len(X), N_NEIGHBORS)


def _opentsne_same(indices: Array, distances: Array) -> tuple[float, Any]:
    seconds, _ = best_of(2, lambda: peers.opentsne_joint(indices, distances, PERPLEXITY, N_THREADS))
    return seconds, peers.opentsne_rows(distances, PERPLEXITY, N_THREADS)


def _opentsne_all(X: Array) -> tuple[float, Array]:
    def compute() -> Array:
        indices, distances = peers.opentsne_neighbors(X, N_NEIGHBORS, N_THREADS)
        peers.opentsne_joint(indices, distances, PERPLEXITY, N_THREADS)
        return indices

    return timed(compute)


def _sklearn_same(indices: Array, distances: Array) -> tuple[float, Any]:
    seconds, _ = best_of(2, lambda: peers.sklearn_joint(indices, distances, PERPLEXITY))
    return seconds, peers.sklearn_rows(distances, PERPLEXITY)


def _sklearn_all(X: Array) -> tuple[float, Array]:
    def compute() -> Array:
        indices, distances = peers.sklearn_neighbors(X, N_NEIGHBORS, N_THREADS)
        peers.sklearn_joint(indices, distances, PERPLEXITY)
        return indices

    return timed(compute)


TOOLS = {
    OURS: (_ours_same, _ours_all),
    "openTSNE": (_opentsne_same, _opentsne_all),
    "scikit-learn": (_sklearn_same, _sklearn_all),
}


def report(cases: Cases) -> str:
    return part_tables(cases, {"symmetric": _symmetric_table, "entropic": _entropic_table})


def _symmetric_table(cases: list[Case]) -> str:
    note = (
        f"The table shows the symmetric entropic affinity at perplexity {PERPLEXITY} in float64, with {N_THREADS} "
        f"threads. The gaps are computed from the returned matrices. Ours is the best of {REPEATS} runs with the code "
        "already compiled. TorchDR ran once; its defaults are Adam with a learning rate of 0.1, 500 iterations and no "
        "self-loops."
    )
    ours = {(c["data"], c["self_loops"]): c for c in cases if c["tool"] == OURS}
    rows = []
    for c in cases:
        floor = f", {c['floor_rows']} rows at the floor" if c.get("floor_rows") else ""
        own = ours.get((c["data"], c["self_loops"]), {})
        rows.append(
            [
                f"{title(c['data'])} ({c['n']})",
                yes_or_no(c["self_loops"]),
                c["tool"],
                *figures(c, [("affinity_seconds", ".3g")]),
                _times_ours(c, own, "affinity_seconds"),
                *figures(c, [("passes", "d"), ("marginal_gap", ".1e"), ("entropy_gap", ".1e")]),
                c["outcome"] + floor,
            ]
        )
    head = ["data (n)", "self-loops", "solver", "seconds", "seconds / ours", "passes"]
    return table([*head, "largest marginal gap", "largest entropy gap", "outcome"], rows, note)


def _entropic_table(cases: list[Case]) -> str:
    note = (
        f"The table shows the entropic affinity of t-SNE (no self-loops, symmetrised) of {cases[0]['n']:,} points of "
        f"MNIST at perplexity {PERPLEXITY}, with {N_NEIGHBORS} neighbours and {N_THREADS} threads (scikit-learn's "
        "bandwidth search uses one thread). The first time is for the same exact neighbours in all tools. The second "
        "time is end to end, with each tool's own neighbours."
    )
    own = next((c for c in cases if c["tool"] == OURS), {})
    rows = [
        [
            c["tool"],
            *figures(c, [("affinity_seconds", ".2f")]),
            _times_ours(c, own, "affinity_seconds"),
            *figures(c, [("entropy_gap", ".1e"), ("total_seconds", ".1f")]),
            _times_ours(c, own, "total_seconds"),
            *figures(c, [("recall", ".3f")]),
        ]
        for c in cases
    ]
    head = ["tool", "same neighbours, s", "same neighbours / ours", "largest entropy gap"]
    head += ["end to end, s", "end to end / ours", "recall"]
    return table(head, rows, note)


def _times_ours(case: Case, ours: Case, key: str) -> str:
    """Return the time of a case as a multiple of ours."""
    if key not in case or key not in ours:
        return "–"
    times = case[key] / ours[key]
    return f"{times:,.0f}" if times >= 10 else f"{times:.1f}"


EXPERIMENT = benchmark("peers", "Affinities of other packages", plan, report)
