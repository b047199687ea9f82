"""Spectral clustering of affinities: the paper's protocol."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import SpectralClustering
from sklearn.metrics import adjusted_rand_score

from ..affinities import (
    DoublyStochasticAffinity,
    EntropicAffinity,
    GaussianAffinity,
    SelfTuningAffinity,
    SymmetricEntropicAffinity,
    row_perplexities,
)
from .data import grid

Array = NDArray[np.float64]
POWERS = range(-12, 13)  # of ten, relative to the order of the mean cost: bandwidths that are tried
FAR = 10.0  # times off the range: what the row-stochastic affinity of a bandwidth may be for it to be looked at

KINDS = {
    "row-stochastic": lambda nu: GaussianAffinity(nu, symmetrize=True),
    "doubly stochastic": lambda nu: DoublyStochasticAffinity(nu),
    "self-tuning": lambda k: SelfTuningAffinity(int(k)),
    "symmetrised entropic": lambda xi: EntropicAffinity(xi, symmetrize=True),
    "symmetric entropic": lambda xi: SymmetricEntropicAffinity(xi),
    "symmetric entropic, no self-loops": lambda xi: SymmetricEntropicAffinity(xi, self_loops=False),
}
BY_BANDWIDTH = ("row-stochastic", "doubly stochastic")


def adjusted_rand_indices(P: Array, y: Any, seeds: range) -> list[float]:
    """Of spectral clustering into as many clusters as there are classes, scikit-learn's defaults, for each seed."""
    k = np.unique(y).size
    found = [SpectralClustering(k, affinity="precomputed", random_state=seed).fit_predict(P) for seed in seeds]
    return [float(adjusted_rand_score(y, clusters)) for clusters in found]


def candidates(kind: str, X: Array, perplexities: list[int]) -> Iterator[tuple[float, Array]]:
    """Affinities of one kind over its grid: perplexities, ranks of a neighbour, or bandwidths."""
    if kind not in BY_BANDWIDTH:
        for value in perplexities:
            yield value, KINDS[kind](value).fit_transform(X)
        return
    # Powers of ten at which the average perplexity is within the paper's range.
    allowed = grid(len(X))
    order = np.round(np.log10(2.0 * X.var(axis=0).sum()))
    for bandwidth in 10.0 ** (order + np.array(POWERS)) if allowed else ():
        # Rows of the symmetrised affinity do not sum to one: those of the one before it have the perplexity.
        average = row_perplexities(GaussianAffinity(bandwidth).fit_transform(X)).mean()
        if not allowed[0] / FAR <= average <= FAR * allowed[-1]:
            continue
        P = KINDS[kind](bandwidth).fit_transform(X)
        average = row_perplexities(P).mean() if kind == "doubly stochastic" else average
        if allowed[0] <= average <= allowed[-1]:
            yield float(bandwidth), P


def scored(kind: str, X: Array, y: Any, perplexities: list[int], seeds: range) -> dict[str, Any]:
    """ARI of every affinity of a kind, for each seed."""
    rows = [(value, adjusted_rand_indices(P, y, seeds)) for value, P in candidates(kind, X, perplexities)]
    return {"values": [value for value, _ in rows], "ari": [ari for _, ari in rows]}


def best(cell: Any) -> tuple[float, float] | None:
    """Largest mean over seeds, and where on the grid."""
    if not cell["ari"]:
        return None
    means = [float(np.mean(ari)) for ari in cell["ari"]]
    at = int(np.argmax(means))
    return means[at], cell["values"][at]
