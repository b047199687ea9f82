"""Bad input raises an error that names the parameter, the value and the remedy, before any work is done."""

import numpy as np
import pytest
from scipy import sparse

from snekhorn.affinities import (
    DoublyStochasticAffinity,
    EntropicAffinity,
    GaussianAffinity,
    SelfTuningAffinity,
    SymmetricEntropicAffinity,
)
from snekhorn.runtime import memory

from ..helpers import AFFINITIES, WITH_PERPLEXITY, changed, make, needs_symmetric_costs, refused, squared_distances

each_affinity = pytest.mark.parametrize("kind", AFFINITIES)
dense_and_sparse = pytest.mark.parametrize("n_neighbors", [None, 8])  # as many as every affinity can do with

POINTS = np.random.default_rng(0).normal(size=(12, 3))
COSTS = squared_distances(POINTS)


@each_affinity
@dense_and_sparse
@pytest.mark.parametrize(
    ("X", "parts"),
    [
        pytest.param(changed(POINTS, (4, 1), np.nan), ["X", "nan", "row 4", "column 1", "impute"], id="nan"),
        pytest.param(changed(POINTS, (4, 1), np.inf), ["X", "inf", "row 4", "column 1", "drop"], id="infinite"),
        pytest.param(np.empty((0, 3)), ["X", "0 x 3", "at least 2 points"], id="empty"),
        pytest.param(np.empty((5, 0)), ["X", "5 x 0", "1 feature"], id="no feature"),
        pytest.param(POINTS[:1], ["X", "1 x 3", "at least 2 points"], id="one point"),
        pytest.param(POINTS[0], ["row for each point", "reshape(-1, 1)"], id="one dimension"),
        pytest.param(sparse.csr_matrix(changed(POINTS, (4, 1), np.nan)), ["X", "nan", "impute"], id="sparse nan"),
        pytest.param([["a", "b"], ["c", "d"]], ["'a'"], id="text"),
    ],
)
def test_points(kind, n_neighbors, X, parts):
    refused(kind(n_neighbors=n_neighbors), X, *parts)


@pytest.mark.parametrize("kind", WITH_PERPLEXITY)
@pytest.mark.parametrize("perplexity", [1, 1.0, 0.5, 0, -3.0, np.nan, np.inf, "30", None, True, [30.0]])
def test_perplexity(kind, perplexity):
    refused(make(kind, perplexity), POINTS, "perplexity", repr(perplexity), "above 1")


@each_affinity
@dense_and_sparse
@pytest.mark.parametrize(
    ("C", "parts"),
    [
        pytest.param(COSTS[:, :5], ["square", "(12, 5)", "metric"], id="not square"),
        pytest.param(changed(COSTS, (2, 3), 9.0), ["not symmetric", "(X + X.T) / 2"], id="not symmetric"),
        pytest.param(COSTS - 0.5 + 0.5 * np.eye(12), ["negative", "-0.", "similarities"], id="negative"),
        pytest.param(COSTS + np.eye(12), ["non-zero diagonal", "1", "fill_diagonal"], id="diagonal"),
        pytest.param(changed(COSTS, (2, 3), np.nan), ["X", "nan", "row 2", "column 3"], id="nan"),
        pytest.param(changed(COSTS, (2, 3), np.inf), ["X", "inf", "row 2", "column 3"], id="infinite"),
        pytest.param(COSTS[:1, :1], ["X", "1 x 1", "at least 2"], id="one point"),
    ],
)
def test_precomputed_costs(kind, n_neighbors, C, parts):
    refused(kind(metric="precomputed", n_neighbors=n_neighbors), C, "precomputed", *parts)


def _graph(changes=()):
    graph = sparse.lil_matrix((6, 6))
    for i in range(5):
        graph[i, i + 1] = graph[i + 1, i] = 1.0
    for index, value in changes:
        graph[index] = value
    return graph.tocsr()


