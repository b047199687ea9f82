"""Layouts that are wider than the grid can resolve: far points are right, and do not spoil the others."""

import numpy as np
import pytest

from snekhorn.embedding import charge_grid as module
from snekhorn.embedding import mesh_size
from snekhorn.embedding.charge_grid import GridSums
from snekhorn.embedding.charge_sums import DirectSums, Kernel
from snekhorn.embedding.mesh_size import DEFAULT, widest_extent
from snekhorn.runtime.execution import Threads

from .layouts_and_sums import ONE_THREAD, blobs, error, fitted, meshes_of, random_charges, uniform

BOUNDS = np.array([2e-4, 5e-3])

both_kernels = pytest.mark.parametrize("kernel", Kernel)
all_dimensions = pytest.mark.parametrize("d", [1, 2, 3])


def _middle(n, d):
    return fitted(blobs(n, d), 20.0)


def _wide_layouts(n, d):
    """Layouts wider than the grid can resolve, most of them because of a few points."""
    rng = np.random.default_rng(4)
    for far in (1e4, 1e6, 1e9):
        for n_far in (1, 10, n // 3, n // 2):
            Z = _middle(n, d)
            Z[:n_far, 0] += far
            yield f"{n_far} at {far:g}", Z
        Z = _middle(n, d)
        Z[:10] = far * rng.normal(size=(10, d))
        yield f"10 around at {far:g}", Z
        Z = np.zeros((n, d))
        Z[: n // 2, -1] = far
        yield f"two places, {far:g} apart", Z
    yield "line", np.linspace(0.0, 3e6, n)[:, None] * np.ones(d)
    for axis in range(d):
        Z = 1e-3 * rng.uniform(size=(n, d))
        Z[:, axis] = 3e4 * rng.uniform(size=n)
        yield f"flat along {axis}", Z


def _assert_close(found, want, bounds):
    """Compare fields with each other, and gradients on the scale of the fields: many of them cancel."""
    assert np.isfinite(found[0]).all()
    assert error(found[0], want[0]) < bounds[0]
    assert np.linalg.norm(found[1] - want[1]) < bounds[1] * max(np.linalg.norm(want[1]), 0.1 * np.linalg.norm(want[0]))


@both_kernels
@all_dimensions
def test_wide_layouts(kernel, d, monkeypatch):
    """Far points are right, and do not decide the accuracy of the others."""
    monkeypatch.setattr(mesh_size, "MOST_NODES", 2**18)  # for speed, and for a mesh that reaches less far
    direct, n = DirectSums(kernel, ONE_THREAD), 600
    for name, Z in _wide_layouts(n, d):
        grid, charges = GridSums(kernel, ONE_THREAD), random_charges(n)
        bounds = 2 * BOUNDS  # half of the points of a layout of two places coincide
        _assert_close(grid(Z, charges), direct(Z, charges), bounds)
        found, want = grid.of_others(Z, charges), direct.of_others(Z, charges)
        _assert_close([a + b for a, b in zip(found, (charges, 0.0), strict=True)], direct(Z, charges), bounds)
        lonely = want[0] < 1e-9
        np.testing.assert_allclose(found[0][lonely], want[0][lonely], rtol=1e-9, err_msg=name)
        positions = np.concatenate([Z[:9] + 0.1, Z[-9:] - 0.1, [np.full(d, 123.0), np.full(d, -1e8)]])
        frozen = grid.freeze(Z, charges)
        _assert_close(frozen.at(positions), direct.freeze(Z, charges).at(positions), 2 * bounds)
        assert not grid.rough, name
        assert not frozen.rough, name


@both_kernels
@all_dimensions
def test_layouts_too_wide_for_all_kinds_of_sums_are_rough(kernel, d, monkeypatch):
    monkeypatch.setattr(mesh_size, "MOST_NODES", 2**18)
    monkeypatch.setattr(mesh_size, "COSTLIEST", 0)  # no near pairs
    monkeypatch.setattr(module, "MOST_PAIRS", 5000)
    found = set()
    for _, Z in _wide_layouts(300, d):
        grid, charges = GridSums(kernel, ONE_THREAD), random_charges(300)
        for _ in range(2):  # on a new mesh and on the last one
            phi, slope = grid(Z, charges)
            assert grid.rough == grid._mesh.coarse
            assert np.isfinite(phi).all()
            assert np.isfinite(slope).all()
        assert grid.freeze(Z, charges).rough == grid.rough
        found.add(grid.rough)
    assert found == ({True, False} if d < 3 else {True})


def test_points_a_little_too_far_away_stay_on_the_mesh(monkeypatch):
    """Keeping them apart would take longer than a slightly larger radius."""
    monkeypatch.setattr(mesh_size, "MOST_NODES", 2**16)
    side = widest_extent(Kernel.STUDENT, DEFAULT, 2, 8000)
    Z = fitted(uniform(8000, 2), 0.95 * side)
    for distance, n_far in ((1.1 * side, 0), (1e4 * side, 1)):
        Z[0] = distance
        grid = GridSums(Kernel.STUDENT, ONE_THREAD)
        grid(Z, random_charges(8000))
        assert grid.state.n_far == n_far
        assert not grid.rough


def test_a_mesh_is_kept_while_far_points_move():
    Z = _middle(3000, 2)
    Z[0] = 1e5
    moved, inside, more, shrunk = Z + 0.1, Z.copy(), Z.copy(), 0.5 * Z
    moved[0] = -1e7
    inside[0] = 0.0
    more[:2] = 1e5
    first, second, third, fourth, fifth = meshes_of(Z, moved, inside, more, shrunk)
    assert first is second is third
    assert third is not fourth
    assert fourth is not fifth


@both_kernels
def test_threads_leave_no_trace_of_far_points(kernel):
    n = 4000
    Z, charges = _middle(n, 2), random_charges(n)
    Z[:20] *= 1e6
    runs = []
    for n_threads in (1, 2, 3):
        grid = GridSums(kernel, Threads(n_threads))
        runs.append((*grid(Z, charges), *grid.of_others(Z, charges), *grid.freeze(Z, charges).at(Z[::-1] + 0.01)))
    for run in runs[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(run, runs[0], strict=True))
