"""Measure time, peak memory, and the quality of affinities and layouts, for all benchmarks."""

from __future__ import annotations

import resource
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from harness.experiment import Case, Cases, Experiment, Plan, Settings
from harness.processes import TIMED_THREADS
from snekhorn.affinities import row_entropies
from snekhorn.geometry.neighbor_graph import NeighborGraph
from snekhorn.geometry.neighbor_search import find_neighbors
from snekhorn.metrics import evaluate
from snekhorn.runtime.execution import Threads

Array = NDArray[Any]
N_THREADS = TIMED_THREADS
RESET = Path("/proc/self/clear_refs")  # Linux resets the peak of a process that writes a 5 into it

DATA = (
    *("coil20", "olivetti", "umist", "snareseq", "scgem", "cifar_resnet56", "gordon", "su", "khan", "all", "mnist"),
)
LAYOUT_DATA = tuple("snareseq, unit rows" if name == "snareseq" else name for name in DATA)
SMALL_LAYOUT_DATA = tuple(name for name in LAYOUT_DATA if name not in ("cifar_resnet56", "mnist"))
QUICK_DATA = ("scgem", "khan")

SCORES = {  # scores of layouts, and their names in tables
    "silhouette": "silhouette",
    "trustworthiness": "trustworthiness",
    "neighbor_recall": "neighbour recall",
    "knn_accuracy": "kNN accuracy",
}
STAGES = {"affinity": "affinity", "layout": "embedding", "total": "total"}  # names in tables, and prefixes of keys
QUALITY = {  # quality of symmetric entropic affinities: heading, key and format
    "passes": ("passes", "d"),
    "largest marginal gap": ("marginal_gap", ".1e"),
    "largest entropy gap": ("entropy_gap", ".1e"),
    "rows at the floor": ("floor_rows", ",d"),
}
FLOOR = (  # explains "rows at the floor"
    "A row is at the floor if the dual variable of its entropy has reached its lower bound; its perplexity may then be "
    "higher than requested."
)


def benchmark(
    name: str,
    title: str,
    plan: Callable[[Settings], Plan],
    report: Callable[[Cases], str],
    *,
    timed: bool = True,
    reusable: Callable[[Case], bool] = lambda case: False,
    **settings: Any,
) -> Experiment:
    """Define a benchmark, which is measured again in every run, unlike a figure of the paper."""
    return Experiment(name, title, plan, report, timed=timed, reusable=reusable, **settings)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the duration of a call in seconds, and its result."""
    start = time.perf_counter()
    result = quiet(work)
    return time.perf_counter() - start, result


def best_of(repeats: int, work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the shortest duration of several calls in seconds, and the result of the last call."""
    times = []
    for _ in range(repeats):
        result = None  # free the previous result before computing the next
        seconds, result = timed(work)
        times.append(seconds)
    return min(times), result


def quiet(work: Callable[[], Any]) -> Any:
    """Call a function and suppress its warnings, for example if a run is deliberately cut short."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return work()


def peak_gigabytes() -> float:
    """Return the peak resident memory of this process so far, in units of 10^9 bytes."""
    try:
        # ru_maxrss of a new process starts at the size of its parent; VmHWM starts at zero.
        status = Path("/proc/self/status").read_text()
        kilobytes = int(status.split("VmHWM:")[1].split()[0])
    except (OSError, IndexError):
        kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kilobytes * 1024 / 1e9


def forget_peak() -> None:
    """Let `peak_gigabytes` begin again from the present memory, where the system allows it."""
    with suppress(OSError):
        RESET.write_text("5")


def search_neighbors(X: Array, k: int, *, approximate: bool | None = None) -> NeighborGraph:
    """Return the graph of the k nearest neighbours, found by the library's own search."""
    return find_neighbors(X, k, "sqeuclidean", Threads(N_THREADS), approximate=approximate)


def recall(found: Array, true: Array) -> float:
    """Return the fraction of true neighbours that were found, both given as lists (n, k)."""
    return float(np.mean([np.isin(a, b).mean() for a, b in zip(true, found, strict=True)]))


def gaps(P: Any, perplexity: float, floor_rows: Any = ()) -> dict[str, float]:
    """Return the largest deviation of the row sums from 1 and of the row entropies from their target.

    A row whose entropy dual is at its floor may exceed its target entropy, which the constraint allows.
    """
    if sparse.issparse(P):
        P = P.astype(float)
    marginal = np.asarray(P.sum(axis=1, dtype=float)).ravel() - 1.0
    entropy = row_entropies(P) - np.log(perplexity) - 1.0
    at_floor = np.isin(np.arange(len(entropy)), floor_rows)
    entropy = np.where(at_floor & (entropy > 0.0), 0.0, entropy)
    return {"marginal_gap": float(np.abs(marginal).max()), "entropy_gap": float(np.abs(entropy).max())}


def affinity_quality(affinity: Any, perplexity: float) -> dict[str, Any]:
    """Return how accurately a fitted symmetric entropic affinity was solved; the gaps are computed from P itself."""
    report = affinity.report_
    return {
        "passes": report.n_passes,
        **gaps(affinity.affinity_, perplexity, report.floor_rows),
        "floor_rows": int(report.floor_rows.size),
        "unreachable_rows": int(report.unreachable_rows.size),
        "outcome": report.reason,
    }


def layout_scores(X: Array, y: Array, Z: Array) -> dict[str, float]:
    """Return the scores of a layout."""
    found = evaluate(X, Z, y, n_jobs=N_THREADS)
    return {score: found[score] for score in SCORES}


def yes_or_no(value: bool) -> str:  # noqa: FBT001
    return "yes" if value else "no"


def with_or_without(self_loops: bool) -> str:  # noqa: FBT001
    return "with self-loops" if self_loops else "without self-loops"
