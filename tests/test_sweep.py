"""Several perplexities at once give what each gives alone."""

import numpy as np
import pytest

from snekhorn import SNE, TSNE, SNEkhorn, TSNEkhorn
from snekhorn.estimators.parts import DENSE_LIMIT
from snekhorn.sweep import sweep

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


def test_many_points_share_their_neighbours():
    points = np.random.default_rng(0).normal(size=(DENSE_LIMIT + 1, 4))
    for model in sweep(TSNEkhorn(max_iter=3, tol=1.0), points, (5, 10)):
        alone = TSNEkhorn(max_iter=3, tol=1.0, perplexity=model.perplexity).fit(points)
        assert model.affinity_.nnz == alone.affinity_.nnz
        assert abs(model.affinity_ - alone.affinity_).max() < 1e-6


def test_bad_parameters_are_errors_before_any_work():
    with pytest.raises(ValueError, match="perplexity must be"):
        next(sweep(TSNEkhorn(), X, (5, 0.5)))
    with pytest.raises(ValueError, match="perplexities is empty"):
        next(sweep(TSNEkhorn(), X, ()))
    with pytest.raises(ValueError, match="affinity=None"):
        next(sweep(TSNEkhorn(affinity="precomputed"), X, (5,)))


def test_points_that_cannot_be_told_apart_are_refused():
    points = 1e-200 * np.random.default_rng(0).normal(size=(DENSE_LIMIT + 1, 4))
    with pytest.raises(ValueError, match="underflow"):
        next(sweep(TSNEkhorn(), points, (5,)))
