"""A sweep gives the same results as separate fits."""

import dask.array as da
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.neighbors import kneighbors_graph
from threadpoolctl import threadpool_info, threadpool_limits

from snekhorn import SNE, TSNE, SNEkhorn, TSNEkhorn
from snekhorn.affinities import SymmetricEntropicAffinity
from snekhorn.errors import InputError
from snekhorn.estimators import NeighborEmbedding
from snekhorn.estimators.layout_parts import GRAPH_TOL
from snekhorn.estimators.sweep import sweep
from snekhorn.geometry.neighbor_search import find_neighbors
from snekhorn.runtime.progress import is_shown

from ..helpers import squared_distances

pytestmark = pytest.mark.filterwarnings("ignore:.*stopped at max_iter")  # the affinities are what is looked at
X = np.random.default_rng(0).normal(size=(200, 6))


@pytest.mark.parametrize("method", [TSNEkhorn, SNEkhorn, TSNE, SNE])
def test_affinities_are_those_of_single_fits(method):
    for fitted in sweep(method(max_iter=20, tol=1.0), X, (20, 5, 20)):
        alone = method(max_iter=20, tol=1.0, perplexity=fitted.perplexity).fit(X)
        np.testing.assert_allclose(fitted.affinity_, alone.affinity_, atol=1e-7)
        assert fitted.affinity_report_.converged


def test_perplexities_rise_and_layouts_are_those_of_single_fits():
    models = list(sweep(TSNEkhorn(max_iter=60), X, (20, 5)))
    assert [model.perplexity for model in models] == [5, 20]
    for model in models:
        alone = TSNEkhorn(max_iter=60, perplexity=model.perplexity).fit(X)
        assert model.kl_divergence_ == pytest.approx(alone.kl_divergence_, rel=1e-3)


@pytest.mark.parametrize("method", [TSNEkhorn, SNEkhorn, TSNE, SNE])
@pytest.mark.parametrize("init", ["pca", "spectral", "random", X[:, :2] / 100])
def test_exaggerations_have_the_layouts_of_single_fits(method, init):
    model = method(max_iter=60, init=init, random_state=3)
    models = list(sweep(model, X, exaggerations=(2, 1, 1.5, 2.0)))
    assert [found.exaggeration for found in models] == [1, 1.5, 2]
    for found in models:
        alone = clone(model).set_params(exaggeration=found.exaggeration).fit(X)
        np.testing.assert_array_equal(found.embedding_, alone.embedding_)
        assert found.perplexity == alone.perplexity == 30
        assert found.perplexity_ == alone.perplexity_
        assert found.affinity_report_.n_passes == alone.affinity_report_.n_passes
    assert method().exaggeration == model.exaggeration  # the model itself does not change


def test_each_perplexity_is_combined_with_each_exaggeration_and_computed_once(monkeypatch):
    computed, starts = [], []
    compute = SymmetricEntropicAffinity.compute
    monkeypatch.setattr(SymmetricEntropicAffinity, "compute", lambda *args: (computed.append(args), compute(*args))[1])
    start = NeighborEmbedding.initial_layout
    monkeypatch.setattr(NeighborEmbedding, "initial_layout", lambda *args: (starts.append(args), start(*args))[1])
    models = list(sweep(TSNEkhorn(max_iter=3, tol=1.0), X, (20, 5), exaggerations=(2, 1, 1.5)))
    settings = [(model.perplexity, model.exaggeration) for model in models]
    assert settings == [(5, 1), (5, 1.5), (5, 2), (20, 1), (20, 1.5), (20, 2)]
    assert len(computed) == 2
    assert len(starts) == 1
    assert np.shares_memory(models[0].affinity_, models[2].affinity_)
    for model in models[1:]:
        np.testing.assert_array_equal(model.init, models[0].init)


