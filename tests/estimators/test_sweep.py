"""A sweep gives the same results as separate fits."""

import numpy as np
import pytest
from sklearn.base import clone

from snekhorn import SNE, TSNE, SNEkhorn, TSNEkhorn
from snekhorn.affinities import SymmetricEntropicAffinity
from snekhorn.errors import InputError
from snekhorn.estimators.sweep import sweep
from snekhorn.geometry.neighbor_search import find_neighbors

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


@pytest.fixture
def neighbours_only(monkeypatch):
    """Treat few points like many."""
    monkeypatch.setattr("snekhorn.estimators.neighbor_embedding.DENSE_LIMIT", 100)


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
    with pytest.raises(ValueError, match="affinity=None"):
        next(sweep(TSNEkhorn(affinity="precomputed"), X, (5,)))


@pytest.mark.parametrize("perplexities", [5, None, "30", [5, "a"], [[5]], [None], np.array(5.0), np.array([[5.0]])])
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
