"""MNIST, whole: every stage beside openTSNE and umap-learn, with the quality of what comes out; and new points."""

import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from snekhorn import TSNEkhorn
from snekhorn.affinities import SymmetricEntropicAffinity
from snekhorn.embedding.initial_layout import pca_layout
from snekhorn.metrics import evaluate

from .data import load_labelled
from .measure import N_THREADS, best_of, figure, fresh, markdown, peak_gigabytes, say
from .quality import SCORES

PERPLEXITY = 30
N_ITER = 750  # openTSNE's default: 250 with exaggeration, 500 without
NEVER = 1e-12  # tolerance that no run of N_ITER iterations reaches
N_FITTED, N_NEIGHBORS_VOTE = 60_000, 15
REPEATS = 2


def run(quick: bool = False) -> dict:  # noqa: FBT001, FBT002
    """Stages, and new points; the shortest of a few runs each, tools taking turns."""
    n = 5000 if quick else 70_000
    tools = {name: solve for name, (package, solve) in TOOLS.items() if package is None or find_spec(package)}
    turns = [{name: fresh(solve, n=n) for name, solve in tools.items()} for _ in range(1 if quick else REPEATS)]
    say("speed: stages")
    best = [{"tool": name, **min((turn[name] for turn in turns), key=_total)} for name in tools]
    return {"n": n, "tools": best, "transform": fresh(place_new, n=n, n_fitted=n * 6 // 7)}


def solve_ours(n: int) -> dict:
    """t-SNEkhorn with as many iterations as openTSNE."""
    return _solve_ours(n, max_iter=N_ITER, tol=NEVER)


def solve_ours_by_default(n: int) -> dict:
    """t-SNEkhorn until it converges."""
    return _solve_ours(n)


def _solve_ours(n: int, **parameters: Any) -> dict:
    X, y = load_labelled("MNIST", n, dtype=np.float32)
    _quiet(lambda: TSNEkhorn(max_iter=30, n_jobs=N_THREADS, n_neighbors=90, method="fft").fit(X[:3500]))
    affinity = SymmetricEntropicAffinity(PERPLEXITY, n_neighbors="auto", self_loops=False, n_jobs=N_THREADS)
    seconds_affinity, P = _timed(lambda: affinity.fit_transform(X))
    seconds_start, start = _timed(lambda: pca_layout(X, 2))
    model = TSNEkhorn(affinity="precomputed", init=start, method="fft", n_jobs=N_THREADS, **parameters)
    seconds, Z = _timed(lambda: model.fit_transform(P))
    return {
        "affinity": seconds_affinity,
        "embedding": seconds,
        "total": seconds_affinity + seconds_start + seconds,
        "iterations": model.n_iter_,
        "marginal_gap": model.report_.marginal_gap,
        "peak_gb": peak_gigabytes(),
        **_scores(X, Z, y),
    }


def solve_opentsne(n: int) -> dict:
    """openTSNE's own stages, at its defaults."""
    from openTSNE import TSNEEmbedding, affinity, initialization

    X, y = load_labelled("MNIST", n, dtype=np.float32)
    threads = {"n_jobs": N_THREADS, "random_state": 0}
    seconds_affinity, P = _timed(lambda: affinity.PerplexityBasedNN(X, perplexity=PERPLEXITY, **threads))
    seconds_start, start = _timed(lambda: initialization.pca(X, random_state=0))

    def descend() -> Any:
        layout = TSNEEmbedding(start, P, negative_gradient_method="fft", **threads)
        layout.optimize(250, exaggeration=12, momentum=0.8, inplace=True)
        return layout.optimize(500, momentum=0.8, inplace=True)

    seconds, Z = _timed(descend)
    return {
        "affinity": seconds_affinity,
        "embedding": seconds,
        "total": seconds_affinity + seconds_start + seconds,
        "iterations": N_ITER,
        "peak_gb": peak_gigabytes(),
        **_scores(X, np.asarray(Z), y),
    }


def solve_umap(n: int) -> dict:
    """umap-learn at its defaults, on all threads, compiled code warm; no two runs give the same layout."""
    return _solve_umap(n, n_jobs=N_THREADS)


def solve_umap_as_long(n: int) -> dict:
    """umap-learn with as many epochs as the others have iterations."""
    return _solve_umap(n, n_jobs=N_THREADS, n_epochs=N_ITER)


def solve_umap_seeded(n: int) -> dict:
    """umap-learn with a seed, so that the same data give the same layout, as ours do: it then runs on one thread."""
    return _solve_umap(n, random_state=0)


def _solve_umap(n: int, n_epochs: int | None = None, **parameters: Any) -> dict:
    from umap import UMAP

    X, y = load_labelled("MNIST", n, dtype=np.float32)
    _quiet(lambda: UMAP(n_epochs=5, **parameters).fit(X[:5000]))
    n_epochs = n_epochs or (200 if n > 10_000 else 500)  # umap-learn's own choice, made here to be shown
    seconds, Z = _timed(lambda: UMAP(n_epochs=n_epochs, **parameters).fit_transform(X))
    return {"total": seconds, "iterations": n_epochs, "peak_gb": peak_gigabytes(), **_scores(X, Z, y)}


TOOLS: dict[str, tuple[str | None, Callable[..., dict]]] = {
    "t-SNEkhorn, 750 iterations": (None, solve_ours),
    "t-SNEkhorn, by default": (None, solve_ours_by_default),
    "openTSNE": ("openTSNE", solve_opentsne),
    "umap-learn": ("umap", solve_umap),
    "umap-learn, 750 epochs": ("umap", solve_umap_as_long),
    "umap-learn, seeded": ("umap", solve_umap_seeded),
}


def place_new(n: int, n_fitted: int) -> dict:
    """Fit on some, place the others, and vote by their neighbours in the plane."""
    X, y = load_labelled("MNIST", n, dtype=np.float32)
    model = TSNEkhorn(n_jobs=N_THREADS)
    Z = _quiet(lambda: model.fit_transform(X[:n_fitted]))
    model.transform(X[n_fitted : n_fitted + 1])  # makes the index of neighbours
    seconds, new = best_of(REPEATS, lambda: model.transform(X[n_fitted:]))
    accuracy = KNeighborsClassifier(N_NEIGHBORS_VOTE).fit(Z, y[:n_fitted]).score(new, y[n_fitted:])
    alone = model.transform(X[n_fitted : n_fitted + 1])
    return {
        "fitted": n_fitted,
        "new": n - n_fitted,
        "accuracy": float(accuracy),
        "per_second": (n - n_fitted) / seconds,
        "same_bits": bool((alone[0] == new[0]).all()),
    }


def table(results: dict) -> str:
    """Seconds and ratios, then quality."""
    peers = {row["tool"]: row for row in results["tools"]}
    rows = []
    for row in results["tools"]:
        ratios = [_ratio(row, peers.get(peer, {}), key) for peer, key in RATIOS]
        seconds = [figure(row, key, ".1f") for key in ("affinity", "embedding", "total")]
        scores = [figure(row, score, ".3f") for score in SCORES]
        rows.append(
            [row["tool"], figure(row, "iterations", "d"), *seconds, *ratios, figure(row, "peak_gb", ".1f"), *scores]
        )
    header = ["", "iterations", "affinity, s", "embedding, s", "total, s"]
    header += [
        "embedding / openTSNE's",
        "total / openTSNE's",
        "total / umap-learn's",
        "with 750 epochs",
        "seeded",
        "GB",
        *SCORES.values(),
    ]
    caption = f"MNIST, {results['n']:,} points in 50 dimensions, {N_THREADS} threads, perplexity {PERPLEXITY}"
    new = results["transform"]
    if "failed" in new:
        return markdown(caption, header, rows)
    line = (
        f"New points: {new['fitted']:,} fitted, {new['new']:,} placed at {new['per_second']:,.0f} points a second; "
        f"the vote of the {N_NEIGHBORS_VOTE} nearest in the plane is right for {new['accuracy']:.4f} of them; a point "
        f"alone and in the batch has {'the same' if new['same_bits'] else 'other'} bits."
    )
    return markdown(caption, header, rows) + "\n\n" + line


RATIOS = (
    ("openTSNE", "embedding"),
    ("openTSNE", "total"),
    ("umap-learn", "total"),
    ("umap-learn, 750 epochs", "total"),
    ("umap-learn, seeded", "total"),
)


def _ratio(row: dict, peer: dict, key: str) -> str:
    return f"{row[key] / peer[key]:.2f}" if key in row and key in peer else "–"


def _total(row: dict) -> float:
    return row.get("total", float("inf"))


def _scores(X: np.ndarray, Z: np.ndarray, y: np.ndarray) -> dict:
    found = evaluate(X, Z, y, n_jobs=N_THREADS)
    return {name: found[name] for name in SCORES}


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = _quiet(work)
    return time.perf_counter() - start, result


def _quiet(work: Callable[[], Any]) -> Any:
    """Runs that are cut short, or warm up, warn of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return work()
