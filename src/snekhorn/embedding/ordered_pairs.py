"""The pairs of P as the loops of the layout read them: scaled, without negligible entries, in an order of the points.

P fills much of the memory. It is kept as it was given, and copied in one order at a time. A new order is copied from P
again, after the last copy has been freed.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..kernels.graph_rows import count_at_least, permute_rows
from ..runtime.execution import Execution
from ..runtime.memory_budget import ENTRIES_AT_ONCE
from .charge_sums import Array

NEGLIGIBLE = 1e-6  # fraction of a row's mass that may be dropped; a larger value would affect the loss noticeably
MANY = 0.05  # fraction of negligible entries above which dropping them saves time

Rows: TypeAlias = tuple[NDArray[np.int64], NDArray[np.uint32], Array]  # indptr, indices and data


class OrderedPairs:
    """Entries of P in the current order of the points.

    Parameters
    ----------
    P : CSR matrix of shape (n, n)
        Non-negative; left unchanged.
    scale : float
        Factor of the entries.
    dtype : float32 or float64
        Precision of the scaled entries.
    execution : Execution
    """

    def __init__(self, P: sparse.csr_matrix, scale: float, dtype: Any, execution: Execution) -> None:
        self.n_points: int = P.shape[0]
        self.scale, self.dtype, self.execution = scale, np.dtype(dtype), execution
        self._indices = P.indices.astype(np.int32, copy=False)
        self._indptr, self._data = P.indptr, P.data
        self._smallest = self._smallest_kept()
        self._order = np.arange(self.n_points)
        self._rows: Rows | None = None

    def permute(self, order: NDArray[np.intp]) -> None:
        """Apply the permutation `order` to the points."""
        self._rows, self._order = None, self._order[order]

    @property
    def rows(self) -> Rows:
        """Compressed rows; the loops need unsigned indices."""
        if self._rows is None:
            self._rows = self._copied()
        return self._rows

    def _copied(self) -> Rows:
        n, n_entries, run = self.n_points, self._data.size, self.execution.run
        old_indptr = self._indptr.astype(np.int64, copy=False)
        counts = np.empty(n, dtype=np.int64)
        run(count_at_least, n, n_entries, self._order, old_indptr, self._data, self._smallest, counts)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        places = np.empty(n, dtype=np.uint32)
        places[self._order] = np.arange(n, dtype=np.uint32)
        new = (np.empty(indptr[-1], dtype=np.uint32), np.empty(indptr[-1], dtype=self.dtype))
        old = (old_indptr, self._indices, self._data)
        run(permute_rows, n, n_entries, self._order, places, *old, self._smallest, self.scale, indptr, *new)
        return indptr, *new

    def _smallest_kept(self) -> float:
        """Return the smallest entry to keep; 0 unless many entries are negligible.

        The entries that are dropped hold together less than the fraction NEGLIGIBLE of a row.
        """
        smallest = NEGLIGIBLE / self.n_points / self.scale
        n_small = sum(np.count_nonzero(block < smallest) for block in blocks_of(self._data))
        return 0.0 if n_small < MANY * self._data.size else smallest


def blocks_of(data: Array) -> list[Array]:
    """Return consecutive views of the entries, so that computations with them take little memory."""
    return [data[start : start + ENTRIES_AT_ONCE] for start in range(0, data.size, ENTRIES_AT_ONCE)]
