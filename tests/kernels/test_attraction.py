import numpy as np
import pytest
from scipy import sparse

from snekhorn.kernels.attraction import attract, attract_packed, energy, pack

N = 30

both_kernels = pytest.mark.parametrize("student", [True, False], ids=["Student", "Gaussian"])
any_dimension = pytest.mark.parametrize("d", [1, 2, 3, 5])


@pytest.fixture(params=[np.float64, np.float32])
def dtype(request):
    return request.param


def _problem(d, dtype, seed=0):
    """Return a sparse P with some empty rows as arrays, the same as a dense matrix, and a layout."""
    rng = np.random.default_rng(seed)
    P = np.where(rng.random((N, N)) < 0.3, rng.uniform(0.1, 1.0, size=(N, N)), 0.0).astype(dtype)
    P[[4, N - 1]] = 0.0
    rows = sparse.csr_matrix(P)
    Z = (2.0 * rng.normal(size=(N, d))).astype(dtype)
    return (rows.indptr.astype(np.int64), rows.indices.astype(np.uint32), rows.data), P.astype(float), Z


def _terms(P, Z, student):
    difference = Z.astype(float)[:, None] - Z.astype(float)
    squared = (difference**2).sum(axis=2)
    weight, cost = (1.0 / (1.0 + squared), np.log1p(squared)) if student else (np.ones_like(squared), squared)
    return np.einsum("ij,ijd->id", P * weight, difference), (P * cost).sum(axis=1)


def _tolerance(dtype):
    return 1e-12 if dtype is np.float64 else 2e-6


def _packed(Z):
    packed = np.full((N, 2 if Z.shape[1] < 3 else 4), np.nan, np.float32)
    pack(0, 9, Z, packed)
    pack(9, N, Z, packed)
    np.testing.assert_array_equal(packed[:, : Z.shape[1]], Z.astype(np.float32))
    assert not packed[:, Z.shape[1] :].any()
    return packed.view(np.uint64).ravel()


@both_kernels
@any_dimension
def test_attraction_is_the_formula(student, d, dtype):
    arrays, P, Z = _problem(d, dtype)
    out = np.ones((N, d))
    attract(0, N, *arrays, Z, student, 3.0, out)
    want = 1.0 + 3.0 * _terms(P, Z, student)[0]
    np.testing.assert_allclose(out, want, rtol=_tolerance(dtype), atol=_tolerance(dtype))
    np.testing.assert_array_equal(out[[4, N - 1]], 1.0)


@both_kernels
@pytest.mark.parametrize("d", [1, 2, 3])
def test_attraction_of_packed_positions_is_the_formula(student, d):
    arrays, P, Z = _problem(d, np.float32)
    out = np.ones((N, d))
    attract_packed(0, N, *arrays, _packed(Z), student, 3.0, out)
    np.testing.assert_allclose(out, 1.0 + 3.0 * _terms(P, Z, student)[0], rtol=5e-6, atol=5e-6)
    np.testing.assert_array_equal(out[[4, N - 1]], 1.0)


@both_kernels
@any_dimension
def test_energy_is_the_formula(student, d, dtype):
    arrays, P, Z = _problem(d, dtype)
    out = np.full(N, np.nan)
    energy(0, N, *arrays, Z, student, out)
    np.testing.assert_allclose(out, _terms(P, Z, student)[1], rtol=_tolerance(dtype), atol=1e-12)


@both_kernels
@any_dimension
@pytest.mark.parametrize(("value", "want"), [(1e300, np.inf), (np.inf, np.inf), (np.nan, np.nan)])
def test_energy_of_a_layout_that_overflowed_shows_it(student, d, value, want):
    arrays, P, Z = _problem(d, np.float64)
    Z[0, 0] = value
    out = np.empty(N)
    energy(0, N, *arrays, Z, student, out)
    reached = (P[:, 0] > 0.0) & (np.arange(N) > 0)
    assert reached.any()
    np.testing.assert_array_equal(out[reached], want)


@both_kernels
@any_dimension
def test_ranges_leave_the_other_rows_alone(student, d, dtype):
    arrays, _, Z = _problem(d, dtype)
    for loop in (attract, attract_packed) if dtype is np.float32 and d <= 3 else (attract,):
        positions = Z if loop is attract else _packed(Z)
        whole, part = np.zeros((N, d)), np.zeros((N, d))
        loop(0, N, *arrays, positions, student, 1.0, whole)
        loop(7, 20, *arrays, positions, student, 1.0, part)
        np.testing.assert_array_equal(part[7:20], whole[7:20])
        assert not np.delete(part, np.arange(7, 20), axis=0).any()
    costs, some = np.empty(N), np.full(N, np.nan)
    energy(0, N, *arrays, Z, student, costs)
    energy(7, 20, *arrays, Z, student, some)
    np.testing.assert_array_equal(some[7:20], costs[7:20])
    assert np.isnan(np.delete(some, np.arange(7, 20))).all()
