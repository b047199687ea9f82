"""The grid against the direct sum."""

import numpy as np
import pytest

from snekhorn.embedding import charge_grid as module
from snekhorn.embedding import mesh_size
from snekhorn.embedding.charge_grid import GridSums
from snekhorn.embedding.charge_sums import SMALLEST, DirectSums, Kernel
from snekhorn.embedding.mesh_size import DEFAULT, TIGHT
from snekhorn.errors import NumericalOverflowError
from snekhorn.runtime.execution import MIN_WORK_FOR_THREADS, Threads

from .layouts_and_sums import ONE_THREAD, blobs, curve, error, fitted, meshes_of, plain_sums, random_charges, uniform

N = 1500
SPANS = [0.01, 0.3, 3.0, 30.0, 120.0, 500.0]
LAYOUTS = (uniform, blobs, curve)
BOUNDS = {DEFAULT: (2e-4, 5e-3), TIGHT: (1e-6, 1e-5)}

both_kernels = pytest.mark.parametrize("kernel", Kernel)
all_dimensions = pytest.mark.parametrize("d", [1, 2, 3])
both_accuracies = pytest.mark.parametrize("accuracy", BOUNDS, ids=["default", "tight"])


def _errors(grid, Z, charges):
    """Return the relative errors of the field and its gradient."""
    return [error(a, b) for a, b in zip(grid(Z, charges), DirectSums(grid.kernel, ONE_THREAD)(Z, charges), strict=True)]


def _cases():
    """Yield accuracies, dimensions and spans; Gaussian layouts are compact, and in space the wide ones take long."""
    for accuracy in BOUNDS:
        for d in (1, 2, 3):
            for span in SPANS:
                for kernel in Kernel:
                    widest = {1: 500.0, 2: 500.0 if accuracy is DEFAULT else 120.0, 3: 30.0}[d]
                    if kernel is Kernel.STUDENT or span <= widest:
                        yield pytest.param(kernel, accuracy, d, span)


@pytest.mark.parametrize(("kernel", "accuracy", "d", "span"), list(_cases()))
def test_errors_are_below_the_documented_bounds(kernel, accuracy, d, span):
    grid = GridSums(kernel, ONE_THREAD, accuracy)
    bound, slope_bound = BOUNDS[accuracy]
    for layout in LAYOUTS[: 3 if d < 3 else 2]:
        phi_error, slope_error = _errors(grid, fitted(layout(N, d), span), random_charges(N))
        assert phi_error < bound, layout.__name__
        assert slope_error < slope_bound, layout.__name__
        assert not grid.rough


@both_kernels
@both_accuracies
def test_charges_of_very_different_sizes(kernel, accuracy):
    Z = fitted(blobs(N, 2), 40.0)
    errors = _errors(GridSums(kernel, ONE_THREAD, accuracy), Z, np.exp(-6.0 * random_charges(N)))
    assert (np.array(errors) < BOUNDS[accuracy]).all()


@both_kernels
@all_dimensions
@both_accuracies
def test_where_the_layout_is_does_not_matter(kernel, d, accuracy):
    Z, charges = fitted(blobs(N, d), 20.0), random_charges(N)
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
    charges = random_charges(len(Z))
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


@both_kernels
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e200])
@pytest.mark.parametrize("row", [0, 3])
def test_layouts_that_overflowed_are_refused(kernel, value, row):
    Z = uniform(5, 2)
    grid = GridSums(kernel, ONE_THREAD)
    grid(Z, np.ones(5))
    Z[row, 1] = value
    for function in (grid, grid.of_others, grid.freeze):
        with pytest.raises(NumericalOverflowError, match="overflowed"):
            function(Z, np.ones(5))


def test_a_layout_beyond_the_bound_keeps_its_field(monkeypatch):
    """With cells wider than the kernel the sums are rough, but they do not explode."""
    monkeypatch.setattr(module, "MOST_PAIRS", 0)
    monkeypatch.setattr(mesh_size, "MOST_NODES", 2**21)
    Z, charges = fitted(uniform(N, 1), 1e6), random_charges(N)
    phi_error, slope_error = _errors(GridSums(Kernel.STUDENT, ONE_THREAD), Z, charges)
    assert phi_error < 0.05
    assert np.isfinite(slope_error)