def test_a_random_start_is_shared_without_a_seed():
    first, second = sweep(TSNEkhorn(max_iter=3, tol=1.0, init="random"), X, exaggerations=(1, 2))
    np.testing.assert_array_equal(first.init, second.init)


def test_a_spectral_start_belongs_to_its_perplexity():
    first, second, third = sweep(TSNEkhorn(max_iter=3, tol=1.0, init="spectral"), X, (5, 20, 21), exaggerations=(2,))
    assert np.abs(first.init - second.init).max() > 1e-4
    assert np.abs(second.init - third.init).max() > 1e-6


def test_exaggerations_of_a_precomputed_affinity():
    P = SymmetricEntropicAffinity(10).fit_transform(X)
    model = TSNEkhorn(max_iter=60, affinity="precomputed")
    for found in sweep(model, P, exaggerations=(1, 2)):
        alone = clone(model).set_params(exaggeration=found.exaggeration).fit(P)
        np.testing.assert_array_equal(found.embedding_, alone.embedding_)


@pytest.mark.parametrize("form", ["matrix", "graph", "lists"])
def test_precomputed_costs(neighbours_only, form):
    squares = squared_distances(X)
    graph = kneighbors_graph(X, 90, mode="distance")
    graph.data **= 2
    near = np.argsort(squares, axis=1)[:, 1:91]
    costs = {"matrix": squares, "graph": graph, "lists": (near, np.take_along_axis(squares, near, axis=1))}[form]
    model = TSNEkhorn(max_iter=20, tol=1.0, metric="precomputed")
    for found in sweep(model, costs, (10, 20), exaggerations=(1, 2)):
        _has_the_affinity_of_a_single_fit(found, model, costs)


def test_too_little_memory_is_an_error_before_any_work(monkeypatch):
    monkeypatch.setattr(SymmetricEntropicAffinity, "compute", lambda *args: pytest.fail("an affinity was computed"))
    monkeypatch.setattr("snekhorn.runtime.memory.available_bytes", lambda: 100_000)
    with pytest.raises(InputError, match="the layout of 200 points"):
        next(sweep(TSNEkhorn(), X, exaggerations=(1, 2)))


@pytest.fixture
def neighbours_only(monkeypatch):
    """Treat few points like many, but solve their affinity as accurately as that of few."""
    monkeypatch.setattr("snekhorn.estimators.layout_parts.DENSE_LIMIT", 100)
    monkeypatch.setattr("snekhorn.estimators.layout_parts.GRAPH_TOL", 1e-8)


def _has_the_affinity_of_a_single_fit(fitted, model, points):
    alone = clone(model).set_params(perplexity=fitted.perplexity).fit(points)
    assert fitted.affinity_.nnz == alone.affinity_.nnz
    assert abs(fitted.affinity_ - alone.affinity_).max() < 1e-6
    assert fitted.affinity_report_.neighbor_recall == pytest.approx(alone.affinity_report_.neighbor_recall, abs=1e-3)


@pytest.mark.parametrize("method", [TSNEkhorn, TSNE, SNE])
@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine", "seuclidean"])
def test_many_points_share_their_neighbours(neighbours_only, method, metric):
    points = np.random.default_rng(0).normal(size=(300, 4))
    model = method(max_iter=3, tol=1.0, metric=metric)
    for fitted in sweep(model, points, (5, 10)):
        _has_the_affinity_of_a_single_fit(fitted, model, points)


def test_the_tolerance_of_many_points_bounds_the_difference(monkeypatch):
    """A sweep starts from the previous perplexity, so it ends elsewhere within the tolerance."""
    monkeypatch.setattr("snekhorn.estimators.layout_parts.DENSE_LIMIT", 100)
    model = TSNEkhorn(max_iter=3, tol=1.0)
    for fitted in sweep(model, X, (5, 10)):
        alone = clone(model).set_params(perplexity=fitted.perplexity).fit(X)
        assert abs(fitted.affinity_ - alone.affinity_).max() < GRAPH_TOL


