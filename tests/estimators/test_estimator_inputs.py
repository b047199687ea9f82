"""The layout does not depend on the container of the points, and the input is not modified."""

from contextlib import nullcontext

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.neighbors import KNeighborsTransformer

from snekhorn import SNE, TSNE, SNEkhorn, TSNEkhorn
from snekhorn.affinities import (
    DoublyStochasticAffinity,
    EntropicAffinity,
    GaussianAffinity,
    SelfTuningAffinity,
    SymmetricEntropicAffinity,
)

from ..helpers import dense, read_only, squared_distances, without_some_entries
from .cases import each_estimator, each_method, quick, stops_early

pytestmark = stops_early

NAMES = ["a", "b", "c"]


def _memmap(X, folder):
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


HOLDERS = {
    "list": lambda X, folder: X.tolist(),
    "pandas": lambda X, folder: pd.DataFrame(X, columns=NAMES),
    "polars": lambda X, folder: pl.DataFrame(X, schema=NAMES),
    "Fortran order": lambda X, folder: np.asfortranarray(X),
    "memory map": _memmap,
    "read-only": read_only,
}


@each_estimator
@pytest.mark.parametrize("holder", HOLDERS)
def test_points_in_any_array(X, kind, holder, tmp_path):
    held = HOLDERS[holder](X, tmp_path)
    estimator = quick(kind)
    want = estimator.fit_transform(X)
    np.testing.assert_allclose(estimator.fit_transform(held), want, atol=1e-9)
    np.testing.assert_array_equal(estimator.transform(held), estimator.embedding_)
    assert estimator.n_features_in_ == 3


@pytest.mark.parametrize("holder", ["pandas", "polars"])
def test_names_of_features(X, holder, tmp_path):
    points = HOLDERS[holder](X, tmp_path)
    estimator = quick(TSNEkhorn).fit(points)
    assert list(estimator.feature_names_in_) == NAMES
    with pytest.raises(ValueError, match="feature names should match"):
        estimator.transform(points[["b", "a", "c"]])


@pytest.mark.parametrize("given", ["P", "lists", "points"])
def test_names_of_features_are_those_of_the_last_fit(X, given, tmp_path):
    estimator = quick(TSNEkhorn).fit(HOLDERS["pandas"](X, tmp_path))
    if given == "P":
        estimator.set_params(affinity="precomputed").fit(estimator.affinity_)
    elif given == "lists":
        estimator.set_params(metric="precomputed").fit(_lists(X, 25))
    else:
        estimator.fit(X)
    assert not hasattr(estimator, "feature_names_in_")


@each_estimator
@each_method
def test_float32_stays_float32(X, kind, method):
    estimator = quick(kind, method=method)
    want = estimator.fit_transform(X)
    Z = estimator.fit_transform(X.astype(np.float32))
    assert want.dtype == np.float64
    assert Z.dtype == np.float32
    assert estimator.affinity_.dtype == np.float32
    assert estimator.transform(X[:3].astype(np.float32) + 1).dtype == np.float32
    assert np.corrcoef(squared_distances(Z).ravel(), squared_distances(want).ravel())[0, 1] > 0.9


@each_estimator
@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array])
def test_points_in_a_sparse_matrix(X, kind, form):
    thin = without_some_entries(X)
    estimator = quick(kind, init=X[:, :2])
    want = estimator.fit_transform(thin)
    np.testing.assert_allclose(estimator.fit_transform(form(thin)), want, atol=1e-4)
    np.testing.assert_array_equal(estimator.transform(form(thin)), estimator.embedding_)


@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine", "manhattan", "precomputed"])
def test_unsorted_entries_that_cannot_be_written_to(X, metric):
    """joblib passes such matrices to its processes; SciPy would sort them in place."""
    thin = without_some_entries(X)
    held = squared_distances(thin) if metric == "precomputed" else thin
    backwards = sparse.csr_matrix(held[:, ::-1])
    arrays = (backwards.data, held.shape[1] - 1 - backwards.indices, backwards.indptr)
    for array in arrays:
        array.setflags(write=False)
    unsorted = sparse.csr_matrix(arrays, shape=held.shape)
    assert not unsorted.has_sorted_indices
    estimator = quick(TSNEkhorn, metric=metric)
    want = estimator.fit_transform(sparse.csr_matrix(held))
    np.testing.assert_array_equal(estimator.fit_transform(unsorted), want)
    if metric != "precomputed":
        np.testing.assert_array_equal(estimator.transform(unsorted), want)
    assert not unsorted.has_sorted_indices


