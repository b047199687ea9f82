"""Sums over the entropic affinity E and its transpose on symmetric costs, without storing either.

E_ij = exp(-(C_ij - nearest_i) / bandwidth_i - log_normalizer_i). `rows` holds four numbers per point, adjacent in
memory. Costs up to `TIED` count as equal to the nearest one, as in the search for the bandwidth.
"""

from . import RowLoop
from .arithmetic import fast_exp
from .compilation import FAST, compiled, inlined

# Columns of `rows`.
INVERSE_BANDWIDTH, NEAREST, TIED, LOG_NORMALIZER, N_COLUMNS = 0, 1, 2, 3, 4


# Without re-association, so that the results for (i, j) and (j, i) are bit-for-bit identical.
@inlined(fastmath={"contract"})
def _entry(cost, row):
    """Compute an entry of the row of E that these four numbers describe."""
    excess = cost - row[NEAREST] if cost > row[TIED] else 0.0
    return fast_exp(-excess * row[INVERSE_BANDWIDTH] - row[LOG_NORMALIZER])


@compiled(fastmath=FAST)
def dense_column_sums(start, stop, cost, rows, self_loops, sums):
    """Sum the columns of E for a full cost matrix; costs are symmetric, so column j is read from row j."""
    for j in range(start, stop):
        total = _entry(0.0, rows[j]) if self_loops else 0.0
        for i in range(rows.shape[0]):
            total += _entry(cost[j, i], rows[i]) if i != j else 0.0
        sums[j] = total


@compiled(fastmath=FAST)
def graph_column_sums(start, stop, indptr, indices, cost, rows, self_loops, sums):
    """Sum the columns of E for a symmetric neighbour graph."""
    for j in range(start, stop):
        total = _entry(0.0, rows[j]) if self_loops else 0.0
        for k in range(indptr[j], indptr[j + 1]):
            total += _entry(cost[k], rows[indices[k]])
        sums[j] = total


@compiled(fastmath={"contract"})
def dense_mix(start, stop, cost, rows, self_loops, weight, entries):
    """Replace P by weight P + (1 - weight) (E + E^T) / 2 for a full cost matrix."""
    rest = 0.5 * (1.0 - weight)
    for i in range(start, stop):
        for j in range(rows.shape[0]):
            both = _entry(cost[i, j], rows[i]) + _entry(cost[i, j], rows[j])
            entries[i, j] = weight * entries[i, j] + rest * both
        if not self_loops:
            entries[i, i] = 0.0


@compiled(fastmath={"contract"})
def graph_mix(start, stop, indptr, indices, cost, rows, self_loops, weight, entries):
    """Replace P by weight P + (1 - weight) (E + E^T) / 2 on the edges of a symmetric neighbour graph."""
    rest = 0.5 * (1.0 - weight)
    for i in range(start, stop):
        for k in range(indptr[i], indptr[i + 1]):
            both = _entry(cost[k], rows[i]) + _entry(cost[k], rows[indices[k]])
            entries[k] = weight * entries[k] + rest * both


column_sums = RowLoop(dense_column_sums, graph_column_sums)
mix = RowLoop(dense_mix, graph_mix)
