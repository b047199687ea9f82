"""Descent or loss: what becomes of openTSNE's layouts where the descent of t-SNEkhorn goes on from them.

Where its loss is not lower from there, but the scores change to those of its own layouts, the loss decides them.
"""

import warnings
from typing import Any

import numpy as np

from snekhorn import TSNEkhorn
from snekhorn.metrics import evaluate

from .data import NAMES, load_labelled
from .measure import N_THREADS, markdown, say
from .quality import SCORES, UNIT_ROWS, opentsne, used
from .study import LEFT_OUT, QUICK_DATA

PERPLEXITY, SEED = 30, 1
TITLES = {"peer": "openTSNE", "onwards": "t-SNEkhorn from there", "own": "t-SNEkhorn"}
SHOWN = {"silhouette": "silhouette", "neighbor_recall": "recall"}


def run(quick: bool = False) -> dict:  # noqa: FBT001, FBT002
    """One row for every data set and layout."""
    names = QUICK_DATA if quick else [name for name in NAMES if name not in LEFT_OUT]
    return {"rows": [row for name in names for row in compare(name)]}


def compare(name: str) -> list[dict]:
    """The three layouts of one data set."""
    X, y = load_labelled(name, unit_rows=name in UNIT_ROWS)
    perplexity = used("openTSNE", PERPLEXITY, len(X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Z = opentsne(X, perplexity, SEED)
        found = {
            "peer": (Z, None),
            "onwards": laid_out(X, perplexity=perplexity, init=Z, early_exaggeration=1.0),
            "own": laid_out(X, perplexity=perplexity),
        }
        rows = [
            {"data": name, "layout": layout, "loss": loss, **_scores(X, layout_of, y)}
            for layout, (layout_of, loss) in found.items()
        ]
    say(f"starts: {name}")
    return rows


def laid_out(X: np.ndarray, **parameters: Any) -> tuple[np.ndarray, float]:
    """A layout of t-SNEkhorn, and its loss."""
    model = TSNEkhorn(n_jobs=N_THREADS, **parameters).fit(X)
    return model.embedding_, model.kl_divergence_


def _scores(X: np.ndarray, Z: np.ndarray, y: np.ndarray) -> dict:
    found = evaluate(X, Z, y, n_jobs=N_THREADS)
    return {score: found[score] for score in SCORES}


def table(results: dict) -> str:
    """Scores and losses, set by set."""
    rows = {(row["data"], row["layout"]): row for row in results["rows"]}
    names = list(dict.fromkeys(name for name, _ in rows))
    head = [f"{short}: {title}" for short in SHOWN.values() for title in TITLES.values()]
    lines = [
        [
            name,
            *(f"{rows[name, layout][score]:.3f}" for score in SHOWN for layout in TITLES),
            *(f"{rows[name, layout]['loss']:.4f}" for layout in ("onwards", "own")),
        ]
        for name in names
    ]
    caption = (
        f"Layouts at perplexity {PERPLEXITY}, or a third of the points; t-SNEkhorn's descent from openTSNE's layout, "
        "and at its defaults"
    )
    return markdown(caption, ["data", *head, f"loss: {TITLES['onwards']}", f"loss: {TITLES['own']}"], lines)
