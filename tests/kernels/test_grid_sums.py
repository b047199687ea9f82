import numpy as np
import pytest
from scipy.interpolate import BSpline

from snekhorn.embedding.convolution import WINDOW, WINDOW_SLOPE
from snekhorn.kernels.grid_sums import (
    WIDTH,
    count_rows,
    gather_line,
    gather_plane,
    sort_by_row,
    spread_line,
    spread_plane,
)

N, CELLS = 200, (9, 7)

both_dimensions = pytest.mark.parametrize("d", [1, 2])


class Points:
    """Random points of a grid of unit cells, as the compiled loops take them."""

    def __init__(self, d, n=N, dtype=np.float64, seed=0):
        rng = np.random.default_rng(seed)
        self.d = d
        self.Z = rng.uniform(size=(n, d)) * CELLS[:d]
        self.charges = rng.uniform(0.1, 1.0, size=n)
        self.first = np.empty(CELLS[0] + 1, np.int64)
        self.order = np.empty(n, np.int64)
        self.cell = np.empty((d, n), np.int32)
        self.fraction, self.charge = np.empty((d, n), dtype), np.empty(n, dtype)
        where = (np.zeros(d), 1.0, self.first)
        count_rows(self.Z, *where)
        sort_by_row(self.Z, self.charges, *where, self.order, self.cell, self.fraction, self.charge)

    def spread(self):
        grid = np.empty(tuple(cells + WIDTH - 1 for cells in CELLS[: self.d]), self.fraction.dtype)
        arrays = (self.cell, self.fraction, self.charge, WINDOW.astype(grid.dtype), grid)
        if self.d == 1:
            spread_line(*arrays)
        else:
            spread_plane(0, grid.shape[0], self.first, *arrays)
        return grid

    def gather(self, field, excess=None):
        n = len(self.Z)
        out = np.empty((n, self.d + 1), field.dtype)
        excess = np.zeros((4,) * self.d + (self.d + 1,), field.dtype) if excess is None else excess
        windows = (WINDOW.astype(field.dtype), WINDOW_SLOPE.astype(field.dtype))
        arrays = (self.order, self.cell, self.fraction, self.charge, *windows, field, excess, out)
        (gather_line if self.d == 1 else gather_plane)(0, n, *arrays)
        return out


def _weights(u, derivative=0):
    """Compute the weights of the WIDTH nodes of points at these fractions by SciPy's B-spline."""
    spline = BSpline.basis_element(np.arange(WIDTH + 1.0), extrapolate=False)
    values = spline(u[:, None] + WIDTH - 1 - np.arange(WIDTH), nu=derivative)
    return np.nan_to_num(values)


def _dense(points, derivative=(0, 0)):
    """Return the matrix (points, nodes) of weights."""
    n = len(points.Z)
    matrix = np.ones((n, 1))
    for axis in range(points.d):
        cell, u = np.divmod(points.Z[:, axis], 1.0)
        line = np.zeros((n, CELLS[axis] + WIDTH - 1))
        for k, weight in enumerate(_weights(u, derivative[axis]).T):
            line[np.arange(n), cell.astype(int) + k] = weight
        matrix = (matrix[:, :, None] * line[:, None]).reshape(n, -1)
    return matrix


@both_dimensions
def test_points_are_sorted_by_row_and_otherwise_keep_their_order(d):
    points = Points(d)
    np.testing.assert_array_equal(points.order, np.argsort(np.floor(points.Z[:, 0]), kind="stable"))
    np.testing.assert_array_equal(points.charge, points.charges[points.order])
    np.testing.assert_allclose((points.cell + points.fraction).T, points.Z[points.order], rtol=1e-14)
    for row in range(CELLS[0]):
        assert (points.cell[0, points.first[row] : points.first[row + 1]] == row).all()
    assert points.first[0] == 0
    assert points.first[-1] == N


def test_a_fraction_that_rounds_to_one_in_float32_stays_below():
    first, order, cell = np.empty(3, np.int64), np.empty(1, np.int64), np.empty((1, 1), np.int32)
    fraction, charge = np.empty((1, 1), np.float32), np.empty(1, np.float32)
    Z, where = np.array([[1.0 - 1e-12]]), (np.zeros(1), 1.0, first)
    count_rows(Z, *where)
    sort_by_row(Z, np.ones(1), *where, order, cell, fraction, charge)
    assert cell[0, 0] == 0
    assert fraction[0, 0] < 1.0


@both_dimensions
def test_spread_is_the_sum_of_splines(d):
    points = Points(d)
    want = points.charges @ _dense(points)
    np.testing.assert_allclose(points.spread().ravel(), want, rtol=1e-11, atol=1e-14)


@both_dimensions
def test_spread_keeps_the_charge(d):
    points = Points(d)
    assert points.spread().sum() == pytest.approx(points.charges.sum(), rel=1e-12)


@both_dimensions
def test_gather_is_the_sum_of_splines_and_of_their_slopes(d, rng):
    points = Points(d)
    field = rng.normal(size=tuple(cells + WIDTH - 1 for cells in CELLS[:d]))
    out = points.gather(field)
    np.testing.assert_allclose(out[:, 0], _dense(points) @ field.ravel(), rtol=1e-10, atol=1e-13)
    for axis in range(d):
        want = _dense(points, np.eye(2, dtype=int)[axis]) @ field.ravel()
        np.testing.assert_allclose(out[:, 1 + axis], want, rtol=1e-9, atol=1e-12)


@both_dimensions
def test_gather_reads_a_linear_field_exactly(d):
    points = Points(d)
    slopes = np.array([0.7, -1.3])[:d]
    nodes = np.meshgrid(*[np.arange(cells + WIDTH - 1.0) for cells in CELLS[:d]], indexing="ij")
    out = points.gather(sum(slope * axis for slope, axis in zip(slopes, nodes, strict=True)) + 0.0)
    np.testing.assert_allclose(out[:, 0], (points.Z + WIDTH / 2 - 1) @ slopes, rtol=1e-10)
    np.testing.assert_allclose(out[:, 1:], np.broadcast_to(slopes, (N, d)), rtol=1e-10)


@both_dimensions
def test_gather_takes_off_what_the_own_charge_has_in_excess(d, rng):
    points = Points(d)
    shape = tuple(cells + WIDTH - 1 for cells in CELLS[:d])
    excess = rng.normal(size=(4,) * d + (d + 1,))
    fraction = np.floor(4.0 * (points.Z % 1.0)).astype(int)
    want = -points.charges[:, None] * excess[tuple(fraction.T)]
    np.testing.assert_allclose(points.gather(np.zeros(shape), excess), want, rtol=1e-13)


@both_dimensions
def test_float32_is_the_same_to_its_precision(d):
    one, other = Points(d), Points(d, dtype=np.float32)
    grid = one.spread()
    assert other.spread().dtype == np.float32
    np.testing.assert_allclose(other.spread(), grid, atol=2e-5)
    np.testing.assert_allclose(other.gather(grid.astype(np.float32)), one.gather(grid), atol=1e-4)


@pytest.mark.parametrize("edges", [(0, 16), (0, 5, 16), (0, 1, 2, 15, 16), range(17)])
def test_rows_of_the_plane_do_not_depend_on_the_ranges(edges):
    points = Points(2, dtype=np.float32)
    grid = np.full((16, 14), np.nan, np.float32)
    for start, stop in zip(list(edges)[:-1], list(edges)[1:], strict=True):
        spread_plane(
            start, stop, points.first, points.cell, points.fraction, points.charge, WINDOW.astype(np.float32), grid
        )
    np.testing.assert_array_equal(grid, points.spread())
