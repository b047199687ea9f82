import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csgraph
from sklearn.datasets import load_digits

from snekhorn.embedding.initial_layout import SPREAD, pca_layout, random_layout, spectral_layout
from snekhorn.geometry.preprocessing import FEW_COLUMNS

from ..helpers import clusters, squared_distances, without_some_entries


def _data(n=50, p=6):
    """Columns of clearly different variance: components and their largest loadings are unambiguous."""
    X = np.random.default_rng(0).normal(size=(n, p)) * np.array([5.0, 3.0, 2.0, 1.0, 0.5, 0.2])[:p]
    return X + 0.3 * X[:, [1, 2, 0, 4, 5, 3]][:, :p]


def _loadings(X, Z):
    """The direction of each column of Z in the space of X."""
    return np.linalg.lstsq(X - X.mean(axis=0), Z, rcond=None)[0]


@pytest.mark.parametrize("d", [1, 2, 3])
def test_pca_is_the_leading_singular_vectors(d):
    X = _data()
    U, s, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    want = (U * s)[:, :d]
    Z = pca_layout(X, d)
    want *= np.sign((want * Z).sum(axis=0)) * SPREAD / want.std(axis=0).max()
    np.testing.assert_allclose(Z, want, atol=1e-10 * SPREAD)


@pytest.mark.parametrize("factor", [1.0, 1e-9, 1e9])
def test_pca_has_the_standard_spread_and_no_offset(factor):
    Z = pca_layout(factor * (_data() + 7.0), 2)
    assert Z.std(axis=0).max() == pytest.approx(SPREAD, rel=1e-12)
    np.testing.assert_allclose(Z.mean(axis=0), 0.0, atol=1e-15)
    assert Z[:, 0].std() > Z[:, 1].std()


def test_the_largest_loading_of_a_component_is_positive():
    X = _data()
    for data in (X, -X):
        loadings = _loadings(data, pca_layout(data, 2))
        largest = loadings[np.argmax(np.abs(loadings), axis=0), [0, 1]]
        assert (largest > 0.0).all()


def test_the_sign_of_components_depends_on_the_largest_loading_alone():
    X = _data()
    Z = pca_layout(X, 2)
    largest = np.argmax(np.abs(_loadings(X, Z)), axis=0)
    for column in range(X.shape[1]):
        flipped = X.copy()
        flipped[:, column] *= -1.0
        want = Z * np.where(largest == column, -1.0, 1.0)
        np.testing.assert_allclose(pca_layout(flipped, 2), want, atol=1e-9 * SPREAD)


def test_the_order_of_columns_does_not_matter(rng):
    X = _data()
    np.testing.assert_allclose(pca_layout(X[:, rng.permutation(6)], 2), pca_layout(X, 2), atol=1e-9 * SPREAD)


def test_pca_is_the_same_every_time():
    X = np.random.default_rng(0).normal(size=(300, FEW_COLUMNS + 1))  # enough for the randomised decomposition
    np.testing.assert_array_equal(pca_layout(X, 2), pca_layout(X, 2))


@pytest.mark.parametrize("X", [np.outer(np.arange(20.0), [1.1, 2.3, -1.7]), np.arange(20.0)[:, None]], ids=["3", "1"])
@pytest.mark.parametrize("form", [np.asarray, np.float32, sparse.csr_matrix], ids=["dense", "float32", "sparse"])
@pytest.mark.parametrize("d", [2, 3])
def test_axes_without_variance_get_a_little_noise(X, form, d):
    Z = pca_layout(form(X), d)
    assert Z[:, 0].std() == pytest.approx(SPREAD)
    spread = Z[:, 1:].std(axis=0)
    assert ((spread > 1e-3 * SPREAD) & (spread < 0.1 * SPREAD)).all()


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("value", [0.0, 0.1, 1.0, 1e6])
def test_constant_data_start_from_noise(form, value):
    Z = pca_layout(form(np.full((15, 4), value)), 2)
    assert np.isfinite(Z).all()
    assert len(np.unique(Z[:, 0])) == 15
    assert 0.0 < Z.std() < 0.1 * SPREAD


@pytest.mark.parametrize(("n", "p"), [(2, 1), (2, 2), (2, 5), (3, 1), (3, 2)])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_pca_of_tiny_data(n, p, form, d, rng):
    Z = pca_layout(form(rng.normal(size=(n, p))), d)
    assert Z.shape == (n, d)
    assert np.isfinite(Z).all()
    assert Z.std(axis=0).max() == pytest.approx(SPREAD)


def _factors(n=300, p=64, offset=0.0):
    """Two directions of clearly different variance in some noise, far from the origin."""
    rng = np.random.default_rng(0)
    return offset + rng.normal(size=(n, 2)) * [5.0, 3.0] @ rng.normal(size=(2, p)) + rng.normal(size=(n, p))


def _correlations(Z, X):
    """Return the correlations of the columns of Z with the principal components of X, computed in float64."""
    U = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[0]
    return [abs(np.corrcoef(Z[:, axis], U[:, axis])[0, 1]) for axis in range(Z.shape[1])]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array])
def test_sparse_data_start_as_dense_ones(form, dtype):
    X = load_digits().data.astype(dtype)
    np.testing.assert_allclose(pca_layout(form(X), 2), pca_layout(X, 2), atol=1e-9 * SPREAD)
    assert min(_correlations(pca_layout(form(X), 2), X)) > 1 - 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("p", [700, FEW_COLUMNS + 1])
