"""Several perplexities at once: symmetric, doubly stochastic, and between the scales."""

import numpy as np
import pytest
from sklearn.base import clone

from snekhorn import TSNEkhorn
from snekhorn.affinities import MultiscaleSymmetricEntropicAffinity, SymmetricEntropicAffinity, row_perplexities

from ..helpers import clusters, dense, row_gap

SCALES = (4.0, 8.0, 16.0)
with_and_without_self_loops = pytest.mark.parametrize("self_loops", [True, False])
dense_and_sparse = pytest.mark.parametrize("n_neighbors", [None, 48])


@with_and_without_self_loops
@dense_and_sparse
def test_it_is_symmetric_and_doubly_stochastic(self_loops, n_neighbors):
    affinity = MultiscaleSymmetricEntropicAffinity(SCALES, self_loops=self_loops, n_neighbors=n_neighbors)
    P = affinity.fit_transform(clusters(120))
    assert affinity.report_.converged
    np.testing.assert_array_equal(dense(P), dense(P).T)
    assert row_gap(P) < 1e-8
    assert self_loops or not np.diag(dense(P)).any()


@with_and_without_self_loops
def test_it_is_the_mean_of_the_scales(self_loops):
    X = clusters(90)
    P = MultiscaleSymmetricEntropicAffinity(SCALES[::-1], self_loops=self_loops).fit_transform(X)
    each = [SymmetricEntropicAffinity(xi, self_loops=self_loops).fit_transform(X) for xi in SCALES]
    np.testing.assert_allclose(P, np.mean(each, axis=0), atol=1e-7)


def test_row_perplexities_are_between_the_bounds():
    P = MultiscaleSymmetricEntropicAffinity(SCALES).fit_transform(clusters(90))
    mean = np.exp(np.mean(np.log(SCALES)))
    rows = row_perplexities(P)
    assert rows.min() > mean
    assert rows.max() < len(SCALES) * mean


def test_one_scale_is_the_symmetric_entropic_affinity():
    X = clusters(60)
    P = MultiscaleSymmetricEntropicAffinity([10.0]).fit_transform(X)
    np.testing.assert_allclose(P, SymmetricEntropicAffinity(10.0).fit_transform(X), atol=1e-12)


def test_scales_by_themselves_double_up_to_half_of_the_points():
    affinity = MultiscaleSymmetricEntropicAffinity().fit(clusters(150))
    assert affinity.perplexities_ == [8.0, 16.0, 32.0, 64.0]
    assert len(affinity.reports_) == 4
    assert affinity.report_.n_passes == sum(report.n_passes for report in affinity.reports_)
    few = MultiscaleSymmetricEntropicAffinity().fit(clusters(10))
    assert few.perplexities_ == [5.0]
    graph = MultiscaleSymmetricEntropicAffinity(n_neighbors=60).fit(clusters(150))
    assert max(graph.perplexities_) <= max(np.diff(graph.affinity_.indptr)) / 3


def test_a_graph_is_wide_enough_for_the_largest_scale():
    affinity = MultiscaleSymmetricEntropicAffinity((5.0, 20.0), n_neighbors="auto").fit(clusters(200))
    assert np.diff(affinity.affinity_.indptr).min() >= 60


def test_estimators_take_it():
    X = clusters(90)
    model = TSNEkhorn(affinity=MultiscaleSymmetricEntropicAffinity(SCALES), max_iter=400, tol=1e-2).fit(X)
    assert model.embedding_.shape == (90, 2)
    np.testing.assert_allclose(model.transform(X[:3]), model.embedding_[:3])
    assert clone(model).affinity.perplexities == SCALES


@pytest.mark.parametrize(
    ("perplexities", "message"),
    [((), "perplexities is empty"), ("all", "perplexities must be one of"), ((5.0, 0.5), "perplexity must be")],
)
def test_bad_scales_are_named(perplexities, message):
    with pytest.raises(ValueError, match=message):
        MultiscaleSymmetricEntropicAffinity(perplexities).fit(clusters(30))
