"""Search for the bandwidth of every row at which the row has the target entropy."""

import numpy as np

from . import RowLoop
from .arithmetic import fast_exp
from .compilation import FAST, compiled, inlined

MAX_ITERATIONS = 100
NEWTON_ITERATIONS = 30  # most rows need fewer than 10; where Newton's method cycles, bisection takes over
ENTROPY_TOLERANCE = 1e-13
COLDEST = 40.0  # exp(-40) is negligible compared with 1 in float64, so even smaller bandwidths change nothing
LARGEST_LOG = 700.0  # log of the largest inverse bandwidth; above this, exp overflows
HOTTEST = 1e-9  # at this inverse bandwidth the row is uniform to nine digits

# Columns of the array that the loops fill.
BANDWIDTH, NEAREST, LOG_NORMALIZER, ENTROPY, N_COLUMNS = 0, 1, 2, 3, 4


@inlined(fastmath=FAST)
def _moments(excess, inverse, own):
    """Compute Z, E[d] and Var[d] under p proportional to exp(-d * inverse), where d is an excess cost of the row.

    `own` is the number of additional entries with d = 0: 1 for the point itself, or 0.
    """
    z, s1, s2 = own, 0.0, 0.0
    for j in range(excess.size):
        d = excess[j]
        e = fast_exp(-d * inverse)
        z += e
        e *= d
        s1 += e
        s2 += e * d
    mean = s1 / z
    return z, mean, s2 / z - mean * mean


@inlined
def _search(excess, own, target):
    """Find the inverse bandwidth b with log Z(b) + b E[d] = target, by Newton's method on log b inside a bracket.

    As b grows, the entropy decreases from the log of the number of entries to the log of the number of nearest entries.
    For a target outside this range, return the nearer end of the range.
    """
    total, smallest, largest = 0.0, np.inf, 0.0
    for d in excess:
        total += d
        largest = max(largest, d)
        if 0.0 < d < smallest:
            smallest = d
    if largest == 0.0:  # all costs are equal, so every bandwidth gives a uniform row
        return 0.0
    low = np.log(HOTTEST / largest)
    high = min(np.log(COLDEST + np.log(excess.size + 1.0)) - np.log(smallest), LARGEST_LOG)
    x = min(max(np.log(excess.size / total), low), high)
    for iteration in range(MAX_ITERATIONS):
        inverse = np.exp(x)
        z, mean, variance = _moments(excess, inverse, own)
        gap = np.log(z) + inverse * mean - target
        if abs(gap) < ENTROPY_TOLERANCE:
            break
        if gap > 0.0:
            low = x
        else:
            high = x
        step = gap / (inverse * inverse * variance)
        is_safe = iteration < NEWTON_ITERATIONS and low < x + step < high
        x = x + step if is_safe else 0.5 * (low + high)
        if high - low < 1e-15 * max(1.0, abs(x)):
            break
    return np.exp(x)


# Copies here and below are explicit loops, because slice assignment takes seconds to compile.
@inlined
def _solve_row(excess, self_loops, inverse, target, rounding, row):
    """Fill `row` for one row of costs; `excess` holds the costs and is overwritten.

    Costs that exceed the nearest by no more than their `rounding` count as equal to it. Otherwise, on a lattice, the
    search would find a bandwidth at the scale of rounding errors.
    """
    nearest, own = 0.0, 1.0
    if not self_loops:
        nearest, own = np.inf, 0.0
        for d in excess:
            nearest = min(nearest, d)
        for j in range(excess.size):
            excess[j] = excess[j] - nearest if excess[j] > (1.0 + rounding) * nearest else 0.0
    if inverse == 0.0:
        inverse = _search(excess, own, target)
    z, mean, _ = _moments(excess, inverse, own)
    row[BANDWIDTH] = 1.0 / inverse
    row[NEAREST] = nearest
    row[LOG_NORMALIZER] = np.log(z)
    row[ENTROPY] = np.log(z) + inverse * mean


@compiled
def dense_rows(start, stop, cost, self_loops, inverse, target, rounding, rows):
    """Compute bandwidth, nearest cost, log normaliser and entropy of every row of a full cost matrix.

    Use the given inverse bandwidth or, if it is zero, the one at which the row's entropy is `target`. The normaliser is
    the sum of exp(-(C - nearest) / bandwidth): without the shift, distant outliers would lose precision.
    """
    excess = np.empty(cost.shape[1] - 1)
    for i in range(start, stop):
        for j in range(excess.size):
            excess[j] = cost[i, j + (j >= i)]
        _solve_row(excess, self_loops, inverse[i], target[i], rounding, rows[i])


@compiled
def graph_rows(start, stop, indptr, indices, cost, self_loops, inverse, target, rounding, rows):
    """Compute what `dense_rows` computes, for every row of a neighbour graph."""
    for i in range(start, stop):
        excess = cost[indptr[i] : indptr[i + 1]].astype(np.float64)
        _solve_row(excess, self_loops, inverse[i], target[i], rounding, rows[i])


search_rows = RowLoop(dense_rows, graph_rows)