def test_points_that_starve_among_hubs_are_fed(neighbours_only):
    """In 100 dimensions a few points are the neighbours of most, and the others get edges among themselves."""
    points = np.random.default_rng(0).normal(size=(800, 100))
    model = TSNEkhorn(max_iter=3, tol=1.0, self_loops=True)
    for fitted in sweep(model, points, (10, 20)):
        _has_the_affinity_of_a_single_fit(fitted, model, points)


def test_neighbours_are_searched_once(neighbours_only, monkeypatch):
    searched = []
    monkeypatch.setattr(
        "snekhorn.geometry.costs.find_neighbors", lambda *args: (searched.append(args), find_neighbors(*args))[1]
    )
    points = np.random.default_rng(0).normal(size=(300, 4))
    assert len(list(sweep(TSNE(max_iter=3, tol=1.0), points, (5, 10)))) == 2
    assert len(searched) == 1


@pytest.mark.parametrize("affinity", [None, "precomputed"])
def test_long_sums_are_said_once_before_any_work(monkeypatch, affinity):
    monkeypatch.setattr("snekhorn.estimators.resources.MANY_POINTS", 100)
    points = X if affinity is None else SymmetricEntropicAffinity(10).fit_transform(X)
    computed, compute = [], SymmetricEntropicAffinity.compute
    monkeypatch.setattr(
        SymmetricEntropicAffinity, "compute", lambda *args: (computed.append(len(said)), compute(*args))[1]
    )
    with pytest.warns(UserWarning, match="sums over all pairs of 200 points") as said:
        list(sweep(TSNEkhorn(max_iter=3, method="exact", affinity=affinity), points, exaggerations=(1, 2)))
    assert sum("sums over all pairs" in str(warning.message) for warning in said) == 1
    assert computed == ([1] if affinity is None else [])


def test_too_little_memory_for_points_in_blocks_is_an_error_before_they_are_read(monkeypatch):
    points = da.from_array(X, chunks=50)
    monkeypatch.setattr("snekhorn.runtime.memory.available_bytes", lambda: 100_000)
    monkeypatch.setattr(TSNEkhorn, "_read_training_blocks", lambda *args: pytest.fail("the points were read"))
    with pytest.raises(InputError, match="the layout of 200 points"):
        next(sweep(TSNEkhorn(), points, exaggerations=(1, 2)))


