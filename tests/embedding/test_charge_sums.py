import numpy as np
import pytest

from snekhorn.embedding.charge_sums import DirectSums, Kernel
from snekhorn.runtime.execution import MIN_WORK_FOR_THREADS, Threads

from .layouts_and_sums import ONE_THREAD, plain_sums

both_kernels = pytest.mark.parametrize("kernel", Kernel)
all_dimensions = pytest.mark.parametrize("d", [1, 2, 3])


@both_kernels
@all_dimensions
@pytest.mark.parametrize("span", [1e-3, 1.0, 20.0])
def test_direct_sum_is_the_formula(kernel, d, span, rng):
    Z, charges = span * rng.normal(size=(80, d)), rng.uniform(0.1, 2.0, size=80)
    phi, slope = DirectSums(kernel, ONE_THREAD)(Z, charges)
    want, want_slope = plain_sums(kernel, Z, charges)
    np.testing.assert_allclose(phi, want, rtol=1e-13)
    np.testing.assert_allclose(slope, want_slope, rtol=1e-11, atol=1e-13 * np.abs(want_slope).max())


@both_kernels
@all_dimensions
def test_a_frozen_field_is_the_formula_at_other_places(kernel, d, rng):
    Z, charges, positions = rng.normal(size=(50, d)), rng.uniform(size=50), 2.0 * rng.normal(size=(7, d))
    field = DirectSums(kernel, ONE_THREAD).freeze(Z, charges)
    Z_before = Z.copy()
    Z += 1.0  # the field stays where it was
    phi, slope = field.at(positions)
    want, want_slope = plain_sums(kernel, Z_before, charges, positions)
    np.testing.assert_allclose(phi, want, rtol=1e-12)
    np.testing.assert_allclose(slope, want_slope, rtol=1e-11, atol=1e-14)
    assert field.kernel is kernel


@both_kernels
@all_dimensions
def test_the_sum_over_others_leaves_out_the_own_charge(kernel, d, rng):
    Z, charges = rng.normal(size=(40, d)), rng.uniform(0.1, 2.0, size=40)
    phi, slope = DirectSums(kernel, ONE_THREAD).of_others(Z, charges)
    want, want_slope = plain_sums(kernel, Z, charges)
    np.testing.assert_allclose(phi, want - charges, rtol=1e-12)
    np.testing.assert_allclose(slope, want_slope, rtol=1e-11, atol=1e-13)


def test_others_far_away_are_not_drowned_by_the_own_charge():
    phi, slope = DirectSums(Kernel.GAUSSIAN, ONE_THREAD).of_others(
        np.array([[0.0, 0.0], [14.0, 0.0]]), np.array([1.0, 3.0])
    )
    np.testing.assert_allclose(phi, np.exp(-196.0) * np.array([3.0, 1.0]), rtol=1e-12)
    np.testing.assert_allclose(slope[:, 0] / phi, [28.0, -28.0], rtol=1e-12)


@both_kernels
def test_one_point_has_no_others_and_a_positive_field(kernel):
    phi, slope = DirectSums(kernel, ONE_THREAD).of_others(np.zeros((1, 2)), np.ones(1))
    assert 0.0 < phi[0] < 1e-200
    assert not slope.any()


@both_kernels
@pytest.mark.parametrize("method", ["__call__", "of_others"])
def test_threads_leave_no_trace(kernel, method, rng):
    n = 400
    assert n * n >= MIN_WORK_FOR_THREADS
    Z, charges = rng.normal(size=(n, 2)), rng.uniform(size=n)
    one = getattr(DirectSums(kernel, Threads(1)), method)(Z, charges)
    for n_threads in (2, 4):
        many = getattr(DirectSums(kernel, Threads(n_threads)), method)(Z, charges)
        assert all(np.array_equal(a, b) for a, b in zip(one, many, strict=True))


@both_kernels
def test_kernels_as_functions(kernel):
    want = {Kernel.STUDENT: [1.0, 0.5, 0.2], Kernel.GAUSSIAN: [1.0, np.exp(-1.0), np.exp(-4.0)]}[kernel]
    np.testing.assert_allclose(kernel(np.array([0.0, 1.0, 4.0])), want, rtol=1e-15)
