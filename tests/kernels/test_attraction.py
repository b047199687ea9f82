import numpy as np
import pytest
from scipy import sparse

from snekhorn.kernels.attraction import attract, energy

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


@both_kernels
@any_dimension
def test_attraction_is_the_formula(student, d, dtype):
    arrays, P, Z = _problem(d, dtype)
    out = np.full((N, d), np.nan, dtype)
    attract(0, N, *arrays, Z, student, out)
    want = _terms(P, Z, student)[0]
    np.testing.assert_allclose(out, want, atol=_tolerance(dtype) * np.abs(want).max())


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
    whole, part = np.empty((N, d), dtype), np.full((N, d), np.nan, dtype)
    attract(0, N, *arrays, Z, student, whole)
    attract(7, 20, *arrays, Z, student, part)
    np.testing.assert_array_equal(part[7:20], whole[7:20])
    assert np.isnan(part[:7]).all()
    assert np.isnan(part[20:]).all()
    costs, some = np.empty(N), np.full(N, np.nan)
    energy(0, N, *arrays, Z, student, costs)
    energy(7, 20, *arrays, Z, student, some)
    np.testing.assert_array_equal(some[7:20], costs[7:20])
    assert np.isnan(np.delete(some, np.arange(7, 20))).all()
