"""Units, offsets and histories that must not spoil a result silently."""

import warnings

import numpy as np
import pytest

from snekhorn.affinities import (
    DoublyStochasticAffinity,
    EntropicAffinity,
    GaussianAffinity,
    SelfTuningAffinity,
    SymmetricEntropicAffinity,
)
from snekhorn.neighbors import find_neighbors
from tests.helpers import clusters, dense

X = clusters(60)


@pytest.mark.parametrize("n_neighbors", [None, 30])
@pytest.mark.parametrize(("factor", "word"), [(1e200, "overflow"), (1e-200, "underflow")])
@pytest.mark.parametrize(
    "affinity", [EntropicAffinity, GaussianAffinity, SelfTuningAffinity, SymmetricEntropicAffinity]
)
def test_costs_out_of_range_are_an_error(affinity, factor, word, n_neighbors):
    with np.errstate(over="ignore"), pytest.raises(ValueError, match=word):
        affinity(n_neighbors=n_neighbors).fit(X * factor)


def test_float32_costs_out_of_range_are_an_error():
    with pytest.raises(ValueError, match="overflow float32"):
        EntropicAffinity(10.0).fit((X * 1e30).astype(np.float32))


@pytest.mark.parametrize("offset", [1e3, 1e5])
def test_neighbours_within_groups_far_apart(offset):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(1000, 20))
    points[500:] += offset
    found = find_neighbors(points, 10, "sqeuclidean", 1)
    distances = ((points[:, None] - points[None, :500]) ** 2).sum(-1)[:500]
    np.fill_diagonal(distances, np.inf)
    truth = np.sort(distances, axis=1)[:, :10]
    assert np.mean(found.costs[:500] <= truth[:, -1:] * (1 + 1e-12)) >= 0.9
    assert found.recall >= 0.9


LATTICE = np.stack(np.meshgrid(np.arange(6.0), np.arange(6.0)), axis=-1).reshape(-1, 2)  # rows of equal costs
STACK = np.concatenate([np.zeros((60, 3)), clusters(40)])
ALIKE = {
    "lattice": (LATTICE, SymmetricEntropicAffinity(2.5, n_neighbors=4, self_loops=False)),
    "stack": (STACK, SymmetricEntropicAffinity(8.0, n_neighbors=15)),
    "stack, one bandwidth": (STACK, GaussianAffinity(perplexity=8.0, n_neighbors=15)),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scale", [1e-6, 0.01, 0.1, 1e6])
@pytest.mark.parametrize("name", ALIKE)
def test_rows_of_equal_costs_are_the_same_at_any_scale(name, scale, dtype):
    points, affinity = ALIKE[name]
    want = dense(affinity.fit_transform(points))
    assert affinity.report_.converged
    found = dense(affinity.fit_transform((points * scale).astype(dtype)))
    assert affinity.report_.converged
    # In float32 the last of a point's neighbours, two of them equally far, may be another one.
    np.testing.assert_allclose(found, want, atol=1e-6 if dtype == np.float64 else 1e-2)


@pytest.mark.parametrize("affinity", [GaussianAffinity, DoublyStochasticAffinity])
def test_an_average_perplexity_that_no_bandwidth_has_is_said(affinity):
    report = affinity(perplexity=5.0).fit(np.repeat(X[:2], 30, axis=0)).report_
    assert report.entropy_gap == pytest.approx(np.log(30.0 / 5.0))
    assert report.n_floor_rows == 60
    assert affinity(perplexity=5.0).fit(X).report_.n_floor_rows == 0


def test_a_warm_start_recovers_from_data_of_another_scale():
    affinity = SymmetricEntropicAffinity(10.0, warm_start=True)
    affinity.fit(X * 1e-6)
    cold = SymmetricEntropicAffinity(10.0).fit(X)
    assert affinity.fit(X).report_.converged
    np.testing.assert_allclose(affinity.affinity_, cold.affinity_, atol=1e-6)


@pytest.mark.parametrize("method", ["fit", "fit_transform"])
def test_warnings_point_at_the_caller(method):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        getattr(SymmetricEntropicAffinity(500.0), method)(X)
    assert [w.filename for w in caught] == [__file__]


@pytest.mark.parametrize("n_neighbors", [None, 20])
def test_cosine_of_a_zero_row_is_an_error(n_neighbors):
    with pytest.raises(ValueError, match="row 3 of X is zero"):
        EntropicAffinity(5.0, metric="cosine", n_neighbors=n_neighbors).fit(
            np.where(np.arange(60)[:, None] == 3, 0.0, X)
        )
