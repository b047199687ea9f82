"""Cluster points by spectral clustering of an affinity, as in the paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import SpectralClustering
from sklearn.metrics import adjusted_rand_score

from snekhorn.affinities import (
    DoublyStochasticAffinity,
    EntropicAffinity,
    GaussianAffinity,
    SelfTuningAffinity,
    SymmetricEntropicAffinity,
    row_perplexities,
)

from .paper_data import grid

Array = NDArray[Any]
POWERS = range(-12, 13)  # exponents of the candidate bandwidths, relative to the order of magnitude of the mean cost
FAR = 10.0  # skip bandwidths whose row-stochastic affinity is outside the range by more than this factor

KINDS: dict[str, Callable[[float], Any]] = {  # argument: a bandwidth, the rank of a neighbour, or a perplexity
    "row-stochastic": lambda nu: GaussianAffinity(nu, symmetrize=True),
    "doubly stochastic": lambda nu: DoublyStochasticAffinity(nu),
    "self-tuning": lambda k: SelfTuningAffinity(int(k)),
    "symmetrised entropic": lambda xi: EntropicAffinity(xi, symmetrize=True),
    "symmetric entropic": lambda xi: SymmetricEntropicAffinity(xi),
    "symmetric entropic, no self-loops": lambda xi: SymmetricEntropicAffinity(xi, self_loops=False),
}
BY_BANDWIDTH = ("row-stochastic", "doubly stochastic")


def adjusted_rand_indices(P: Array, y: Any, seeds: range) -> list[float]:
    """Return the ARI for each seed, with one cluster per class and scikit-learn's defaults."""
    k = np.unique(y).size
    found = [SpectralClustering(k, affinity="precomputed", random_state=seed).fit_predict(P) for seed in seeds]
    return [float(adjusted_rand_score(y, clusters)) for clusters in found]


def candidates(kind: str, X: Array, perplexities: list[int]) -> Iterator[tuple[float, Array]]:
    """Yield the affinities of one kind over its grid: perplexities, ranks of a neighbour, or bandwidths."""
    if kind not in BY_BANDWIDTH:
        for value in perplexities:
            yield value, KINDS[kind](value).fit_transform(X)
        return
    # Use powers of ten for which the average perplexity lies within the paper's range.
    allowed = grid(len(X))
    order = np.round(np.log10(2.0 * X.var(axis=0).sum()))
    for bandwidth in 10.0 ** (order + np.array(POWERS)) if allowed else ():
        # Rows of the symmetrised affinity do not sum to one, so compute the perplexity before symmetrising.
        average = row_perplexities(GaussianAffinity(bandwidth).fit_transform(X)).mean()
        if not allowed[0] / FAR <= average <= FAR * allowed[-1]:
            continue
        P = KINDS[kind](bandwidth).fit_transform(X)
        average = row_perplexities(P).mean() if kind == "doubly stochastic" else average
        if allowed[0] <= average <= allowed[-1]:
            yield float(bandwidth), P


def scored(kind: str, X: Array, y: Any, perplexities: list[int], seeds: range) -> dict[str, Any]:
    """Return the ARI of every affinity of a kind, for each seed."""
    rows = [(value, adjusted_rand_indices(P, y, seeds)) for value, P in candidates(kind, X, perplexities)]
    return {"values": [value for value, _ in rows], "ari": [ari for _, ari in rows]}


def best(case: Mapping[str, Any]) -> float | None:
    """Return the largest mean ARI over seeds, or None if no value of the grid qualifies."""
    return max((float(np.mean(ari)) for ari in case["ari"]), default=None)
