"""P in the form that a normalisation of Q can match."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .latent import Latent


def matched(P: Any, latent: Latent) -> Any:
    """P without a diagonal where Q has none, and with rows that sum to 1 where Q is normalised by row."""
    if not latent.doubly_stochastic:
        P = _without_diagonal(P)
    return _rows_of_sum_one(P) if latent.normalized == "rows" else P


def _without_diagonal(P: Any) -> Any:
    if not P.diagonal().any():
        return P
    if sparse.issparse(P):
        P = sparse.csr_matrix(P - sparse.diags(P.diagonal()))
        P.eliminate_zeros()
        return P
    P = P.copy()
    np.fill_diagonal(P, 0.0)
    return P


def _rows_of_sum_one(P: Any) -> Any:
    sums = np.asarray(P.sum(axis=1)).ravel()
    sums = np.where(sums > 0.0, sums, 1.0)  # an empty row stays one, for the check of P to find
    return sparse.diags(1.0 / sums) @ P if sparse.issparse(P) else P / sums[:, None]
