"""Layouts by every protocol: the paper's, ours, and the peers' own defaults."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import TSNE, TSNEkhorn
from ..embedding.descent import Stop
from ..estimators.sweep import sweep
from ..metrics import silhouette, trustworthiness
from .experiment import NotAvailable
from .markdown import NEAR, claim

Array = NDArray[np.float64]

# The paper: Adam "with default parameters", stopped where the loss changes by less than 1e-5 of itself. The authors'
# scripts set the step: 0.1 for SNAREseq, 0.5 for Figure 1, 1 for COIL. What it does is an experiment, `protocol`.
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
SCORES = ("silhouette", "trustworthiness")  # of the paper
SHOWN = ("t-SNE, paper's protocol", "t-SNEkhorn, paper's protocol", "t-SNE", "t-SNEkhorn")  # in figures


def fitted(model: Any, X: Any) -> Any:
    """The model, fitted; a layout that was interrupted is no result."""
    model.fit(X)
    if model.report_.reason == Stop.INTERRUPTED.value:
        raise KeyboardInterrupt
    return model


def shared_start(n: int, seed: int) -> Array:
    """Independent N(0, 1) coordinates, the same for all methods."""
    return np.random.default_rng(seed).normal(size=(n, 2))


def paper_model(method: type, perplexity: float, n: int, seed: int, *, self_loops: bool) -> Any:
    """A method as the paper runs it."""
    return method(perplexity=perplexity, init=shared_start(n, seed), self_loops=self_loops, **PAPER)


def paper_layout(column: str, X: Array, perplexity: float, seed: int, *, step: float | None = None) -> Array:
    method, self_loops = PAPER_COLUMNS[column]
    model = paper_model(method, perplexity, len(X), seed, self_loops=self_loops)
    return fitted(model if step is None else model.set_params(learning_rate=step), X).embedding_


def our_layouts(column: str, X: Array, perplexities: list[int]) -> Iterator[tuple[int, Array]]:
    """At our defaults, over all perplexities: affinities start warm, and no seed is needed."""
    method, self_loops = OUR_COLUMNS[column]
    for model in sweep(method(self_loops=self_loops), X, perplexities):
        if model.report_.reason == Stop.INTERRUPTED.value:
            raise KeyboardInterrupt
        yield int(model.perplexity), model.embedding_


def shown_layout(column: str, X: Array, y: Any, perplexity: float) -> dict[str, Any]:
    """One layout, by the paper's protocol with the first seed or by our defaults, and its scores."""
    if column in PAPER_COLUMNS:
        Z = paper_layout(column, X, perplexity, 0)
    else:
        method, self_loops = OUR_COLUMNS[column]
        Z = fitted(method(perplexity=perplexity, self_loops=self_loops), X).embedding_
    return {**scores(X, y, Z), "layout": Z, "classes": y}


def shown_rows(cells: Mapping[str, Any], suffix: str = "") -> list[list[Any]]:
    """Scores of the layouts shown, and whether t-SNEkhorn is above t-SNE run in the same way, as the paper has it."""
    rows = []
    for column in SHOWN:
        cell, rival = (cells.get(name + suffix, {}) for name in (column, column.replace("t-SNEkhorn", "t-SNE")))
        judged = ""
        if cell and rival and column.startswith("t-SNEkhorn"):
            ahead = 100.0 * (cell["silhouette"] - rival["silhouette"])
            judged = "no difference" if abs(ahead) <= NEAR else claim(holds=ahead > 0.0)
        rows.append([column + suffix, *(cell.get(score) for score in SCORES), judged])
    return rows


def scores(X: Array, y: Any, Z: Array) -> dict[str, float]:
    """Those of the paper."""
    if not np.isfinite(Z).all():
        raise NotAvailable("the layout is not finite.")
    return {"silhouette": silhouette(Z, y), "trustworthiness": trustworthiness(X, Z)}


def _opentsne(X: Array, perplexity: int, seed: int) -> Array:
    from joblib import cpu_count
    from openTSNE import TSNE as OpenTSNE

    if perplexity > (len(X) - 1) / 3:
        raise NotAvailable("openTSNE lowers perplexities above a third of the number of points: it is not run there.")
    return np.asarray(OpenTSNE(perplexity=perplexity, random_state=seed, n_jobs=cpu_count()).fit(X))


def _umap(X: Array, perplexity: int, seed: int) -> Array:
    from umap import UMAP

    return np.asarray(UMAP(n_neighbors=perplexity, random_state=seed).fit_transform(X))


def _sklearn(X: Array, perplexity: int, seed: int) -> Array:
    from sklearn.manifold import TSNE as ScikitTSNE

    return np.asarray(ScikitTSNE(perplexity=perplexity, random_state=seed).fit_transform(X))


PEERS: dict[str, tuple[str, Callable[[Array, int, int], Array]]] = {
    "openTSNE": ("openTSNE", _opentsne),
    "umap-learn": ("umap", _umap),
    "scikit-learn": ("sklearn", _sklearn),
}
SEEDLESS = ("scikit-learn",)  # it starts from PCA, too, and gives one layout of these data for all seeds


def peer_layout(column: str, X: Array, perplexity: int, seed: int) -> Array:
    """By another package, with its own defaults."""
    module, run = PEERS[column]
    if find_spec(module) is None:
        raise NotAvailable(f"{column} is not installed; pip install {column} adds it.")
    try:
        return run(X, perplexity, seed)
    except (ValueError, TypeError, RuntimeError) as error:
        raise NotAvailable(f"{column} failed: {error}") from error
