"""The mesh: its size, its radius, and its two parts against direct sums."""

import numpy as np
import pytest

from snekhorn.embedding import mesh_size
from snekhorn.embedding.charge_sums import DirectSums, Kernel
from snekhorn.embedding.mesh import CROWDED, Mesh, corners
from snekhorn.embedding.mesh_size import DEFAULT, TIGHT, choose_radius, widest_extent
from snekhorn.runtime.execution import Threads

from .layouts_and_sums import ONE_THREAD, blobs, error, fitted, uniform

N = 1200
BOUNDS = {DEFAULT: (2e-4, 5e-3), TIGHT: (1e-6, 1e-5)}

both_accuracies = pytest.mark.parametrize("accuracy", BOUNDS, ids=["default", "tight"])
in_plane_and_space = pytest.mark.parametrize("d", [2, 3])


def _charges(n, seed=1):
    return np.random.default_rng(seed).uniform(0.05, 1.0, size=n)


def _mesh(Z, radius, accuracy=DEFAULT, n_threads=1):
    execution = Threads(n_threads)
    return Mesh(*corners(Z, execution), radius, len(Z), Kernel.STUDENT, accuracy, execution)


def _radius(Z, n_threads=1):
    execution = Threads(n_threads)
    return choose_radius(Z, *corners(Z, execution), Kernel.STUDENT, DEFAULT, execution)


@both_accuracies
@in_plane_and_space
@pytest.mark.parametrize("radius", [0.0, 2.5, 4.0, 7.0, 15.0])
def test_near_and_far_part_together_are_the_kernel(accuracy, d, radius):
    Z, charges = fitted(blobs(N, d), 12.0), _charges(N)
    mesh = _mesh(Z, radius, accuracy)
    want = DirectSums(Kernel.STUDENT, ONE_THREAD)(Z, charges)
    for found, truth, bound in zip(mesh.sums(Z, charges), want, BOUNDS[accuracy], strict=True):
        assert error(found, truth) < bound
    assert (mesh.n_pairs > 0) == (radius > 0)


def test_float32_resolves_near_points_of_wide_layouts():
    places = fitted(uniform(50, 2), 7500.0)
    Z, charges = np.repeat(places, 40, axis=0) + fitted(uniform(2000, 2, seed=1), 12.0), _charges(2000)
    mesh = _mesh(Z, 100.0)
    assert mesh.dtype == np.float32
    assert not mesh.coarse
    want = DirectSums(Kernel.STUDENT, ONE_THREAD)(Z, charges)
    for found, truth, bound in zip(mesh.sums(Z, charges), want, BOUNDS[DEFAULT], strict=True):
        assert error(found, truth) < bound


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


@pytest.mark.parametrize("kernel", Kernel)
@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("span", [1e-6, 1.0, 1e3, 1e7, 1e50])
def test_the_number_of_nodes_is_bounded(kernel, d, span, monkeypatch):
    monkeypatch.setattr(mesh_size, "MOST_NODES", 2**18)
    mesh = Mesh.around(fitted(uniform(100, d), span), kernel, DEFAULT, ONE_THREAD)
    assert np.prod(mesh.convolve.lengths) <= 1.2**d * 2**18  # lengths are rounded up to fast ones


@pytest.mark.parametrize("kernel", Kernel)
@pytest.mark.parametrize("d", [1, 2, 3])
def test_layouts_up_to_the_widest_extent_keep_narrow_cells(kernel, d, monkeypatch):
    monkeypatch.setattr(mesh_size, "MOST_NODES", 2**20)
    side = widest_extent(kernel, DEFAULT, d, 2**10)
    Z = np.stack([np.zeros(d), np.full(d, 0.99 * side)])
    assert not Mesh.around(Z, kernel, DEFAULT, ONE_THREAD).coarse
    split = kernel is Kernel.STUDENT and d > 1
    cells = mesh_size.SMALLEST_RADIUS / DEFAULT.cells if split else DEFAULT.of(kernel).spacing[d]
    assert mesh_size.affordable(cells, np.full(d, 1.1 * side * mesh_size.SLACK), 2**10, kernel, DEFAULT) > cells


def test_millions_of_points_get_a_larger_mesh(monkeypatch):
    """The cost per point then does not grow with the layout, whose density stays the same."""
    monkeypatch.setattr(mesh_size, "MOST_NODES", 2**16)
    few, many = (fitted(uniform(n, 2), 1.1 * np.sqrt(n)) for n in (8000, 128_000))
    (radius, cost), (larger_radius, larger_cost) = _radius(few), _radius(many)
    assert larger_radius == radius
    assert larger_cost == pytest.approx(16 * cost, rel=0.1)
    assert not Mesh.around(many, Kernel.STUDENT, DEFAULT, ONE_THREAD).coarse


def test_few_points_get_a_smaller_mesh():
    sides = [widest_extent(Kernel.STUDENT, DEFAULT, 1, n) for n in (2, 2**10, 2**12, 2**20)]
    assert sides[0] == sides[1]
    assert 10.0 * sides[1] < sides[2] == sides[3]


def test_the_radius_grows_with_the_distance_of_points():
    radii = [_radius(fitted(uniform(20_000, 2), span))[0] for span in (3.0, 20.0, 100.0, 300.0, 1000.0, 1e5)]
    assert radii[:2] == [0.0, 0.0]
    assert radii == sorted(radii)
    assert radii[3] >= mesh_size.SMALLEST_RADIUS
    assert radii[-1] > 100.0


