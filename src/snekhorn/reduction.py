"""Principal components, kept so that new points go the same way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition import PCA

FEW_COLUMNS = 2000  # up to this many, their covariance is small enough to take apart
ROWS_AT_ONCE = 4096  # are made float64: a mapped file of small integers is not copied whole


@dataclass(frozen=True)
class Reduction:
    """x -> (x - mean) components^T."""

    mean: NDArray[Any]
    components: NDArray[Any]

    def apply(self, X: Any) -> NDArray[Any]:
        """The components of all rows, dense."""
        centre = self.mean @ self.components.T
        if sparse.issparse(X):
            return np.asarray(X @ self.components.T) - centre
        out = np.empty((X.shape[0], len(self.components)))
        for rows, block in _blocks(X):
            out[rows] = block @ self.components.T - centre
        return out


def fit_scaling(X: Any) -> Reduction:
    """Columns of mean 0 and standard deviation 1; constant ones are 0."""
    mean, deviations = _moments(X)
    return Reduction(mean, np.diag(np.divide(1.0, deviations, out=np.zeros_like(deviations), where=deviations > 0.0)))


def spread(X: Any) -> float:
    """Ratio of the largest to the smallest standard deviation of a column, constant ones apart."""
    deviations = _moments(X)[1]
    varying = deviations[deviations > 0.0]
    return float(varying.max() / varying.min()) if varying.size else 1.0


def fit_reduction(X: Any, n_components: int, seed: int, scaling: Reduction | None = None) -> Reduction:
    """The first principal components of X, dense or sparse; of its scaled columns, if they are to be scaled."""
    if scaling is not None:
        found = fit_reduction(scaling.apply(X), n_components, seed)
        return Reduction(scaling.mean, found.components @ scaling.components)
    n, p = X.shape
    n_components = min(n_components, n - 1, p - 1)
    if not sparse.issparse(X) and p <= FEW_COLUMNS:
        return _from_covariance(X, n_components)
    solver = "covariance_eigh" if p <= FEW_COLUMNS else "arpack" if sparse.issparse(X) else "randomized"
    X = X.astype(float) if X.dtype.kind != "f" else X
    found = PCA(n_components, svd_solver=solver, random_state=seed).fit(X)
    return Reduction(found.mean_, found.components_)


def _from_covariance(X: Any, n_components: int) -> Reduction:
    n, p = X.shape
    mean = sum(block.sum(axis=0) for _, block in _blocks(X)) / n
    covariance = np.zeros((p, p))
    for _, block in _blocks(X):
        block -= mean
        covariance += block.T @ block
    _, vectors = np.linalg.eigh(covariance)
    components = vectors.T[::-1][:n_components]
    signs = np.sign(components[np.arange(len(components)), np.abs(components).argmax(axis=1)])
    return Reduction(mean, components * signs[:, None])


def _moments(X: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Means and standard deviations of the columns."""
    if sparse.issparse(X):
        X = X.astype(float)
        mean = np.asarray(X.mean(axis=0)).ravel()
        return mean, np.sqrt(np.maximum(np.asarray(X.multiply(X).mean(axis=0)).ravel() - mean**2, 0.0))
    mean = sum(block.sum(axis=0) for _, block in _blocks(X)) / X.shape[0]
    return mean, np.sqrt(sum(((block - mean) ** 2).sum(axis=0) for _, block in _blocks(X)) / X.shape[0])


def _blocks(X: Any) -> Iterator[tuple[slice, NDArray[Any]]]:
    for start in range(0, X.shape[0], ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        yield rows, np.array(X[rows], dtype=float)
