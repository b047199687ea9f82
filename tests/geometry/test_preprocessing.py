"""Principal components."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA

from snekhorn.geometry.preprocessing import FEW_COLUMNS, ROWS_AT_ONCE, fit_reduction, fit_scaling, spread

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("p", [12, FEW_COLUMNS + 1])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_they_are_scikit_learns(p, as_sparse):
    low = RNG.normal(size=(60, 3)) * [9.0, 5.0, 3.0]
    X = low @ RNG.normal(size=(3, p)) + 0.01 * RNG.normal(size=(60, p)) + 5.0
    found = fit_reduction(sparse.csr_matrix(X) if as_sparse else X, 3, 0).apply(X)
    expected = PCA(3, svd_solver="full").fit_transform(X)
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-4 * np.abs(expected).max())


def test_new_points_go_the_same_way():
    X = RNG.normal(size=(60, 12))
    reduction = fit_reduction(X, 4, 0)
    np.testing.assert_allclose(reduction.apply(X[:7]), reduction.apply(X)[:7], atol=1e-12)


@pytest.mark.parametrize("as_sparse", [False, True])
def test_columns_of_one_spread(as_sparse):
    X = RNG.normal(size=(60, 5)) * [1.0, 1e3, 1e-3, 0.0, 7.0] + 3.0
    given = sparse.csr_matrix(X) if as_sparse else X
    scaling = fit_scaling(given)
    found = scaling.apply(given)
    np.testing.assert_allclose(found.std(axis=0), [1.0, 1.0, 1.0, 0.0, 1.0], rtol=1e-4)
    np.testing.assert_allclose(found.mean(axis=0), 0.0, atol=1e-6)
    assert spread(X) == pytest.approx(1e6, rel=0.5)
    components = fit_reduction(X, 3, 0, fit_scaling(X)).apply(X)
    expected = PCA(3, svd_solver="full").fit_transform(fit_scaling(X).apply(X))
    np.testing.assert_allclose(np.abs(components), np.abs(expected), atol=1e-8)


def test_no_more_components_than_there_are():
    assert fit_reduction(RNG.normal(size=(5, 12)), 50, 0).components.shape == (4, 12)
    assert fit_reduction(np.arange(24).reshape(6, 4) ** 2, 50, 0).components.shape == (4, 4)


def test_rows_are_taken_a_block_at_a_time(tmp_path):
    X = RNG.integers(0, 255, size=(3 * ROWS_AT_ONCE + 5, 12)).astype(np.uint8)
    np.save(tmp_path / "t.npy", X)
    mapped = np.load(tmp_path / "t.npy", mmap_mode="r")
    reduction = fit_reduction(mapped, 4, 0)
    found = reduction.apply(mapped)
    np.testing.assert_allclose(np.abs(found), np.abs(PCA(4, svd_solver="full").fit_transform(X)), atol=1e-6)
    assert np.all(reduction.components.max(axis=1) == np.abs(reduction.components).max(axis=1))  # signs are settled