def test_a_mesh_is_kept_while_the_layout_fits():
    Z = fitted(uniform(200, 2), 10.0)
    first, moved, grown, shrunk = meshes_of(Z, Z + 0.1, 1.02 * Z, 0.97 * Z)
    assert first is moved is grown is shrunk


@pytest.mark.parametrize("factor", [0.5, 0.85, 1.2, 3.0])
def test_a_mesh_is_replaced_when_the_layout_outgrows_it_or_needs_finer_cells(factor):
    Z = fitted(uniform(200, 2), 10.0)
    first, second = meshes_of(Z, factor * Z)
    assert first is not second
    assert second.suits(factor * Z.min(axis=0), factor * Z.max(axis=0))


def test_a_mesh_is_replaced_when_the_layout_leaves_it():
    Z = fitted(uniform(200, 2), 10.0)
    first, second = meshes_of(Z, Z + 2.0)
    assert first is not second


@both_kernels
def test_a_reused_mesh_is_as_good_as_a_new_one(kernel):
    Z, charges = fitted(blobs(N, 2), 30.0), random_charges(N)
    grid = GridSums(kernel, ONE_THREAD)
    grid(Z, charges)
    mesh = grid._mesh
    errors = _errors(grid, 1.02 * Z + 0.05, charges[::-1])
    assert grid._mesh is mesh
    assert (np.array(errors) < BOUNDS[DEFAULT]).all()


@both_kernels
@all_dimensions
@both_accuracies
@pytest.mark.parametrize("span", [0.3, 30.0])
def test_a_frozen_field_at_other_places(kernel, d, accuracy, span):
    Z, charges = fitted(blobs(N, d), span), random_charges(N)
    positions = Z.min(axis=0) + uniform(700, d, seed=5) * np.ptp(Z, axis=0)
    field = GridSums(kernel, ONE_THREAD, accuracy).freeze(Z, charges)
    assert field.kernel is kernel
    for a, b, bound in zip(
        field.at(positions), plain_sums(kernel, Z, charges, positions), BOUNDS[accuracy], strict=True
    ):
        assert error(a, b) < bound


@both_kernels
@all_dimensions
def test_a_frozen_field_outside_the_layout(kernel, d):
    Z, charges = fitted(uniform(300, d), 6.0), random_charges(300)
    positions = np.array([[3.5], [5.0], [-20.0], [1e3], [1e9]]) * np.ones(d)
    phi, slope = GridSums(kernel, ONE_THREAD).freeze(Z, charges).at(positions)
    want, want_slope = plain_sums(kernel, Z, charges, positions)
    np.testing.assert_allclose(phi, np.maximum(want, SMALLEST), rtol=2e-4)
    np.testing.assert_allclose(slope, want_slope, rtol=5e-3, atol=1e-300)


@both_kernels
@both_accuracies
def test_a_frozen_field_where_it_is_faint(kernel, accuracy):
    """Between two distant groups, the error of the grid would exceed the field."""
    Z, charges = np.concatenate([uniform(300, 1), uniform(1, 1) + 1e4]), np.ones(301)
    positions = np.array([[4.0], [20.0], [3e3], [7e3]])
    found = GridSums(kernel, ONE_THREAD, accuracy).freeze(Z, charges).at(positions)
    want = DirectSums(kernel, ONE_THREAD).freeze(Z, charges).at(positions)
    for a, b, bound in zip(found, want, BOUNDS[accuracy], strict=True):
        np.testing.assert_allclose(a.ravel(), b.ravel(), rtol=5 * bound)


@both_kernels
@all_dimensions
def test_others_leave_out_the_own_charge(kernel, d):
    Z, charges = fitted(blobs(N, d), 20.0), random_charges(N)
    grid = GridSums(kernel, ONE_THREAD)
    found, want = grid.of_others(Z, charges), DirectSums(kernel, ONE_THREAD).of_others(Z, charges)
    for a, b, bound in zip(found, want, BOUNDS[DEFAULT], strict=True):
        assert error(a, b) < bound


