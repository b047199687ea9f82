"""What the choices of the method do to its layouts: self-loops, exaggeration, descent, perplexity against n.

Every variant differs from the defaults in one choice. Scores are the best, or the mean, over a few perplexities.
"""

import warnings
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import numpy as np

from snekhorn import TSNEkhorn
from snekhorn.embedding.latent import Latent
from snekhorn.metrics import evaluate

from .data import NAMES, load_labelled
from .measure import N_THREADS, markdown, say
from .quality import SCORES, UNIT_ROWS

PERPLEXITIES = (10, 30, 100)
LEFT_OUT = ("CIFAR", "MNIST")  # large: the second has tables of its own
QUICK_DATA = ("scGEM", "blue cell (khan)")
DESCENTS = ("defaults", "momentum 0.95 at once", "momentum 0.9", "momentum 0.8, rate 0.25 (t-SNE's)")  # on all of MNIST
SIZES, SIZE_PERPLEXITIES = (1_000, 3_000, 10_000, 30_000), (10, 30, 100, 300)

# Parameters of TSNEkhorn, and attributes of its schedule.
VARIANTS: dict[str, tuple[dict[str, Any], dict[str, float]]] = {
    "defaults": ({}, {}),
    "self-loops in P and Q (the paper's)": ({"self_loops": True}, {}),
    "self-loops in P alone": ({"self_loops": True, "latent_self_loops": False}, {}),
    "self-loops in neither": ({"latent_self_loops": False}, {}),
    "exaggeration 1.2": ({"exaggeration": 1.2}, {}),
    "exaggeration 1.5": ({"exaggeration": 1.5}, {}),
    "momentum 0.8, rate 0.25 (t-SNE's)": ({}, {"momentum": 0.8, "rate": 0.25}),
    "momentum 0.9": ({}, {"momentum": 0.9}),
    "momentum 0.95 at once": ({}, {"rise": 0}),
    "500 iterations at most": ({"max_iter": 500}, {}),
    "5,000 iterations at most, tol 3e-6": ({"max_iter": 5_000, "tol": 3e-6}, {}),
    "Adam from a random start (the paper's)": ({"optimizer": "adam", "self_loops": True, "tol": 1e-5}, {}),
}
SAME_LOSS = ("momentum", "500", "5,000")  # how those begin that minimise what the defaults do


def run(quick: bool = False) -> dict:  # noqa: FBT001, FBT002
    """One row for every data set, variant and perplexity."""
    rows = []
    for name in QUICK_DATA if quick else (name for name in NAMES if name not in LEFT_OUT):
        X, y = load_labelled(name, unit_rows=name in UNIT_ROWS)
        for variant in VARIANTS:
            for perplexity in PERPLEXITIES:
                if perplexity < len(X):
                    case = {"data": name, "variant": variant, "perplexity": perplexity}
                    rows.append({**case, **solve(X, y, variant, perplexity)})
        say(f"study: {name}")
    return {"rows": rows, "descents": by_descent(quick), "sizes": by_size(quick)}


def by_descent(quick: bool) -> list[dict]:  # noqa: FBT001
    """Descents on very many points, whose way is longer."""
    X, y = load_labelled("MNIST", 1_000 if quick else None, dtype=np.float32)
    return [{"n": len(X), "variant": variant, **solve(X, y, variant, 30)} for variant in DESCENTS]


