"""Principal components, kept so that new points go the same way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition import PCA

FEW_COLUMNS = 2000  # up to this many, their covariance is small enough to take apart


@dataclass(frozen=True)
class Reduction:
    """x -> (x - mean) components^T."""

    mean: NDArray[Any]
    components: NDArray[Any]

    def apply(self, X: Any) -> NDArray[Any]:
        return np.asarray(X @ self.components.T) - self.mean @ self.components.T


def fit_reduction(X: Any, n_components: int, seed: int) -> Reduction:
    """The first principal components of X, dense or sparse."""
    n, p = X.shape
    n_components = min(n_components, n - 1, p - 1)
    solver = "covariance_eigh" if p <= FEW_COLUMNS else "arpack" if sparse.issparse(X) else "randomized"
    X = X.astype(float) if X.dtype.kind != "f" else X
    found = PCA(n_components, svd_solver=solver, random_state=seed).fit(X)
    return Reduction(found.mean_, found.components_)
