"""The loss of a layout and its gradient, for every pairing of an affinity P with a latent kernel.

Rows of P sum to 1 (on average), so the divergence is per point and a learning rate means the same at any n.
With C the latent cost (k = exp(-C)), all methods minimise

    KL(P | Q) = sum P log P + <P, C> + (what the normalisation of Q adds)

and the gradient is that of <P, C>, the attraction, plus that of the normalisation, the repulsion, which is a
potential of charges:

    Q doubly stochastic   charges e^f, f from Sinkhorn's algorithm
    Q of total sum n      charges 1
    Q normalised by row   charges 1, and (row sums of P) / phi

see `normalization`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..kernels.attraction import attract, energy
from ..kernels.graph_rows import permute_rows
from ..runtime.execution import run_rows
from .embedding_report import OVERFLOW
from .normalizations import Normalization
from .potentials import Array, Kernel

WIDEST = 1e9  # a layout with coordinates beyond this has flown apart
NEGLIGIBLE = 1e-6  # share of a row's mass that its smallest entries may have to be left out of the sums
MANY = 0.05  # share of the entries that must be negligible for leaving them out to pay
ENTRIES_AT_ONCE = 2**22
HUB = 2.0  # mass of a point, relative to the usual one, from which on the usual step may be too long


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
    symmetric : bool
        Whether P is symmetric; if it is not, its symmetric part is all that <P, C> sees.
    """

    def __init__(
        self,
        P: Any,
        kernel: Kernel,
        normalization: Normalization,
        *,
        n_threads: int = 1,
        dtype: Any = np.float32,
        symmetric: bool = True,
    ) -> None:
        P = sparse.csr_matrix(P)
        self.kernel = kernel
        self.normalization = normalization
        self.n_threads = n_threads
        scale = P.shape[0] / P.sum(dtype=float)
        self.negative_entropy = _negative_entropy(P.data, scale)
        self.rows = self.mass = _row_sums(P) * scale
        if not symmetric:
            P = ((P + P.T) / 2).tocsr()
            self.mass = _row_sums(P) * scale
        P = _without_negligible(P, scale)
        self._indptr = P.indptr.astype(np.int64)
        self._indices = P.indices.astype(np.int32, copy=False).view(np.uint32)
        self._data = (P.data * scale).astype(dtype)

    @property
    def n_points(self) -> int:
        return self.rows.size

    def pull_of_hubs(self) -> Array | None:
        """By how much more than a usual point each is pulled, where that bounds the step of a descent.

        The Gaussian kernel pulls in proportion to distance and mass: without a smaller step of their own, points of
        many times the usual mass, hubs of a P that is not doubly stochastic, overshoot further every time.
        """
        if self.kernel is Kernel.STUDENT:
            return None
        return np.maximum(self.mass, 1.0)[:, None] if self.mass.max() > HUB else None

    def gradient(self, Z: Array, exaggeration: float = 1.0) -> Array:
        """n times the gradient (n, d) of the loss, the attraction multiplied by `exaggeration`."""
        if not np.abs(Z).max() < WIDEST:  # nor NaN
            raise FloatingPointError(OVERFLOW)
        pull = np.empty(Z.shape, dtype=self._data.dtype)
        self._over_pairs(attract, Z, pull)
        return self.normalization.repulsion(Z, self.rows) + (4.0 * exaggeration) * pull

    def divergence(self, Z: Array) -> float:
        """KL(P | Q) / n, which the loss is too where P has the row sums of Q."""
        return self.loss(Z) + self.normalization.shift(self.mass) / self.n_points

    @property
    def divergence_of_one_place(self) -> float:
        """That of a layout with all points in one place, which any other should be better than."""
        return self.negative_entropy / self.n_points + float(np.log(self.n_points))

    def loss(self, Z: Array, exaggeration: float = 1.0) -> float:
        """What is descended, the attraction's part multiplied by `exaggeration`."""
        rows = np.empty(self.n_points)
        self._over_pairs(energy, Z, rows)
        total = self.negative_entropy + exaggeration * float(np.sum(rows)) + self.normalization.value(Z, self.rows)
        return total / self.n_points

    def permute(self, order: Any) -> None:
        """Follow the points into another order."""
        places = np.empty(order.size, dtype=np.uint32)
        places[order] = np.arange(order.size, dtype=np.uint32)
        indptr = np.concatenate([[0], np.cumsum(np.diff(self._indptr)[order])])
        arrays = (np.empty_like(self._indices), np.empty_like(self._data))
        old = (self._indptr, self._indices, self._data)
        run_rows(permute_rows, order.size, self._data.size, self.n_threads, order, places, *old, indptr, *arrays)
        self._indptr, (self._indices, self._data) = indptr, arrays
        self.rows, self.mass = self.rows[order], self.mass[order]
        self.normalization.permute(order)

    def _over_pairs(self, kernel: Any, Z: Array, out: Array) -> None:
        arrays = (self._indptr, self._indices, self._data, np.ascontiguousarray(Z, dtype=self._data.dtype))
        student = self.kernel is Kernel.STUDENT
        run_rows(kernel, self.n_points, self._data.size, self.n_threads, *arrays, student, out)


def _row_sums(P: sparse.csr_matrix) -> Array:
    return np.asarray(P.sum(axis=1, dtype=float)).ravel()


def _negative_entropy(data: Array, scale: float) -> float:
    """sum P log P of the scaled entries, a part at a time: P may fill much of the memory."""
    total = 0.0
    for start in range(0, data.size, ENTRIES_AT_ONCE):
        p = data[start : start + ENTRIES_AT_ONCE] * scale
        total += float(np.sum(p * np.log(np.where(p > 0.0, p, 1.0)), dtype=float))
    return total


def _without_negligible(P: sparse.csr_matrix, scale: float) -> sparse.csr_matrix:
    """P without entries that together hold less than NEGLIGIBLE of a row, if they are many."""
    small = P.data < NEGLIGIBLE / P.shape[0] / scale
    if np.count_nonzero(small) < MANY * small.size:
        return P
    P = P.copy()
    P.data[small] = 0.0
    P.eliminate_zeros()
    return P