def by_size(quick: bool) -> list[dict]:  # noqa: FBT001
    """The defaults on more and more of MNIST, at several perplexities."""
    rows = []
    for n in SIZES[:1] if quick else SIZES:
        X, y = load_labelled("MNIST", n)
        rows += [{"n": n, "perplexity": xi, **solve(X, y, "defaults", xi)} for xi in SIZE_PERPLEXITIES]
        say(f"study: {n:,} points of MNIST")
    return rows


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
    """Means over the data sets of each variant's scores; and its best, set by set."""
    rows = results["rows"]
    names = list(dict.fromkeys(row["data"] for row in rows))
    best = [
        [
            variant,
            *_means(rows, variant, max),
            f"{np.median([row['iterations'] for row in rows if row['variant'] == variant]):.0f}",
            f"{_loss_change(rows, variant):+.2%}" if variant.startswith(SAME_LOSS) else "",
        ]
        for variant in VARIANTS
    ]
    mean = [[variant, *_means(rows, variant, np.mean)] for variant in VARIANTS]
    over = f"over perplexities {', '.join(map(str, PERPLEXITIES))}, averaged over {len(names)} data sets"
    text = markdown(f"The best {over}", ["", *SCORES.values(), "iterations, median", "loss, mean change"], best)
    text += "\n\n" + markdown(f"The mean {over}", ["", *SCORES.values()], mean)
    for score in ("silhouette", "neighbor_recall"):
        lines = [[variant, *(_of(rows, name, variant, score) for name in names)] for variant in VARIANTS]
        text += "\n\n" + markdown(f"{SCORES[score].capitalize()}, set by set", ["", *names], lines)
        lines = [[str(xi), *(_of(rows, name, "defaults", score, (xi,)) for name in names)] for xi in PERPLEXITIES]
        text += "\n\n" + markdown(f"{SCORES[score].capitalize()} of the defaults, by perplexity", ["", *names], lines)
    return "\n\n".join([text, _descents_table(results["descents"]), _sizes_table(results["sizes"])])


def _means(rows: list[dict], variant: str, choose: Callable) -> list[str]:
    """Of every score, over the data sets, the best or the mean of the perplexities."""
    names = dict.fromkeys(row["data"] for row in rows)
    return [f"{np.mean([_score(rows, name, variant, score, choose=choose) for name in names]):.3f}" for score in SCORES]


def _descents_table(rows: list[dict]) -> str:
    lines = [
        [row["variant"], *(f"{row[score]:.3f}" for score in SCORES), f"{row['loss']:.3f}", str(row["iterations"])]
        for row in rows
    ]
    head = ["", *SCORES.values(), "loss", "iterations"]
    return markdown(f"Descents on {rows[0]['n']:,} points of MNIST, perplexity 30", head, lines)


def _sizes_table(rows: list[dict]) -> str:
    found = {(row["n"], row["perplexity"]): row for row in rows}
    head = ["points", *(f"{xi}: {', '.join(SCORES.values())}" for xi in SIZE_PERPLEXITIES)]
    lines = [
        [f"{n:,}", *(" ".join(f"{found[n, xi][score]:.3f}" for score in SCORES) for xi in SIZE_PERPLEXITIES)]
        for n in dict.fromkeys(n for n, _ in found)
    ]
    return markdown("The defaults on the first points of MNIST, by perplexity", head, lines)


def _loss_change(rows: list[dict], variant: str) -> float:
    """Mean of the relative changes against the defaults, over data sets and perplexities."""
    losses = {(row["data"], row["perplexity"]): row["loss"] for row in rows if row["variant"] == "defaults"}
    found = [row for row in rows if row["variant"] == variant]
    return float(np.mean([row["loss"] / losses[row["data"], row["perplexity"]] - 1.0 for row in found]))


def _of(rows: list[dict], name: str, variant: str, score: str, perplexities: tuple[int, ...] = PERPLEXITIES) -> str:
    best = _score(rows, name, variant, score, perplexities)
    return "" if best is None else f"{best:.3f}"


def _score(
    rows: list[dict],
    name: str,
    variant: str,
    score: str,
    perplexities: tuple[int, ...] = PERPLEXITIES,
    choose: Callable = max,
) -> float | None:
    """The largest over the perplexities, or their mean; None where the set has fewer points than each of them."""
    found = [row for row in rows if row["data"] == name and row["variant"] == variant]
    scores = [row[score] for row in found if row["perplexity"] in perplexities]
    return choose(scores) if scores else None
