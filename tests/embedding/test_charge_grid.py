"""The grid against the direct sum."""

import numpy as np
import pytest

from snekhorn.embedding.charge_grid import DEFAULT, MOST_CELLS, TIGHT, GridSums, Mesh
from snekhorn.embedding.charge_sums import DirectSums, Kernel
from snekhorn.errors import NumericalOverflowError
from snekhorn.runtime.execution import MIN_WORK_FOR_THREADS, Threads

from .layouts_and_sums import ONE_THREAD, blobs, curve, error, fitted, plain_sums, uniform

N = 1500
SPANS = [0.01, 0.3, 3.0, 30.0, 120.0, 500.0]
LAYOUTS = (uniform, blobs, curve)
BOUNDS = {DEFAULT: (2e-4, 5e-3), TIGHT: (1e-6, 1e-5)}

both_kernels = pytest.mark.parametrize("kernel", Kernel)
both_dimensions = pytest.mark.parametrize("d", [1, 2])
both_accuracies = pytest.mark.parametrize("accuracy", BOUNDS, ids=["default", "tight"])


def _charges(n, seed=1):
    return np.random.default_rng(seed).uniform(0.05, 1.0, size=n)


def _errors(grid, Z, charges):
    """Return the relative errors of the field and its gradient."""
    return [error(a, b) for a, b in zip(grid(Z, charges), DirectSums(grid.kernel, ONE_THREAD)(Z, charges), strict=True)]


@both_kernels
@pytest.mark.parametrize(
    ("accuracy", "d", "span"),
    [(DEFAULT, d, span) for d in (1, 2) for span in SPANS]
    + [(TIGHT, 1, span) for span in SPANS]
    + [(TIGHT, 2, span) for span in SPANS[:-1]],  # the last would take a gigabyte
)
def test_errors_are_below_the_documented_bounds(kernel, accuracy, d, span):
    grid = GridSums(kernel, ONE_THREAD, accuracy)
    bound, slope_bound = BOUNDS[accuracy]
    for layout in LAYOUTS:
        phi_error, slope_error = _errors(grid, fitted(layout(N, d), span), _charges(N))
        assert phi_error < bound, layout.__name__
        assert slope_error < slope_bound, layout.__name__


@both_kernels
@both_accuracies
def test_charges_of_very_different_sizes(kernel, accuracy):
    Z = fitted(blobs(N, 2), 40.0)
    errors = _errors(GridSums(kernel, ONE_THREAD, accuracy), Z, np.exp(-6.0 * _charges(N)))
    assert (np.array(errors) < BOUNDS[accuracy]).all()


@both_kernels
@both_dimensions
@both_accuracies
def test_where_the_layout_is_does_not_matter(kernel, d, accuracy):
    Z, charges = fitted(blobs(N, d), 20.0), _charges(N)
    want = GridSums(kernel, ONE_THREAD, accuracy)(Z, charges)
    for shift in (0.123, -1e3, 1e6):
        found = GridSums(kernel, ONE_THREAD, accuracy)(Z + shift, charges)
        for a, b, bound in zip(found, want, BOUNDS[accuracy], strict=True):
            assert error(a, b) < 2 * bound


@both_kernels
@both_accuracies
@pytest.mark.parametrize(
    "Z",
    [
        np.zeros((6, 2)),
        np.zeros((1, 2)),
        np.full((1, 1), 3.0),
        np.full((5, 1), -2.0),
        np.array([[0.0, 0.0], [1.0, 0.0]]),
        np.array([[0.0], [0.2]]),
        np.array([[0.0, 0.0], [1e-310, 0.0]]),
        np.array([[0.0, 0.0], [1e-12, 1e-15]]),
        1e8 + np.array([[0.0, 0.0], [1.5e-8, 0.0]]),
        np.stack([np.linspace(0.0, 9.0, 50), np.full(50, 4.0)], axis=1),
        np.stack([np.full(50, 4.0), np.linspace(0.0, 9.0, 50)], axis=1),
    ],
    ids=lambda Z: f"{len(Z)}x{Z.shape[1]} from {Z[0]} to {Z[-1]}",
)
def test_degenerate_layouts(kernel, accuracy, Z):
    charges = _charges(len(Z))
    phi, slope = GridSums(kernel, ONE_THREAD, accuracy)(Z, charges)
    want, want_slope = plain_sums(kernel, Z, charges)
    bound, slope_bound = BOUNDS[accuracy]
    assert error(phi, want) < bound
    assert np.abs(slope - want_slope).max() < slope_bound * max(np.abs(want_slope).max(), 1e-3 * want.max())


