from itertools import pairwise

import numpy as np
import pytest

from snekhorn.kernels.squared_distances import dense_squared_distances

from ..helpers import squared_distances


def _dense(X, n_ranges=1):
    n = len(X)
    out = np.full((n, n), np.nan, dtype=X.dtype)
    edges = np.linspace(0, (n + 1) // 2, n_ranges + 1).astype(int)
    for start, stop in pairwise(edges):
        dense_squared_distances(start, stop, X, out)
    return out


@pytest.mark.parametrize("n", [2, 3, 10, 31])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_dense_distances_are_numpys(n, dtype, rng):
    X = rng.normal(size=(n, 7)).astype(dtype)
    np.testing.assert_allclose(_dense(X), squared_distances(X), rtol=1e-14 if dtype == np.float64 else 1e-6)


@pytest.mark.parametrize("n", [5, 8])
def test_dense_distances_do_not_depend_on_the_ranges(n, rng):
    X = rng.normal(size=(n, 3))
    np.testing.assert_array_equal(_dense(X, n_ranges=3), _dense(X))


def test_dense_distances_are_symmetric_to_the_bit_with_zero_diagonal(rng):
    out = _dense(rng.normal(size=(40, 5)))
    np.testing.assert_array_equal(out, out.T)
    np.testing.assert_array_equal(np.diag(out), 0.0)


def test_duplicates_are_at_distance_zero_whatever_the_offset(rng):
    X = np.repeat(rng.normal(size=(6, 3)) + 1e8, 2, axis=0)
    out = _dense(X)
    np.testing.assert_array_equal(out[::2, 1::2].diagonal(), 0.0)
    np.testing.assert_allclose(out, squared_distances(X - 1e8), rtol=1e-12)
