"""Unions in blocks of rows, against SciPy."""

import numpy as np
import pytest
from scipy import sparse

from snekhorn.geometry import graph_unions
from snekhorn.geometry.graph_unions import both_ways, joined, mean_with_transpose
from snekhorn.runtime.execution import Threads

N = 70


@pytest.fixture(params=[1, 3])
def execution(request):
    return Threads(request.param)


def _graph(seed, dtype=np.float32):
    """Return a graph of positive costs with unsorted rows, one of them empty, and one column empty."""
    graph = sparse.random(N, N, 0.15, format="lil", random_state=seed, dtype=dtype)
    graph[5], graph[:, 9] = 0.0, 0.0
    graph = graph.tocsr()
    graph.eliminate_zeros()
    for start, stop in zip(graph.indptr, graph.indptr[1:], strict=False):
        for values in (graph.indices, graph.data):
            values[start:stop] = values[start:stop][::-1].copy()
    return sparse.csr_matrix((graph.data, graph.indices, graph.indptr), shape=(N, N))


def _rows(graph):
    return graph.indptr, graph.indices, graph.data


def _full(rows):
    indptr, indices, values = rows
    found = np.full((N, N), np.inf)
    found[np.repeat(np.arange(N), np.diff(indptr)), indices] = values
    return found


def _costs(graph):
    return np.where(graph.toarray() > 0.0, graph.toarray(), np.inf)


@pytest.mark.parametrize("edges_per_block", [1, 50, 1000])
def test_both_directions_have_the_smaller_cost(edges_per_block, execution, monkeypatch):
    monkeypatch.setattr(graph_unions, "EDGES_PER_BLOCK", edges_per_block)
    monkeypatch.setattr("snekhorn.runtime.execution.MIN_WORK_FOR_THREADS", 1)
    graph = _graph(0)
    found = both_ways(_rows(graph), execution)
    np.testing.assert_array_equal(_full(found), np.minimum(_costs(graph), _costs(graph).T))
    assert [part.dtype for part in found[1:]] == [np.int32, np.float32]


def test_edges_of_two_graphs(execution):
    one, other = _graph(0), _graph(1)
    found = joined(_rows(one), _rows(other), execution)
    np.testing.assert_array_equal(_full(found), np.minimum(_costs(one), _costs(other)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_mean_is_that_of_scipy_to_the_bit(dtype, execution):
    P = _graph(2, dtype)
    P.data[:40] = 0.0  # zeros are dropped, unless the other direction is positive
    P.data[40:50] = np.finfo(dtype).tiny
    found, want = mean_with_transpose(P, execution), ((P + P.T) / 2).tocsr()
    want.sort_indices()
    for part in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(found, part), getattr(want, part))
    assert found.dtype == want.dtype


def test_the_mean_of_a_matrix_with_duplicate_entries(execution):
    P = sparse.csr_matrix((np.ones(4), np.array([1, 1, 0, 2]), np.array([0, 2, 3, 4])), shape=(3, 3))
    found = mean_with_transpose(P, execution)
    np.testing.assert_array_equal(found.toarray(), [[0.0, 1.5, 0.0], [1.5, 0.0, 0.0], [0.0, 0.0, 1.0]])
    assert P.nnz == 4