@pytest.mark.parametrize("n_features", [1, 2, 3])
@pytest.mark.parametrize("n_components", [1, 2, 3])
def test_few_features_give_any_number_of_components(X, n_features, n_components):
    Z = quick(TSNEkhorn, n_components=n_components).fit_transform(X[:, :n_features])
    assert Z.shape == (60, n_components)
    assert (Z.std(axis=0) > 0.0).all()


@each_estimator
@pytest.mark.parametrize("n_components", [1, 2, 3])
def test_components(X, kind, n_components):
    estimator = quick(kind, n_components=n_components)
    Z = estimator.fit_transform(X)
    assert Z.shape == (60, n_components)
    assert np.isfinite(Z).all()
    assert estimator.transform(X[:4] + 0.1).shape == (4, n_components)


@each_estimator
def test_precomputed_costs(X, kind):
    C = squared_distances(X)
    before = C.copy()
    start = X[:, :2]
    want = quick(kind, init=start).fit_transform(X)
    np.testing.assert_allclose(quick(kind, init=start, metric="precomputed").fit_transform(C), want, atol=1e-6)
    np.testing.assert_array_equal(C, before)


def _lists(X, k):
    C = squared_distances(X)
    np.fill_diagonal(C, np.inf)
    indices = np.argsort(C, axis=1)[:, :k]
    return indices, np.take_along_axis(C, indices, axis=1)


@each_estimator
def test_precomputed_graphs(X, kind, monkeypatch):
    monkeypatch.setattr("snekhorn.estimators.layout_parts.GRAPH_TOL", 1e-8)  # as for a full matrix
    start = X[:, :2]
    want = quick(kind, init=start, n_neighbors=25)
    want.fit(X)
    graph = KNeighborsTransformer(n_neighbors=25, metric="sqeuclidean").fit_transform(X)
    for given in (graph, _lists(X, 25)):
        found = quick(kind, init=start, metric="precomputed").fit(given)
        assert sparse.issparse(found.affinity_)
        assert found.n_features_in_ == 60
        np.testing.assert_allclose(dense(found.affinity_), dense(want.affinity_), atol=1e-6)
        np.testing.assert_allclose(found.embedding_, want.embedding_, atol=1e-3)


@each_estimator
@pytest.mark.parametrize("n_neighbors", [None, 25])
def test_precomputed_affinity(X, kind, n_neighbors):
    start = X[:, :2]
    want = quick(kind, init=start, n_neighbors=n_neighbors).fit(X)
    P = want.affinity_.copy()
    found = quick(kind, init=start, affinity="precomputed").fit(P)
    np.testing.assert_array_equal(found.embedding_, want.embedding_)
    np.testing.assert_array_equal(dense(P), dense(want.affinity_))
    assert not hasattr(found, "affinity_report_")


@each_estimator
@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_the_scale_of_an_affinity_means_nothing(X, kind, factor):
    P = EntropicAffinity(8.0, symmetrize=True).fit_transform(X)
    estimator = quick(kind, affinity="precomputed", max_iter=20)
    np.testing.assert_allclose(estimator.fit_transform(factor * P), estimator.fit_transform(P), rtol=1e-6, atol=1e-9)


def test_a_directed_affinity_for_sne(X):
    P = GaussianAffinity(perplexity=8.0).fit_transform(X)
    assert np.abs(P - P.T).max() > 0.01
    assert np.isfinite(quick(SNE, affinity="precomputed").fit_transform(P)).all()


