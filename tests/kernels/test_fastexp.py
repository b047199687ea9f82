import numpy as np
import pytest

from snekhorn.kernels.fastexp import LARGEST_EXPONENT, SMALLEST_EXPONENT, fast_exp


def _values(x):
    return np.array([fast_exp(value) for value in x])


@pytest.mark.parametrize("span", [1e-300, 1e-8, 1.0, 50.0, 700.0])
def test_is_exp_to_three_units_in_the_last_place(span, rng):
    x = np.concatenate([rng.uniform(-span, span, 3000), [-span, 0.0, span]])
    want = np.exp(x.astype(np.longdouble))
    assert (np.abs(_values(x) - want) <= 3 * np.spacing(want.astype(float))).all()


@pytest.mark.parametrize(
    ("x", "end"), [(-1e4, SMALLEST_EXPONENT), (-np.inf, SMALLEST_EXPONENT), (1e4, LARGEST_EXPONENT)]
)
def test_clips_to_the_normal_numbers(x, end):
    assert fast_exp(x) == pytest.approx(np.exp(end), rel=1e-13)


def test_zero_gives_one_exactly():
    assert fast_exp(0.0) == 1.0
