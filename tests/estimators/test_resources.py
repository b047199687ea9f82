"""Fits that need too much memory raise an error with a working remedy before any work; slow fits warn."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from snekhorn import TSNE, TSNEkhorn
from snekhorn.affinities import EntropicAffinity, MultiscaleSymmetricEntropicAffinity, SymmetricEntropicAffinity
from snekhorn.embedding.objective import make_objective
from snekhorn.estimators import resources
from snekhorn.geometry.neighbor_search import find_neighbors
from snekhorn.runtime.execution import Threads
from snekhorn.runtime.memory import GIB
from snekhorn.runtime.memory_budget import SOLVER_POINT, GraphSize, affinity_stages

from ..helpers import AFFINITIES, clusters, squared_distances
from .cases import each_estimator, quick

N = 60
POINTS = clusters(N)
COSTS = squared_distances(POINTS)
NEAREST = np.argsort(COSTS, axis=1)[:, 1:11]
LISTS = (NEAREST, np.take_along_axis(COSTS, NEAREST, axis=1))
GRAPH = sparse.csr_matrix(np.where(np.sort(COSTS, axis=1)[:, 10:11] >= COSTS, COSTS, 0.0))
AFFINITY = np.exp(-COSTS)


@pytest.fixture
def no_memory(monkeypatch):
    """Make every fit exceed the memory, and fail if any work starts."""

    def work(*args):
        pytest.fail("work was started")

    for kind in AFFINITIES:
        monkeypatch.setattr(kind, "compute", work)
    monkeypatch.setattr("snekhorn.geometry.costs.find_neighbors", work)
    monkeypatch.setattr("snekhorn.runtime.memory.available_bytes", lambda: 1)


@each_estimator
@pytest.mark.parametrize(
    ("parameters", "X", "remedy"),
    [
        pytest.param({}, POINTS, "set n_neighbors=12 for", id="all pairs"),
        pytest.param({"n_neighbors": 10}, POINTS, "lower n_neighbors, or lower the perplexity", id="neighbours"),
        pytest.param({"metric": "precomputed"}, COSTS, "set n_neighbors=12 for", id="costs"),
        pytest.param({"metric": "precomputed"}, GRAPH, "pass a graph with fewer edges", id="graph"),
        pytest.param({"metric": "precomputed"}, LISTS, "pass a graph with fewer edges", id="lists"),
        pytest.param({"affinity": "precomputed"}, AFFINITY, "pass a sparse P", id="full P"),
        pytest.param({"affinity": "precomputed"}, sparse.csr_matrix(AFFINITY), "fewer entries", id="sparse P"),
        pytest.param({"affinity": EntropicAffinity(8.0)}, POINTS, "set n_neighbors=12 for", id="affinity"),
        pytest.param(
            {"affinity": SymmetricEntropicAffinity(8.0, n_neighbors="auto")},
            POINTS,
            "lower n_neighbors, or lower the perplexity",
            id="affinity of neighbours",
        ),
    ],
)
def test_what_does_not_fit_is_refused_before_any_work(kind, parameters, X, remedy, no_memory):
    estimator = quick(kind, **parameters)
    with pytest.raises(MemoryError, match=f"the layout of 60 points .* about .* needed, .*; .*{remedy}"):
        estimator.fit(X)
    assert not hasattr(estimator, "n_features_in_")


def _needed(estimator, X, monkeypatch):
    """Return the number of bytes that a fit claims to need."""
    said = []
    monkeypatch.setattr(resources, "require_memory", lambda needed, *_: said.append(needed))
    estimator.fit(X)
    return said[0]


@each_estimator
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("affinity", ["precomputed", EntropicAffinity(8.0)])
def test_the_objective_takes_no_more_than_was_said(kind, form, affinity):
    P = form(np.exp(-squared_distances(clusters(300)) / 9.0) + 0.01)
    estimator = quick(kind, affinity=affinity)
    latent = estimator.latent
    symmetric = affinity == "precomputed" and latent.normalized != "rows"
    layout = resources.LayoutKind(symmetric, latent.doubly_stochastic, exact=True)
    estimated = layout.peak(P.shape[0], P.shape[0] ** 2, full=form is np.asarray)
    parameters = {"method": "exact", "self_loops": True, "symmetric": symmetric, "execution": Threads()}
    Z = np.random.default_rng(0).normal(size=(P.shape[0], 2))
    make_objective(P, latent, **parameters).loss(Z)  # what it takes to compile a kernel does not count
    tracemalloc.start()
    make_objective(P, latent, **parameters).loss(Z)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.4 * estimated < peak < 1.05 * estimated  # a sparse P takes less than a full one


@pytest.mark.filterwarnings("ignore:.*stopped at max_iter")
def test_sizes(monkeypatch):
    quickest = {"max_iter": 1, "perplexity": 8.0}
    points = 200 * N
    assert _needed(TSNEkhorn(**quickest), POINTS, monkeypatch) == N * N * (8 + 36) + points
    assert _needed(TSNEkhorn(**quickest), POINTS.astype(np.float32), monkeypatch) == N * N * (4 + 36) + points
    assert _needed(TSNE(**quickest), POINTS, monkeypatch) == N * N * (8 + 44) + points
    given = TSNEkhorn(affinity="precomputed", **quickest)
    assert _needed(given, AFFINITY, monkeypatch) == N * N * 36 + points
    of_neighbors = TSNEkhorn(n_neighbors=20, metric="precomputed", **quickest)
    assert _needed(of_neighbors, COSTS, monkeypatch) == 1.75 * N * 20 * (12 + 12) + (200 + 300 + 500) * N


@pytest.mark.parametrize("max_memory", [20_000, 1e-6])
def test_a_limit_on_the_memory_is_checked_first(max_memory, no_memory, monkeypatch):
    monkeypatch.setattr("snekhorn.runtime.memory.available_bytes", lambda: 8 * GIB)
    monkeypatch.setattr("snekhorn.runtime.memory.used_bytes", lambda: 5000)
    estimator = quick(TSNEkhorn, n_neighbors=10, max_memory=max_memory)
    with pytest.raises(
        MemoryError, match=f"bytes in use, but max_memory={max_memory!r} allows .* bytes; raise it, lower n_neighbors,"
    ):
        estimator.fit(POINTS)


def test_fewer_neighbours_are_no_remedy_if_they_would_be_all_points(no_memory):
    with pytest.raises(MemoryError, match=r"available; use fewer points\."):
        TSNEkhorn(perplexity=40.0).fit(POINTS)


@pytest.mark.filterwarnings("ignore:.*stopped at max_iter")
def test_memory_that_is_too_little_for_weights_changes_no_bit(monkeypatch):
    want = quick(TSNEkhorn, n_neighbors=10).fit(POINTS)
    monkeypatch.setattr("snekhorn.geometry.neighbor_graph.left_bytes", lambda: 1000)
    found = quick(TSNEkhorn, n_neighbors=10).fit(POINTS)
    np.testing.assert_array_equal(found.embedding_, want.embedding_)


def test_points_that_are_not_read_yet_count(monkeypatch):
    said = []
    monkeypatch.setattr(resources, "require_memory", lambda needed, *_: said.append(needed))
    estimator = TSNEkhorn(perplexity=8.0, n_neighbors=20)
    for X in (POINTS, np.broadcast_to(0.0, POINTS.shape)):
        estimator.check_resources(X)
    assert said[1] - said[0] == POINTS.nbytes


def test_the_solver_keeps_weights_if_half_of_what_is_left_holds_them():
    graph = GraphSize(1000, 45, 4)
    weights = 8 * graph.n_edges
    few, enough = (affinity_stages(graph, 1, left)["solver"] for left in (weights, 10 * weights))
    assert enough == few + weights == affinity_stages(graph, 1, None)["solver"]


def test_weights_leave_room_for_the_vectors_of_the_solver(monkeypatch):
    graph = find_neighbors(POINTS, 10, "sqeuclidean", Threads(1))
    weights = 2 * graph.costs.nbytes
    for left, kept in ((2 * weights, False), (2 * weights + SOLVER_POINT * len(POINTS), True)):
        monkeypatch.setattr("snekhorn.geometry.neighbor_graph.left_bytes", lambda left=left: left)
        assert graph.new_weights()[1] is kept


@pytest.mark.filterwarnings("ignore:.*stopped at max_iter")
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine"])
@pytest.mark.parametrize(
    ("shape", "density", "dtype"),
    [((2000, 900), 0.05, np.float64), ((2000, 50), 0.5, np.float32), ((2000, 9000), 0.02, np.float64)],
)
def test_a_fit_to_sparse_points_takes_about_what_was_said(shape, density, dtype, metric, n_jobs, monkeypatch):
    X = sparse.random(*shape, density, format="csr", random_state=0).astype(dtype)
    estimator = TSNEkhorn(perplexity=5.0, n_neighbors=15, self_loops=True, max_iter=1, metric=metric, n_jobs=n_jobs)
    estimator.fit(X[:300])  # what it takes to compile a kernel does not count
    tracemalloc.start()
    needed = _needed(estimator, X, monkeypatch)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < needed
    if n_jobs == 1:  # several threads may or may not reach their peaks at the same time
        assert needed < 1.75 * peak


def test_the_perplexity_of_an_affinity_object_is_checked_first(no_memory):
    with pytest.raises(ValueError, match="perplexities is empty"):
        quick(TSNEkhorn, affinity=MultiscaleSymmetricEntropicAffinity(())).fit(POINTS)


def test_a_fit_that_was_refused_names_both_sizes(monkeypatch):
    monkeypatch.setattr("snekhorn.runtime.memory.available_bytes", lambda: GIB // 4)
    many = np.zeros((10_000, 2))
    with pytest.raises(
        MemoryError, match=r"10,000 points with 100,000,000 pairs: about 4\.1 GiB needed, only 0\.2 GiB"
    ):
        TSNEkhorn(n_neighbors=None).fit(many)


@pytest.mark.filterwarnings("ignore:.*stopped at max_iter")
@pytest.mark.parametrize("n_components", [1, 2, 3])
def test_long_sums_are_said_first(n_components, monkeypatch):
    monkeypatch.setattr(resources, "MANY_POINTS", N - 1)
    seen = []
    compute = SymmetricEntropicAffinity.compute
    monkeypatch.setattr(SymmetricEntropicAffinity, "compute", lambda *args: (seen.append(len(said)), compute(*args))[1])
    with pytest.warns(
        UserWarning, match=f"all pairs of 60 points in {n_components} dim.* 1 minute .*; use method='auto'"
    ) as said:
        quick(TSNEkhorn, n_components=n_components, method="exact").fit(POINTS)
    assert seen == [1]


@pytest.mark.filterwarnings("ignore:.*stopped at max_iter")
def test_no_word_of_sums_that_are_not_long(monkeypatch):
    quick(TSNEkhorn, n_components=3).fit(POINTS)
    monkeypatch.setattr(resources, "MANY_POINTS", N - 1)
    quick(TSNEkhorn, method="fft").fit(POINTS)


def test_how_long(recwarn):
    resources.warn_of_long_sums("TSNEkhorn", 20_000, 3, 2000, Threads(2))
    assert not recwarn
    resources.warn_of_long_sums("TSNEkhorn", 50_000, 3, 2000, Threads(2))
    resources.warn_of_long_sums("TSNEkhorn", 1_000_000, 3, 2000, Threads(1))
    assert ["25 minutes" in str(recwarn[0].message), "327 hours" in str(recwarn[1].message)] == [True, True]


def test_a_graph_with_many_edges_needs_longer_indices():
    few, many = GraphSize(20_000_000, 45, 4), GraphSize(40_000_000, 45, 4)
    assert few.edges == 8 * few.n_edges
    assert many.edges == 12 * many.n_edges
