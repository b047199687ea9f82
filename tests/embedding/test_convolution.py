import numpy as np
import pytest

from snekhorn.embedding.charge_sums import Kernel
from snekhorn.embedding.convolution import SPLIT_FROM, Padded, Split, choose_convolution

from .layouts_and_sums import ONE_THREAD, error

SPACING = 0.38


def _charges(shape, dtype=np.float64):
    """Return smooth charges of nodes, as a window spreads them."""
    rng = np.random.default_rng(0)
    smooth = rng.uniform(size=shape)
    for axis in range(len(shape)):
        for _ in range(8):
            smooth = (smooth + np.roll(smooth, 1, axis=axis)) / 2
    return smooth.astype(dtype)


@pytest.mark.parametrize("kernel", Kernel)
@pytest.mark.parametrize("shape", [(450, 450), (430, 95), (120, 500)])
@pytest.mark.parametrize(("dtype", "bound"), [(np.float64, 1e-6), (np.float32, 1e-5)])
def test_both_ways_agree(kernel, shape, dtype, bound):
    grid = _charges(shape, dtype)
    whole, split = (
        Padded(kernel, SPACING, shape, dtype)(grid, ONE_THREAD),
        Split(kernel, SPACING, shape, dtype)(grid, ONE_THREAD),
    )
    assert split.shape == whole.shape == shape
    assert error(split, whole) < bound


@pytest.mark.parametrize("shape", [(60,), (40, 25)])
def test_charges_do_not_meet_their_periodic_images(shape):
    """A charge at one end has the same field at the other end as on a grid twice as large."""
    grid, large = np.zeros(shape), np.zeros([2 * nodes for nodes in shape])
    corner = (slice(8),) * len(shape)
    grid[corner] = large[corner] = _charges((8,) * len(shape))
    found, want = (
        Padded(Kernel.STUDENT, SPACING, array.shape, np.float64)(array, ONE_THREAD)[
            tuple(slice(nodes) for nodes in shape)
        ]
        for array in (grid, large)
    )
    assert error(found, want) < 1e-6


@pytest.mark.parametrize(
    ("shape", "kind"), [((5000,), Padded), ((SPLIT_FROM - 1, 50), Padded), ((50, SPLIT_FROM), Split)]
)
def test_large_planes_are_split(shape, kind):
    assert isinstance(choose_convolution(Kernel.STUDENT, 0.0, SPACING, shape, np.float32), kind)