@in_plane_and_space
def test_the_radius_has_the_lowest_cost(d):
    """Other radii, near and far, have higher costs: transforms of the grid, and pairs as they are counted."""
    Z = fitted(blobs(3000, d), 300.0)
    radius, lowest = _radius(Z)
    extent = np.ptp(Z, axis=0) * mesh_size.SLACK
    for factor in (0.5, 0.8, 1.0, 1.25, 2.0):
        mesh = _mesh(Z, factor * radius)
        mesh.sums(Z, np.ones(len(Z)))
        nodes = mesh_size.PAIRS_PER_NODE * mesh_size.padded_nodes(extent, mesh.spacing, Kernel.STUDENT, DEFAULT)
        cost = nodes + mesh_size.PAIRS_PER_POINT * len(Z) + mesh.n_pairs
        assert cost == pytest.approx(lowest, rel=0.1) if factor == 1.0 else cost > 0.95 * lowest


def test_the_radius_does_not_depend_on_the_number_of_threads():
    Z = fitted(blobs(60_000, 2), 200.0)
    assert _radius(Z, 1) == _radius(Z, 2) == _radius(Z, 3)


def test_layouts_that_would_cost_too_much_get_wide_cells(monkeypatch):
    monkeypatch.setattr(mesh_size, "MOST_NODES", 2**14)
    Z = np.concatenate([fitted(uniform(2000, 2), 20.0), fitted(uniform(2000, 2), 20.0) + 1e4])
    radius, cost = _radius(Z)
    assert radius > 0.0
    assert np.isfinite(cost)
    monkeypatch.setattr(mesh_size, "COSTLIEST", 1000)
    assert _radius(Z) == (0.0, np.inf)
    assert Mesh.around(Z, Kernel.STUDENT, DEFAULT, ONE_THREAD).coarse


def test_a_mesh_that_has_become_crowded_no_longer_suits():
    Z = fitted(uniform(N, 2), 100.0)
    mesh = _mesh(Z, 10.0)
    mesh.sums(Z, np.ones(N))
    before, box = mesh.n_pairs, corners(Z, ONE_THREAD)
    assert mesh.suits(*box)
    Z[10:] = 0.2 * Z[10:]  # the first ten keep the extent
    mesh.sums(Z, np.ones(N))
    assert not mesh.suits(*box)
    again = _mesh(Z, 10.0)
    again.sums(Z, np.ones(N))
    assert again.n_pairs > CROWDED * before
    assert again.suits(*corners(Z, ONE_THREAD))


@both_accuracies
@in_plane_and_space
@pytest.mark.parametrize("size", [0.1, 0.25, 0.5, 1.0])
def test_dense_groups_smaller_than_the_radius(accuracy, d, size, rng):
    """The errors of many points in few cells must not add up."""
    radius, n = 6.0, 1000
    Z = rng.normal(size=(n, d))
    Z *= size * radius * rng.uniform(size=(n, 1)) ** (1 / d) / np.linalg.norm(Z, axis=1, keepdims=True)
    Z = np.concatenate([Z, Z + 3.7 * radius])
    found, want = (
        sums(Z, _charges(2 * n)) for sums in (_mesh(Z, radius, accuracy).sums, DirectSums(Kernel.STUDENT, ONE_THREAD))
    )
    for a, b, bound in zip(found, want, BOUNDS[accuracy], strict=True):
        assert error(a, b) < bound


@both_accuracies
@in_plane_and_space
@pytest.mark.parametrize("spread", [0.0, 1e-4])
def test_a_tenth_of_the_points_in_one_place(accuracy, d, spread, rng):
    """They neither take much longer nor are less accurate than others; their own gradients are sums of opposites."""
    n, radius = 10_000, 8.0 if d == 2 else 25.0
    Z, charges = fitted(blobs(n, d), 200.0), _charges(n)
    scattered = _mesh(Z, radius, accuracy)
    scattered.sums(Z, charges)
    there = rng.permutation(n)[: n // 10]
    Z[there] = 30.0 + spread * rng.normal(size=(there.size, d))
    mesh = _mesh(Z, radius, accuracy)
    assert not mesh.coarse
    phi, slope = mesh.sums(Z, charges)
    assert mesh.n_pairs < 1.5 * scattered.n_pairs
    some = np.concatenate([there[:50], np.arange(200)])
    want, want_slope = DirectSums(Kernel.STUDENT, ONE_THREAD).freeze(Z, charges).at(Z[some])
    bound, slope_bound = BOUNDS[accuracy]
    assert error(phi[some], want) < bound
    assert np.linalg.norm(slope[some] - want_slope) < slope_bound * np.linalg.norm(want)


@in_plane_and_space
def test_many_points_in_one_place_leave_room_for_near_pairs(d, monkeypatch):
    monkeypatch.setattr(mesh_size, "MOST_NODES", 2**18)
    monkeypatch.setattr(mesh_size, "COSTLIEST", 500)
    Z = fitted(uniform(4000, d), 600.0)
    Z[:2000] = 1.0 + 1e-4 * uniform(2000, d)
    mesh = Mesh.around(Z, Kernel.STUDENT, DEFAULT, ONE_THREAD)
    assert mesh.radius > 0.0
    assert not mesh.coarse
    charges = _charges(4000)
    mesh.sums(Z, charges)
    assert mesh.n_pairs < 500 * len(Z)
