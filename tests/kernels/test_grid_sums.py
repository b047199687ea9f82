from itertools import pairwise

import numpy as np
import pytest
from scipy.interpolate import BSpline

from snekhorn.embedding.convolution import Window
from snekhorn.embedding.mesh import GATHER, SPREAD
from snekhorn.kernels.grid_sums import count_points, multiply, sort_points, start_boxes

N, CELLS = 200, (9, 7, 5)
SIDES = (2.0, 1.5, 2.5)
MOST = 1e30

all_dimensions = pytest.mark.parametrize("d", [1, 2, 3])
both_widths = pytest.mark.parametrize("width", [4, 8])


class Points:
    """Random points of a grid of unit cells, as the compiled loops take them."""

    def __init__(self, d, n=N, dtype=np.float64, seed=0, n_chunks=1):
        rng = np.random.default_rng(seed)
        self.d, self.sides = d, SIDES[:d]
        self.n_boxes = tuple(int(cells / side) + 1 for cells, side in zip(CELLS[:d], self.sides, strict=True))
        self.Z = rng.uniform(size=(n, d)) * CELLS[:d]
        self.charges = rng.uniform(0.1, 1.0, size=n)
        self.first = np.empty(int(np.prod(self.n_boxes)) + 1, np.uint32)
        self.order = np.empty(n, np.uint32)
        self.position, self.charge = np.empty((d, n), dtype), np.empty(n, dtype)
        box_of, counts = np.empty(n, np.uint32), np.empty((n_chunks, self.first.size - 1), np.uint32)
        mesh = (np.zeros(d), 1.0)
        count_points(0, n_chunks, self.Z, *mesh, self.sides, self.n_boxes, box_of, counts)
        start_boxes(counts, self.first)
        arrays = (box_of, counts, self.order, self.position, self.charge)
        sort_points(0, n_chunks, self.Z, self.charges, *mesh, MOST, *arrays)

    def spread(self, width, edges=None):
        grid = np.full(tuple(cells + width for cells in CELLS[: self.d]), np.nan, self.position.dtype)
        first_of_row = self.first[:: int(np.prod(self.n_boxes[1:]))].copy()
        window = Window(width).coefficients.astype(grid.dtype)
        arrays = (first_of_row, self.sides[0], self.position, self.charge, window, grid)
        edges = [0, grid.shape[0]] if edges is None else edges
        for start, stop in pairwise(edges):
            SPREAD[self.d](start, stop, (0,) * width, *arrays)
        return grid

    def gather(self, width, field, excess=None, near=None):
        n = len(self.Z)
        out = np.empty((n, self.d + 1))
        excess = np.zeros((4,) * self.d + (self.d + 1,), field.dtype) if excess is None else excess
        near = np.zeros((n, self.d + 1), field.dtype) if near is None else near
        window = Window(width)
        windows = (window.coefficients.astype(field.dtype), window.slope.astype(field.dtype))
        arrays = (self.order, self.position, self.charge, *windows, field, excess, near, out)
        GATHER[self.d](0, n, (0,) * width, *arrays)
        return out


def _weights(u, width, derivative=0):
    """Compute the weights of the nodes of points at these fractions by SciPy's B-spline."""
    spline = BSpline.basis_element(np.arange(width + 1.0), extrapolate=False)
    values = spline(u[:, None] + width - 1 - np.arange(width), nu=derivative)
    return np.nan_to_num(values)


def _dense(points, width, derivative=(0, 0, 0)):
    """Return the matrix (points, nodes) of weights."""
    n = len(points.Z)
    matrix = np.ones((n, 1))
    for axis in range(points.d):
        cell, u = np.divmod(points.Z[:, axis], 1.0)
        line = np.zeros((n, CELLS[axis] + width))
        for k, weight in enumerate(_weights(u, width, derivative[axis]).T):
            line[np.arange(n), cell.astype(int) + k] = weight
        matrix = (matrix[:, :, None] * line[:, None]).reshape(n, -1)
    return matrix


def _shape(d, width):
    return tuple(cells + width for cells in CELLS[:d])


@all_dimensions
@pytest.mark.parametrize("n_chunks", [1, 2, 5, 300])
def test_points_are_sorted_by_box_and_otherwise_keep_their_order(d, n_chunks):
    points = Points(d, n_chunks=n_chunks)
    box = np.ravel_multi_index(tuple((points.Z / points.sides).astype(int).T), points.n_boxes)
    np.testing.assert_array_equal(points.order, np.argsort(box, kind="stable"))
    np.testing.assert_array_equal(points.charge, points.charges[points.order])
    np.testing.assert_array_equal(points.position.T, points.Z[points.order])
    np.testing.assert_array_equal(np.diff(points.first.astype(int)), np.bincount(box, minlength=points.first.size - 1))
    assert points.first[0] == 0


