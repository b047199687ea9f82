"""Results are identical bit for bit for any number of threads."""

import numpy as np
import pytest

from snekhorn.runtime.execution import MIN_WORK_FOR_THREADS

from ..helpers import AFFINITIES, clusters, dense

N_NEIGHBORS = 45


@pytest.fixture(scope="module")
def hundreds():
    return np.random.default_rng(0).normal(size=(500, 4))


@pytest.fixture(scope="module")
def thousands():
    return clusters(3000, p=8)


@pytest.mark.parametrize("kind", AFFINITIES)
@pytest.mark.parametrize("self_loops", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_dense(hundreds, kind, self_loops, dtype):
    assert hundreds.shape[0] ** 2 > MIN_WORK_FOR_THREADS
    one, two, four = (
        kind(self_loops=self_loops, n_jobs=n_jobs).fit_transform(hundreds.astype(dtype)) for n_jobs in (1, 2, 4)
    )
    np.testing.assert_array_equal(two, one)
    np.testing.assert_array_equal(four, one)


@pytest.mark.parametrize("kind", AFFINITIES)
@pytest.mark.parametrize("metric", ["sqeuclidean", "manhattan"])
def test_sparse(thousands, kind, metric):
    assert thousands.shape[0] * N_NEIGHBORS > MIN_WORK_FOR_THREADS
    one, two, four = (
        kind(n_neighbors=N_NEIGHBORS, n_jobs=n_jobs, metric=metric).fit_transform(thousands) for n_jobs in (1, 2, 4)
    )
    for other in (two, four):
        np.testing.assert_array_equal(other.indices, one.indices)
        np.testing.assert_array_equal(other.data, one.data)


def test_again_gives_the_same_bits(many):
    for kind in AFFINITIES:
        first = kind(n_neighbors=40).fit_transform(many)
        np.testing.assert_array_equal(dense(kind(n_neighbors=40).fit_transform(many)), dense(first))
