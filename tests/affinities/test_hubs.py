import numpy as np
import pytest

from snekhorn.affinities import SymmetricEntropicAffinity
from snekhorn.affinities.hubs import ROUNDS, feed_starved, metropolis_entropies, typical_degree
from snekhorn.geometry.costs import build_cost
from snekhorn.runtime.execution import Threads

from ..helpers import cost_and_mask, entropies, squared_distances


def _metropolis(mask):
    degrees = mask.sum(axis=1)
    M = np.where(mask, 1.0 / np.maximum.outer(degrees, degrees), 0.0)
    np.fill_diagonal(M, 1.0 - M.sum(axis=1))
    return M


def _edges(graph):
    row = np.repeat(np.arange(graph.n_points), graph.degrees)
    return dict(zip(zip(row.tolist(), graph.indices.tolist(), strict=True), graph.costs.tolist(), strict=True))


@pytest.fixture(scope="module", params=["sqeuclidean", "precomputed"])
def hubs(request):
    """Points of a 100-dimensional Gaussian: hubs crowd their neighbour graph."""
    X = np.random.default_rng(0).normal(size=(500, 100))
    given = X if request.param == "sqeuclidean" else squared_distances(X)
    graph = build_cost(given, metric=request.param, n_neighbors=15, perplexity=8.0, execution=Threads(1))
    return X, graph.symmetrized()


def test_entropies_are_those_of_a_symmetric_doubly_stochastic_matrix_on_the_graph():
    cost, _, mask = cost_and_mask("graph", n=25)
    M = _metropolis(mask)
    np.testing.assert_allclose(M.sum(axis=0), 1.0, rtol=1e-12)
    np.testing.assert_allclose(metropolis_entropies(cost), entropies(M), rtol=1e-12)


def test_two_points_that_have_only_each_other_share_their_mass():
    X = np.array([[0.0], [0.1], [100.0], [100.1]])
    pairs = build_cost(X, metric="sqeuclidean", n_neighbors=1, perplexity=1.5, execution=Threads(1)).symmetrized()
    np.testing.assert_array_equal(metropolis_entropies(pairs), 0.0)
    np.testing.assert_allclose(metropolis_entropies(pairs, least_degree=2), np.log(2.0), rtol=1e-12)


def test_a_graph_that_carries_the_perplexity_is_left_alone(hubs):
    _, graph = hubs
    assert feed_starved(graph, np.log(1.01), typical_degree(graph)) is graph


def test_starved_points_get_edges_among_themselves(hubs):
    X, graph = hubs
    log_perplexity = np.log(8.0)
    starved = metropolis_entropies(graph) < log_perplexity
    fed = graph
    for _ in range(ROUNDS):
        fed = feed_starved(fed, log_perplexity, typical_degree(graph))
    assert starved.sum() > 10
    assert (metropolis_entropies(fed) < log_perplexity).sum() < starved.sum() / 4
    old, new = _edges(graph), _edges(fed)
    assert old.items() <= new.items()
    for (i, j), cost in new.items():
        assert new[j, i] == cost
        assert cost == pytest.approx(np.sum((X[i] - X[j]) ** 2), rel=1e-12)


@pytest.mark.slow
def test_heavy_tails_converge_in_100_passes():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(10_000, 200)) / np.sqrt(rng.chisquare(2, size=(10_000, 1)) / 2)  # multivariate t
    report = SymmetricEntropicAffinity(30.0, n_neighbors=90, n_jobs=2).fit(X).report_
    assert report.converged
    assert report.n_floor_rows > 1000
    assert report.n_passes <= 100  # 122 without the Sinkhorn steps of the start
