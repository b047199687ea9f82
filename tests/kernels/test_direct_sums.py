import numpy as np
import pytest

from snekhorn.embedding.charge_sums import Kernel
from snekhorn.kernels.direct_sums import direct_sums, direct_sums_of_others

from ..embedding.layouts_and_sums import plain_sums

GAUSSIAN = False  # whether the kernel is Student's


@pytest.mark.parametrize("student", [True, False])
def test_sums_at_some_places_leave_the_other_rows_alone(student, rng):
    points, targets, charge = rng.normal(size=(3, 30)), rng.normal(size=(3, 9)), rng.uniform(size=30)
    out = np.full((9, 4), np.nan)
    direct_sums(2, 6, points, charge, targets, student, out)
    value, slope = plain_sums(Kernel.STUDENT if student else Kernel.GAUSSIAN, points.T, charge, targets.T)
    np.testing.assert_allclose(out[2:6, 0], value[2:6], rtol=1e-12)
    np.testing.assert_allclose(out[2:6, 1:], slope[2:6], rtol=1e-10, atol=1e-13)
    assert np.isnan(out[[0, 1, 6, 7, 8]]).all()


@pytest.mark.parametrize("student", [True, False])
def test_sums_over_others_of_some_points_leave_the_other_rows_alone(student, rng):
    points, charge = rng.normal(size=(3, 9)), rng.uniform(size=9)
    out = np.full((9, 4), np.nan)
    direct_sums_of_others(2, 9, np.arange(9), points, charge, student, out)
    value, slope = plain_sums(Kernel.STUDENT if student else Kernel.GAUSSIAN, points.T, charge)
    np.testing.assert_allclose(out[2:, 0], (value - charge)[2:], rtol=1e-12)
    np.testing.assert_allclose(out[2:, 1:], slope[2:], rtol=1e-10, atol=1e-13)
    assert np.isnan(out[:2]).all()


@pytest.mark.parametrize("distance", [26.7, 30.0, 1e9])
def test_a_kernel_that_underflows_is_zero(distance):
    """A smallest value instead of zero would grow to a field of its own if charges are large."""
    out = np.empty((1, 4))
    points = np.array([[distance], [0.0], [0.0]])
    direct_sums(0, 1, points, np.full(1, 1e300), np.zeros((3, 1)), GAUSSIAN, out)
    assert (out == 0.0).all()


def test_a_kernel_that_does_not_quite_underflow_is_kept():
    out = np.empty((1, 4))
    direct_sums(0, 1, np.array([[26.4], [0.0], [0.0]]), np.full(1, 1e300), np.zeros((3, 1)), GAUSSIAN, out)
    assert out[0, 0] == pytest.approx(1e300 * np.exp(-(26.4**2)), rel=1e-9)


@pytest.mark.parametrize("student", [True, False])
def test_nan_is_kept(student):
    out = np.empty((1, 4))
    direct_sums(0, 1, np.array([[0.0, np.nan], [0.0, 0.0], [0.0, 0.0]]), np.ones(2), np.zeros((3, 1)), student, out)
    assert np.isnan(out[0, 0])
