"""Ranges of rows in the layout: the first worker also computes the far part of the field, so it gets fewer rows."""

import numpy as np
import pytest

from snekhorn.dask.layout_pieces import FAR_WORK, LEAST_SHARE, layout_ranges


@pytest.mark.parametrize("n", [20_000, 1_000_003])
@pytest.mark.parametrize("n_pieces", [1, 2, 3, 4, 16])
def test_ranges_take_equal_times(n, n_pieces):
    ranges = layout_ranges(n, n_pieces)
    assert ranges[0].start == 0
    assert ranges[-1].stop == n
    assert [rows.stop for rows in ranges[:-1]] == [rows.start for rows in ranges[1:]]
    sizes = np.array([rows.stop - rows.start for rows in ranges])
    work = sizes / n + FAR_WORK * (np.arange(n_pieces) == 0)
    if sizes[0] > np.ceil(LEAST_SHARE * n):
        np.testing.assert_allclose(work, work.mean(), atol=2 / n)
    else:  # even without rows of its own, the first one would take longer than the others
        assert sizes[0] == round(LEAST_SHARE * n)
        np.testing.assert_allclose(sizes[1:], sizes[1:].mean(), atol=1)
