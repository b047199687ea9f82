import numpy as np
import pytest

from snekhorn.embedding.far_points import outside_densest_box


def _outside_best_box(Z, side):
    """Return the smallest number of points outside a box of this side, by trying all of them."""
    starts = np.stack(np.meshgrid(*Z.T), axis=-1).reshape(-1, Z.shape[1])
    inside = (starts[:, None] <= Z) & (starts[:, None] + side >= Z)
    return len(Z) - inside.all(axis=2).sum(axis=1).max()


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("n_far", [0, 1, 5, 20])
def test_leaves_out_far_points_only(d, n_far, rng):
    Z = rng.uniform(size=(50, d))
    Z[:n_far] += 10.0 * rng.choice([-1.0, 1.0], size=(n_far, d))
    np.testing.assert_array_equal(outside_densest_box(Z, 1.0), np.arange(50) < n_far)


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("seed", range(8))
def test_leaves_out_at_most_one_share_per_axis(d, seed):
    Z = np.random.default_rng(seed).standard_t(1, size=(40, d))
    outside = outside_densest_box(Z, 3.0)
    best = _outside_best_box(Z, 3.0)
    assert best <= outside.sum() <= d * best
    assert (np.ptp(Z[~outside], axis=0) <= 3.0).all()


@pytest.mark.parametrize("Z", [np.zeros((1, 2)), np.zeros((5, 1)), np.array([[0.0, 0.0], [1e9, 1e9]])])
def test_some_point_is_always_inside(Z):
    assert not outside_densest_box(Z, 1.0).all()
