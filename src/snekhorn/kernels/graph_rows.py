"""Graphs as compressed rows: unions, permutations, and the entropies they support.

Rows must be free of duplicates.
"""

import numpy as np

from .compilation import FAST, compiled, inlined

LONG = 128  # entries of a row; below this, counting is faster than sorting


@inlined
def longest_row(start, stop, indptr):
    """Return the length of the longest of these rows."""
    longest = 0
    for i in range(start, stop):
        longest = max(longest, indptr[i + 1] - indptr[i])
    return longest


@inlined
def _sort_long(indices, costs):
    """Sort a row by index, in place, by Shell's method."""
    gap = 1
    while gap < indices.size // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for k in range(gap, indices.size):
            j, cost, place = indices[k], costs[k], k
            while place >= gap and indices[place - gap] > j:
                indices[place], costs[place] = indices[place - gap], costs[place - gap]
                place -= gap
            indices[place], costs[place] = j, cost
        gap //= 3


@inlined
def _copy_sorted(indices, costs, near, near_costs):
    """Copy a row, sorted by index.

    In a short row, the compiler vectorises counting the smaller indices, which is several times as fast as sorting.
    """
    n_descents = 0
    for k in range(1, indices.size):
        n_descents += indices[k - 1] > indices[k]
    if n_descents == 0 or indices.size > LONG:
        for k in range(indices.size):
            near[k], near_costs[k] = indices[k], costs[k]
        if n_descents:
            _sort_long(near, near_costs)
        return
    for k in range(indices.size):
        place = np.int32(0)
        for other in range(indices.size):
            place += indices[other] < indices[k]
        near[place], near_costs[place] = indices[k], costs[k]


@compiled
def sorted_rows(start, stop, indptr, indices, costs):
    """Return a copy of some rows, sorted by index, as compressed rows."""
    shift = indptr[start]
    starts = np.empty(stop - start + 1, indptr.dtype)
    near, near_costs = np.empty(indptr[stop] - shift, indices.dtype), np.empty(indptr[stop] - shift, costs.dtype)
    starts[0] = 0
    for i in range(start, stop):
        starts[i - start + 1] = indptr[i + 1] - shift
        row, copy = slice(indptr[i], indptr[i + 1]), slice(starts[i - start], starts[i - start + 1])
        _copy_sorted(indices[row], costs[row], near[copy], near_costs[copy])
    return starts, near, near_costs


@compiled
def reversed_rows(start, stop, indptr, indices, costs):
    """Return some rows of the transposed graph, sorted by index, as compressed rows; every edge is visited."""
    starts = np.zeros(stop - start + 1, indptr.dtype)
    for k in range(indptr[-1]):
        if start <= indices[k] < stop:
            starts[indices[k] - start + 1] += 1
    for i in range(stop - start):
        starts[i + 1] += starts[i]
    near, near_costs = np.empty(starts[-1], indices.dtype), np.empty(starts[-1], costs.dtype)
    ends = starts.copy()
    for i in range(indptr.size - 1):
        for k in range(indptr[i], indptr[i + 1]):
            if start <= indices[k] < stop:
                place = ends[indices[k] - start]
                near[place], near_costs[place] = i, costs[k]
                ends[indices[k] - start] += 1
    return starts, near, near_costs


@compiled
def count_union(first, indptr, indices, values, other_indptr, other_indices, counts):
    """Count the entries of some rows of the union: those of a graph from row `first` on, and all of the other rows.

    The other rows are sorted.
    """
    longest = longest_row(first, first + counts.size, indptr)
    near, near_values = np.empty(longest, indices.dtype), np.empty(longest, values.dtype)
    for i in range(counts.size):
        row = slice(indptr[first + i], indptr[first + i + 1])
        n_near = row.stop - row.start
        _copy_sorted(indices[row], values[row], near[:n_near], near_values[:n_near])
        a, b = 0, other_indptr[i]
        count = n_near + other_indptr[i + 1] - b
        while a < n_near and b < other_indptr[i + 1]:
            own, other = near[a], other_indices[b]
            count -= own == other
            a += own <= other
            b += other <= own
        counts[i] = count


