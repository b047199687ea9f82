import numpy as np
import pytest

from snekhorn.kernels.near_sums import CROWD, near_sums

SPACING, RADIUS, SIDE = 0.7, 2.8, 4.0  # a radius has four cells
EXTENT = (9.0, 13.0, 11.0)

both_dimensions = pytest.mark.parametrize("d", [2, 3])


class Sorted:
    """Points sorted by box, as the compiled loop takes them; positions are in units of the spacing."""

    def __init__(self, Z, reach, dtype):
        d = Z.shape[1]
        self.sides = SIDE / np.array(reach)
        self.n_boxes = tuple(
            int(cells / side) + 1 for cells, side in zip(np.array(EXTENT[:d]), self.sides, strict=True)
        )
        box = np.ravel_multi_index(tuple((Z / SPACING / self.sides).astype(int).T), self.n_boxes)
        self.order = np.argsort(box, kind="stable")
        self.first = np.searchsorted(box[self.order], np.arange(np.prod(self.n_boxes) + 1)).astype(np.uint32)
        self.position = np.ascontiguousarray(Z[self.order].T / SPACING).astype(dtype)


def _layout(n, d, seed=0):
    return np.random.default_rng(seed).uniform(size=(n, d)) * np.array(EXTENT[:d]) * SPACING


def _sums(Z, charges, targets, m, reach, dtype=np.float64, same=1e-3, ranges=None):
    """Return the sums in the order of the targets, and the number of pairs."""
    n, d = targets.shape
    points, at = Sorted(Z, reach, dtype), Sorted(targets, reach, dtype)
    n_boxes, reach = (1,) * (3 - d) + points.n_boxes, (0,) * (3 - d) + reach
    n_rows = n_boxes[0] * n_boxes[1]
    out, n_pairs = np.full((n, d + 1), np.nan, dtype), np.zeros(n_rows)
    sources = (points.first, points.position, charges[points.order].astype(dtype))
    split = (SPACING, RADIUS, same, m == 8)
    for start, stop in ranges or [(0, n_rows)]:
        near_sums(start, stop, n_boxes, reach, sources, (at.first, at.position), split, out, n_pairs)
    sums = np.empty_like(out)
    sums[at.order] = out
    return sums, n_pairs.sum()


def _plain(Z, charges, targets, m):
    """Compute the near part of the field and its gradient by the formula."""
    difference = targets[:, None] - Z
    squared = (difference**2).sum(axis=2)
    x = np.maximum(1.0 - (1.0 + squared) / (1.0 + RADIUS**2), 0.0)
    value = x**m / (1.0 + squared)
    slope = -2.0 * x ** (m - 1) * (m / (1.0 + RADIUS**2) / (1.0 + squared) + x / (1.0 + squared) ** 2)
    return np.column_stack([value @ charges, np.einsum("ij,ijd->id", slope * charges, difference)])


@both_dimensions
@pytest.mark.parametrize("m", [4, 8])
@pytest.mark.parametrize("boxes", [1, 2, 3])
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-12), (np.float32, 2e-5)])
def test_sums_are_the_formula(d, m, boxes, dtype, rtol, rng):
    Z, targets, charges = _layout(700, d), _layout(90, d, seed=1), rng.uniform(0.1, 1.0, size=700)
    for at in (Z, targets):
        found, n_pairs = _sums(Z, charges, at, m, (boxes,) * (d - 1) + (2,), dtype)
        want = _plain(Z, charges, at, m)
        np.testing.assert_allclose(found, want, rtol=rtol, atol=rtol * np.abs(want).max())
        assert n_pairs <= 700 * len(at)


def test_more_boxes_visit_fewer_pairs():
    Z = _layout(3000, 2)
    pairs = [_sums(Z, np.ones(3000), Z, 4, reach)[1] for reach in ((1, 1), (1, 2), (2, 2), (2, 4))]
    assert pairs == sorted(pairs, reverse=True)
    assert pairs[-1] < 0.8 * pairs[0]


@both_dimensions
def test_ranges_leave_no_trace(d, rng):
    Z, charges = _layout(600, d), rng.uniform(size=600).astype(np.float32)
    reach = (1,) * (d - 1) + (2,)
    n_rows = int(np.prod(Sorted(Z, reach, float).n_boxes[:-1]))
    whole, n_pairs = _sums(Z, charges, Z, 4, reach, np.float32)
    for ranges in ([(0, 1), (1, n_rows)], [(row, row + 1) for row in reversed(range(n_rows))]):
        found, pairs = _sums(Z, charges, Z, 4, reach, np.float32, ranges=ranges)
        np.testing.assert_array_equal(found, whole)
        assert pairs == n_pairs


def test_boxes_without_points():
    Z = np.array([[0.1, 0.1], [6.2, 9.0]])
    found, n_pairs = _sums(Z, np.ones(2), Z[:1], 4, (1, 2))
    np.testing.assert_allclose(found, _plain(Z, np.ones(2), Z[:1], 4), rtol=1e-13, atol=1e-15)
    assert n_pairs == 1


@both_dimensions
@pytest.mark.parametrize("spread", [0.0, 1e-5, 1e-3])
def test_points_of_a_crowded_place_are_merged(d, spread, rng):
    """Several clumps in one box, among other points, whose order has nothing to do with their positions."""
    n = 6 * CROWD
    Z = _layout(n, d)
    clumped = rng.permutation(n)[: n // 2]
    Z[clumped] = 3.0 + 0.01 * rng.integers(2, size=(clumped.size, 1)) + spread * rng.uniform(size=(clumped.size, d))
    charges, reach = rng.uniform(0.1, 1.0, size=n), (1,) * (d - 1) + (2,)
    found, n_pairs = _sums(Z, charges, Z, 4, reach)
    want = _plain(Z, charges, Z, 4)
    np.testing.assert_allclose(found, want, atol=1e-6 * np.abs(want).max())
    scattered = _layout(n // 2, d)
    assert n_pairs < 2.5 * 2 * _sums(scattered, np.ones(n // 2), scattered, 4, reach)[1]


def test_merged_points_without_charge():
    Z = np.full((2 * CROWD, 2), 3.0)
    assert not _sums(Z, np.zeros(len(Z)), Z, 4, (1, 2))[0].any()


def test_points_next_to_the_first_one_of_a_band_are_not_lost(rng):
    """A crowded box at the start of the band, with points that are close together but have different hashes."""
    Z = np.full((2 * CROWD, 2), 0.5) + 2e-3 * rng.uniform(-1.0, 1.0, size=(2 * CROWD, 2))
    charges = rng.uniform(0.1, 1.0, size=len(Z))
    found, _ = _sums(Z, charges, Z, 4, (1, 2))
    np.testing.assert_allclose(found[:, 0], _plain(Z, charges, Z, 4)[:, 0], rtol=1e-5)
