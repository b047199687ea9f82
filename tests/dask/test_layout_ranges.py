"""Ranges of rows in the layout: the first worker also computes the far part of the field, so it gets fewer rows."""

import numpy as np
import pytest

from snekhorn.dask.layout_pieces import LEAST_SHARE, far_work, layout_ranges


@pytest.mark.parametrize("n", [20_000, 1_000_003, 30_000_000])
@pytest.mark.parametrize("n_pieces", [1, 2, 3, 4, 16, 64, 200])
def test_ranges_take_equal_times(n, n_pieces):
    ranges = layout_ranges(n, n_pieces)
    assert ranges[0].start == 0
    assert ranges[-1].stop == n
    assert [rows.stop for rows in ranges[:-1]] == [rows.start for rows in ranges[1:]]
    sizes = np.array([rows.stop - rows.start for rows in ranges])
    np.testing.assert_allclose(sizes[1:], sizes[1:].mean() if n_pieces > 1 else [], atol=1)
    least = LEAST_SHARE * n / n_pieces
    if sizes[0] > least + 1:
        work = sizes / n + far_work(n) * (np.arange(n_pieces) == 0)
        np.testing.assert_allclose(work, work.mean(), atol=2 / n)
    else:  # even without rows of its own, the first one would take longer than the others
        assert sizes[0] == pytest.approx(least, abs=1)
        assert sizes[0] / n + far_work(n) > sizes[-1] / n


def test_the_far_part_matters_less_once_the_grid_is_limited():
    assert far_work(500_000) == far_work(8_000_000) == pytest.approx(0.445, abs=0.005)
    assert far_work(30_000_000) < 0.2
    assert far_work(100_000_000) < 0.06
