"""The dual ascent of the authors' published code, written anew, to see where it stops."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from .experiment import NotAvailable

Array = NDArray[np.float64]
DECAY = (0.9, 0.999)  # of Adam
RATE = 0.01  # with 0.1, which the authors try first on SNAREseq, it overflows


def ascended(X: Array, perplexity: float, n_steps: int, rate: float = RATE) -> Array:
    """P after some steps of Adam on lambda and the root of gamma, from 0 and 1 whatever the scale of the costs."""
    cost = 2.0 * cdist(X, X, "sqeuclidean")
    x = np.stack([np.zeros(len(X)), np.ones(len(X))])  # lambda, and the root of gamma
    mean, square = np.zeros_like(x), np.zeros_like(x)
    log_P = _log_affinity(cost, x)
    for step in range(1, n_steps + 1):
        P = np.exp(log_P)
        entropies = np.sum(P * (1.0 - log_P), axis=1)
        gradient = np.stack([P.sum(axis=1) - 1.0, 2.0 * x[1] * (entropies - np.log(perplexity) - 1.0)])
        mean = DECAY[0] * mean + (1.0 - DECAY[0]) * gradient
        square = DECAY[1] * square + (1.0 - DECAY[1]) * gradient**2
        scale = np.sqrt(square / (1.0 - DECAY[1] ** step)) + 1e-8
        x = x - rate * (mean / (1.0 - DECAY[0] ** step)) / scale
        log_P = _log_affinity(cost, x)
        if not np.isfinite(log_P).all() or log_P.max() > 100.0:
            raise NotAvailable(f"the authors' ascent overflows after {step} steps at perplexity {perplexity:g}.")
    return np.exp(log_P)


def _log_affinity(cost: Array, x: Any) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return (x[0][:, None] + x[0] - cost) / (x[1][:, None] ** 2 + x[1] ** 2)
