import numpy as np
import pytest

from snekhorn.embedding.charge_grid import GridSums
from snekhorn.embedding.charge_sums import DirectSums, Kernel
from snekhorn.embedding.descent import minimize
from snekhorn.embedding.latent import Latent
from snekhorn.embedding.normalizations import TotalNormalized
from snekhorn.embedding.objective import Objective
from snekhorn.embedding.placing import CANDIDATES, frozen_field, place
from snekhorn.embedding.schedule import Phase, Schedule
from snekhorn.runtime.execution import MIN_WORK_FOR_THREADS, Threads
from snekhorn.solvers.descent_steps import Momentum

from ..helpers import jittered_circle, squared_distances
from .layouts_and_sums import ONE_THREAD, blobs, fitted, plain_sums

N, K = 400, 12

both_kernels = pytest.mark.parametrize("kernel", Kernel)
both_fields = pytest.mark.parametrize("kind", [DirectSums, GridSums], ids=["direct", "grid"])


@pytest.fixture
def Z():
    return fitted(blobs(N, 2), 15.0)


def _neighbors(Z, m, seed=0):
    """Return neighbours of points close to the layout, nearest first, and affinities to them."""
    rng = np.random.default_rng(seed)
    new = Z[rng.choice(len(Z), size=m)] + 0.05 * rng.normal(size=(m, Z.shape[1]))
    squared = ((new[:, None] - Z) ** 2).sum(axis=2)
    indices = np.argsort(squared, axis=1)[:, :K]
    p = np.exp(-np.arange(K) / 3.0) * rng.uniform(0.5, 1.0, size=(m, K))
    return indices, p / p.sum(axis=1, keepdims=True)


def _loss(kernel, Z, charges, indices, p, positions):
    """Compute L by its formula."""
    squared = ((positions[:, None] - Z[indices]) ** 2).sum(axis=2)
    cost = np.log1p(squared) if kernel is Kernel.STUDENT else squared
    return (p * cost).sum(axis=1) + np.log(plain_sums(kernel, Z, charges, positions)[0])


@both_kernels
@both_fields
@pytest.mark.parametrize("d", [1, 2])
def test_the_loss_is_not_above_that_of_any_start(kernel, kind, d):
    Z = fitted(blobs(N, d), 15.0)
    charges = np.random.default_rng(1).uniform(0.2, 1.0, size=N)
    indices, p = _neighbors(Z, 60)
    positions = place(kind(kernel, ONE_THREAD).freeze(Z, charges), Z, indices, p, ONE_THREAD)
    found = _loss(kernel, Z, charges, indices, p, positions)
    starts = [_loss(kernel, Z, charges, indices, p, Z[indices[:, k]]) for k in range(CANDIDATES)]
    slack = 1e-12 if kind is DirectSums else 1e-3  # the error of the grid
    assert (found <= np.min(starts, axis=0) + slack).all()
    assert (found < np.min(starts, axis=0) - 1e-5).mean() > 0.5


@both_kernels
def test_positions_are_minima(kernel, Z):
    charges = np.random.default_rng(1).uniform(0.2, 1.0, size=N)
    indices, p = _neighbors(Z, 40)
    positions = place(DirectSums(kernel, ONE_THREAD).freeze(Z, charges), Z, indices, p, ONE_THREAD)
    here = _loss(kernel, Z, charges, indices, p, positions)
    for step in 1e-2 * np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]):
        assert (_loss(kernel, Z, charges, indices, p, positions + step) > here - 1e-7).mean() > 0.95


@both_fields
def test_a_point_goes_among_its_neighbours(kind, Z):
    indices, p = _neighbors(Z, 80)
    positions = place(kind(Kernel.STUDENT, ONE_THREAD).freeze(Z, np.full(N, 0.1)), Z, indices, p, ONE_THREAD)
    spread = np.linalg.norm(Z[indices] - Z[indices].mean(axis=1, keepdims=True), axis=2).max(axis=1)
    away = np.linalg.norm(positions - Z[indices].mean(axis=1), axis=1)
    assert (away < spread + 1.0).all()


