"""Measure the rows of a stored affinity: sum, entropy and number of ties, in float64 whatever its type."""

import numpy as np

from .arithmetic import fast_log
from .compilation import FAST, compiled, inlined

NEGLIGIBLE = 1e-25  # entries below this fraction of the largest one add nothing to the entropy
TIED = 0.5  # entries of at least this fraction of the largest one count as tied with it

# Columns of the array that the loops fill.
SUM, ENTROPY, TIES, N_MEASURES = 0, 1, 2, 3


@inlined(fastmath=FAST)
def _measure(entries, measures):
    """Write sum_j p_j, -sum_j p_j log p_j and the number of entries tied with the largest one."""
    total = entropy = largest = ties = 0.0  # one loop for each is faster than one loop for all
    for j in range(entries.size):
        total += np.float64(entries[j])
        largest = max(largest, np.float64(entries[j]))
    for j in range(entries.size):
        p = np.float64(entries[j])
        if p > NEGLIGIBLE * largest:
            entropy -= p * fast_log(p)
    for j in range(entries.size):
        ties += 1.0 if entries[j] >= TIED * largest else 0.0
    measures[SUM], measures[ENTROPY], measures[TIES] = total, entropy, ties


@compiled
def dense_measures(start, stop, matrix, measures):
    """Measure rows of a full matrix."""
    for i in range(start, stop):
        _measure(matrix[i], measures[i])


@compiled
def graph_measures(start, stop, indptr, entries, measures):
    """Measure rows of a sparse matrix."""
    for i in range(start, stop):
        _measure(entries[indptr[i] : indptr[i + 1]], measures[i])
