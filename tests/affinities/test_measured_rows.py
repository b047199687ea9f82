"""Reports name a row as solved as far as possible only if no other bandwidth brings it closer to its target."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from snekhorn.affinities import EntropicAffinity, GaussianAffinity, gaussian
from snekhorn.affinities.entropic import KernelRows
from snekhorn.affinities.measured_rows import MeasuredRows

TOL = 1e-8
WRONG = np.log(1.99)  # of a row of two entries


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_lowest_entropy_is_that_of_ties(dtype):
    P = np.array(
        [
            [1.0, 0.0, 0.0, 0.0],
            [0.5, 0.5, 0.0, 0.0],
            [0.55, 0.45, 0.0, 0.0],
            [0.49, 0.49, 0.02, 0.0],
            [0.45, 0.3, 0.25, 0.0],
            [0.25, 0.25, 0.25, 0.25],
        ],
        dtype=dtype,
    )
    np.testing.assert_array_equal(MeasuredRows.of(P).lowest(TOL), [True, True, False, False, False, True])


def _points():
    return np.random.default_rng(0).normal(size=(3, 2))  # without self-loops, rows have two entries


def test_an_entropic_row_that_missed_its_target_is_unsolved(monkeypatch):
    right = KernelRows.with_entropy
    monkeypatch.setattr(KernelRows, "with_entropy", lambda cost, target, **options: right(cost, WRONG, **options))
    with pytest.warns(ConvergenceWarning):
        report = EntropicAffinity(1.5, self_loops=False).fit(_points()).report_
    assert report.unsolved_rows.size == 3
    assert report.floor_rows.size == 0


def test_a_gaussian_bandwidth_that_missed_its_target_is_unsolved(monkeypatch):
    monkeypatch.setattr(gaussian, "solve_bandwidth", lambda gap, start, lower, upper: 100.0 * start)
    with pytest.warns(ConvergenceWarning):
        report = GaussianAffinity(perplexity=1.5, self_loops=False).fit(_points()).report_
    assert report.unsolved_rows.size == 3
