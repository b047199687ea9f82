"""Repeat the dual ascent of the authors' published code, to find out where it stops."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from harness.experiment import NotAvailable
from snekhorn.solvers.descent_steps import Adam

Array = NDArray[np.float64]
RATE = 0.01
SCRIPT_RATES, SCRIPT_STEPS = (
    (0.1, 0.03),
    5000,
)  # settings of the script for SNAREseq, which uses the second rate after NaN


def ascended(X: Array, perplexity: float, n_steps: int, rate: float = RATE, *, root: bool = True) -> Array:
    """Return P after some steps of Adam on lambda and gamma (or the square root of gamma), starting from 0 and 1.

    As in the authors' code, the starting point does not depend on the scale of the costs.
    """
    cost = 2.0 * cdist(X, X, "sqeuclidean")
    x = np.stack([np.zeros(len(X)), np.ones(len(X))])
    optimizer = Adam(x.shape)
    log_P = _log_affinity(cost, x, root=root)
    for step in range(1, n_steps + 1):
        with np.errstate(over="ignore", invalid="ignore"):
            P = np.exp(log_P)
            missing = np.sum(P * (1.0 - log_P), axis=1) - np.log(perplexity) - 1.0
            gradient = np.stack([P.sum(axis=1) - 1.0, 2.0 * x[1] * missing if root else missing])
            optimizer.step(x, gradient, rate, 0.0)
        if not root:
            x[1] = np.maximum(x[1], 0.0)
        if np.isnan(x).any():
            raise NotAvailable(
                f"the authors' ascent produces NaN after {step} steps at rate {rate}, perplexity {perplexity:g}."
            )
        log_P = _log_affinity(cost, x, root=root)
    P = np.exp(log_P)
    if not np.isfinite(P).all():
        raise NotAvailable(f"the authors' ascent does not end in a finite affinity at perplexity {perplexity:g}.")
    return P


def as_in_their_script(X: Array, perplexity: float) -> Array:
    """Return P with the settings of the script for SNAREseq: ascent on gamma itself, with a smaller rate after NaN."""
    first, second = SCRIPT_RATES
    try:
        return ascended(X, perplexity, SCRIPT_STEPS, first, root=False)
    except NotAvailable:
        return ascended(X, perplexity, SCRIPT_STEPS, second, root=False)


def _log_affinity(cost: Array, x: Any, *, root: bool) -> Array:
    widths = x[1] ** 2 if root else x[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        return (x[0][:, None] + x[0] - cost) / (widths[:, None] + widths)
