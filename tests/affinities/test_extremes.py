"""Units, offsets and earlier fits must not silently change a result."""

import warnings
from types import SimpleNamespace

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
from snekhorn.errors import InputError
from snekhorn.geometry.neighbor_search import find_neighbors as find_graph
from snekhorn.runtime.execution import Threads

from ..helpers import AFFINITIES, clusters, dense, entropies, has_unit_rows, make, row_gap, squared_distances

X = clusters(60)


@pytest.mark.parametrize("n_neighbors", [None, 30])
@pytest.mark.parametrize(("factor", "word"), [(1e200, "overflow"), (1e-200, "underflow")])
@pytest.mark.parametrize(
    "affinity", [EntropicAffinity, GaussianAffinity, SelfTuningAffinity, SymmetricEntropicAffinity]
)
def test_costs_out_of_range_are_an_error(affinity, factor, word, n_neighbors):
    with np.errstate(over="ignore"), pytest.raises(ValueError, match=word):
        affinity(n_neighbors=n_neighbors).fit(X * factor)


@pytest.mark.parametrize("metric", ["seuclidean", "mahalanobis"])
@pytest.mark.parametrize(
    ("factor", "message"),
    [(1e200, "overflow .*; scale .* down"), (1e-200, "underflow .*; scale .* up"), (1e-160, "underflow")],
)
def test_columns_whose_deviations_are_out_of_range_are_named(metric, factor, message):
    points = X * np.where(np.arange(X.shape[1]) == 1, factor, 1.0)
    with pytest.raises(InputError, match=f"column 1 of X has entries as large as .* squared differences {message}"):
        EntropicAffinity(10.0, metric=metric).fit(points)


def test_float32_costs_out_of_range_are_an_error():
    with pytest.raises(ValueError, match="overflow float32"):
        EntropicAffinity(10.0).fit((X * 1e30).astype(np.float32))


def _lists(C):
    """Every point's costs to all others, as (indices, distances)."""
    others = np.array([np.delete(np.arange(len(C)), i) for i in range(len(C))])
    return others, np.take_along_axis(C, others, axis=1)


@pytest.mark.parametrize("n_neighbors", [None, 30])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, _lists])
@pytest.mark.parametrize("kind", AFFINITIES)
def test_precomputed_costs_out_of_range_are_an_error(kind, form, n_neighbors):
    C = squared_distances(X)
    with pytest.raises(ValueError, match=r"at most 1e-305, underflow float64; scale X up"):
        kind(metric="precomputed", n_neighbors=n_neighbors).fit(form(C / C.max() * 1e-305))


@pytest.mark.parametrize("form", [np.asarray, _lists])
def test_precomputed_costs_that_are_all_zero_are_those_of_duplicates(form):
    P = EntropicAffinity(5.0, metric="precomputed").fit_transform(form(np.zeros((60, 60))))
    np.testing.assert_allclose(dense(P), 1.0 / 60.0, rtol=1e-12)


@pytest.mark.parametrize("n_neighbors", [None, 20, 59])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_without_a_correlation_are_named(dtype, n_neighbors):
    points = np.where(np.arange(60)[:, None] == 7, 2.0, X).astype(dtype)
    with pytest.raises(ValueError, match=r"metric='correlation' is undefined for row 7 of X; drop it or choose"):
        EntropicAffinity(5.0, metric="correlation", n_neighbors=n_neighbors).fit(points)


@pytest.mark.parametrize("n_neighbors", [None, 20])
def test_a_correlation_that_overflows_is_not_undefined(n_neighbors):
    with pytest.raises(ValueError, match="overflow float64; scale X down"):
        EntropicAffinity(5.0, metric="correlation", n_neighbors=n_neighbors).fit(X * 1e200)


STACK = np.repeat(np.arange(5), 20)
STACKS = np.arange(10.0).reshape(5, 2)[STACK] ** 2


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("self_loops", [True, False])
@pytest.mark.parametrize("kind", AFFINITIES)
def test_neighbours_that_are_all_duplicates_are_alike(kind, self_loops, form):
    affinity = make(kind, 5.0, n_neighbors=10, self_loops=self_loops)
    P = dense(affinity.fit_transform(form(STACKS)))
    assert affinity.report_.converged
    assert (P[STACK[:, None] != STACK] == 0.0).all()
    if has_unit_rows(kind):
        assert row_gap(P) < 1e-7
        assert entropies(P).min() > np.log(5.0)
    else:
        assert len(set(P[P > 0.0])) == 1


