import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from snekhorn.embedding.affinity_rows import AffinityRows, strongest_neighbors
from snekhorn.runtime.execution import Threads

N = 60


def _matrix(rng, share_of_small=0.0, dtype=np.float32):
    P = sparse.random(N, N, 0.2, format="csr", random_state=3, dtype=dtype)
    P.data += dtype(0.1)
    P.data[rng.random(P.nnz) < share_of_small] = 1e-12
    return P


def _full(pairs):
    rows = pairs.rows
    assert rows.indices.dtype == np.uint32
    return sparse.csr_matrix((rows.data, rows.indices.astype(np.int32), rows.indptr), shape=(N, N)).toarray()


@pytest.mark.parametrize("n_threads", [1, 3])
def test_pairs_follow_all_permutations_so_far(n_threads, rng):
    P = _matrix(rng)
    before = P.copy()
    pairs = AffinityRows.of(P, Threads(n_threads)).scaled(np.float64(3.0), np.float64)
    want = 3.0 * P.toarray().astype(float)
    np.testing.assert_array_equal(_full(pairs), want)
    for _ in range(3):
        order = rng.permutation(N)
        pairs = pairs.permuted(order)
        want = want[np.ix_(order, order)]
        np.testing.assert_array_equal(_full(pairs), want)
    np.testing.assert_array_equal(P.toarray(), before.toarray())


@pytest.mark.parametrize(("share", "dropped"), [(0.03, False), (0.3, True)])
def test_negligible_entries_are_dropped_if_there_are_many(share, dropped, rng):
    P = _matrix(rng, share)
    small = np.count_nonzero(P.data < 1e-9)
    pairs = AffinityRows.of(P, Threads()).scaled(np.float64(1.0), np.float32)
    assert small > 0
    assert pairs.rows.n_pairs == P.nnz - small * dropped


def test_only_one_order_takes_memory(rng):
    P = sparse.random(3000, 3000, 0.05, format="csr", random_state=0, dtype=np.float32)
    pairs = AffinityRows.of(P, Threads()).scaled(np.float64(1.0), np.float32)
    assert pairs.rows.n_pairs == P.nnz  # what it takes to compile a kernel does not count
    tracemalloc.start()
    for _ in range(2):
        pairs = pairs.permuted(rng.permutation(3000))
        assert pairs.rows.n_pairs == P.nnz
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.1 * 8 * P.nnz


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_strongest_neighbors(form):
    P = np.array([[9.0, 1.0, 3.0, 0.0], [0.0, 5.0, 2.0, 0.0], [1.0, 4.0, 0.0, 3.0], [0.0, 0.0, 0.0, 7.0]])
    indices, p = strongest_neighbors(form(P), np.array([0, 1, 2, 3]), 2)
    np.testing.assert_array_equal(indices[:3], [[2, 1], [2, 2], [1, 3]])
    np.testing.assert_allclose(p, [[3 / 4, 1 / 4], [1, 0], [4 / 7, 3 / 7], [0, 0]])  # without the diagonal
    np.testing.assert_array_equal(strongest_neighbors(form(P), np.array([2]), 1)[0], [[1]])