@pytest.mark.parametrize(
    ("graph", "parts"),
    [
        pytest.param(_graph()[:, :5], ["square", "(6, 5)"], id="not square"),
        pytest.param(
            _graph([((5, 4), 0), ((4, 5), 0)]),
            ["isolated points (1 in total: row 5)", "leave these points out"],
            id="isolated",
        ),
        pytest.param(sparse.csr_matrix((6, 6)), ["isolated points (6 in total: rows 0, 1, 2, 3, 4, ...)"], id="empty"),
        pytest.param(sparse.identity(6, format="csr"), ["isolated points (6 in total"], id="only self-loops"),
        pytest.param(_graph([((1, 2), -1.0)]), ["negative", "-1", "drop"], id="negative"),
        pytest.param(_graph([((1, 2), np.nan)]), [" nan", "drop"], id="nan"),
        pytest.param(_graph([((1, 2), np.inf)]), [" inf", "drop"], id="infinite"),
        pytest.param(_graph()[:1, :1], ["1 point;", "at least 2"], id="one point"),
    ],
)
def test_precomputed_graph(graph, parts):
    refused(EntropicAffinity(1.5, metric="precomputed"), graph, "precomputed", *parts)


INDICES, DISTANCES = np.array([[1, 2], [0, 2], [0, 1]]), np.array([[1.0, 2.0], [1.0, 3.0], [2.0, 3.0]])


@pytest.mark.parametrize(
    ("lists", "parts"),
    [
        pytest.param((), ["(indices, distances)", "length 0"], id="empty tuple"),
        pytest.param((INDICES, DISTANCES, DISTANCES), ["(indices, distances)", "length 3"], id="three arrays"),
        pytest.param((INDICES, DISTANCES[:, :1]), ["same shape", "(3, 2)", "(3, 1)"], id="two shapes"),
        pytest.param((INDICES[0], DISTANCES[0]), ["(n, k)", "(2,)"], id="one dimension"),
        pytest.param((INDICES[:, :0], DISTANCES[:, :0]), ["isolated"], id="no neighbours"),
        pytest.param(
            (changed(INDICES, (0, 0), 3), DISTANCES), ["indices", "3", "between 0 and 2"], id="index too large"
        ),
        pytest.param((changed(INDICES, (0, 0), -1), DISTANCES), ["indices", "-1", "between 0 and 2"], id="no index"),
        pytest.param((INDICES + 0.5, DISTANCES), ["indices", "whole"], id="indices not whole"),
        pytest.param((INDICES, changed(DISTANCES, (0, 0), np.nan)), [" nan", "drop"], id="nan"),
        pytest.param((INDICES, DISTANCES.astype(str)), ["real numbers", "<U", "float"], id="text"),
        pytest.param((INDICES, DISTANCES.astype(complex)), ["real numbers", "complex"], id="complex"),
        pytest.param(([[1, 2], [0]], [[1.0, 2.0], [1.0]]), ["indices", "different lengths"], id="ragged"),
        pytest.param((INDICES, [[1.0, 2.0], [1.0], [2.0]]), ["distances", "different lengths"], id="ragged distances"),
        pytest.param(([], []), ["(n, k)", "(0,)"], id="empty lists"),
        pytest.param((INDICES, -DISTANCES), ["negative", "-", "drop"], id="negative"),
    ],
)
def test_precomputed_lists(lists, parts):
    refused(EntropicAffinity(1.5, metric="precomputed"), lists, "precomputed", *parts)


def test_lists_need_the_precomputed_metric():
    refused(EntropicAffinity(1.5), (INDICES, DISTANCES), "metric='precomputed'")


@each_affinity
@pytest.mark.parametrize("metric", ["sqeuclidian", "", None, 2, ["euclidean"]])
def test_metric(kind, metric):
    refused(kind(metric=metric), POINTS, "metric", repr(metric), "sqeuclidean", "precomputed")


@each_affinity
@pytest.mark.parametrize("n_neighbors", [0, -1, 2.5, "all", True, np.nan, [5]])
def test_n_neighbors(kind, n_neighbors):
    refused(kind(n_neighbors=n_neighbors), POINTS, "n_neighbors", repr(n_neighbors), "whole number")


