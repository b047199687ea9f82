"""The loss of a layout and its gradient, for every pairing of an affinity P with a latent kernel.

Rows of P sum to 1 (on average), so the divergence is per point and a learning rate means the same at any n.
With C the latent cost (k = exp(-C)), all methods minimise

    KL(P | Q) = sum P log P + <P, C> + (what the normalisation of Q adds)

and the gradient is that of <P, C>, the attraction, plus that of the normalisation, the repulsion, which is a
potential of charges:

    Q doubly stochastic   charges e^f, f from Sinkhorn's algorithm
    Q of total sum n      charges 1
    Q normalised by row   charges 1, and 1 / phi

see `normalization`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..kernels.attraction import attract, energy
from ..kernels.threads import run_rows
from .charges import Array, Kernel
from .normalization import Normalization, RowSums

WIDEST = 1e9  # a layout with coordinates beyond this has flown apart
NEGLIGIBLE = 1e-6  # share of a row's mass that its smallest entries may have to be left out of the sums


class Objective:
    """KL(P | Q) per point, and its gradient.

    Parameters
    ----------
    P : array or sparse matrix of shape (n, n)
        Non-negative; scaled so that rows sum to 1, on average or, where Q is normalised by row, each.
    kernel : Kernel
    normalization : Normalization
    n_threads : int
    dtype : float32 or float64
        Precision of the sums over P.
    """

    def __init__(
        self, P: Any, kernel: Kernel, normalization: Normalization, *, n_threads: int = 1, dtype: Any = np.float32
    ) -> None:
        P = _scaled(sparse.csr_matrix(P, dtype=float), by_row=isinstance(normalization, RowSums))
        self.kernel = kernel
        self.normalization = normalization
        self.n_threads = n_threads
        self.negative_entropy = _negative_entropy(P)
        rows, columns = np.asarray(P.sum(axis=1)).ravel(), np.asarray(P.sum(axis=0)).ravel()
        self.mass = rows if isinstance(normalization, RowSums) else (rows + columns) / 2
        self._store(_without_negligible((P + P.T) / 2).astype(dtype))  # <P, C> sees no more of P than this

    @property
    def n_points(self) -> int:
        return self.mass.size

    def gradient(self, Z: Array, exaggeration: float = 1.0) -> Array:
        """n times the gradient (n, d) of the loss, the attraction multiplied by `exaggeration`."""
        if not np.abs(Z).max() < WIDEST:  # nor NaN
            raise FloatingPointError("the layout overflowed; lower learning_rate, or set it to 'auto'.")
        pull = np.empty(Z.shape, dtype=self._data.dtype)
        self._over_pairs(attract, Z, pull)
        return self.normalization.repulsion(Z) + (4.0 * exaggeration) * pull

    def loss(self, Z: Array) -> float:
        """KL(P | Q) / n"""
        rows = np.empty(self.n_points)
        self._over_pairs(energy, Z, rows)
        total = self.negative_entropy + float(np.sum(rows)) + self.normalization.value(Z, self.mass)
        return total / self.n_points

    def permute(self, order: Any) -> None:
        """Follow the points into another order."""
        self.mass = self.mass[order]
        arrays = (self._data, self._indices.view(np.int32), self._indptr)
        P = sparse.csr_matrix(arrays, shape=(self.n_points, self.n_points))
        self._store(P[order][:, order])
        self.normalization.permute(order)

    def _store(self, P: sparse.csr_matrix) -> None:
        P.sort_indices()
        self._indptr, self._data = P.indptr.astype(np.int64), P.data
        self._indices = P.indices.astype(np.uint32)

    def _over_pairs(self, kernel: Any, Z: Array, out: Array) -> None:
        arrays = (self._indptr, self._indices, self._data, np.ascontiguousarray(Z, dtype=self._data.dtype))
        student = self.kernel is Kernel.STUDENT
        run_rows(kernel, self.n_points, self._data.size, self.n_threads, *arrays, student, out)


def _scaled(P: sparse.csr_matrix, *, by_row: bool) -> sparse.csr_matrix:
    """P with rows that sum to 1, each or on average."""
    if by_row:
        return sparse.csr_matrix(sparse.diags(1.0 / np.asarray(P.sum(axis=1)).ravel()) @ P)
    return P * (P.shape[0] / P.sum())


def _negative_entropy(P: sparse.csr_matrix) -> float:
    """sum P log P"""
    return float(np.sum(P.data * np.log(np.where(P.data > 0.0, P.data, 1.0))))


def _without_negligible(P: sparse.csr_matrix) -> sparse.csr_matrix:
    """P without entries that together hold less than NEGLIGIBLE of a row."""
    P.data[P.data < NEGLIGIBLE / P.shape[0]] = 0.0
    P.eliminate_zeros()
    return P
