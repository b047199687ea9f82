"""Compute layouts with the paper's protocol and with our defaults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.experiment import NotAvailable
from snekhorn import TSNE, TSNEkhorn, sweep
from snekhorn.embedding.descent import Stop
from snekhorn.metrics import silhouette, trustworthiness

from .verdicts import NEAR, claim

Array = NDArray[Any]

# The paper: Adam "with default parameters", stopped when the loss changes by less than 1e-5 (relative). The authors'
# scripts set the learning rate: 0.1 for SNAREseq, 0.5 for Figure 1, 1 for COIL. `protocol.py` compares them.
PAPER: dict[str, Any] = {"optimizer": "adam", "tol": 1e-5, "learning_rate": 0.5, "max_iter": 3000}

PAPER_COLUMNS: dict[str, tuple[type, bool]] = {  # method, self-loops in P
    "t-SNE, paper's protocol": (TSNE, True),
    "t-SNEkhorn, paper's protocol": (TSNEkhorn, True),
    "t-SNEkhorn without self-loops, paper's protocol": (TSNEkhorn, False),
}
OUR_COLUMNS: dict[str, tuple[type, bool]] = {
    "t-SNEkhorn": (TSNEkhorn, False),
    "t-SNEkhorn with self-loops": (TSNEkhorn, True),
    "t-SNE": (TSNE, False),
}
SCORES = ("silhouette", "trustworthiness")  # the scores that the paper reports
SHOWN = ("t-SNE, paper's protocol", "t-SNEkhorn, paper's protocol", "t-SNE", "t-SNEkhorn")  # methods in figures


def paper_affinity(method: Any) -> dict[str, float]:
    """Return the parameter of the paper's affinity, if the method has one; it is added to our defaults."""
    return {"balance": 1.0} if method.latent.doubly_stochastic else {}


def fitted(model: Any, X: Any) -> Any:
    """Fit a model and return it; pass on interrupts, so that an interrupted layout does not count as a result."""
    return _uninterrupted(model.fit(X))


def _uninterrupted(model: Any) -> Any:
    if model.report_.reason == Stop.INTERRUPTED.value:
        raise KeyboardInterrupt
    return model


def shared_start(n: int, seed: int) -> Array:
    """Return independent N(0, 1) coordinates, the initial layout of all methods."""
    return np.random.default_rng(seed).normal(size=(n, 2))


def paper_model(method: type, perplexity: float, n: int, seed: int, *, self_loops: bool) -> Any:
    """Return an estimator with the paper's settings."""
    return method(
        perplexity=perplexity, init=shared_start(n, seed), self_loops=self_loops, **PAPER, **paper_affinity(method)
    )


def paper_layout(column: str, X: Array, perplexity: float, seed: int, *, step: float | None = None) -> Array:
    """Return a layout computed with the paper's protocol, optionally with another learning rate."""
    method, self_loops = PAPER_COLUMNS[column]
    model = paper_model(method, perplexity, len(X), seed, self_loops=self_loops)
    return fitted(model if step is None else model.set_params(learning_rate=step), X).embedding_


def our_layouts(column: str, X: Array, perplexities: list[int]) -> Iterator[tuple[int, Array]]:
    """Yield layouts with our defaults for all perplexities; they do not depend on a seed."""
    method, self_loops = OUR_COLUMNS[column]
    for model in sweep(method(self_loops=self_loops, **paper_affinity(method)), X, perplexities):
        yield int(_uninterrupted(model).perplexity), model.embedding_


def shown_layout(column: str, X: Array, y: Any, perplexity: float) -> dict[str, Any]:
    """Compute one layout, with our defaults or with the paper's protocol and the first seed, and its scores."""
    if column in PAPER_COLUMNS:
        Z = paper_layout(column, X, perplexity, 0)
    else:
        method, self_loops = OUR_COLUMNS[column]
        Z = fitted(method(perplexity=perplexity, self_loops=self_loops, **paper_affinity(method)), X).embedding_
    return {**scores(X, y, Z), "layout": Z, "classes": y}


def shown_rows(cases: Mapping[str, Any], suffix: str = "") -> list[list[Any]]:
    """Return rows of scores with a verdict on whether t-SNEkhorn is above t-SNE under the same protocol."""
    rows = []
    for column in SHOWN:
        case, rival = (cases.get(name + suffix, {}) for name in (column, column.replace("t-SNEkhorn", "t-SNE")))
        judged = ""
        if case and rival and column.startswith("t-SNEkhorn"):
            ahead = 100.0 * (case["silhouette"] - rival["silhouette"])
            judged = "no difference" if abs(ahead) <= NEAR else claim(holds=ahead > 0.0)
        rows.append([column + suffix, *(case.get(score) for score in SCORES), judged])
    return rows


def scores(X: Array, y: Any, Z: Array) -> dict[str, float]:
    """Compute the paper's scores of a layout."""
    if not np.isfinite(Z).all():
        raise NotAvailable("the layout is not finite.")
    return {"silhouette": silhouette(Z, y), "trustworthiness": trustworthiness(X, Z)}