@both_kernels
@pytest.mark.parametrize("corner", [1e10, 1e15, 1e40])
def test_layouts_far_from_the_origin_have_finite_sums(kernel, corner):
    """Rounding merges nearby points, but no point falls off the grid."""
    Z = corner + np.array([[0.0, 0.0], [1.0, 2.0], [1e-3, 7.0]])
    phi, slope = GridSums(kernel, ONE_THREAD)(Z, np.ones(3))
    assert ((phi > 0.9) & (phi < 3.1)).all()
    assert np.isfinite(slope).all()


@both_accuracies
@pytest.mark.parametrize("corner", [1.0, -1e8, 1e12, -1e15, 1e40])
@pytest.mark.parametrize("steps", [1, 2, 5, 100])
def test_a_new_mesh_holds_its_layout_whatever_the_rounding(accuracy, corner, steps):
    step = np.spacing(abs(corner)) * steps
    Z = corner + step * np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 2.0]])
    mesh = Mesh.around(Z, Kernel.STUDENT, accuracy, ONE_THREAD)
    positions = (Z - mesh.low) / mesh.spacing
    assert (positions >= 0.0).all()
    assert (positions < mesh.n_cells).all()


@both_kernels
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e200])
@pytest.mark.parametrize("row", [0, 3])
def test_layouts_that_overflowed_are_refused(kernel, value, row):
    Z = uniform(5, 2)
    grid = GridSums(kernel, ONE_THREAD)
    grid(Z, np.ones(5))
    Z[row, 1] = value
    for function in (grid, grid.of_others, grid.freeze):
        with pytest.raises(NumericalOverflowError, match="lower learning_rate"):
            function(Z, np.ones(5))


@both_dimensions
@pytest.mark.parametrize("span", [1e-6, 1.0, 1e3, 1e7, 1e50])
def test_the_number_of_cells_is_bounded(d, span, monkeypatch):
    monkeypatch.setitem(MOST_CELLS, d, 200)
    mesh = Mesh.around(fitted(uniform(100, d), span), Kernel.STUDENT, DEFAULT, ONE_THREAD)
    assert max(mesh.n_cells) <= MOST_CELLS[d] + 1


def test_a_layout_beyond_the_bound_keeps_its_field():
    """With cells wider than the kernel the sums are rough, but they do not explode."""
    Z, charges = fitted(uniform(N, 1), 1e6), _charges(N)
    phi_error, slope_error = _errors(GridSums(Kernel.STUDENT, ONE_THREAD), Z, charges)
    assert phi_error < 0.05
    assert np.isfinite(slope_error)


def _meshes(*layouts):
    grid = GridSums(Kernel.STUDENT, ONE_THREAD)
    for Z in layouts:
        grid(Z, np.ones(len(Z)))
        yield grid._mesh


def test_a_mesh_is_kept_while_the_layout_fits():
    Z = fitted(uniform(200, 2), 10.0)
    first, moved, grown, shrunk = _meshes(Z, Z + 0.1, 1.02 * Z, 0.97 * Z)
    assert first is moved is grown is shrunk


@pytest.mark.parametrize("factor", [0.5, 0.85, 1.2, 3.0])
def test_a_mesh_is_replaced_when_the_layout_outgrows_it_or_needs_finer_cells(factor):
    Z = fitted(uniform(200, 2), 10.0)
    first, second = _meshes(Z, factor * Z)
    assert first is not second
    assert second.suits(factor * Z)


