"""Principal components."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA

from snekhorn.reduction import FEW_COLUMNS, fit_reduction

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


def test_no_more_components_than_there_are():
    assert fit_reduction(RNG.normal(size=(5, 12)), 50, 0).components.shape == (4, 12)
    assert fit_reduction(np.arange(24).reshape(6, 4) ** 2, 50, 0).components.shape == (3, 4)
