"""Graphs as compressed rows: unions, permutations, and the entropies they support.

For unions, rows must be sorted by index and free of duplicates.
"""

import numpy as np

from .compilation import FAST, compiled, inlined


@inlined
def longest_row(start, stop, indptr):
    """Return the length of the longest of these rows."""
    longest = 0
    for i in range(start, stop):
        longest = max(longest, indptr[i + 1] - indptr[i])
    return longest


@compiled
def count_union(start, stop, indptr, indices, other_indptr, other_indices, counts):
    """Count the entries of every row of the union."""
    for i in range(start, stop):
        a, b = indptr[i], other_indptr[i]
        count = indptr[i + 1] - a + other_indptr[i + 1] - b
        while a < indptr[i + 1] and b < other_indptr[i + 1]:
            first, second = indices[a], other_indices[b]
            count -= first == second
            a += first <= second
            b += second <= first
        counts[i] = count


@compiled
def fill_union(start, stop, indptr, indices, values, other_indptr, other_indices, other_values, ends, union, costs):
    """Write the indices and costs of the union; if both graphs have an edge, keep the smaller cost."""
    for i in range(start, stop):
        a, b = indptr[i], other_indptr[i]
        for k in range(ends[i], ends[i + 1]):
            own = a < indptr[i + 1] and (b == other_indptr[i + 1] or indices[a] <= other_indices[b])
            both = own and b < other_indptr[i + 1] and indices[a] == other_indices[b]
            union[k] = indices[a] if own else other_indices[b]
            costs[k] = min(values[a], other_values[b]) if both else (values[a] if own else other_values[b])
            a += own
            b += both or not own


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
            for k in range(indptr[i], indptr[i + 1]):
                j = indices[k]
                if not seen[j]:
                    seen[j] = True
                    order[tail] = j
                    tail += 1


@compiled
def permute_rows(start, stop, order, places, indptr, indices, values, new_indptr, new_indices, new_values):
    """Write the rows in another order, with the columns renumbered."""
    for i in range(start, stop):
        shift = indptr[order[i]] - new_indptr[i]
        for k in range(new_indptr[i], new_indptr[i + 1]):
            new_indices[k] = places[indices[k + shift]]
            new_values[k] = values[k + shift]


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
