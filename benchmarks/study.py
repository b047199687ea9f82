"""What the choices of the method do to its layouts: self-loops, exaggeration, descent.

Every variant differs from the defaults in one respect. Scores are the best over a few perplexities.
"""

import warnings
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import numpy as np

from snekhorn import TSNEkhorn
from snekhorn.embedding.methods import Latent
from snekhorn.metrics import evaluate

from .data import NAMES, load_labelled
from .measure import N_THREADS, markdown, say
from .quality import SCORES, UNIT_ROWS

PERPLEXITIES = (10, 30, 100)
N_MNIST = 5_000
LEFT_OUT = ("CIFAR",)  # of the same kind as MNIST
QUICK_DATA = ("scGEM", "blue cell (khan)")

# Parameters of TSNEkhorn, and attributes of its schedule.
VARIANTS: dict[str, tuple[dict[str, Any], dict[str, float]]] = {
    "defaults": ({}, {}),
    "self-loops in P and Q (the paper's)": ({"self_loops": True}, {}),
    "self-loops in P alone": ({"self_loops": True, "latent_self_loops": False}, {}),
    "self-loops in neither": ({"latent_self_loops": False}, {}),
    "exaggeration 1.2": ({"exaggeration": 1.2}, {}),
    "exaggeration 1.5": ({"exaggeration": 1.5}, {}),
    "momentum 0.8, rate 0.25 (t-SNE's)": ({}, {"momentum": 0.8, "rate": 0.25}),
    "momentum 0.95": ({}, {"momentum": 0.95}),
    "500 iterations at most": ({"max_iter": 500}, {}),
    "10,000 iterations at most, tol 1e-6": ({"max_iter": 10_000, "tol": 1e-6}, {}),
    "Adam from a random start (the paper's)": ({"optimizer": "adam", "self_loops": True, "tol": 1e-5}, {}),
}


def run(quick: bool = False) -> dict:  # noqa: FBT001, FBT002
    """One row for every data set, variant and perplexity."""
    rows = []
    for name in QUICK_DATA if quick else (name for name in NAMES if name not in LEFT_OUT):
        X, y = load_labelled(name, N_MNIST, unit_rows=name in UNIT_ROWS)
        for variant in VARIANTS:
            for perplexity in PERPLEXITIES:
                if perplexity < len(X):
                    case = {"data": name, "variant": variant, "perplexity": perplexity}
                    rows.append({**case, **solve(X, y, variant, perplexity)})
        say(f"study: {name}")
    return {"rows": rows}


def solve(X: np.ndarray, y: np.ndarray, variant: str, perplexity: int) -> dict:
    """Scores and loss of one variant."""
    parameters, constants = VARIANTS[variant]
    model = TSNEkhorn(perplexity=perplexity, n_jobs=N_THREADS, random_state=0, **parameters)
    if model.optimizer == "adam":
        model.set_params(init=np.random.default_rng(0).normal(size=(len(X), 2)))
    with warnings.catch_warnings(), ExitStack() as patches:
        warnings.simplefilter("ignore")
        for name, value in constants.items():
            patches.enter_context(patch.object(Latent, name, value))
        Z = model.fit_transform(X)
        found = evaluate(X, Z, y, n_jobs=N_THREADS)
    scores = {score: found[score] for score in SCORES}
    return {**scores, "loss": model.kl_divergence_, "iterations": model.n_iter_}


def table(results: dict) -> str:
    """Means over the data sets of each variant's best scores; and its silhouettes, set by set."""
    rows = results["rows"]
    names = list(dict.fromkeys(row["data"] for row in rows))
    means = [
        [
            variant,
            *(f"{np.mean([_best(rows, name, variant, score) for name in names]):.3f}" for score in SCORES),
            f"{np.median([row['iterations'] for row in rows if row['variant'] == variant]):.0f}",
        ]
        for variant in VARIANTS
    ]
    caption = f"Mean over {len(names)} data sets of the best over perplexities {', '.join(map(str, PERPLEXITIES))}"
    text = markdown(caption, ["", *SCORES.values(), "iterations, median"], means)
    for score in ("silhouette", "neighbor_recall"):
        lines = [[variant, *(_of(rows, name, variant, score) for name in names)] for variant in VARIANTS]
        text += "\n\n" + markdown(f"{SCORES[score].capitalize()}, set by set", ["", *names], lines)
        lines = [[str(xi), *(_of(rows, name, "defaults", score, (xi,)) for name in names)] for xi in PERPLEXITIES]
        text += "\n\n" + markdown(f"{SCORES[score].capitalize()} of the defaults, by perplexity", ["", *names], lines)
    return text


def _of(rows: list[dict], name: str, variant: str, score: str, perplexities: tuple[int, ...] = PERPLEXITIES) -> str:
    best = _best(rows, name, variant, score, perplexities)
    return "" if best is None else f"{best:.3f}"


def _best(
    rows: list[dict], name: str, variant: str, score: str, perplexities: tuple[int, ...] = PERPLEXITIES
) -> float | None:
    """Largest score over the perplexities; None where the set has fewer points than each of them."""
    found = [row for row in rows if row["data"] == name and row["variant"] == variant]
    return max((row[score] for row in found if row["perplexity"] in perplexities), default=None)
