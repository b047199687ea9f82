"""Rank candidate neighbours by their exact cost, then by index.

Which points are nearest is decided by costs rounded to nine digits, then by index. If a lattice, say, is scaled, its
equal costs differ in the last digits, and rounding errors would otherwise decide.
"""

import numpy as np

from .compilation import compiled, inlined
from .squared_distances import squared_distance

IGNORED_BITS = 22  # of the 52 of a mantissa; with fewer, errors of long sums break ties, with more, small differences
HALF = 1 << (IGNORED_BITS - 1)


@inlined
def _rounded(cost):
    """Return a positive number without its last bits, as an integer in the same order."""
    return (np.float64(cost).view(np.int64) + HALF) >> IGNORED_BITS


@inlined
def _is_later(cost, j, other_cost, other):
    """Return whether point j comes after another point in the order of rounded costs, then of indices."""
    rank, other_rank = _rounded(cost), _rounded(other_cost)
    return rank > other_rank or (rank == other_rank and j > other)


@inlined
def _sift_down(indices, costs, count, j, cost):
    """Put point j in the place of the last point of a list, which is the root of a heap of `count` entries."""
    place, child = 0, 1
    while child < count:
        right = child + 1
        if right < count and _is_later(costs[right], indices[right], costs[child], indices[child]):
            child = right
        if not _is_later(costs[child], indices[child], cost, j):
            break
        costs[place], indices[place] = costs[child], indices[child]
        place, child = child, 2 * child + 1
    costs[place], indices[place] = cost, j


@inlined
def _insert(indices, costs, count, j, cost):
    """Insert point j into a list of `count` entries, a heap, and return the new count; a full list loses its last."""
    if count == indices.size:
        if _is_later(costs[0], indices[0], cost, j):
            _sift_down(indices, costs, count, j, cost)
        return count
    place = count
    while place > 0:
        parent = (place - 1) // 2
        if not _is_later(cost, j, costs[parent], indices[parent]):
            break
        costs[place], indices[place] = costs[parent], indices[parent]
        place = parent
    costs[place], indices[place] = cost, j
    return count + 1


@inlined
def _sort(indices, costs, count):
    """Sort a heap of `count` entries by rounded cost and index, then by cost, which moves few entries."""
    for last in range(count - 1, 0, -1):
        j, cost = indices[last], costs[last]
        indices[last], costs[last] = indices[0], costs[0]
        _sift_down(indices, costs, last, j, cost)
    for place in range(1, count):
        j, cost = indices[place], costs[place]
        while place > 0 and costs[place - 1] > cost:
            costs[place], indices[place] = costs[place - 1], indices[place - 1]
            place -= 1
        costs[place], indices[place] = cost, j


@inlined
def _rank(x, queries, i, candidates, exclude_self, zero, indices, costs, in_order):
    """Fill list i with the nearest of the candidates of query i, and sort it.

    If candidates come in the order of their indices, a list that is full of zeros is final.
    """
    indices[i], costs[i] = -1, np.inf
    query, near, squared = queries[i], indices[i], costs[i]
    count = 0
    for j in candidates:
        if j < 0 or (exclude_self and j == i):
            continue
        cost = squared_distance(query, x[j])
        count = _insert(near, squared, count, j, costs.dtype.type(cost if cost > zero else 0.0))
        if in_order and count == near.size and squared[0] == 0.0:
            break
    _sort(near, squared, count)


@compiled
def rank_candidates(x, queries, rows, candidates, exclude_self, zero, indices, costs):
    """Fill the lists of the queries `rows` with the nearest of their candidates, one row of `candidates` each.

    Costs are squared distances; those up to `zero` become 0. Candidates below 0 are skipped. Entries that are not
    found have index -1 and infinite cost.
    """
    for r in range(rows.size):
        _rank(x, queries, rows[r], candidates[r], exclude_self, zero, indices, costs, in_order=False)


@compiled
def keep_nearest(products, norms, members, asking, near, distances):
    """Put points into the lists of candidates of queries that are nearer than the farthest one there.

    Query ``asking[r]`` has products ``q y_j`` in row r with the points ``members``, whose squared norms are `norms`.
    Lists `near` and `distances`, less the squared norm of the query, are heaps whose root is the farthest point.
    """
    size = near.shape[1]
    for r in range(asking.size):
        indices, values = near[asking[r]], distances[asking[r]]
        for j in range(members.size):
            value = norms[j] - np.float32(2.0) * products[r, j]
            if value < values[0]:
                place, child = 0, 1
                while child < size:
                    if child + 1 < size and values[child + 1] > values[child]:
                        child += 1
                    if values[child] <= value:
                        break
                    values[place], indices[place] = values[child], indices[child]
                    place, child = child, 2 * child + 1
                values[place], indices[place] = value, members[j]


@compiled(fastmath={"nnan", "nsz", "contract"})
def distances_from_products(products, norms, minima):
    """Replace products q_r y_j by ``|y_j|^2 - 2 q_r y_j``, and fill `minima` with the smallest value of each chunk.

    Chunks are consecutive columns of equal number, except for the last one.
    """
    n, n_chunks = norms.size, minima.shape[1]
    size = -(-n // n_chunks)
    for r in range(products.shape[0]):
        for chunk in range(n_chunks):
            values, norms_here = (
                products[r, chunk * size : (chunk + 1) * size],
                norms[chunk * size : (chunk + 1) * size],
            )
            least = np.float32(np.inf)
            for j in range(values.size):
                value = norms_here[j] - np.float32(2.0) * values[j]
                values[j] = value
                least = value if value < least else least
            minima[r, chunk] = least


@compiled
def rank_within(x, queries, rows, approximate, minima, limits, among, exclude_self, zero, indices, costs):
    """Fill the lists of the queries `rows` with the nearest of the points whose approximate costs are within limits.

    Column j of `approximate` is point ``among[j]``, or point j if `among` is None. Other arguments are as in
    `rank_candidates` and `distances_from_products`.
    """
    n, n_chunks = approximate.shape[1], minima.shape[1]
    size = -(-n // n_chunks)
    candidates = np.empty(n + 1, dtype=np.int64)
    for r in range(rows.size):
        limit, count = limits[r], 0
        for chunk in range(n_chunks):
            if minima[r, chunk] <= limit:
                start = chunk * size
                values = approximate[r, start : start + size]
                for j in range(values.size):  # without a branch, whose outcome would be unpredictable
                    candidates[count] = start + j if among is None else among[start + j]
                    count += values[j] <= limit
        _rank(x, queries, rows[r], candidates[:count], exclude_self, zero, indices, costs, in_order=True)