def test_a_mesh_is_replaced_when_the_layout_leaves_it():
    Z = fitted(uniform(200, 2), 10.0)
    first, second = _meshes(Z, Z + 2.0)
    assert first is not second


@both_kernels
def test_a_reused_mesh_is_as_good_as_a_new_one(kernel):
    Z, charges = fitted(blobs(N, 2), 30.0), _charges(N)
    grid = GridSums(kernel, ONE_THREAD)
    grid(Z, charges)
    mesh = grid._mesh
    errors = _errors(grid, 1.02 * Z + 0.05, charges[::-1])
    assert grid._mesh is mesh
    assert (np.array(errors) < BOUNDS[DEFAULT]).all()


@both_kernels
@both_dimensions
@both_accuracies
@pytest.mark.parametrize("span", [0.3, 30.0])
def test_a_frozen_field_at_other_places(kernel, d, accuracy, span):
    Z, charges = fitted(blobs(N, d), span), _charges(N)
    positions = Z.min(axis=0) + uniform(700, d, seed=5) * np.ptp(Z, axis=0)
    field = GridSums(kernel, ONE_THREAD, accuracy).freeze(Z, charges)
    assert field.kernel is kernel
    for a, b, bound in zip(
        field.at(positions), plain_sums(kernel, Z, charges, positions), BOUNDS[accuracy], strict=True
    ):
        assert error(a, b) < bound


def test_positions_outside_a_frozen_field_get_the_value_at_its_edge():
    Z, charges = fitted(uniform(300, 2), 6.0), _charges(300)
    field = GridSums(Kernel.STUDENT, ONE_THREAD).freeze(Z, charges)
    phi, _ = field.at(np.array([[1e9, 0.0], [1e3, 0.0]]))
    assert phi[0] == phi[1] > 0.0


@both_kernels
@both_dimensions
def test_others_leave_out_the_own_charge(kernel, d):
    Z, charges = fitted(blobs(N, d), 20.0), _charges(N)
    grid = GridSums(kernel, ONE_THREAD)
    found, want = grid.of_others(Z, charges), DirectSums(kernel, ONE_THREAD).of_others(Z, charges)
    for a, b, bound in zip(found, want, BOUNDS[DEFAULT], strict=True):
        assert error(a, b) < bound


def test_fields_of_others_below_the_noise_are_positive():
    Z = np.concatenate([fitted(uniform(500, 2), 3.0), [[40.0, 0.0], [0.0, 40.0], [-40.0, 0.0], [0.0, -35.5]]])
    for accuracy in BOUNDS:
        phi, _ = GridSums(Kernel.GAUSSIAN, ONE_THREAD, accuracy).of_others(Z, np.ones(len(Z)))
        assert (phi > 1e-10).all()
        assert phi[-4:].max() < 1e-3


@both_kernels
@both_dimensions
@pytest.mark.parametrize(("accuracy", "span"), [(DEFAULT, 45.0), (DEFAULT, 170.0), (TIGHT, 45.0)])
def test_threads_leave_no_trace(kernel, d, accuracy, span):
    n = 15_000
    assert n * 8 >= MIN_WORK_FOR_THREADS
    Z, charges = fitted(blobs(n, d), span), _charges(n)
    runs = []
    for n_threads in (1, 2, 4):
        grid = GridSums(kernel, Threads(n_threads), accuracy)
        runs.append((*grid(Z, charges), *grid.freeze(Z, charges).at(Z + 0.01)))
    for run in runs[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(run, runs[0], strict=True))


@both_dimensions
def test_the_order_of_points_matters_to_rounding_only(d, rng):
    Z, charges = fitted(blobs(N, d), 20.0), _charges(N)
    order = rng.permutation(N)
    grid = GridSums(Kernel.STUDENT, ONE_THREAD)
    for a, b in zip(grid(Z, charges), grid(Z[order], charges[order]), strict=True):
        assert error(b, a[order]) < 1e-5