def test_ranges_of_chunks_leave_no_trace():
    points, n_chunks = Points(2), 4
    box_of, counts = np.empty(N, np.uint32), np.empty((n_chunks, points.first.size - 1), np.uint32)
    first, order = np.empty_like(points.first), np.empty_like(points.order)
    for chunk in reversed(range(n_chunks)):
        count_points(chunk, chunk + 1, points.Z, np.zeros(2), 1.0, points.sides, points.n_boxes, box_of, counts)
    start_boxes(counts, first)
    arrays = (order, np.empty((2, N)), np.empty(N))
    for chunk in reversed(range(n_chunks)):
        sort_points(chunk, chunk + 1, points.Z, points.charges, np.zeros(2), 1.0, MOST, box_of, counts, *arrays)
    np.testing.assert_array_equal(first, points.first)
    np.testing.assert_array_equal(order, points.order)


def test_large_charges_are_limited():
    charge, places = np.empty(2, np.float32), np.zeros((1, 1), np.uint32)
    arrays = (np.zeros(2, np.uint32), places, np.empty(2, np.uint32), np.empty((1, 2), np.float32), charge)
    sort_points(0, 1, np.zeros((2, 1)), np.array([3.0, 1e200]), np.zeros(1), 1.0, MOST, *arrays)
    np.testing.assert_array_equal(charge, np.array([3.0, MOST], np.float32))


@all_dimensions
@both_widths
def test_spread_is_the_sum_of_splines(d, width):
    points = Points(d)
    want = points.charges @ _dense(points, width)
    np.testing.assert_allclose(points.spread(width).ravel(), want, rtol=1e-11, atol=1e-14)


@all_dimensions
@both_widths
def test_spread_keeps_the_charge(d, width):
    points = Points(d)
    assert points.spread(width).sum() == pytest.approx(points.charges.sum(), rel=1e-12)


@all_dimensions
@both_widths
def test_gather_is_the_sum_of_splines_and_of_their_slopes(d, width, rng):
    points = Points(d)
    field = rng.normal(size=_shape(d, width))
    out = points.gather(width, field)
    np.testing.assert_allclose(out[:, 0], _dense(points, width) @ field.ravel(), rtol=1e-10, atol=1e-13)
    for axis in range(d):
        want = _dense(points, width, np.eye(3, dtype=int)[axis]) @ field.ravel()
        np.testing.assert_allclose(out[:, 1 + axis], want, rtol=1e-9, atol=1e-12)


@all_dimensions
def test_gather_reads_a_linear_field_exactly(d):
    width = 4
    points = Points(d)
    slopes = np.array([0.7, -1.3, 0.4])[:d]
    nodes = np.meshgrid(*[np.arange(float(size)) for size in _shape(d, width)], indexing="ij")
    out = points.gather(width, sum(slope * axis for slope, axis in zip(slopes, nodes, strict=True)) + 0.0)
    np.testing.assert_allclose(out[:, 0], (points.Z + width / 2 - 1) @ slopes, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(out[:, 1:], np.broadcast_to(slopes, (N, d)), rtol=1e-10)


@all_dimensions
def test_gather_takes_off_what_the_own_charge_has_in_excess_and_adds_the_near_part(d, rng):
    width = 4
    points = Points(d)
    excess, near = rng.normal(size=(4,) * d + (d + 1,)), rng.normal(size=(N, d + 1))
    fraction = np.floor(4.0 * (points.Z % 1.0)).astype(int)
    want = -points.charges[:, None] * excess[tuple(fraction.T)]
    want[points.order] += near  # which is in sorted order
    np.testing.assert_allclose(points.gather(width, np.zeros(_shape(d, width)), excess, near), want, rtol=1e-12)


@all_dimensions
@both_widths
def test_float32_is_the_same_to_its_precision(d, width):
    one, other = Points(d), Points(d, dtype=np.float32)
    grid = one.spread(width)
    assert other.spread(width).dtype == np.float32
    np.testing.assert_allclose(other.spread(width), grid, atol=2e-5)
    np.testing.assert_allclose(other.gather(width, grid.astype(np.float32)), one.gather(width, grid), atol=1e-4)


@all_dimensions
@pytest.mark.parametrize("edges", [(0, 5, 13), (0, 1, 2, 12, 13), range(14)])
def test_rows_do_not_depend_on_the_ranges(d, edges):
    points = Points(d, dtype=np.float32)
    np.testing.assert_array_equal(points.spread(4, list(edges)), points.spread(4))


def test_rows_are_multiplied(rng):
    factors, values = rng.normal(size=(5, 3)), rng.normal(size=(5, 3)) + 1j
    found = values.copy()
    multiply(0, 2, factors, found)
    multiply(2, 5, factors, found)
    np.testing.assert_array_equal(found, factors * values)
