"""The matrix does not depend on the container of the points, and the input is not modified."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline

from snekhorn.affinities import SymmetricEntropicAffinity

from ..helpers import AFFINITIES, dense, make, read_only, squared_distances, without_some_entries

each_affinity = pytest.mark.parametrize("kind", AFFINITIES)
dense_and_sparse = pytest.mark.parametrize("n_neighbors", [None, 25])

PERPLEXITY = 8.0


def _make(kind, **parameters):
    return make(kind, PERPLEXITY, **parameters)


def _memmap(X, folder):
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


def _wide_view(X, folder):
    wide = np.full((2 * X.shape[0], 3 * X.shape[1]), np.nan)
    wide[::2, 1::3] = X
    return wide[::2, 1::3]


KINDS = {
    "list": lambda X, folder: X.tolist(),
    "data frame": lambda X, folder: pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])]),
    "Fortran order": lambda X, folder: np.asfortranarray(X),
    "view": _wide_view,
    "memory map": _memmap,
    "read-only": read_only,
}
SPARSE_KINDS = {
    "csr matrix": sparse.csr_matrix,
    "csc matrix": sparse.csc_matrix,
    "coo matrix": sparse.coo_matrix,
    "csr array": sparse.csr_array,
}


@each_affinity
@dense_and_sparse
@pytest.mark.parametrize("holder", KINDS)
def test_points_in_any_array(X, kind, n_neighbors, holder, tmp_path):
    affinity = _make(kind, n_neighbors=n_neighbors)
    want = dense(affinity.fit_transform(X))
    found = affinity.fit_transform(KINDS[holder](X, tmp_path))
    np.testing.assert_array_equal(dense(found), want)
    assert affinity.n_features_in_ == X.shape[1]


@each_affinity
@dense_and_sparse
@pytest.mark.parametrize("holder", SPARSE_KINDS)
def test_points_in_a_sparse_matrix(X, kind, n_neighbors, holder):
    affinity = _make(kind, n_neighbors=n_neighbors)
    thin = without_some_entries(X)
    want = dense(affinity.fit_transform(thin))
    np.testing.assert_allclose(dense(affinity.fit_transform(SPARSE_KINDS[holder](thin))), want, atol=1e-7)


@each_affinity
def test_integers_are_taken_as_they_are(kind, rng):
    X = rng.integers(0, 50, size=(60, 3))
    affinity = _make(kind)
    np.testing.assert_array_equal(affinity.fit_transform(X), affinity.fit_transform(X.astype(float)))


@each_affinity
@pytest.mark.parametrize("holder", ["list", "data frame", "Fortran order", "memory map", "read-only"])
def test_precomputed_costs(X, kind, holder, tmp_path):
    C = squared_distances(X)
    want = _make(kind).fit_transform(X)
    found = _make(kind, metric="precomputed").fit_transform(KINDS[holder](C, tmp_path))
    np.testing.assert_allclose(found, want, rtol=0.0, atol=1e-9)
    assert type(found) is np.ndarray


@each_affinity
def test_precomputed_costs_can_be_made_sparse(X, kind):
    want = _make(kind, n_neighbors=25).fit_transform(X)
    found = _make(kind, metric="precomputed", n_neighbors=25).fit_transform(squared_distances(X))
    np.testing.assert_allclose(dense(found), dense(want), rtol=0.0, atol=1e-9)


def test_costs_symmetric_up_to_rounding_are_symmetrised(X):
    C = squared_distances(X)
    uneven = C * (1.0 + 1e-14 * np.random.default_rng(0).normal(size=C.shape))
    affinity = SymmetricEntropicAffinity(PERPLEXITY, metric="precomputed")
    P = affinity.fit_transform(uneven)
    np.testing.assert_array_equal(P, P.T)
    np.testing.assert_allclose(P, affinity.fit_transform(C), atol=1e-9)


@each_affinity
def test_the_graph_of_a_neighbors_transformer(X, kind):
    transformer = KNeighborsTransformer(n_neighbors=25, metric="sqeuclidean", mode="distance")
    found = make_pipeline(transformer, _make(kind, metric="precomputed")).fit_transform(X)
    np.testing.assert_allclose(dense(found), dense(_make(kind, n_neighbors=25).fit_transform(X)), atol=1e-7)


def test_zeros_stored_in_a_graph_are_costs_of_duplicates(X):
    twice = np.repeat(X, 2, axis=0)
    graph = KNeighborsTransformer(n_neighbors=25, metric="sqeuclidean", mode="distance").fit_transform(twice)
    found = SymmetricEntropicAffinity(PERPLEXITY, metric="precomputed").fit_transform(graph)
    assert (found[np.arange(0, 120, 2), np.arange(1, 120, 2)] > 0.1).all()


def _lists(X, k=25):
    C = squared_distances(X)
    np.fill_diagonal(C, np.inf)
    indices = np.argsort(C, axis=1)[:, :k]
    return indices, np.take_along_axis(C, indices, axis=1)


@each_affinity
@pytest.mark.parametrize(
    "form",
    [
        lambda indices, costs: (indices, costs),
        lambda indices, costs: (indices.astype(np.int32), np.asfortranarray(costs)),
        lambda indices, costs: (indices.astype(np.uint64), costs),
        lambda indices, costs: (indices.tolist(), costs.tolist()),
    ],
    ids=["arrays", "int32", "uint64", "lists"],
)
def test_indices_and_distances(X, kind, form):
    found = _make(kind, metric="precomputed").fit_transform(form(*_lists(X)))
    np.testing.assert_allclose(dense(found), dense(_make(kind, n_neighbors=25).fit_transform(X)), atol=1e-9)


def test_lists_that_begin_with_the_point_itself(X):
    indices, costs = _lists(X)
    own = np.arange(len(X))[:, None]
    affinity = SymmetricEntropicAffinity(PERPLEXITY, metric="precomputed")
    want = affinity.fit_transform((indices, costs))
    found = affinity.fit_transform((np.hstack([own, indices]), np.hstack([0.0 * own, costs])))
    np.testing.assert_array_equal(dense(found), dense(want))


def test_a_neighbour_listed_twice_counts_once(X):
    indices, costs = _lists(X)
    affinity = SymmetricEntropicAffinity(PERPLEXITY, metric="precomputed")
    want = affinity.fit_transform((indices, costs))
    found = affinity.fit_transform((np.hstack([indices, indices[:, :3]]), np.hstack([costs, costs[:, :3]])))
    np.testing.assert_allclose(dense(found), dense(want), atol=1e-9)


@each_affinity
@pytest.mark.parametrize("metric", ["euclidean", "l2", "cosine", "manhattan", "chebyshev", "correlation"])
def test_the_sparse_form_uses_the_same_metric(many, kind, metric):
    X = many[:90]
    full = dense(_make(kind, metric=metric).fit_transform(X))
    graph = dense(_make(kind, metric=metric, n_neighbors=89).fit_transform(X))
    np.testing.assert_allclose(graph, full, rtol=0.0, atol=1e-7)


@each_affinity
@dense_and_sparse
def test_points_are_not_changed(X, kind, n_neighbors):
    before = X.copy()
    _make(kind, n_neighbors=n_neighbors).fit(X)
    np.testing.assert_array_equal(X, before)


@each_affinity
@dense_and_sparse
def test_costs_are_not_changed(X, kind, n_neighbors):
    C = squared_distances(X)
    before = C.copy()
    P = _make(kind, metric="precomputed", n_neighbors=n_neighbors).fit_transform(C)
    np.testing.assert_array_equal(C, before)
    assert sparse.issparse(P) or not np.shares_memory(P, C)


@each_affinity
@pytest.mark.parametrize("self_loops", [True, False])
def test_graphs_are_not_changed(X, kind, self_loops):
    graph = KNeighborsTransformer(n_neighbors=25, metric="sqeuclidean").fit_transform(X)
    before = graph.copy()
    _make(kind, metric="precomputed", self_loops=self_loops).fit(graph)
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(graph, name), getattr(before, name))


@each_affinity
def test_neighbour_lists_are_not_changed(X, kind):
    indices, costs = _lists(X)
    before = indices.copy(), costs.copy()
    _make(kind, metric="precomputed").fit((indices, costs))
    np.testing.assert_array_equal(indices, before[0])
    np.testing.assert_array_equal(costs, before[1])


@each_affinity
def test_is_a_scikit_learn_estimator(X, kind):
    affinity = kind(n_neighbors=20, self_loops=False, n_jobs=2)
    twin = clone(affinity)
    assert twin is not affinity
    assert twin.get_params() == affinity.get_params()
    assert twin.set_params(n_neighbors=None).get_params()["n_neighbors"] is None
    assert kind.__name__ in repr(affinity)
    assert "n_neighbors=20" in repr(affinity)


@each_affinity
def test_fitting_changes_no_parameter(X, kind):
    affinity = _make(kind)
    before = affinity.get_params()
    assert affinity.fit(X) is affinity
    assert affinity.get_params() == before


@each_affinity
def test_survives_a_pickle(X, kind):
    affinity = _make(kind).fit(X)
    again = pickle.loads(pickle.dumps(affinity))
    np.testing.assert_array_equal(again.affinity_, affinity.affinity_)
    assert str(again.report_) == str(affinity.report_)


@each_affinity
@dense_and_sparse
def test_fit_transform_returns_what_fit_keeps(X, kind, n_neighbors):
    affinity = _make(kind, n_neighbors=n_neighbors)
    P = affinity.fit_transform(X)
    assert P is affinity.affinity_
    assert sparse.issparse(P) == (n_neighbors is not None)
    assert affinity.report_.neighbor_recall == (None if n_neighbors is None else 1.0)
