"""Neighbour graphs that cannot support the perplexity: the solver stops, and the report lists the rows."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import kneighbors_graph

from snekhorn.affinities import DoublyStochasticAffinity, SymmetricEntropicAffinity

from ..helpers import dense, entropies, fit_whatever_it_says, row_gap


def ring(n=40, reach=2):
    steps = [step for k in range(1, reach + 1) for step in (k, -k)]
    rows = np.repeat(np.arange(n), len(steps))
    columns = (rows + np.tile(steps, n)) % n
    return sparse.csr_matrix((1.0 + np.abs(np.tile(steps, n)), (rows, columns)), shape=(n, n))


def star(n=40):
    graph = sparse.lil_matrix((n, n))
    graph[0, 1:] = np.arange(1.0, n)
    return graph.maximum(graph.T).tocsr()


def stars(n=60, hubs=3):
    """Every point is connected only to the hubs."""
    graph = sparse.lil_matrix((n, n))
    graph[:hubs, :] = 1.0 + np.random.default_rng(0).random((hubs, n))
    graph.setdiag(0.0)
    return graph.maximum(graph.T).tocsr()


def path(n=31):
    return sparse.diags([np.ones(n - 1), np.ones(n - 1)], [-1, 1], format="csr")


def islands():
    """Two cliques, one of them smaller than the perplexity."""
    return sparse.block_diag([np.ones((4, 4)), np.ones((30, 30))], format="csr")


GRAPHS = {"ring": ring(), "star": star(), "stars": stars(), "path": path(), "islands": islands()}


@pytest.mark.parametrize("self_loops", [True, False])
@pytest.mark.parametrize("perplexity", [1.5, 10.0])
@pytest.mark.parametrize("name", GRAPHS)
def test_ends_finite_and_says_so(name, perplexity, self_loops):
    affinity = SymmetricEntropicAffinity(perplexity, metric="precomputed", self_loops=self_loops)
    said = fit_whatever_it_says(affinity, GRAPHS[name])
    P, report = dense(affinity.affinity_), affinity.report_
    assert np.isfinite(P).all()
    np.testing.assert_array_equal(P, P.T)
    assert (ConvergenceWarning in said) != report.converged
    if report.converged:
        assert row_gap(P) < 1e-8
    if not said:
        assert entropies(P).min() > np.log(perplexity) - 1e-7
        assert report.unreachable_rows.size == 0


@pytest.mark.parametrize("perplexity", [4.0, 10.0])
@pytest.mark.parametrize("name", ["star", "stars"])
def test_rows_that_starve_beside_hubs_are_named_and_the_rest_is_solved(name, perplexity):
    affinity = SymmetricEntropicAffinity(perplexity, metric="precomputed")
    with pytest.warns(
        UserWarning, match=r"rows .* cannot reach perplexity .* Add edges to the graph or lower perplexity\."
    ):
        affinity.fit(GRAPHS[name])
    report = affinity.report_
    assert report.converged
    assert report.unreachable_rows.size > GRAPHS[name].shape[0] / 2
    assert row_gap(affinity.affinity_) < 1e-8


def test_a_perplexity_above_every_degree_is_clamped():
    affinity = SymmetricEntropicAffinity(10.0, metric="precomputed")
    with pytest.warns(UserWarning, match=r"perplexity=10 .* 5 entries allow; using 4\."):
        affinity.fit(ring())
    assert affinity.report_.converged
    np.testing.assert_allclose(entropies(affinity.affinity_), np.log(4.0), atol=1e-7)


@pytest.mark.parametrize("self_loops", [True, False])
@pytest.mark.parametrize("name", GRAPHS)
def test_doubly_stochastic_scaling_ends_and_says_so(name, self_loops):
    affinity = DoublyStochasticAffinity(1.0, metric="precomputed", self_loops=self_loops)
    said = fit_whatever_it_says(affinity, GRAPHS[name])
    assert np.isfinite(dense(affinity.affinity_)).all()
    assert said == ([] if affinity.report_.converged else [ConvergenceWarning])
    if self_loops:
        assert affinity.report_.converged


@pytest.mark.parametrize("n_neighbors", [5, 10, 20])
@pytest.mark.parametrize("given", [True, False])
def test_a_perplexity_beyond_all_rows_becomes_one_that_rows_can_reach(n_neighbors, given):
    X = np.random.default_rng(0).normal(size=(200, 10))
    affinity = SymmetricEntropicAffinity(150.0, self_loops=False, n_neighbors=n_neighbors)
    if given:
        X = kneighbors_graph(X, n_neighbors, mode="distance")
        affinity.set_params(metric="precomputed", n_neighbors=None)
    with pytest.warns(UserWarning, match="exceeds what the rows of this neighbour graph allow; using") as said:
        affinity.fit(X)
    assert len(said) == 1
    assert 0.7 * n_neighbors < affinity.perplexity_ < n_neighbors
    assert not affinity.report_.unreachable_rows.size