@compiled
def fill_union(
    first, indptr, indices, values, other_indptr, other_indices, other_values, mean, ends, union, union_values
):
    """Write the indices and values of the union that `count_union` counts, sorted by index.

    If both graphs have an edge, keep the smaller value. With `mean`, write the mean of both values; a value that does
    not exist counts as 0.
    """
    longest = longest_row(first, first + ends.size - 1, indptr)
    near, near_values = np.empty(longest, indices.dtype), np.empty(longest, values.dtype)
    for i in range(ends.size - 1):
        row = slice(indptr[first + i], indptr[first + i + 1])
        n_near = row.stop - row.start
        _copy_sorted(indices[row], values[row], near[:n_near], near_values[:n_near])
        a, b = 0, other_indptr[i]
        for k in range(ends[i], ends[i + 1]):
            own = a < n_near and (b == other_indptr[i + 1] or near[a] <= other_indices[b])
            both = own and b < other_indptr[i + 1] and near[a] == other_indices[b]
            union[k] = near[a] if own else other_indices[b]
            value = near_values[a] if own else other_values[b]
            if mean:
                union_values[k] = (value + other_values[b]) * 0.5 if both else value * 0.5
            else:
                union_values[k] = min(value, other_values[b]) if both else value
            a += own
            b += both or not own


@inlined
def _append_unseen(found, seen, order, tail):
    for k in range(found.size):
        j = found[k]
        if not seen[j]:
            seen[j] = True
            order[tail] = j
            tail += 1
    return tail


@compiled
def append_unseen(found, seen, order, tail):
    """Append the unseen points to ``order[:tail]``, mark them as seen, and return the new end."""
    return _append_unseen(found, seen, order, tail)


@compiled
def breadth_first(indptr, indices, order):
    """Write the points in breadth-first order, component by component."""
    seen = np.zeros(order.size, dtype=np.bool_)
    head = tail = 0
    for start in range(order.size):
        if not seen[start]:  # first point of a component
            seen[start] = True
            order[tail] = start
            tail += 1
        while head < tail:
            i = order[head]
            head += 1
            tail = _append_unseen(indices[indptr[i] : indptr[i + 1]], seen, order, tail)


@compiled
def count_at_least(start, stop, order, indptr, values, smallest, counts):
    """Count the entries of row ``order[i]`` that are at least `smallest`, for every i."""
    for i in range(start, stop):
        count = 0
        for k in range(indptr[order[i]], indptr[order[i] + 1]):
            count += values[k] >= smallest
        counts[i] = count


@compiled
def permute_rows(
    start, stop, order, places, indptr, indices, values, smallest, scale, new_indptr, new_indices, new_values
):
    """Write the rows in another order, with the columns renumbered.

    Values below `smallest` are left out, and the others are multiplied by `scale`.
    """
    for i in range(start, stop):
        place = new_indptr[i]
        for k in range(indptr[order[i]], indptr[order[i] + 1]):
            if values[k] >= smallest:
                new_indices[place] = places[indices[k]]
                new_values[place] = values[k] * scale
                place += 1


@compiled
def place_rows(start, stop, places, indptr, indices, values, new_indptr, new_indices, new_values):
    """Copy row i to row ``places[i]`` of another matrix, for every i."""
    for i in range(start, stop):
        shift = new_indptr[places[i]] - indptr[i]
        for k in range(indptr[i], indptr[i + 1]):
            new_indices[k + shift] = indices[k]
            new_values[k + shift] = values[k]


@compiled(fastmath=FAST)
def metropolis_rows(start, stop, indptr, indices, costs, degrees, entropies):
    """Compute the entropies of the rows of M_ij = 1 / max(degree_i, degree_j), M_ii = 1 - sum_j M_ij."""
    for i in range(start, stop):
        kept, entropy = 1.0, 0.0
        for k in range(indptr[i], indptr[i + 1]):
            degree = np.float64(max(degrees[i], degrees[indices[k]]))
            kept -= 1.0 / degree
            entropy += np.log(degree) / degree
        entropies[i] = entropy - (kept * np.log(kept) if kept > 1e-12 else 0.0)
