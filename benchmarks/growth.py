"""Time and memory from 10,000 to 1,000,000 points: MNIST, multiplied by small rotations and shifts."""

import time
import warnings
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy import ndimage
from sklearn.decomposition import PCA

from snekhorn import TSNEkhorn, datasets
from snekhorn.estimators.parts import make_objective

from .data import N_COMPONENTS, NAMES
from .measure import N_THREADS, figure, fresh, markdown, peak_gigabytes, say

SIZES = (10_000, 70_000, 250_000, 1_000_000)
N_ITER = 750
NEVER = 1e-12  # tolerance that no run of N_ITER iterations reaches
PEER_ITERATIONS = 3
MANY_POINTS, REPEATS = 200_000, 3
SIDE = 28


def run(quick: bool = False) -> dict:  # noqa: FBT001, FBT002
    """One row for every size."""
    rows = []
    for n in (n // 10 if quick else n for n in SIZES):
        rows.append({"n": n, **fresh(solve, n=n)})
        say(f"growth: {n}")
    return {"rows": rows}


def augmented(n: int) -> np.ndarray:
    """The first n of MNIST and its copies, each rotated by a few degrees and shifted by a pixel or two."""
    images = datasets.load(NAMES["MNIST"]).X.reshape(-1, SIDE, SIDE)
    reduce = PCA(N_COMPONENTS, svd_solver="covariance_eigh").fit(
        images[:20_000].reshape(-1, SIDE**2).astype(np.float32)
    )
    rng = np.random.default_rng(0)
    blocks, found = [], 0
    while found < n:
        copies = images[: n - found].astype(np.float32)
        if found:
            angle, shift = rng.uniform(-12.0, 12.0), rng.integers(-2, 3, size=2)
            copies = ndimage.rotate(copies, angle, axes=(2, 1), reshape=False, order=1)
            copies = np.roll(copies, shift, axis=(1, 2))
        blocks.append(reduce.transform(copies.reshape(-1, SIDE**2)).astype(np.float32))
        found += len(copies)
    return np.concatenate(blocks)


class Timed(TSNEkhorn):
    """An estimator that notes the time of its affinity."""

    def _compute_affinity(self, X: Any, affinity: Any) -> Any:
        start = time.perf_counter()
        P = super()._compute_affinity(X, affinity)
        self.seconds_affinity_ = time.perf_counter() - start
        return P


def solve(n: int) -> dict:
    """A layout of n points, end to end; and an iteration of openTSNE's on the same P and layout."""
    X = augmented(n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        TSNEkhorn(max_iter=30, n_jobs=N_THREADS, n_neighbors=90, method="fft").fit(X[:3500])  # compiles
        times = []
        for _ in range(REPEATS if n < MANY_POINTS else 1):  # of short runs the best: others use this machine, too
            model = None  # its memory is not the next one's
            start = time.perf_counter()
            model = Timed(max_iter=N_ITER, tol=NEVER, n_jobs=N_THREADS).fit(X)
            times.append((time.perf_counter() - start, model.seconds_affinity_))
    seconds, seconds_affinity = min(times)
    P, Z = model.affinity_, model.embedding_
    result = {
        "affinity": seconds_affinity,
        "embedding": seconds - seconds_affinity,
        "total": seconds,
        "recall": model.affinity_report_.neighbor_recall,
        "passes": model.affinity_report_.n_passes,
        "converged": model.affinity_report_.converged,
        "peak_gb": peak_gigabytes(),
        "span": float(np.ptp(Z, axis=0).max()),
    }
    return {**result, **_last_iteration(model, P, Z), **_peer_iteration(P, Z)}


def _last_iteration(model: TSNEkhorn, P: object, Z: np.ndarray) -> dict:
    """Seconds of one of our iterations on the final layout."""
    objective = make_objective(model, P, "fft")
    Z = np.asarray(Z, dtype=float)
    objective.gradient(Z)
    start = time.perf_counter()
    for _ in range(PEER_ITERATIONS):
        objective.gradient(Z)
    return {"iteration": (time.perf_counter() - start) / PEER_ITERATIONS}


def _peer_iteration(P: object, Z: np.ndarray) -> dict:
    """Seconds of one of openTSNE's on the same."""
    if not find_spec("openTSNE"):
        return {}
    from openTSNE import TSNEEmbedding, affinity

    pairs = affinity.PrecomputedAffinities(P.astype(float))
    start = np.asarray(Z, dtype=float)
    layout = TSNEEmbedding(start, pairs, negative_gradient_method="fft", n_jobs=N_THREADS)
    times = []
    for n_iter in (1, 1 + PEER_ITERATIONS):
        began = time.perf_counter()
        layout.optimize(n_iter, learning_rate=1e-6, inplace=True)
        times.append(time.perf_counter() - began)
    return {"peer_iteration": (times[1] - times[0]) / PEER_ITERATIONS}


def table(results: dict) -> str:
    """Times, memory, and the exponent of growth."""
    rows = [row for row in results["rows"] if "total" in row]
    keys = ("affinity", "embedding", "total")
    lines = [
        [
            f"{row['n']:,}",
            *(figure(row, key, ".1f") for key in keys),
            figure(row, "iteration", ".3f"),
            figure(row, "peer_iteration", ".3f"),
            figure(row, "peak_gb", ".1f"),
            figure(row, "span", ".0f"),
        ]
        for row in results["rows"]
    ]
    header = ["points", "affinity, s", "embedding, s", "total, s", "one iteration, s", "openTSNE's, s", "GB", "span"]
    caption = (
        f"Augmented MNIST, {N_THREADS} threads, {N_ITER} iterations, best of {REPEATS} below {MANY_POINTS:,} points"
    )
    text = markdown(caption, header, lines)
    if len(rows) > 2:
        exponents = ", ".join(f"{key} {_exponent(rows[1], rows[-1], key):.2f}" for key in keys)
        text += f"\n\nExponents of growth from {rows[1]['n']:,} to {rows[-1]['n']:,} points: {exponents}."
    return text


def _exponent(first: dict, last: dict, key: str) -> float:
    return float(np.log(last[key] / first[key]) / np.log(last["n"] / first["n"]))