@pytest.mark.parametrize(
    ("kind", "affinity"),
    [
        (TSNE, SymmetricEntropicAffinity(8.0)),
        (TSNE, SelfTuningAffinity()),
        (SNEkhorn, DoublyStochasticAffinity(perplexity=8.0)),
        (TSNEkhorn, GaussianAffinity(perplexity=8.0, symmetrize=True)),
        (TSNEkhorn, EntropicAffinity(8.0, symmetrize=True, n_neighbors=25)),
        (SNE, GaussianAffinity(perplexity=8.0)),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_any_affinity_with_any_method(X, kind, affinity):
    estimator = quick(kind, affinity=affinity).fit(X)
    np.testing.assert_array_equal(dense(estimator.affinity_), dense(affinity.fit_transform(X)))
    assert estimator.affinity is affinity
    assert estimator.affinity_report_.converged
    assert np.isfinite(estimator.transform(X[:5] + 0.1)).all()


@each_estimator
@pytest.mark.parametrize("init", ["pca", "spectral", "random"])
def test_starts(X, kind, init):
    estimator = quick(kind, init=init, random_state=0)
    Z = estimator.fit_transform(X)
    np.testing.assert_array_equal(Z, estimator.fit_transform(X))
    other = estimator.set_params(random_state=1).fit_transform(X)
    assert np.array_equal(Z, other) == (init != "random")


@each_estimator
def test_nothing_handed_in_is_changed(X, kind):
    before, start = X.copy(), X[:, :2].copy()
    estimator = quick(kind, init=start).fit(X)
    layout = estimator.embedding_.copy()
    new = X + 0.1
    estimator.transform(new)
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(start, X[:, :2])
    np.testing.assert_array_equal(estimator.embedding_, layout)
    np.testing.assert_array_equal(new, X + 0.1)


@each_estimator
@each_method
@pytest.mark.filterwarnings("ignore:.*collapsed to a single point")
@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_few_points(X, kind, method, n):
    estimator = kind(max_iter=60, method=method)
    with pytest.warns(UserWarning, match="perplexity=30 is too large|single entry") as said:
        estimator.fit(X[:n])
    told = "perplexity=30", "the perplexity has no effect"
    assert sum(any(words in str(warning.message) for words in told) for warning in said) == 1
    assert np.isfinite(estimator.embedding_).all()
    assert np.isfinite(estimator.transform(X[:4] + 0.1)).all()


ODD = {
    "duplicates": lambda X: np.repeat(X[:12], 5, axis=0),
    "constant columns": lambda X: np.hstack([X, np.ones((60, 2))]),
    "all equal": lambda X: np.ones_like(X),
    "tiny": lambda X: 1e-12 * X,
    "huge": lambda X: 1e12 * X,
    "far groups": lambda X: np.vstack([X[:30], X[30:] + 1e9]),
    "far point": lambda X: np.vstack([X, [[1e6, 0.0, 0.0]]]),
}


@each_estimator
@each_method
@pytest.mark.parametrize("odd", ODD)
def test_odd_points(X, kind, method, odd):
    estimator = quick(kind, method=method)
    points = ODD[odd](X)
    with pytest.warns(UserWarning, match="collapsed to a single point") if odd == "all equal" else nullcontext():
        assert np.isfinite(estimator.fit_transform(points)).all()
    assert np.isfinite(estimator.kl_divergence_)
    assert np.isfinite(estimator.transform(1.01 * points)).all()


@each_estimator
def test_neighbours_that_are_all_duplicates(X, kind):
    stack = np.repeat(np.arange(5), 12)
    Z = quick(kind, perplexity=5.0, n_neighbors=10).fit_transform(X[stack])
    assert np.isfinite(Z).all()
    near = squared_distances(Z) + 1e9 * np.eye(60)
    assert np.mean(stack[np.argmin(near, axis=1)] == stack) > 0.9


@each_estimator
@each_method
@pytest.mark.parametrize("n_parts", [2, 20])
def test_a_graph_in_parts(kind, method, n_parts):
    part = np.arange(60) % n_parts
    P = (part[:, None] == part).astype(float)
    np.fill_diagonal(P, 0.0)
    for given in (P, sparse.csr_matrix(P)):
        Z = quick(kind, method=method, affinity="precomputed", max_iter=200).fit_transform(given)
        assert np.isfinite(Z).all()
        near = squared_distances(Z) + 1e9 * np.eye(60)
        assert np.mean(part[np.argmin(near, axis=1)] == part) > 0.9