def test_neighbours_are_searched_as_in_a_fit(neighbours_only, monkeypatch):
    """With one thread of BLAS, on which the scales of a metric depend, and with the progress shown."""
    threads, shown, cov = [], [], np.cov

    def noted_cov(*args, **options):
        threads.extend(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")
        return cov(*args, **options)

    monkeypatch.setattr(np, "cov", noted_cov)
    monkeypatch.setattr(
        "snekhorn.geometry.costs.find_neighbors", lambda *args: (shown.append(is_shown()), find_neighbors(*args))[1]
    )
    model = TSNE(max_iter=3, tol=1.0, metric="mahalanobis", verbose=True)
    with threadpool_limits(2, user_api="blas"):
        next(sweep(model, X, (5, 10)))
    assert set(threads) == {1}
    assert shown == [True]


def test_recall_of_a_given_number_of_neighbours_is_reported():
    for fitted in sweep(TSNEkhorn(max_iter=3, tol=1.0, n_neighbors=40), X, (5, 10)):
        assert fitted.affinity_report_.neighbor_recall == 1.0


def test_a_start_that_does_not_fit_is_an_error_before_any_work(monkeypatch):
    monkeypatch.setattr(SymmetricEntropicAffinity, "compute", lambda *args: pytest.fail("an affinity was computed"))
    with pytest.raises(ValueError, match=r"init has shape \(3, 3\)"):
        next(sweep(TSNEkhorn(init=np.ones((3, 3))), X, (5, 10)))


def test_bad_parameters_are_errors_before_any_work():
    with pytest.raises(ValueError, match="perplexity must be"):
        next(sweep(TSNEkhorn(), X, (5, 0.5)))
    with pytest.raises(ValueError, match="perplexities is empty"):
        next(sweep(TSNEkhorn(), X, ()))
    with pytest.raises(InputError, match="perplexities have no effect on affinity='precomputed'"):
        next(sweep(TSNEkhorn(affinity="precomputed"), X, (5,)))
    with pytest.raises(InputError, match=r"affinity object, got affinity=SymmetricEntropicAffinity\(\); set affinity="):
        next(sweep(TSNEkhorn(affinity=SymmetricEntropicAffinity()), X, exaggerations=(1, 2)))
    with pytest.raises(InputError, match="pass perplexities, exaggerations or both"):
        next(sweep(TSNEkhorn(), X))
    with pytest.raises(InputError, match=r"exaggerations is empty; pass at least one value, as in \[1, 1.5, 2\]"):
        next(sweep(TSNEkhorn(), X, exaggerations=()))
    with pytest.raises(InputError, match="tol must be"):
        next(sweep(TSNEkhorn(tol=-1), X, exaggerations=(1, 2)))
    with pytest.raises(InputError, match=r"needs metric='precomputed', got metric='sqeuclidean'"):
        next(sweep(TSNEkhorn(n_neighbors=20), (np.zeros((9, 2), int), np.ones((9, 2))), (5, 10)))


@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, "2", None, True, [1.0]])
def test_exaggerations_that_are_not_positive_numbers(monkeypatch, value):
    monkeypatch.setattr(SymmetricEntropicAffinity, "compute", lambda *args: pytest.fail("an affinity was computed"))
    with pytest.raises(InputError, match="exaggeration must be a positive finite number, got"):
        next(sweep(TSNEkhorn(), X, exaggerations=[1, value]))


@pytest.mark.parametrize("exaggerations", [2, "1,2", np.array(2.0)])
def test_exaggerations_that_are_not_a_list(exaggerations):
    with pytest.raises(InputError, match=r"exaggerations must be a list of numbers, got .*such as \[1, 1.5, 2\]"):
        next(sweep(TSNEkhorn(), X, exaggerations=exaggerations))


@pytest.mark.parametrize("perplexities", [5, "30", [5, "a"], [[5]], [None], np.array(5.0), np.array([[5.0]])])
def test_perplexities_that_are_not_a_list_of_numbers(perplexities):
    with pytest.raises(InputError, match=r"perplexit(y|ies) must be a (finite|list of) number.*got"):
        next(sweep(TSNEkhorn(), X, perplexities))


def test_points_whose_components_overflow_are_refused_before_any_work(monkeypatch):
    monkeypatch.setattr(SymmetricEntropicAffinity, "compute", lambda *args: pytest.fail("an affinity was computed"))
    with pytest.raises(InputError, match=r"X has entries as large as .*e\+200 in .* squares overflow; scale X down"):
        next(sweep(TSNEkhorn(metric="manhattan"), 1e200 * X, (5, 10)))


def test_points_that_cannot_be_told_apart_are_refused(neighbours_only):
    points = 1e-200 * np.random.default_rng(0).normal(size=(101, 4))
    with pytest.raises(ValueError, match="underflow"):
        next(sweep(TSNEkhorn(), points, (5,)))


@pytest.mark.parametrize("ask", [TSNEkhorn.transform, TSNEkhorn.extend])
def test_a_model_cannot_place_new_points_and_says_what_can(ask):
    (model,) = sweep(TSNEkhorn(max_iter=20), X, [7.0], exaggerations=[1.5])
    with pytest.raises(
        InputError, match=r"sweep cannot .*; fit TSNEkhorn with perplexity=7 and exaggeration=1\.5 to X"
    ):
        ask(model, X[:2])