def test_duplicates_do_not_hide_an_underflow():
    with pytest.raises(ValueError, match="underflow"):
        EntropicAffinity(5.0, n_neighbors=25).fit(STACKS * 1e-200)


@pytest.mark.filterwarnings("ignore:Data was converted to boolean")
@pytest.mark.parametrize("n_neighbors", [None, 10])
def test_zero_costs_of_a_metric_without_units_are_no_underflow(n_neighbors):
    sizes = 1.0 + np.arange(60.0)[:, None]
    P = dense(EntropicAffinity(5.0, metric="jaccard", n_neighbors=n_neighbors).fit_transform(sizes))
    assert np.ptp(P[P > 0.0]) < 1e-12


@pytest.mark.parametrize("n_neighbors", [None, 30])
@pytest.mark.parametrize("factor", [1e200, 1e-200])
def test_the_unit_does_not_matter_to_the_cosine(factor, n_neighbors):
    affinity = EntropicAffinity(5.0, metric="cosine", n_neighbors=n_neighbors)
    want = dense(affinity.fit_transform(X))
    np.testing.assert_allclose(dense(affinity.fit_transform(X * factor)), want, atol=1e-12)


def find_neighbors(X, k, metric, execution):
    """Neighbour lists (n, k), their costs, and the recall."""
    graph = find_graph(X, k, metric, execution)
    return SimpleNamespace(indices=graph.indices.reshape(-1, k), costs=graph.costs.reshape(-1, k), recall=graph.recall)


def _groups_apart(offset, dtype, p):
    points = np.random.default_rng(0).normal(size=(600, p))
    points[300:] += offset
    return points.astype(dtype)


# The offsets whose float32 can tell no point of a group from another are searched by differences.
@pytest.mark.parametrize("metric", ["sqeuclidean", "euclidean"])
@pytest.mark.parametrize("p", [3, 20])
@pytest.mark.parametrize(("offset", "dtype"), [(1e3, float), (1e5, float), (1e9, float), (1e8, np.float32)])
def test_neighbours_within_groups_far_apart(offset, dtype, p, metric):
    points = _groups_apart(offset, dtype, p)
    found = find_neighbors(points, 10, metric, Threads())
    distances = squared_distances(points) ** (1.0 if metric == "sqeuclidean" else 0.5)
    rounding = 4 * np.finfo(dtype).eps
    np.testing.assert_allclose(found.costs, np.take_along_axis(distances, found.indices, axis=1), rtol=rounding)
    np.fill_diagonal(distances, np.inf)
    farthest = np.sort(distances, axis=1)[:, 9:10]
    recall = np.mean(found.costs <= farthest * (1 + rounding), axis=1)
    assert recall[:300].mean() >= 0.9
    assert recall[300:].mean() >= 0.9
    assert found.recall == pytest.approx(recall.mean(), abs=0.03)
    assert found.costs.dtype == dtype
    assert (np.diff(found.costs, axis=1) >= 0.0).all()


@pytest.mark.parametrize("p", [3, 20])
def test_neighbours_within_groups_far_apart_do_not_depend_on_the_threads(p):
    points = _groups_apart(1e9, float, p)
    one, three = (find_neighbors(points, 10, "sqeuclidean", Threads(n)) for n in (1, 3))
    np.testing.assert_array_equal(three.indices, one.indices)
    np.testing.assert_array_equal(three.costs, one.costs)


def test_all_points_of_groups_whose_distance_overflows_are_found():
    points = _groups_apart(1e25, np.float32, 20)[290:310]
    found = find_neighbors(points, 19, "sqeuclidean", Threads())
    assert all(set(row) == set(range(20)) - {i} for i, row in enumerate(found.indices.tolist()))


LATTICE = np.stack(np.meshgrid(np.arange(6.0), np.arange(6.0)), axis=-1).reshape(-1, 2)  # rows of equal costs
PILE = np.concatenate([np.zeros((60, 3)), clusters(40)])
ALIKE = {
    "lattice": (LATTICE, SymmetricEntropicAffinity(2.5, n_neighbors=4, self_loops=False)),
    "pile": (PILE, SymmetricEntropicAffinity(8.0, n_neighbors=15)),
    "pile, one bandwidth": (PILE, GaussianAffinity(perplexity=8.0, n_neighbors=15)),
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
