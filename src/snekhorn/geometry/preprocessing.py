"""Principal components, kept so that new points go the same way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigh
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
        if sparse.issparse(X):
            return np.asarray(X @ self.components.T) - self.mean @ self.components.T
        out = np.empty((X.shape[0], len(self.components)))
        for rows, block in _blocks(X):
            block -= self.mean  # first, so that an offset costs no digits
            out[rows] = block @ self.components.T
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
    X = sparse.csr_matrix(X) if sparse.issparse(X) else X  # whose rows are quick to take
    n, p = X.shape
    n_components = min(n_components, n - 1, p)
    if p <= min(FEW_COLUMNS, 2 * n):
        return _from_covariance(X, n_components)
    if sparse.issparse(X) and p > FEW_COLUMNS:
        return _implicitly_centred(X, n_components, seed)
    return _from_singular_vectors(X, n_components, seed)


def _from_covariance(X: Any, n_components: int) -> Reduction:
    n, p = X.shape
    mean = _mean(X)
    covariance = np.zeros((p, p))
    for _, block in _blocks(X):
        block -= mean
        covariance += block.T @ block
    _, vectors = eigh(covariance / n, subset_by_index=[p - n_components, p - 1])
    components = vectors.T[::-1]
    signs = np.sign(components[np.arange(len(components)), np.abs(components).argmax(axis=1)])
    return Reduction(mean, components * signs[:, None])


def _from_singular_vectors(X: Any, n_components: int, seed: int) -> Reduction:
    """Of a copy that is centred in float64, because means of float32 would be off by more than small variations."""
    mean = _mean(X)
    centred = np.empty(X.shape, dtype=np.float32 if X.dtype == np.float32 else np.float64)
    for rows, block in _blocks(X):
        centred[rows] = block - mean
    solver = "full" if X.shape[1] <= FEW_COLUMNS else "randomized"
    return Reduction(mean, _scikit_learns(centred, n_components, solver, seed).components_)


def _implicitly_centred(X: Any, n_components: int, seed: int) -> Reduction:
    if not (X.max(axis=0) != X.min(axis=0)).nnz:  # ARPACK fails where nothing varies
        return Reduction(X[:1].toarray()[0], np.zeros((n_components, X.shape[1])))
    found = _scikit_learns(X.astype(float, copy=False), n_components, "arpack", seed)
    return Reduction(found.mean_, found.components_)


def _scikit_learns(X: Any, n_components: int, solver: str, seed: int) -> PCA:
    with np.errstate(divide="ignore", invalid="ignore"):  # shares of a variance of 0, which nobody asks for
        return PCA(n_components, svd_solver=solver, random_state=seed, copy=False).fit(X)


def _mean(X: Any) -> NDArray[Any]:
    return sum(block.sum(axis=0) for _, block in _blocks(X)) / X.shape[0]


def _moments(X: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Means and standard deviations of the columns."""
    if sparse.issparse(X):
        X = X.astype(float)
        mean = np.asarray(X.mean(axis=0)).ravel()
        return mean, np.sqrt(np.maximum(np.asarray(X.multiply(X).mean(axis=0)).ravel() - mean**2, 0.0))
    mean = _mean(X)
    return mean, np.sqrt(sum(((block - mean) ** 2).sum(axis=0) for _, block in _blocks(X)) / X.shape[0])


def _blocks(X: Any) -> Iterator[tuple[slice, NDArray[Any]]]:
    for start in range(0, X.shape[0], ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        block = X[rows]
        yield rows, block.astype(float).toarray() if sparse.issparse(block) else np.array(block, dtype=float)
