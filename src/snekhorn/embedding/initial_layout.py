"""Compute initial layouts: principal components, eigenvectors of P, or noise."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..geometry.inputs import largest_entry
from ..geometry.preprocessing import principal_components
from ..runtime.execution import Execution
from .charge_sums import Array

SPREAD = 1e-2  # standard deviation along the widest axis; the kernels have width 1, so larger would trap points
NOISE = 1e-2  # spread of axes without variation, relative to SPREAD; with 0, such axes would never be used
FLAT = 1e-8  # axes with less than this fraction of the widest spread count as axes without variation
SEED = 0  # of random numbers that hardly affect the layout, so that it depends on the data alone
SPECTRAL_STEPS = 100  # more steps would refine directions that the descent changes anyway
SPECTRAL_EXTRA = 4  # extra directions; with more, convergence needs fewer steps, but each step takes longer


def pca_layout(X: Any, n_components: int, *, execution: Execution | None = None) -> Array:
    """Return the principal components of X, each with the sign that makes its largest loading positive.

    If `execution` is None, all cores are used.
    """
    found = principal_components(X, n_components, execution=execution)
    return layout_of_components(found, n_components, rounding(X.dtype, largest_entry(X)))


def layout_of_components(found: Array, n_components: int, noise: float) -> Array:
    """Return the layout of given principal components; axes that vary by no more than `noise` do not count."""
    Z = np.zeros((len(found), n_components))
    Z[:, : found.shape[1]] = np.where(found.std(axis=0) > noise, found, 0.0)
    return scaled_to_start(Z)


def random_layout(n: int, n_components: int, seed: int) -> Array:
    """Return independent Gaussian coordinates."""
    return np.random.default_rng(seed).normal(scale=SPREAD, size=(n, n_components))


def spectral_layout(P: Any, n_components: int) -> Array:
    """Return the leading eigenvectors of the normalised P, excluding the constant one.

    Subspace iteration takes a fixed number of steps. Unlike an eigenvalue solver that runs to convergence, it cannot
    hang on graphs with many components, and an initial layout needs no higher accuracy.
    """
    n = P.shape[0]
    P = (P + P.T) / 2
    root = np.sqrt(np.maximum(np.asarray(P.sum(axis=1)).ravel(), np.finfo(float).tiny))
    constant = root / np.linalg.norm(root)
    n_directions = min(n - 1, n_components + SPECTRAL_EXTRA)  # excluding the constant one
    V = np.random.default_rng(SEED).normal(size=(n, n_directions))
    for _ in range(SPECTRAL_STEPS):
        V -= np.outer(constant, constant @ V)
        V, _ = np.linalg.qr(V)
        V = (V + (P @ (V / root[:, None])) / root[:, None]) / 2  # eigenvalues in [0, 1]
    V -= np.outer(constant, constant @ V)
    V, _ = np.linalg.qr(V)
    projected = V.T @ (V + (P @ (V / root[:, None])) / root[:, None])
    _, vectors = np.linalg.eigh((projected + projected.T) / 2)
    Z = np.zeros((n, n_components))
    found = (V @ vectors[:, ::-1] / root[:, None])[:, :n_components]
    signs = np.sign(found[np.argmax(np.abs(found), axis=0), np.arange(found.shape[1])])
    Z[:, : found.shape[1]] = found * signs / (np.std(found, axis=0) + np.finfo(float).tiny)
    return scaled_to_start(Z)


def rounding(dtype: Any, largest: float) -> float:
    """Return the variation that rounding alone may cause in X, whose largest entry is given, or in its components."""
    return max(2 * float(np.finfo(dtype).eps), 64 * float(np.finfo(float).eps)) * largest


def scaled_to_start(Z: Array) -> Array:
    """Scale Z to the standard spread, and replace axes without variation by a little noise."""
    Z = Z - Z.mean(axis=0)
    spread = Z.std(axis=0)
    widest = float(spread.max())
    if widest > 0.0:
        Z = Z * (SPREAD / widest)
    noise = np.random.default_rng(SEED).normal(scale=NOISE * SPREAD, size=Z.shape)
    return np.where(spread > FLAT * widest, Z, noise)