@both_fields
def test_a_point_of_the_layout_with_its_own_affinities_comes_back(kind):
    """In a converged layout, it lands closer to its own position than most other points are."""
    n = 150
    P = np.exp(-squared_distances(jittered_circle(n)) / 0.05)
    np.fill_diagonal(P, 0.0)
    P /= P.sum(axis=1, keepdims=True)
    sums = DirectSums(Kernel.STUDENT, ONE_THREAD)
    objective = Objective(P, TotalNormalized(sums), dtype=np.float64)
    start = 0.01 * np.random.default_rng(0).normal(size=(n, 2))
    Z, _ = minimize(
        objective,
        start,
        Momentum((n, 2), ONE_THREAD),
        Schedule(Phase(100, 4.0, 0.06, 0.8), Phase(400, 1.0, 0.25, 0.8), 1e-9),
    )
    indices = np.argsort(-P, axis=1)[:, :40]
    p = np.take_along_axis(P, indices, axis=1)
    positions = place(
        kind(Kernel.STUDENT, ONE_THREAD).freeze(Z, np.ones(n)), Z, indices, p / p.sum(axis=1, keepdims=True), ONE_THREAD
    )
    away = np.linalg.norm(positions - Z, axis=1)
    others = np.sort(np.sqrt(squared_distances(Z)), axis=1)
    assert (away < others[:, 10]).mean() > 0.9
    assert np.median(away) < np.median(others[:, 3])


@both_kernels
@both_fields
def test_one_by_one_is_all_at_once_to_the_bit(kernel, kind, Z):
    indices, p = _neighbors(Z, 37)
    field = kind(kernel, ONE_THREAD).freeze(Z, np.full(N, 0.3))
    together = place(field, Z, indices, p, ONE_THREAD)
    alone = np.concatenate([place(field, Z, indices[i : i + 1], p[i : i + 1], ONE_THREAD) for i in range(37)])
    np.testing.assert_array_equal(together, alone)
    order = np.random.default_rng(0).permutation(37)
    np.testing.assert_array_equal(place(field, Z, indices[order], p[order], ONE_THREAD), together[order])


@both_kernels
@both_fields
def test_threads_leave_no_trace(kernel, kind, Z):
    m = 2000 if kind is GridSums else 300
    assert max(m * 64, m * N) >= MIN_WORK_FOR_THREADS
    indices, p = _neighbors(Z, m)
    one, two, four = (
        place(kind(kernel, Threads(t)).freeze(Z, np.ones(N)), Z, indices, p, Threads(t)) for t in (1, 2, 4)
    )
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(one, four)


@both_kernels
def test_the_grid_places_points_as_the_direct_sum_does(kernel, Z):
    indices, p = _neighbors(Z, 100)
    direct, grid = (
        place(kind(kernel, ONE_THREAD).freeze(Z, np.ones(N)), Z, indices, p, ONE_THREAD)
        for kind in (DirectSums, GridSums)
    )
    assert np.median(np.linalg.norm(direct - grid, axis=1)) < 1e-2


def test_nothing_is_changed(Z):
    indices, p = _neighbors(Z, 9)
    charges = np.ones(N)
    kept = [array.copy() for array in (Z, indices, p, charges)]
    place(DirectSums(Kernel.STUDENT, ONE_THREAD).freeze(Z, charges), Z, indices, p, ONE_THREAD)
    for array, before in zip((Z, indices, p, charges), kept, strict=True):
        np.testing.assert_array_equal(array, before)


@both_kernels
@both_fields
def test_fewer_neighbours_than_candidates(kernel, kind, Z):
    indices, _ = _neighbors(Z, 5)
    field = kind(kernel, ONE_THREAD).freeze(Z, np.full(N, 0.01))
    positions = place(field, Z, indices[:, :1], np.ones((5, 1)), ONE_THREAD)
    assert np.isfinite(positions).all()


@both_fields
def test_a_point_between_far_islands_ends_somewhere_finite(kind):
    """The field between them is noise on the grid, and may be zero or negative."""
    Z = np.concatenate([np.random.default_rng(i).normal(scale=0.3, size=(50, 2)) + 20.0 * i for i in range(2)])
    indices = np.array([[0, 60, 1, 61], [60, 0, 61, 1]])
    positions = place(
        kind(Kernel.GAUSSIAN, ONE_THREAD).freeze(Z, np.ones(100)), Z, indices, np.full((2, 4), 0.25), ONE_THREAD
    )
    assert (np.abs(positions) < 50.0).all()


@pytest.mark.parametrize(("method", "kind"), [("exact", DirectSums), ("fft", GridSums)])
@both_kernels
def test_the_field_of_a_fitted_layout(method, kind, kernel, Z):
    f, somewhere = np.random.default_rng(1).normal(size=N), Z[:20] + 0.3
    for log_charges, charges in ((f, np.exp(f)), (None, np.ones(N))):
        found = frozen_field(Z, log_charges, Latent(kernel, "both"), method, ONE_THREAD).at(somewhere)
        want = kind(kernel, ONE_THREAD).freeze(Z, charges).at(somewhere)
        assert all(np.array_equal(a, b) for a, b in zip(found, want, strict=True))
