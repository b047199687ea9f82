from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from snekhorn.kernels.graph_rows import breadth_first, count_union, fill_union, permute_rows

N = 30


def _graph(rng, share=0.2):
    """A graph, some of its rows empty, in compressed rows and as a full array, infinite where there is no edge."""
    costs = np.where(rng.random((N, N)) < share, rng.integers(0, 5, size=(N, N)), np.inf)
    costs[[4, N - 1]] = np.inf
    row, column = np.nonzero(np.isfinite(costs))
    indptr = np.searchsorted(row, np.arange(N + 1)).astype(np.int32)
    return (indptr, column.astype(np.int32), costs[row, column]), costs


def _full(indptr, indices, values):
    out = np.full((N, N), np.inf)
    out[np.repeat(np.arange(N), np.diff(indptr)), indices] = values
    return out


@pytest.mark.parametrize("share", [0.0, 0.2, 0.9])
def test_the_union_has_the_edges_of_both_at_the_smaller_cost(share, rng):
    (indptr, indices, values), costs = _graph(rng)
    other, other_costs = _graph(rng, share)
    counts = np.empty(N, dtype=np.int64)
    for start, stop in ((0, 11), (11, N)):
        count_union(start, stop, indptr, indices, *other[:2], counts)
    ends = np.concatenate([[0], np.cumsum(counts)])
    union, smaller = np.empty(ends[-1], dtype=np.int32), np.empty(ends[-1])
    for start, stop in ((0, 11), (11, N)):
        fill_union(start, stop, indptr, indices, values, *other, ends, union, smaller)
    np.testing.assert_array_equal(_full(ends, union, smaller), np.minimum(costs, other_costs))
    for start, stop in pairwise(ends):
        assert (np.diff(union[start:stop]) > 0).all(), "rows are sorted"


def test_breadth_first_goes_from_near_to_far_in_every_component(rng):
    (indptr, indices, values), _ = _graph(rng, 0.06)
    edges = sparse.csr_matrix((values + 1.0, indices, indptr), shape=(N, N))
    edges = (edges + edges.T).tocsr()
    order = np.empty(N, dtype=np.intp)
    breadth_first(edges.indptr, edges.indices, order)
    np.testing.assert_array_equal(np.sort(order), np.arange(N))
    n_components, component = sparse.csgraph.connected_components(edges)
    assert 1 < n_components < N, "the graph must have components in this test"
    assert np.count_nonzero(np.diff(component[order])) == n_components - 1, "one component after the other"
    for c in range(n_components):
        members = order[component[order] == c]
        steps = sparse.csgraph.shortest_path(edges, unweighted=True, indices=members[0])[members]
        assert (np.diff(steps) >= 0).all()


def test_rows_in_another_order(rng):
    (indptr, indices, values), costs = _graph(rng)
    order = rng.permutation(N)
    places = np.argsort(order).astype(np.int32)
    new_indptr = np.concatenate([[0], np.cumsum(np.diff(indptr)[order])])
    new_indices, new_values = np.empty_like(indices), np.empty_like(values)
    for start, stop in ((0, 11), (11, N)):
        permute_rows(start, stop, order, places, indptr, indices, values, new_indptr, new_indices, new_values)
    np.testing.assert_array_equal(_full(new_indptr, new_indices, new_values), costs[np.ix_(order, order)])
