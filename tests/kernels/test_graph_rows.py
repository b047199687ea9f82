from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from snekhorn.kernels.graph_rows import (
    append_unseen,
    breadth_first,
    count_at_least,
    count_union,
    fill_union,
    permute_rows,
    place_rows,
    reversed_rows,
    sorted_rows,
)

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


@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.2, 0.9])
def test_the_union_has_the_edges_of_both_at_the_smaller_cost_or_the_mean(share, mean, rng):
    graph, costs = _graph(rng)
    other, other_costs = _graph(rng, share)
    counts = np.empty(N, dtype=np.int64)
    for block in (slice(0, 11), slice(11, N)):
        rows = sorted_rows(block.start, block.stop, *other)
        count_union(block.start, *graph, *rows[:2], counts[block])
    ends = np.concatenate([[0], np.cumsum(counts)])
    union, values = np.empty(ends[-1], dtype=np.int32), np.empty(ends[-1])
    for start, stop in ((0, 11), (11, N)):
        rows = sorted_rows(start, stop, *other)
        fill_union(start, *graph, *rows, mean, ends[start : stop + 1], union, values)
    exists = np.isfinite(costs) | np.isfinite(other_costs)
    of_both = np.where(np.isfinite(costs), costs, 0.0) + np.where(np.isfinite(other_costs), other_costs, 0.0)
    want = np.where(exists, of_both / 2, np.inf) if mean else np.minimum(costs, other_costs)
    np.testing.assert_array_equal(_full(ends, union, values), want)
    for start, stop in pairwise(ends):
        assert (np.diff(union[start:stop]) > 0).all(), "rows are sorted"


@pytest.mark.parametrize("length", [0, 1, 2, 7, 40, 500])
def test_some_rows_are_copied_and_sorted(length, rng):
    indptr = np.array([0, 3, 3 + length, 8 + length], dtype=np.int32)
    indices = np.concatenate([rng.permutation(2 * length + 5)[:n] for n in np.diff(indptr)]).astype(np.int32)
    given, costs = indices.copy(), rng.normal(size=indices.size).astype(np.float32)
    starts, near, near_costs = sorted_rows(1, 3, indptr, indices, costs)
    np.testing.assert_array_equal(starts, indptr[1:] - 3)
    np.testing.assert_array_equal(indices, given)
    for start, stop in pairwise(starts):
        order = np.argsort(indices[3 + start : 3 + stop])
        np.testing.assert_array_equal(near[start:stop], indices[3 + start : 3 + stop][order])
        np.testing.assert_array_equal(near_costs[start:stop], costs[3 + start : 3 + stop][order])


def test_some_rows_of_the_transpose(rng):
    (indptr, indices, values), _ = _graph(rng)
    transpose = sparse.csr_matrix((values + 1.0, indices, indptr), shape=(N, N)).T.tocsr()
    for start, stop in ((0, 11), (11, N)):
        starts, near, costs = reversed_rows(start, stop, indptr, indices, values)
        want = transpose[start:stop]
        for found, wanted in ((starts, want.indptr), (near, want.indices), (costs, want.data - 1.0)):
            np.testing.assert_array_equal(found, wanted)


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


@pytest.mark.parametrize("smallest", [-np.inf, 2.0])
def test_rows_in_another_order_scaled_and_without_small_values(smallest, rng):
    (indptr, indices, values), costs = _graph(rng)
    order = rng.permutation(N)
    places, counts = np.argsort(order).astype(np.int32), np.empty(N, dtype=np.int64)
    for start, stop in ((0, 11), (11, N)):
        count_at_least(start, stop, order, indptr, values, smallest, counts)
    new_indptr = np.concatenate([[0], np.cumsum(counts)])
    new_indices, new_values = np.empty(new_indptr[-1], dtype=np.int32), np.empty(new_indptr[-1])
    new = (new_indptr, new_indices, new_values)
    for start, stop in ((0, 11), (11, N)):
        permute_rows(start, stop, order, places, indptr, indices, values, smallest, 0.5, *new)
    want = np.where(costs >= smallest, 0.5 * costs, np.inf)[np.ix_(order, order)]
    np.testing.assert_array_equal(_full(*new), want)


def test_points_are_appended_once_in_the_order_of_their_first_occurrence():
    seen, order = np.array([False, True, False, False, False]), np.full(5, -1)
    order[0] = 1
    tail = append_unseen(np.array([3, 1, 0, 3, 0, 4]), seen, order, 1)
    assert tail == 4
    np.testing.assert_array_equal(order, [1, 3, 0, 4, -1])
    np.testing.assert_array_equal(seen, [True, True, False, True, True])


def test_rows_are_copied_to_their_places(rng):
    (indptr, indices, values), costs = _graph(rng)
    places = rng.permutation(N)
    lengths = np.empty(N, dtype=np.int64)
    lengths[places] = np.diff(indptr)
    new_indptr = np.concatenate([[0], np.cumsum(lengths)])
    new_indices, new_values = np.empty_like(indices), np.empty_like(values)
    for start, stop in ((0, 7), (7, N)):
        place_rows(start, stop, places, indptr, indices, values, new_indptr, new_indices, new_values)
    np.testing.assert_array_equal(_full(new_indptr, new_indices, new_values)[places], costs)
