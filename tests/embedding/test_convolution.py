import numpy as np
import pytest
from scipy.interpolate import BSpline

from snekhorn.embedding.charge_sums import Kernel
from snekhorn.embedding.convolution import Convolution, Window, padded_lengths
from snekhorn.runtime.execution import Threads

from .layouts_and_sums import ONE_THREAD, error

SPACING = 0.16

both_widths = pytest.mark.parametrize("width", [4, 8])
all_shapes = pytest.mark.parametrize("shape", [(60,), (40, 25), (16, 12, 14)])


def _weights(window, fractions):
    """Return the weights of the nodes around a point, as an array with one axis per dimension."""
    weights = np.ones(())
    for line in window.weights(np.asarray(fractions)):
        weights = np.multiply.outer(weights, line)
    return weights


def _charges(shape, width, within=None):
    """Return the charges of nodes onto which 30 points, all within some cells of the first node, were spread."""
    rng, charges = np.random.default_rng(0), np.zeros(shape)
    for _ in range(30):
        cell = rng.integers(np.array(shape if within is None else [within] * len(shape)) - width + 1)
        charges[tuple(slice(c, c + width) for c in cell)] += _weights(Window(width), rng.uniform(size=len(shape)))
    return charges


def _field(convolve, charges, execution=ONE_THREAD):
    """Return the field at the nodes; the arrays of a convolution have a longer last axis."""
    grid = np.zeros((*charges.shape[:-1], convolve.lengths[-1]))
    grid[..., : charges.shape[-1]] = charges
    return convolve(grid, execution, execution.n_threads)[..., : charges.shape[-1]]


def _convolution(kernel, width, shape, dtype=np.float64, reach=np.inf):
    return Convolution(kernel, Window(width), SPACING, shape, reach, dtype)


@both_widths
def test_window_is_a_spline(width, rng):
    window, u = Window(width), rng.uniform(size=20)
    spline = BSpline.basis_element(np.arange(width + 1.0))
    where = u[:, None] + width - 1 - np.arange(width)
    np.testing.assert_allclose(window.weights(u), spline(where), atol=1e-13)
    np.testing.assert_allclose(window.slopes(u), spline(where, nu=1), atol=1e-12)
    np.testing.assert_allclose(window.weights(u).sum(axis=1), 1.0, rtol=1e-13)


@both_widths
def test_the_mean_error_between_nodes_is_small(width):
    """A wave that is sampled, corrected and gathered keeps its amplitude, averaged over the places within a cell."""
    window, angle = Window(width), 0.3
    u = (np.arange(1000) + 0.5) / 1000
    nodes = np.arange(width) - width // 2 + 1  # relative to the cell of the point
    gathered = window.correction(np.array([angle])) * (window.weights(u) @ np.exp(1j * angle * nodes))
    errors = gathered * np.exp(-1j * angle * u) - 1.0
    assert abs(errors.mean()) < 0.1 * np.abs(errors).max()  # 0.5 if the wave were exact at the nodes


@both_widths
@all_shapes
@pytest.mark.parametrize("kernel", Kernel)
def test_spreading_convolving_and_gathering_reproduce_the_kernel(width, shape, kernel, rng):
    """Nodes on which the window has been spread and gathered by hand, for two points in the middle of cells."""
    window = Window(width)
    charges, at = np.zeros(shape), []
    for sign in (1.0, 0.5):
        cell, u = rng.integers(1, np.array(shape) - width), rng.uniform(size=len(shape))
        weights = _weights(window, u)
        nodes = tuple(slice(c, c + width) for c in cell)
        charges[nodes] += sign * weights
        at.append((cell + u, nodes, weights))
    field = _field(_convolution(kernel, width, shape), charges)
    for position, nodes, weights in at:
        squared = [np.sum((position - other) ** 2) * SPACING**2 for other, _, _ in at]
        want = kernel(squared[0]) + 0.5 * kernel(squared[1])
        assert np.sum(field[nodes] * weights) == pytest.approx(want, rel=3e-3 if width == 4 else 1e-5)


@both_widths
@all_shapes
@pytest.mark.parametrize("kernel", Kernel)
def test_charges_do_not_meet_their_periodic_images(width, shape, kernel):
    """A charge at one end has the same field at the other end as on a grid twice as large."""
    charges, large = np.zeros(shape), np.zeros([2 * nodes for nodes in shape])
    corner = (slice(8),) * len(shape)
    charges[corner] = large[corner] = _charges((8,) * len(shape), width, within=8)
    found = _field(_convolution(kernel, width, charges.shape), charges)
    want = _field(_convolution(kernel, width, large.shape), large)[tuple(slice(nodes) for nodes in shape)]
    assert error(found, want) < 1e-6


def test_a_kernel_of_short_range_needs_less_padding():
    shape, reach = (300, 200), 6.5
    assert padded_lengths(4, shape, reach / SPACING) < padded_lengths(4, shape, np.inf)
    charges = _charges(shape, 4)
    whole = _field(_convolution(Kernel.GAUSSIAN, 4, shape), charges)
    assert error(_field(_convolution(Kernel.GAUSSIAN, 4, shape, reach=reach), charges), whole) < 1e-6


@all_shapes
def test_around_is_the_field_of_a_unit_charge(shape):
    convolve = _convolution(Kernel.STUDENT, 4, shape)
    charges = np.zeros(shape)
    charges[tuple(nodes // 2 for nodes in shape)] = 1.0
    near = tuple(slice(nodes // 2 - 3, nodes // 2 + 4) for nodes in shape)
    np.testing.assert_allclose(convolve.around, _field(convolve, charges)[near], rtol=1e-9, atol=1e-9)


@all_shapes
def test_threads_leave_no_trace(shape):
    shape = tuple(4 * nodes for nodes in shape)
    charges, convolve = _charges(shape, 4), _convolution(Kernel.STUDENT, 4, shape, np.float32)
    one = _field(convolve, charges, Threads(1))
    for n_threads in (2, 3):
        np.testing.assert_array_equal(_field(convolve, charges, Threads(n_threads)), one)