@each_affinity
@pytest.mark.parametrize("n_jobs", [0, 1.5, "2", True])
def test_n_jobs(kind, n_jobs):
    refused(kind(n_jobs=n_jobs), POINTS, "n_jobs", repr(n_jobs), "-1 for all cores")


@each_affinity
@pytest.mark.parametrize("self_loops", ["yes", None, 2])
def test_self_loops(kind, self_loops):
    refused(kind(self_loops=self_loops), POINTS, "self_loops", repr(self_loops), "True, False")


@pytest.mark.parametrize(
    ("affinity", "parts"),
    [
        (SymmetricEntropicAffinity(5.0, solver="bfgs"), ["solver", "'bfgs'", "'lbfgs'"]),
        (SymmetricEntropicAffinity(5.0, solver=None), ["solver", "None", "'newton'"]),
        (SymmetricEntropicAffinity(5.0, gamma_squared="no"), ["gamma_squared", "'no'", "True, False"]),
        (SymmetricEntropicAffinity(5.0, warm_start="no"), ["warm_start", "'no'", "True, False"]),
        (SymmetricEntropicAffinity(5.0, learning_rate=0.0), ["learning_rate", "0.0", "positive"]),
        (SymmetricEntropicAffinity(5.0, tol=0.0), ["tol", "0.0", "positive"]),
        (SymmetricEntropicAffinity(5.0, tol=np.nan), ["tol", "nan", "positive"]),
        (SymmetricEntropicAffinity(5.0, max_iter=0), ["max_iter", "0", "at least 1"]),
        (SymmetricEntropicAffinity(5.0, max_iter=2.5), ["max_iter", "2.5", "whole"]),
        (DoublyStochasticAffinity(0.0), ["bandwidth", "0.0", "positive"]),
        (DoublyStochasticAffinity("auto"), ["bandwidth", "'auto'", "positive"]),
        (DoublyStochasticAffinity(1.0, tol=-1.0), ["tol", "-1.0", "positive"]),
        (DoublyStochasticAffinity(1.0, max_iter=0), ["max_iter", "0", "at least 1"]),
        (GaussianAffinity(-1.0), ["bandwidth", "-1.0", "positive"]),
        (GaussianAffinity(1.0, symmetrize="yes"), ["symmetrize", "'yes'", "True, False"]),
        (EntropicAffinity(5.0, symmetrize=None), ["symmetrize", "None", "True, False"]),
        (SelfTuningAffinity(0), ["k", "0", "at least 1"]),
        (SelfTuningAffinity(12), ["k=12", "11 neighbours", "lower k or add points"]),
        (SelfTuningAffinity(6, n_neighbors=5), ["k=6", "5 neighbours", "raise n_neighbors"]),
    ],
    ids=str,
)
def test_parameters_of_one_affinity(affinity, parts):
    refused(affinity, POINTS, *parts)


@pytest.mark.parametrize("affinity", [SymmetricEntropicAffinity(0.5), GaussianAffinity(-1.0), SelfTuningAffinity(0)])
def test_parameters_are_checked_before_the_points_are_read(affinity):
    with pytest.raises(ValueError, match="must be"):
        affinity.fit(object())


@pytest.mark.parametrize(("k", "n_neighbors", "count"), [(6, 5, "5 neighbours"), (46, "auto", "45 neighbours")])
def test_a_rank_beyond_the_neighbours_is_refused_before_they_are_searched(k, n_neighbors, count):
    refused(SelfTuningAffinity(k, n_neighbors=n_neighbors), object(), f"k={k}", count, "raise n_neighbors")


@each_affinity
def test_a_full_matrix_beyond_the_memory_names_the_way_out(kind, monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 1000)
    with pytest.raises(MemoryError, match=r"12 x 12 .* about .* bytes needed, .* n_neighbors"):
        kind().fit(POINTS)


