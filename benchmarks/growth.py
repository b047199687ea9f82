"""Measure time and memory from 10,000 to 1,000,000 points: MNIST, augmented with rotated and shifted copies."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import ndimage
from sklearn.decomposition import PCA

from harness import peers
from harness.data_sets import N_COMPONENTS
from harness.experiment import Case, Cases, Plan, Settings, finished
from harness.results_page import figure_table
from snekhorn import datasets

from .measure import N_THREADS, STAGES, Array, benchmark, peak_gigabytes
from .speed import N_ITER, NEVER, compile_ours, ours_by_stages

SIZES = (10_000, 70_000, 250_000, 1_000_000)
PEER_ITERATIONS = 3
MANY_POINTS, REPEATS = 200_000, 3  # below this number of points, take the fastest of several runs
SIDE = 28  # pixels


def plan(settings: Settings) -> Plan:
    sizes = [n // 10 if settings.quick else n for n in SIZES]
    return {f"{n:,} points": partial(solve, n, settings.data) for n in sizes}


def augmented(n: int, folder: Path | None) -> Array:
    """Return the first n points of MNIST and copies of it, rotated by a few degrees and shifted by a pixel or two."""
    points, found = np.empty((n, N_COMPONENTS), dtype=np.float32), 0
    for block in augmented_blocks(n, folder):
        points[found : found + len(block)] = block
        found += len(block)
    return points


def augmented_blocks(n: int, folder: Path | None) -> Iterator[Array]:
    """Yield the points of `augmented`, one copy of MNIST after the other."""
    images = datasets.load("mnist", folder).X.reshape(-1, SIDE, SIDE)
    reduction = PCA(N_COMPONENTS, svd_solver="covariance_eigh").fit(
        images[:20_000].reshape(-1, SIDE**2).astype(np.float32)
    )
    rng = np.random.default_rng(0)
    for found in range(0, n, len(images)):
        copies = images[: n - found].astype(np.float32)
        if found:
            angle, shift = rng.uniform(-12.0, 12.0), rng.integers(-2, 3, size=2)
            copies = ndimage.rotate(copies, angle, axes=(2, 1), reshape=False, order=1)
            copies = np.roll(copies, shift, axis=(1, 2))
        yield reduction.transform(copies.reshape(-1, SIDE**2))


class Clock:
    """Callback that records when it is called, to measure the time of an iteration."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, float]] = []

    def __call__(self, iteration: int, loss: float, layout: Array) -> bool:
        self.calls.append((iteration, time.perf_counter()))
        return False

    @property
    def last_iteration_seconds(self) -> float:
        """Mean time of the iterations between the last two calls."""
        (first, began), (last, ended) = self.calls[-2:]
        return (ended - began) / (last - first)


def solve(n: int, folder: Path | None) -> dict[str, Any]:
    """Lay out n points, and time an iteration of openTSNE on the same P and layout."""
    X = augmented(n, folder)
    compile_ours(X)
    best: dict[str, float] = {}
    model: Any
    affinity: Any
    for _ in range(REPEATS if n < MANY_POINTS else 1):
        model = affinity = None  # free the previous ones before fitting the next
        clock = Clock()
        model, affinity, seconds = ours_by_stages(X, max_iter=N_ITER, tol=NEVER, callbacks=clock)
        if not best or seconds["total_seconds"] < best["total_seconds"]:
            best = {**seconds, "iteration_seconds": clock.last_iteration_seconds}
    Z = model.embedding_
    result = {
        "n": n,
        **best,
        "recall": affinity.report_.neighbor_recall,
        "passes": affinity.report_.n_passes,
        "converged": affinity.report_.converged,
        "peak_gb": peak_gigabytes(),
        "span": float(np.ptp(Z, axis=0).max()),
    }
    return {**result, "peer_iteration_seconds": _peer_iteration(affinity.affinity_, Z)}


def _peer_iteration(P: Any, Z: Array) -> float | None:
    """Return the time of one iteration of openTSNE in seconds, or None if it is not installed."""
    if not peers.is_installed("openTSNE"):
        return None
    iterate = peers.opentsne_iterations(P, Z, N_THREADS)
    times = []
    for n_iter in (1, 1 + PEER_ITERATIONS):  # the difference excludes the overhead of a call
        start = time.perf_counter()
        iterate(n_iter)
        times.append(time.perf_counter() - start)
    return (times[1] - times[0]) / PEER_ITERATIONS


def report(cases: Cases) -> str:
    found = list(finished(cases).values())
    seconds = {f"{name}, s": (f"{key}_seconds", ".1f") for name, key in STAGES.items()}
    columns = {
        "points": ("n", ",d"),
        **seconds,
        "iteration, s": ("iteration_seconds", ".3f"),
        "iteration of openTSNE, s": ("peer_iteration_seconds", ".3f"),
        "peak memory, GB": ("peak_gb", ".1f"),
        "span": ("span", ".0f"),
    }
    note = (
        f"The table shows layouts of MNIST, augmented with rotated and shifted copies, with {N_THREADS} threads and "
        f"{N_ITER} iterations; best of {REPEATS} runs below {MANY_POINTS:,} points, otherwise a single run. The span "
        "is the longer side of the layout."
    )
    text = figure_table(columns, found, note)
    if len(found) > 2:
        first, last = found[1], found[-1]
        *others, total = (f"n^{exponent(first, last, f'{key}_seconds'):.2f} ({name})" for name, key in STAGES.items())
        sizes = f"{first['n']:,} to {last['n']:,} points"
        text += f"\n\nFrom {sizes}, the times grow as {', '.join(others)} and {total}."
    return text


def exponent(first: Case, last: Case, key: str) -> float:
    return float(np.log(last[key] / first[key]) / np.log(last["n"] / first["n"]))


EXPERIMENT = benchmark("growth", "Growth", plan, report)
