"""Both forms of costs have the same interface: a graph on all pairs gives the same results as the matrix."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from snekhorn.affinities.entropic import KernelRows
from snekhorn.geometry.costs import DenseCost, NeighborGraph
from snekhorn.geometry.neighbor_graph import edges_of_rows

from ..helpers import cost_and_mask, dense, graph_cost


@pytest.fixture(params=["dense", "graph"])
def form(request):
    return request.param


def _matrix(cost):
    """Costs as a full array, infinite where there is no edge."""
    if isinstance(cost, DenseCost):
        return cost.matrix
    out = np.full((cost.n_points, cost.n_points), np.inf)
    row = np.repeat(np.arange(cost.n_points), cost.degrees)
    out[row, cost.indices] = cost.costs
    return out


def _directed(n=10, seed=1):
    rng = np.random.default_rng(seed)
    C = rng.random((n, n))
    C = C + C.T
    edges = rng.random((n, n)) < 0.3
    edges[np.arange(n), (np.arange(n) + 1) % n] = True
    return graph_cost(C, edges), C, edges & ~np.eye(n, dtype=bool)


def test_sizes(form):
    cost, C, mask = cost_and_mask(form)
    assert cost.n_points == len(C)
    np.testing.assert_array_equal(cost.degrees, mask.sum(axis=1))


@pytest.mark.parametrize("self_loops", [True, False])
def test_kernel_rows_are_the_formula(form, self_loops, rng):
    cost, C, mask = cost_and_mask(form)
    bandwidth, nearest, log_normalizer = rng.uniform(0.1, 1.0, size=(3, len(C)))
    mask = mask | (np.eye(len(C), dtype=bool) & self_loops)
    want = np.where(mask, np.exp((nearest - C.T) * (1.0 / bandwidth) - log_normalizer).T, 0.0)
    rows = KernelRows(bandwidth, nearest, log_normalizer, entropy=None)
    found = rows.affinity(cost, self_loops=self_loops)
    np.testing.assert_allclose(dense(found), want, rtol=1e-14)


@pytest.mark.parametrize("self_loops", [True, False])
def test_pairs_are_mapped_by_the_formula(form, self_loops, rng):
    cost, C, mask = cost_and_mask(form)
    scale = rng.uniform(0.5, 2.0, size=len(C))
    mask = mask | (np.eye(len(C), dtype=bool) & self_loops)
    want = np.where(mask, np.exp(-C / np.outer(scale, scale)), 0.0)
    found = cost.map_pairs(lambda C, i, j: np.exp(-C / (scale[i] * scale[j])), self_loops=self_loops)
    np.testing.assert_allclose(dense(found), want, rtol=1e-14)


@pytest.mark.parametrize("k", [1, 3])
def test_kth_smallest_leaves_the_point_itself_out(form, k):
    cost, C, mask = cost_and_mask(form, n=30)
    want = np.sort(np.where(mask, C, np.inf), axis=1)[:, k - 1]
    np.testing.assert_array_equal(cost.kth_smallest(k), want)


def test_symmetrized_has_an_edge_wherever_one_direction_has():
    graph, C, edges = _directed()
    found = _matrix(graph.symmetrized())
    np.testing.assert_array_equal(found, np.where(edges | edges.T, C, np.inf))


def test_symmetrized_keeps_edges_of_cost_zero():
    graph = NeighborGraph(np.array([0, 1, 1, 1]), np.array([2]), np.array([0.0]))
    found = graph.symmetrized()
    assert found.n_pairs == 2
    np.testing.assert_array_equal(found.costs, 0.0)


def test_symmetrizing_leaves_the_graph_as_it_was():
    graph = NeighborGraph(np.array([0, 2, 2, 2]), np.array([2, 1]), np.array([1.0, 3.0]))  # nearest first
    graph.symmetrized()
    np.testing.assert_array_equal(graph.indices, [2, 1])
    np.testing.assert_array_equal(graph.costs, [1.0, 3.0])


def test_a_symmetric_graph_is_its_own_symmetrisation():
    cost, _, _ = cost_and_mask("graph")
    found = cost.symmetrized()
    for name in ("indptr", "indices", "costs"):
        np.testing.assert_array_equal(getattr(found, name), getattr(cost, name))


def test_a_graph_is_symmetrised_once():
    found = _directed()[0].symmetrized()
    assert found.symmetrized() is found
    assert found.joined(found).symmetric
    assert not found.joined(_directed(seed=3)[0]).symmetric


def _two_costs(factor, dtype=float, **known):
    """A directed graph whose costs above the diagonal are `factor` times those below."""
    C = np.random.default_rng(0).uniform(1.0, 2.0, size=(12, 12))
    C = (C + C.T) * np.where(np.triu(np.ones((12, 12), dtype=bool)), factor, 1.0)
    return replace(graph_cost(C.astype(dtype), _directed(12)[2]), **known)


@pytest.mark.parametrize("factor", [100.0, 0.0, 1.001])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_two_costs_of_a_pair_are_refused(factor, dtype):
    with pytest.raises(
        ValueError, match=r"not symmetric: the two costs between points \d+ and \d+ .* X\.maximum\(X\.T\)"
    ):
        _two_costs(factor, dtype).symmetrized()


def test_the_points_with_two_costs_are_named():
    graph = NeighborGraph(np.array([0, 2, 3, 4]), np.array([1, 2, 0, 1]), np.array([1.0, 5.0, 3.0, 2.0]))
    with pytest.raises(ValueError, match="between points 0 and 1 are 1 and 3;"):
        graph.symmetrized()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_costs_of_a_pair_may_differ_by_rounding(dtype):
    found = _matrix(_two_costs(1.0 + 1e-6, dtype).symmetrized())
    np.testing.assert_array_equal(found, found.T)


def test_costs_of_our_own_search_are_not_doubted():
    found = _matrix(_two_costs(1.001, recall=0.0, checked=True).symmetrized())
    np.testing.assert_array_equal(found, found.T)


def test_a_measured_recall_says_nothing_about_the_two_costs_of_a_pair():
    with pytest.raises(ValueError, match="not symmetric"):
        _two_costs(1.001, recall=1.0).symmetrized()


def test_the_edges_around_points_are_not_doubted():
    found, _ = _two_costs(1.001, recall=0.0).around(np.arange(12))
    assert found.symmetric


@pytest.mark.parametrize("rows", [[], [7], [11, 3, 3, 0]])
def test_the_edges_of_some_rows(rows):
    graph = _directed(12)[0]
    want = [place for i in rows for place in range(graph.indptr[i], graph.indptr[i + 1])]
    found = edges_of_rows(graph.indptr, np.array(rows, dtype=np.intp))
    np.testing.assert_array_equal(found, want)
    assert found.dtype == np.intp


def test_the_full_matrix_needs_no_symmetrising():
    cost, _, _ = cost_and_mask("dense")
    assert cost.symmetrized() is cost


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint64])
def test_a_graph_is_compiled_for_once_whatever_its_indices(dtype):
    indices = np.array([1, 0], dtype=dtype)[::-1][::-1]
    graph = NeighborGraph(np.arange(3, dtype=dtype), indices, np.ones(4)[::2])
    assert graph.indptr.dtype == graph.indices.dtype == np.int32
    assert all(array.flags.c_contiguous for array in (graph.indptr, graph.indices, graph.costs))


def test_joined_has_the_edges_of_both():
    first, C, edges = _directed(seed=1)
    other_edges = (np.random.default_rng(2).random(edges.shape) < 0.2) & ~np.eye(len(C), dtype=bool)
    found = _matrix(first.joined(graph_cost(C, other_edges)))
    np.testing.assert_array_equal(found, np.where(edges | other_edges, C, np.inf))


def test_permuted_has_the_points_in_another_order(rng):
    graph, _, _ = _directed()
    order = rng.permutation(graph.n_points)
    found = graph.permuted(order)
    np.testing.assert_array_equal(_matrix(found), _matrix(graph)[np.ix_(order, order)])
    assert found.indptr.dtype == found.indices.dtype == np.int32


def test_around_has_the_edges_of_some_points_and_no_others(rng):
    graph = _directed(n=30)[0].symmetrized()
    rows = np.array([3, 17, 20])
    found, points = graph.around(rows)
    np.testing.assert_array_equal(points[:3], rows)
    whole = _matrix(graph)
    other = np.setdiff1d(np.arange(30), rows)
    whole[np.ix_(other, other)] = np.inf
    np.testing.assert_array_equal(_matrix(found), whole[np.ix_(points, points)])
    assert set(points) == {*rows, *np.flatnonzero(np.isfinite(whole[rows]).any(axis=0))}


def test_only_many_points_are_worth_an_order_of_their_own(monkeypatch):
    graph = _directed()[0].symmetrized()
    assert graph.local_order() is None
    monkeypatch.setattr("snekhorn.geometry.neighbor_graph.MANY_POINTS", graph.n_points)
    np.testing.assert_array_equal(np.sort(graph.local_order()), np.arange(graph.n_points))


def test_sparse_affinities_are_canonical_csr(rng):
    cost, _, _ = cost_and_mask("graph")
    P = cost.map_pairs(lambda C, i, j: np.exp(-C), self_loops=True)
    assert sparse.issparse(P)
    assert P.format == "csr"
    assert P.has_sorted_indices
    assert P.has_canonical_format
