import numpy as np
import pytest

from snekhorn.kernels.arithmetic import LARGEST_EXPONENT, SMALLEST_EXPONENT, fast_exp, fast_log


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


@pytest.mark.parametrize("decades", [1e-6, 0.1, 1.0, 20.0, 300.0])
def test_is_log_to_a_part_in_a_million_million(decades, rng):
    x = 10.0 ** np.concatenate([rng.uniform(-decades, decades, 3000), [-decades, 0.0, decades]])
    found = np.array([fast_log(value) for value in x])
    want = np.log(x.astype(np.longdouble))
    assert (np.abs(found - want) <= 1e-12 * np.maximum(np.abs(want), 1.0)).all()


def test_log_at_the_edges_of_its_pieces():
    ends = [np.finfo(float).tiny, np.finfo(float).max]
    for x in (np.sqrt(0.5), np.sqrt(2.0), 1.0, 2.0, 0.5):
        ends += [np.nextafter(x, 0.0), x, np.nextafter(x, 3.0)]
    for x in ends:
        assert fast_log(x) == pytest.approx(np.log(x), rel=1e-12, abs=1e-12)


def test_log_of_one_is_zero_exactly():
    assert fast_log(1.0) == 0.0
