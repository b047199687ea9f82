"""Time every stage on all of MNIST, compare time and scores with openTSNE and umap-learn, and time new points."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from harness import peers
from harness.data_sets import load_points
from harness.experiment import SEPARATOR, Case, Cases, Plan, Settings, finished
from harness.results_page import figures, table
from snekhorn import TSNEkhorn
from snekhorn.affinities import SymmetricEntropicAffinity
from snekhorn.embedding.initial_layout import pca_layout
from snekhorn.estimators.layout_parts import GRAPH_TOL

from .measure import N_THREADS, SCORES, STAGES, Array, benchmark, best_of, layout_scores, peak_gigabytes, quiet, timed

PERPLEXITY = 30
N_ITER = peers.EARLY_ITERATIONS + peers.MAIN_ITERATIONS  # 750, openTSNE's default
NEVER = 1e-12  # a tolerance that no run of N_ITER iterations reaches
N_NEIGHBORS_VOTE = 15
REPEATS = 2
NEW_POINTS = "new points"


def plan(settings: Settings) -> Plan:
    """Plan several runs of every tool, in turns, so that a busy minute does not affect one tool alone."""
    n = 5000 if settings.quick else 70_000
    cases: Plan = {
        SEPARATOR.join((tool, f"run {turn + 1}")): partial(solve, tool, n, settings)
        for turn in range(1 if settings.quick else REPEATS)
        for tool in TOOLS
    }
    return cases | {NEW_POINTS: partial(place_new, n, n * 6 // 7, settings)}


def solve(tool: str, n: int, settings: Settings) -> dict[str, Any]:
    """Lay out the first n points of MNIST; return times, peak memory and scores."""
    package, lay_out = TOOLS[tool]
    peers.require(package)
    X, y = load_points("mnist", settings.data, n=n, dtype=np.float32)
    Z, measured = lay_out(X)
    return {"n": n, "tool": tool, **measured, "peak_gb": peak_gigabytes(), **layout_scores(X, y, Z)}


def compile_ours(X: Array) -> None:
    """Compile the loops of t-SNEkhorn on a few points."""
    quiet(lambda: TSNEkhorn(max_iter=30, n_jobs=N_THREADS, n_neighbors=90, method="fft").fit(X[:3500]))


def ours_by_stages(X: Array, **parameters: Any) -> tuple[TSNEkhorn, SymmetricEntropicAffinity, dict[str, float]]:
    """Fit t-SNEkhorn stage by stage; return the model, its affinity and the times of the stages."""
    affinity = SymmetricEntropicAffinity(
        PERPLEXITY, n_neighbors="auto", balance="auto", self_loops=False, tol=GRAPH_TOL, n_jobs=N_THREADS
    )
    affinity_seconds, P = timed(lambda: affinity.fit_transform(X))
    initial_seconds, initial = timed(lambda: pca_layout(X, 2))
    model = TSNEkhorn(affinity="precomputed", init=initial, method="fft", n_jobs=N_THREADS, **parameters)
    seconds, _ = timed(lambda: model.fit(P))
    return model, affinity, _stages(affinity_seconds, initial_seconds, seconds)


def _stages(affinity: float, initial_layout: float, embedding: float) -> dict[str, float]:
    total = affinity + initial_layout + embedding
    return {"affinity_seconds": affinity, "embedding_seconds": embedding, "total_seconds": total}


def _ours(X: Array, **parameters: Any) -> tuple[Array, dict[str, Any]]:
    compile_ours(X)
    model, _, seconds = ours_by_stages(X, **parameters)
    return model.embedding_, {**seconds, "iterations": model.n_iter_, "marginal_gap": model.report_.marginal_gap}


def _opentsne(X: Array) -> tuple[Array, dict[str, Any]]:
    affinity_seconds, P = timed(lambda: peers.opentsne_affinity(X, PERPLEXITY, N_THREADS))
    initial_seconds, initial = timed(lambda: peers.opentsne_initial_layout(X))
    seconds, Z = timed(lambda: peers.opentsne_descent(initial, P, N_THREADS))
    return Z, {**_stages(affinity_seconds, initial_seconds, seconds), "iterations": N_ITER}


def _umap(X: Array, n_epochs: int | None = None, **parameters: Any) -> tuple[Array, dict[str, Any]]:
    quiet(lambda: peers.umap_layout(X[:5000], n_epochs=5, **parameters))  # compile
    n_epochs = n_epochs or (
        200 if len(X) > 10_000 else 500
    )  # umap-learn's own choice, set here so that the table can show it
    seconds, Z = timed(lambda: peers.umap_layout(X, n_epochs=n_epochs, **parameters))
    return Z, {"total_seconds": seconds, "iterations": n_epochs}


TOOLS: dict[str, tuple[str, Callable[[Array], tuple[Array, dict[str, Any]]]]] = {
    "t-SNEkhorn, 750 iterations": ("snekhorn", partial(_ours, max_iter=N_ITER, tol=NEVER)),
    "t-SNEkhorn, defaults": ("snekhorn", _ours),
    "t-SNEkhorn, exaggeration 1.5": ("snekhorn", partial(_ours, exaggeration=1.5)),
    "openTSNE": ("openTSNE", _opentsne),
    "umap-learn": ("umap-learn", partial(_umap, n_jobs=N_THREADS)),  # gives a different layout in every run
    "umap-learn, 750 epochs": ("umap-learn", partial(_umap, n_jobs=N_THREADS, n_epochs=N_ITER)),
    "umap-learn, seeded": ("umap-learn", partial(_umap, random_state=0)),  # reproducible like ours, but on one thread
}


def place_new(n: int, n_fitted: int, settings: Settings) -> dict[str, Any]:
    """Fit some points, place the others, and classify the new points by their neighbours in the layout."""
    X, y = load_points("mnist", settings.data, n=n, dtype=np.float32)
    model = TSNEkhorn(n_jobs=N_THREADS)
    Z = quiet(lambda: model.fit_transform(X[:n_fitted]))
    alone = model.transform(X[n_fitted : n_fitted + 1])  # also builds the nearest-neighbour index
    seconds, new = best_of(REPEATS, lambda: model.transform(X[n_fitted:]))
    accuracy = KNeighborsClassifier(N_NEIGHBORS_VOTE).fit(Z, y[:n_fitted]).score(new, y[n_fitted:])
    return {
        "fitted": n_fitted,
        "new": n - n_fitted,
        "accuracy": float(accuracy),
        "per_second": (n - n_fitted) / seconds,
        "same_bits": bool((alone[0] == new[0]).all()),
    }


RATIOS = {
    "layout / openTSNE's": ("openTSNE", "embedding_seconds"),
    "total / openTSNE's": ("openTSNE", "total_seconds"),
    "total / umap-learn's": ("umap-learn", "total_seconds"),
    "total / umap-learn's, 750 epochs": ("umap-learn, 750 epochs", "total_seconds"),
    "total / umap-learn's, seeded": ("umap-learn, seeded", "total_seconds"),
}


def report(cases: Cases) -> str:
    cases = finished(cases)
    runs = [case for case in cases.values() if "tool" in case]
    best = {
        tool: min((run for run in runs if run["tool"] == tool), key=lambda run: run["total_seconds"])
        for tool in dict.fromkeys(run["tool"] for run in runs)
    }
    if not best:
        return ""
    seconds = {f"{name}, s": (f"{key}_seconds", ".1f") for name, key in STAGES.items()}
    scores = {name: (score, ".3f") for score, name in SCORES.items()}
    rows = [
        [
            tool,
            *figures(case, [("iterations", "d"), *seconds.values()]),
            *(_ratio(case, best.get(peer, {}), key) for peer, key in RATIOS.values()),
            *figures(case, [("peak_gb", ".1f"), *scores.values()]),
        ]
        for tool, case in best.items()
    ]
    head = ["tool", "iterations", *seconds, *RATIOS, "peak memory, GB", *scores]
    note = (
        f"The table shows layouts of {runs[0]['n']:,} points of MNIST in 50 dimensions at perplexity {PERPLEXITY}, "
        f"with {N_THREADS} threads; best of {REPEATS} runs. Each ratio divides the time of the row by the "
        "corresponding time of openTSNE or umap-learn."
    )
    text = table(head, rows, note)
    new = cases.get(NEW_POINTS)
    if new is None:
        return text
    coordinates = "the same coordinates as" if new["same_bits"] else "other coordinates than"
    return (
        f"{text}\n\nNew points: a model fitted to {new['fitted']:,} points places {new['new']:,} new points at a rate "
        f"of {new['per_second']:,.0f} points per second. A majority vote among the {N_NEIGHBORS_VOTE} nearest "
        f"training points in the layout classifies the new points with an accuracy of {new['accuracy']:.4f}. A point "
        f"that is placed alone gets {coordinates} in a batch."
    )


def _ratio(case: Case, peer: Case, key: str) -> str:
    return f"{case[key] / peer[key]:.2f}" if key in case and key in peer else "–"


EXPERIMENT = benchmark("speed", "Speed of layouts", plan, report)
