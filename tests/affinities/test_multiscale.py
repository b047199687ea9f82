"""The multi-scale affinity is symmetric and doubly stochastic, with perplexities between its bounds."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from snekhorn import TSNEkhorn
from snekhorn.affinities import MultiscaleSymmetricEntropicAffinity, SymmetricEntropicAffinity, row_perplexities
from snekhorn.affinities.measured_rows import MeasuredRows

from ..helpers import clusters, dense, fit_whatever_it_says, full_matrices_held, row_gap

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


@dense_and_sparse
def test_the_reports_of_scales_are_measured_from_their_matrices(n_neighbors):
    affinity = MultiscaleSymmetricEntropicAffinity([10.0], n_neighbors=n_neighbors)
    rows = MeasuredRows.of(affinity.fit_transform(clusters(120).astype(np.float32)))
    gaps = np.abs(rows.log_perplexities - np.log(10.0))
    gaps[affinity.reports_[0].floor_rows] = 0.0
    for report in (affinity.report_, *affinity.reports_):
        assert report.converged
        assert report.marginal_gap == rows.marginal_gap
        assert report.entropy_gap == pytest.approx(gaps.max(), rel=1e-12)


def test_scales_by_themselves_double_up_to_half_of_the_points():
    affinity = MultiscaleSymmetricEntropicAffinity().fit(clusters(150))
    assert affinity.perplexities_ == [8.0, 16.0, 32.0, 64.0]
    assert len(affinity.reports_) == 4
    assert affinity.report_.n_passes == sum(report.n_passes for report in affinity.reports_)
    few = MultiscaleSymmetricEntropicAffinity().fit(clusters(10))
    assert few.perplexities_ == [5.0]
    graph = MultiscaleSymmetricEntropicAffinity(n_neighbors=60).fit(clusters(150))
    assert max(graph.perplexities_) <= max(np.diff(graph.affinity_.indptr)) / 3


@with_and_without_self_loops
@pytest.mark.parametrize("n_neighbors", [None, 1, 2, 3, 5])
@pytest.mark.parametrize("n", [2, 3, 10])
def test_scales_by_themselves_are_perplexities_however_few_the_points(self_loops, n_neighbors, n):
    affinity = MultiscaleSymmetricEntropicAffinity(self_loops=self_loops, n_neighbors=n_neighbors)
    said = fit_whatever_it_says(affinity, clusters(n))
    single_entry = n == 2 and not self_loops
    assert len(affinity.perplexities_) == 1
    assert (affinity.perplexities_[0] > 1.0) != single_entry
    assert not (self_loops and said)


@pytest.mark.parametrize("perplexities", [(50, 100), (19, 50, 100)])
def test_scales_that_are_too_large_are_one_with_one_warning(perplexities):
    X = clusters(20)
    affinity = MultiscaleSymmetricEntropicAffinity((5, *perplexities))
    with pytest.warns(UserWarning, match="perplexity=100 .* using 19") as said:
        affinity.fit(X)
    assert len(said) == 1
    assert affinity.perplexities_ == [5.0, 19.0]
    np.testing.assert_array_equal(affinity.affinity_, MultiscaleSymmetricEntropicAffinity((5, 19)).fit_transform(X))


def test_the_warning_of_rows_that_a_graph_is_too_narrow_for_names_the_largest_scale():
    affinity = MultiscaleSymmetricEntropicAffinity(n_neighbors=40).fit(clusters(150))
    affinity.report_.unreachable_rows = np.array([3])
    with pytest.warns(UserWarning, match=rf"cannot reach perplexity {affinity.perplexities_[-1]:g} "):
        affinity._warn_of_problems()


@pytest.mark.parametrize("hold", [list, np.array, pd.Series])
def test_scales_in_any_list(hold):
    X = clusters(60)
    found = MultiscaleSymmetricEntropicAffinity(hold(SCALES)).fit_transform(X)
    np.testing.assert_array_equal(found, MultiscaleSymmetricEntropicAffinity(SCALES).fit_transform(X))


def test_a_graph_is_wide_enough_for_the_largest_scale():
    affinity = MultiscaleSymmetricEntropicAffinity((5.0, 20.0), n_neighbors="auto").fit(clusters(200))
    assert np.diff(affinity.affinity_.indptr).min() >= 30


def test_costs_and_affinity_are_all_that_is_held():
    """In addition, there are two blocks of 256 rows, each a fifth of a matrix here."""
    assert full_matrices_held(MultiscaleSymmetricEntropicAffinity(SCALES, n_jobs=1), clusters(1280)) < 2.5


def test_estimators_take_it():
    X = clusters(90)
    model = TSNEkhorn(affinity=MultiscaleSymmetricEntropicAffinity(SCALES), max_iter=400, tol=1e-2).fit(X)
    assert model.embedding_.shape == (90, 2)
    np.testing.assert_allclose(model.transform(X[:3]), model.embedding_[:3])
    assert clone(model).affinity.perplexities == SCALES


@pytest.mark.parametrize(
    ("perplexities", "message"),
    [
        ((), "perplexities is empty"),
        ("all", "perplexities must be one of"),
        ((5.0, 0.5), "perplexity must be"),
        (30.0, r"perplexities must be 'auto' or a list .* got 30\.0; \[10"),
        (None, "perplexities must be 'auto' or a list .* got None"),
        (np.array(30.0), "perplexities must be 'auto' or a list .* got array"),
        ({30.0}, r"perplexities must be 'auto' or a list .* got \{30\.0\}"),
    ],
)
def test_bad_scales_are_named(perplexities, message):
    with pytest.raises(ValueError, match=message):
        MultiscaleSymmetricEntropicAffinity(perplexities).fit(clusters(30))
