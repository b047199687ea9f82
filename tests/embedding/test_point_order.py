import numpy as np
import pytest

from snekhorn.embedding.point_order import locality_order

from .layouts_and_sums import ONE_THREAD


@pytest.mark.parametrize("d", [1, 2, 3])
def test_locality_is_an_order_in_which_neighbours_are_near(d, rng):
    Z = rng.uniform(size=(5000, d))
    order = locality_order(Z, ONE_THREAD)
    np.testing.assert_array_equal(np.sort(order), np.arange(5000))
    step = np.linalg.norm(np.diff(Z[order], axis=0), axis=1).mean()
    assert step < 0.35 * np.linalg.norm(np.diff(Z, axis=0), axis=1).mean()


def test_locality_of_points_at_one_place():
    np.testing.assert_array_equal(locality_order(np.zeros((7, 2)), ONE_THREAD), np.arange(7))
