"""Quality of layouts beside the peers': same data, same grid of perplexities, every tool at its own defaults.

No change of ours touches what the peers do, and they take hours: their rows are kept between runs, in
quality_peers.json, as long as their versions stay.
"""

import json
import warnings
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from snekhorn import TSNEkhorn
from snekhorn.metrics import evaluate

from .data import NAMES, load_labelled
from .measure import N_THREADS, ROOT, markdown, say

SCORES = {
    "silhouette": "silhouette",
    "trustworthiness": "trust",
    "neighbor_recall": "recall",
    "knn_accuracy": "accuracy",
}
GRID = (10, 20, 30, 40, 50, 70, 100, 150, 200, 250, 300)
SEEDS = 5
LARGE = {"CIFAR": ((10, 30, 100), 3), "MNIST": ((30,), 1)}  # perplexities and seeds where a run takes minutes
UNIT_ROWS = ("SNAREseq",)
QUICK_DATA = ("scGEM", "blue cell (khan)")
PAPER = {"COIL-20": 0.523, "Olivetti": 0.157, "UMIST": 0.254, "scGEM": 0.393}  # silhouette of its t-SNEkhorn
KEPT = ROOT / "docs" / "benchmarks" / "quality_peers.json"


def ours(X: np.ndarray, perplexity: int, seed: int) -> np.ndarray:
    return TSNEkhorn(perplexity=perplexity, random_state=seed, n_jobs=N_THREADS).fit_transform(X)


def paper_form(X: np.ndarray, perplexity: int, seed: int) -> np.ndarray:
    model = TSNEkhorn(perplexity=perplexity, self_loops=True, exaggeration=1.0, random_state=seed, n_jobs=N_THREADS)
    return model.fit_transform(X)


def opentsne(X: np.ndarray, perplexity: float, seed: int) -> np.ndarray:
    from openTSNE import TSNE

    return np.asarray(TSNE(perplexity=perplexity, random_state=seed, n_jobs=N_THREADS).fit(X))


def umap(X: np.ndarray, perplexity: int, seed: int) -> np.ndarray:
    from umap import UMAP

    return UMAP(n_neighbors=perplexity, random_state=seed).fit_transform(X)


def used(tool: str, perplexity: int, n: int) -> float:
    """The perplexity that a tool takes where it is asked for this one: openTSNE none above a third of the points."""
    return min(perplexity, round((n - 1) / 3, 1)) if tool == "openTSNE" else perplexity


TOOLS = {"t-SNEkhorn": ours, "t-SNEkhorn, self-loops": paper_form, "openTSNE": opentsne, "umap-learn": umap}
DETERMINISTIC = ("t-SNEkhorn", "t-SNEkhorn, self-loops")  # from a PCA start the seed changes nothing


def run(quick: bool = False) -> dict:  # noqa: FBT001, FBT002
    """One row for every data set, tool, perplexity and seed."""
    return {
        "rows": [row for name in (QUICK_DATA if quick else NAMES) for row in measure(name, tuple(TOOLS), quick=quick)]
    }


def measure(name: str, tools: tuple[str, ...], *, quick: bool = False) -> list[dict]:
    """Scores of the tools on one data set."""
    X, y = load_labelled(name, unit_rows=name in UNIT_ROWS, dtype=np.float32 if name == "MNIST" else np.float64)
    grid, seeds = LARGE.get(name, (GRID, SEEDS))
    grid = tuple(perplexity for perplexity in grid if perplexity < len(X))
    grid, seeds = (grid[:2], 1) if quick else (grid, seeds)
    rows = []
    for tool in tools:
        if tool not in DETERMINISTIC and _version(tool) is None:
            continue
        for perplexity in grid:
            for seed in range(1 if tool in DETERMINISTIC else seeds):
                case = {"data": name, "tool": tool, "perplexity": perplexity, "seed": seed}
                rows.append({**case, "used": used(tool, perplexity, len(X)), **(_kept(case) or _scores(X, y, case))})
        say(f"quality: {name}, {tool}")
    return rows


def table(results: dict) -> str:
    """Every tool at its best perplexity for each score; the best of a row is bold."""
    rows = results["rows"]
    parts = []
    for score, short in SCORES.items():
        lines = []
        for name in dict.fromkeys(row["data"] for row in rows):
            best = {tool: _best(rows, name, tool, score) for tool in TOOLS}
            top = max(value for value, _ in best.values())
            cells = [f"{'**' if v == top else ''}{v:.3f}{'**' if v == top else ''} ({p:g})" for v, p in best.values()]
            paper = f"{PAPER[name]:.3f}" if score == "silhouette" and name in PAPER else ""
            lines.append([name, *cells, *([paper] if score == "silhouette" else [])])
        header = ["data", *TOOLS, *(["the paper's"] if score == "silhouette" else [])]
        parts.append(markdown(f"**{short}**, mean over seeds at the best perplexity (in brackets)", header, lines))
    return "\n\n".join(parts)


def _best(rows: list[dict], name: str, tool: str, score: str) -> tuple[float, float]:
    """Largest mean over seeds, and the perplexity it was reached with."""
    values: dict[float, list[float]] = {}
    for row in rows:
        if row["data"] == name and row["tool"] == tool:
            values.setdefault(row["used"], []).append(row[score])
    return max(
        ((float(np.mean(scores)), perplexity) for perplexity, scores in values.items()), default=(float("nan"), 0)
    )


def _scores(X: np.ndarray, y: np.ndarray, case: dict) -> dict:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Z = TOOLS[case["tool"]](X, case["perplexity"], case["seed"])
        found = evaluate(X, Z, y, n_jobs=N_THREADS)
    scores = {name: found[name] for name in SCORES}
    if case["tool"] not in DETERMINISTIC:
        _keep({**case, "version": _version(case["tool"]), "scores": scores})
    return scores


def _kept(case: dict) -> dict | None:
    """Scores of a peer from an earlier run."""
    wanted = {**case, "version": _version(case["tool"])}
    return next((row["scores"] for row in _rows() if {**row, **wanted} == row), None)


def _rows() -> list[dict]:
    return json.loads(KEPT.read_text()) if KEPT.exists() else []


def _keep(row: dict) -> None:
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    KEPT.write_text("[\n" + ",\n".join(json.dumps(kept) for kept in [*_rows(), row]) + "\n]\n")


def _version(tool: str) -> Any:
    try:
        return version(tool)
    except PackageNotFoundError:
        return None