LONELY = np.concatenate([fitted(uniform(500, 2), 3.0), [[9.0, 0.0], [0.0, 40.0], [-20.0, 0.0], [0.0, -7.5]]])


@both_accuracies
def test_fields_of_others_below_the_noise_are_summed_directly(accuracy):
    grid = GridSums(Kernel.GAUSSIAN, ONE_THREAD, accuracy)
    phi, slope = grid.of_others(LONELY, np.ones(len(LONELY)))
    want, want_slope = DirectSums(Kernel.GAUSSIAN, ONE_THREAD).of_others(LONELY, np.ones(len(LONELY)))
    np.testing.assert_array_equal(phi[-4:], want[-4:])
    np.testing.assert_array_equal(slope[-4:], want_slope[-4:])
    assert want[-3] == SMALLEST
    assert not grid.rough


@both_accuracies
def test_fields_of_others_below_the_noise_are_positive_where_they_are_too_many(accuracy, monkeypatch):
    monkeypatch.setattr(module, "MOST_PAIRS", 0)
    grid = GridSums(Kernel.GAUSSIAN, ONE_THREAD, accuracy)
    phi, _ = grid.of_others(LONELY, np.ones(len(LONELY)))
    assert (phi > 1e-10).all()
    assert phi[-4:].max() < 1e-3
    assert grid.rough


@both_kernels
@all_dimensions
@both_accuracies
@pytest.mark.parametrize("weight", [1e5, 1e12, 1e30])
def test_a_charge_that_is_much_larger_than_all_others(kernel, d, accuracy, weight):
    Z, charges = fitted(blobs(N, d), 40.0), random_charges(N)
    charges[7] = weight
    grid, direct = GridSums(kernel, ONE_THREAD, accuracy), DirectSums(kernel, ONE_THREAD)
    pairs = (grid(Z, charges), direct(Z, charges)), (grid.of_others(Z, charges), direct.of_others(Z, charges))
    for (phi, _), (want, _) in pairs:
        assert np.abs(phi / want - 1.0).max() < 0.05
    assert not grid.rough


@both_kernels
@all_dimensions
@pytest.mark.parametrize(("accuracy", "span"), [(DEFAULT, 45.0), (DEFAULT, 170.0), (TIGHT, 45.0)])
def test_threads_leave_no_trace(kernel, d, accuracy, span):
    n = 15_000 if d < 3 else 8000
    assert n * 8 >= MIN_WORK_FOR_THREADS or d == 3
    Z, charges = fitted(blobs(n, d), span), random_charges(n)
    runs = []
    for n_threads in (1, 2, 4):
        grid = GridSums(kernel, Threads(n_threads), accuracy)
        runs.append((*grid(Z, charges), *grid.freeze(Z, charges).at(Z + 0.01)))
    for run in runs[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(run, runs[0], strict=True))


@all_dimensions
def test_the_order_of_points_matters_to_rounding_only(d, rng):
    Z, charges = fitted(blobs(N, d), 20.0), random_charges(N)
    order = rng.permutation(N)
    grid = GridSums(Kernel.STUDENT, ONE_THREAD)
    for a, b in zip(grid(Z, charges), grid(Z[order], charges[order]), strict=True):
        assert error(b, a[order]) < 1e-5


@both_kernels
@both_accuracies
@pytest.mark.parametrize("distance", [3.0, 20.0, 80.0, 200.0])
def test_the_field_of_a_single_other_point(kernel, accuracy, distance):
    """The error of a point's own term must not hide the field of the other."""
    Z, charges = np.array([[0.3, 0.1], [distance, 0.2]]), np.array([80.0, 80.0])
    phi, _ = GridSums(kernel, ONE_THREAD, accuracy).of_others(Z, charges)
    want, _ = DirectSums(kernel, ONE_THREAD).of_others(Z, charges)
    np.testing.assert_allclose(phi, want, rtol=1e-2)