def test_a_neighbour_graph_needs_no_full_matrix(monkeypatch):
    X = np.random.default_rng(0).normal(size=(500, 3))
    monkeypatch.setattr(memory, "available_bytes", lambda: X.shape[0] ** 2 * 8)
    assert SymmetricEntropicAffinity(3.0, n_neighbors=9).fit(X).report_.converged


GRAPH = sparse.csr_matrix(COSTS)


@pytest.mark.parametrize(
    ("X", "parameters", "parts"),
    [
        (POINTS, {"n_neighbors": 5}, "12 points with 5 neighbours .* lower n_neighbors"),
        (COSTS, {"metric": "precomputed"}, "12 x 12 .* n_neighbors='auto'"),
        (COSTS, {"metric": "precomputed", "n_neighbors": 5}, "12 points with 5 neighbours .* lower n_neighbors"),
        (GRAPH, {"metric": "precomputed"}, "132 edges: .* smaller"),
    ],
    ids=["points", "costs", "nearest of costs", "graph"],
)
def test_anything_beyond_the_memory_names_the_way_out(X, parameters, parts, monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 1000)
    with pytest.raises(MemoryError, match=parts):
        EntropicAffinity(3.0, **parameters).fit(X)


@each_affinity
@pytest.mark.parametrize("n_neighbors", [0, 2.5, "all"])
def test_n_neighbors_of_a_graph(kind, n_neighbors):
    refused(kind(metric="precomputed", n_neighbors=n_neighbors), GRAPH, "n_neighbors", repr(n_neighbors))


def _lists(costs):
    indices = (np.arange(12)[:, None] + np.arange(1, 12)) % 12
    return indices, np.take_along_axis(costs, indices, axis=1)


@pytest.mark.parametrize("kind", [kind for kind in AFFINITIES if needs_symmetric_costs(kind)])
@pytest.mark.parametrize("form", [sparse.csr_matrix, _lists])
def test_a_graph_with_two_costs_of_a_pair_has_no_symmetric_affinity(kind, form):
    graph = form(np.where(np.triu(np.ones((12, 12), dtype=bool)), 100.0 * COSTS, COSTS))
    refused(make(kind, 6.0, metric="precomputed"), graph, "precomputed", "not symmetric", "X.maximum(X.T)")


@each_affinity
def test_a_graph_with_one_direction_of_each_pair_is_fine(kind):
    around = (np.arange(12)[:, None] + np.arange(1, 8)) % 12
    affinity = make(kind, 3.0, metric="precomputed")
    affinity.fit((around, np.take_along_axis(COSTS, around, axis=1)))


def test_more_neighbours_than_a_row_of_the_graph_has():
    graph = _graph([((0, 2), 1.0)])
    affinity = EntropicAffinity(1.5, metric="precomputed", n_neighbors=2)
    refused(affinity, graph, "n_neighbors=2", "row 5 (1)", "lower n_neighbors")


@each_affinity
@dense_and_sparse
@pytest.mark.parametrize(
    ("X", "metric", "parts"),
    [
        pytest.param(np.insert(POINTS, 1, 7.0, axis=1), "seuclidean", ["column 1", "constant"], id="no scale"),
        pytest.param(POINTS[:, [0, 1, 2, 1]], "mahalanobis", ["rank 3 in 4", "PCA"], id="no covariance"),
        pytest.param(sparse.csr_matrix(POINTS), "canberra", ["'canberra'", "sparse", "toarray"], id="sparse"),
        pytest.param(POINTS, "haversine", ["2 dimensions"], id="not on a sphere"),
    ],
)
def test_metrics_that_these_points_do_not_have(kind, n_neighbors, X, metric, parts):
    refused(kind(metric=metric, n_neighbors=n_neighbors), X, *parts)


def test_auto_neighbours_need_a_perplexity_even_where_a_bandwidth_is_given():
    affinity = GaussianAffinity(1.0, perplexity="foo", n_neighbors="auto")
    refused(affinity, POINTS, "perplexity", "'foo'", "above 1")
