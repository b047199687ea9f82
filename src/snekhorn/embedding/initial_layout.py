"""Where the descent starts from."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..geometry.preprocessing import principal_components
from .potentials import Array

SPREAD = 1e-2  # standard deviation of the start along its widest axis: small against the kernels' width of 1
SPECTRAL_STEPS = 100
SPECTRAL_EXTRA = 4  # directions beyond those wanted, for a faster approach


def pca_layout(X: Any, n_components: int, seed: int = 0) -> Array:
    """Principal components of X, the sign of each such that its largest loading is positive."""
    found = principal_components(X, n_components, seed)
    Z = np.zeros((X.shape[0], n_components))
    Z[:, : found.shape[1]] = np.where(found.std(axis=0) > _rounding(X), found, 0.0)
    return _scaled(Z, seed)


def random_layout(n: int, n_components: int, seed: int) -> Array:
    """Independent Gaussian coordinates."""
    return np.random.default_rng(seed).normal(scale=SPREAD, size=(n, n_components))


def spectral_layout(P: Any, n_components: int, seed: int = 0) -> Array:
    """Leading eigenvectors of P after the constant one.

    A fixed number of steps of subspace iteration: unlike an eigenvalue solver run to convergence it cannot hang
    on graphs of many components, and a start needs no more.
    """
    n = P.shape[0]
    P = (P + P.T) / 2
    root = np.sqrt(np.maximum(np.asarray(P.sum(axis=1)).ravel(), np.finfo(float).tiny))
    constant = root / np.linalg.norm(root)
    n_directions = min(n - 1, n_components + SPECTRAL_EXTRA)  # the constant one is left out
    V = np.random.default_rng(seed).normal(size=(n, n_directions))
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
    return _scaled(Z, seed)


def _rounding(X: Any) -> float:
    """Variation of X that may be nothing but rounding: of its entries, or of its components, which are float64."""
    eps = max(2 * float(np.finfo(X.dtype).eps), 64 * float(np.finfo(float).eps))
    return eps * max(float(X.max()), -float(X.min()))


def _scaled(Z: Array, seed: int) -> Array:
    """Z with the standard spread; axes on which nothing varies get a little noise, or they would never be used."""
    Z = Z - Z.mean(axis=0)
    spread = Z.std(axis=0)
    widest = float(spread.max())
    if widest > 0.0:
        Z = Z * (SPREAD / widest)
    noise = np.random.default_rng(seed).normal(scale=1e-2 * SPREAD, size=Z.shape)
    return np.where(spread > 1e-8 * widest, Z, noise)