@pytest.mark.parametrize("form", [np.asarray, np.float32, sparse.csr_matrix], ids=["dense", "float32", "sparse"])
def test_more_columns_than_points(p, form):
    X = without_some_entries(_factors(p=p, offset=10.0))
    assert min(_correlations(pca_layout(form(X), 2), X)) > 1 - 1e-4


def test_large_sparse_data_are_not_made_dense():
    X = sparse.random(3000, 2 * FEW_COLUMNS, 0.005, format="csr", random_state=0)
    tracemalloc.start()
    pca_layout(X, 2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.2 * 8 * X.shape[0] * X.shape[1]


@pytest.mark.parametrize("p", [64, FEW_COLUMNS + 1])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_an_offset_of_float32_does_not_matter(p, form):
    """It is 10,000 times the standard deviation, which float32 still resolves to a thousandth."""
    X = _factors(3000 if p < FEW_COLUMNS else 300, p)
    X = (X + 1e4 * X.std()).astype(np.float32)
    assert min(_correlations(pca_layout(form(X), 2), X.astype(float))) > 1 - 1e-5


@pytest.mark.parametrize("value", [0.0, 0.1, 3.0])
def test_constant_sparse_data_of_many_columns_start_from_noise(value):
    Z = pca_layout(sparse.csr_matrix(np.full((15, FEW_COLUMNS + 1), value)), 2)
    assert 0.0 < Z.std() < 0.1 * SPREAD


def test_two_sparse_columns_are_both_used():
    X = np.random.default_rng(0).normal(size=(30, 2))
    np.testing.assert_allclose(pca_layout(sparse.csr_matrix(X), 2), pca_layout(X, 2), atol=1e-9 * SPREAD)


def test_random_layouts_are_seeded():
    Z = random_layout(4000, 2, 7)
    np.testing.assert_array_equal(Z, random_layout(4000, 2, 7))
    assert not np.array_equal(Z, random_layout(4000, 2, 8))
    np.testing.assert_allclose(Z.std(axis=0), SPREAD, rtol=0.05)
    assert abs(np.corrcoef(Z.T)[0, 1]) < 0.05


def _ring(n):
    P = np.eye(n, k=1) + np.eye(n, k=-1)
    P[0, -1] = P[-1, 0] = 1.0
    return P / 2.0


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csr_array], ids=["dense", "matrix", "array"])
def test_spectral_layout_of_a_ring_is_a_ring(form):
    Z = spectral_layout(form(_ring(24)), 2)
    radius = np.linalg.norm(Z, axis=1)
    np.testing.assert_allclose(radius, radius.mean(), rtol=0.02)
    angle = np.unwrap(np.arctan2(Z[:, 1], Z[:, 0]))
    np.testing.assert_allclose(np.abs(np.diff(angle)), 2.0 * np.pi / 24, rtol=0.1)
    assert Z.std(axis=0).max() == pytest.approx(SPREAD)


def test_spectral_layout_is_the_leading_eigenvectors(rng):
    X = clusters(60)
    P = np.exp(-squared_distances(X) / 10.0)
    root = np.sqrt(P.sum(axis=1))
    values, vectors = np.linalg.eigh(P / root[:, None] / root)
    assert values[-2] - values[-3] > 0.02
    assert values[-3] - values[-4] > 0.02
    want = vectors[:, [-2, -3]] / root[:, None]
    Z = spectral_layout(P, 2)
    for axis in range(2):
        assert abs(np.corrcoef(Z[:, axis], want[:, axis])[0, 1]) > 0.999


@pytest.mark.parametrize("sizes", [(10, 15), (5, 9, 6), (2, 2, 2, 2), (1, 20)])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_spectral_layout_separates_the_parts_of_a_graph(sizes, form, rng):
    n = sum(sizes)
    part = np.repeat(np.arange(len(sizes)), sizes)
    P = np.where(part[:, None] == part, rng.uniform(0.5, 1.0, size=(n, n)), 0.0)
    P = (P + P.T) / 2.0
    P /= P.sum(axis=1, keepdims=True)
    assert csgraph.connected_components(sparse.csr_matrix(P))[0] == len(sizes)
    Z = spectral_layout(form(P), len(sizes) - 1)
    assert np.isfinite(Z).all()
    distances = np.sqrt(squared_distances(Z))
    same = part[:, None] == part
    assert distances[same].max() < 0.2 * distances[~same].min()


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_spectral_layout_of_tiny_graphs(n, d):
    """There are n - 1 directions besides the constant one; further axes get a little noise."""
    P = (np.ones((n, n)) - np.eye(n)) / (n - 1)
    Z = spectral_layout(P, d)
    assert Z.shape == (n, d)
    assert np.isfinite(Z).all()
    spread = Z.std(axis=0)
    np.testing.assert_allclose(spread[: n - 1], SPREAD, rtol=1e-6)
    assert (spread[n - 1 :] < 0.1 * SPREAD).all()
    assert (spread > 0.0).all()


def test_spectral_layout_is_the_same_every_time_and_leaves_p_alone(rng):
    P = rng.uniform(size=(30, 30))
    before = P.copy()
    np.testing.assert_array_equal(spectral_layout(P, 2), spectral_layout(P, 2))
    np.testing.assert_array_equal(P, before)
