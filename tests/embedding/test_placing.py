import numpy as np
import pytest

from snekhorn.embedding.descent import Phase, Schedule, descend
from snekhorn.embedding.grid_potential import GridSum
from snekhorn.embedding.normalizations import TotalSum
from snekhorn.embedding.objective import Objective
from snekhorn.embedding.placing import CANDIDATES, place
from snekhorn.embedding.potentials import DirectSum, Kernel
from snekhorn.runtime.execution import MIN_WORK_FOR_THREADS
from snekhorn.solvers.descent_steps import Momentum

from ..helpers import jittered_circle, squared_distances
from .layouts_and_sums import blobs, fitted, plain_sums

N, K = 400, 12

both_kernels = pytest.mark.parametrize("kernel", Kernel)
both_fields = pytest.mark.parametrize("kind", [DirectSum, GridSum], ids=["direct", "grid"])


@pytest.fixture
def Z():
    return fitted(blobs(N, 2), 15.0)


def _neighbors(Z, m, seed=0):
    """Neighbours of points near those of the layout, nearest first, and affinities to them."""
    rng = np.random.default_rng(seed)
    new = Z[rng.choice(len(Z), size=m)] + 0.05 * rng.normal(size=(m, Z.shape[1]))
    squared = ((new[:, None] - Z) ** 2).sum(axis=2)
    indices = np.argsort(squared, axis=1)[:, :K]
    p = np.exp(-np.arange(K) / 3.0) * rng.uniform(0.5, 1.0, size=(m, K))
    return indices, p / p.sum(axis=1, keepdims=True)


def _loss(kernel, Z, charges, indices, p, places):
    """L by its formula."""
    squared = ((places[:, None] - Z[indices]) ** 2).sum(axis=2)
    cost = np.log1p(squared) if kernel is Kernel.STUDENT else squared
    return (p * cost).sum(axis=1) + np.log(plain_sums(kernel, Z, charges, places)[0])


@both_kernels
@both_fields
@pytest.mark.parametrize("d", [1, 2])
def test_the_loss_is_not_above_that_of_any_start(kernel, kind, d):
    Z = fitted(blobs(N, d), 15.0)
    charges = np.random.default_rng(1).uniform(0.2, 1.0, size=N)
    indices, p = _neighbors(Z, 60)
    places = place(kind(kernel).freeze(Z, charges), Z, indices, p, 1)
    found = _loss(kernel, Z, charges, indices, p, places)
    starts = [_loss(kernel, Z, charges, indices, p, Z[indices[:, k]]) for k in range(CANDIDATES)]
    slack = 1e-12 if kind is DirectSum else 1e-3  # of the grid
    assert (found <= np.min(starts, axis=0) + slack).all()
    assert (found < np.min(starts, axis=0) - 1e-5).mean() > 0.5


@both_kernels
def test_places_are_minima(kernel, Z):
    charges = np.random.default_rng(1).uniform(0.2, 1.0, size=N)
    indices, p = _neighbors(Z, 40)
    places = place(DirectSum(kernel).freeze(Z, charges), Z, indices, p, 1)
    here = _loss(kernel, Z, charges, indices, p, places)
    for step in 1e-2 * np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]):
        assert (_loss(kernel, Z, charges, indices, p, places + step) > here - 1e-7).mean() > 0.95


@both_fields
def test_a_point_goes_among_its_neighbours(kind, Z):
    indices, p = _neighbors(Z, 80)
    places = place(kind(Kernel.STUDENT).freeze(Z, np.full(N, 0.1)), Z, indices, p, 1)
    spread = np.linalg.norm(Z[indices] - Z[indices].mean(axis=1, keepdims=True), axis=2).max(axis=1)
    away = np.linalg.norm(places - Z[indices].mean(axis=1), axis=1)
    assert (away < spread + 1.0).all()


@both_fields
def test_a_point_of_the_layout_with_its_own_affinities_comes_back(kind):
    """In a layout that has converged, to a place nearer its own than most others are."""
    n = 150
    P = np.exp(-squared_distances(jittered_circle(n)) / 0.05)
    np.fill_diagonal(P, 0.0)
    P /= P.sum(axis=1, keepdims=True)
    sums = DirectSum(Kernel.STUDENT)
    objective = Objective(P, Kernel.STUDENT, TotalSum(sums), dtype=np.float64)
    start = 0.01 * np.random.default_rng(0).normal(size=(n, 2))
    Z, _ = descend(
        objective, start, Momentum((n, 2)), Schedule(Phase(100, 4.0, 0.06, 0.8), Phase(400, 1.0, 0.25, 0.8), 1e-9)
    )
    indices = np.argsort(-P, axis=1)[:, :40]
    p = np.take_along_axis(P, indices, axis=1)
    places = place(kind(Kernel.STUDENT).freeze(Z, np.ones(n)), Z, indices, p / p.sum(axis=1, keepdims=True), 1)
    away = np.linalg.norm(places - Z, axis=1)
    others = np.sort(np.sqrt(squared_distances(Z)), axis=1)
    assert (away < others[:, 10]).mean() > 0.9
    assert np.median(away) < np.median(others[:, 3])


@both_kernels
@both_fields
def test_one_by_one_is_all_at_once_to_the_bit(kernel, kind, Z):
    indices, p = _neighbors(Z, 37)
    field = kind(kernel).freeze(Z, np.full(N, 0.3))
    together = place(field, Z, indices, p, 1)
    alone = np.concatenate([place(field, Z, indices[i : i + 1], p[i : i + 1], 1) for i in range(37)])
    np.testing.assert_array_equal(together, alone)
    order = np.random.default_rng(0).permutation(37)
    np.testing.assert_array_equal(place(field, Z, indices[order], p[order], 1), together[order])


@both_kernels
@both_fields
def test_threads_leave_no_trace(kernel, kind, Z):
    m = 2000 if kind is GridSum else 300
    assert max(m * 64, m * N) >= MIN_WORK_FOR_THREADS
    indices, p = _neighbors(Z, m)
    one, two, four = (place(kind(kernel, t).freeze(Z, np.ones(N)), Z, indices, p, t) for t in (1, 2, 4))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(one, four)


@both_kernels
def test_the_grid_places_points_as_the_direct_sum_does(kernel, Z):
    indices, p = _neighbors(Z, 100)
    direct, grid = (place(kind(kernel).freeze(Z, np.ones(N)), Z, indices, p, 1) for kind in (DirectSum, GridSum))
    assert np.median(np.linalg.norm(direct - grid, axis=1)) < 1e-2


def test_nothing_is_changed(Z):
    indices, p = _neighbors(Z, 9)
    charges = np.ones(N)
    kept = [array.copy() for array in (Z, indices, p, charges)]
    place(DirectSum(Kernel.STUDENT).freeze(Z, charges), Z, indices, p, 1)
    for array, before in zip((Z, indices, p, charges), kept, strict=True):
        np.testing.assert_array_equal(array, before)


@both_kernels
@both_fields
def test_fewer_neighbours_than_candidates(kernel, kind, Z):
    indices, _ = _neighbors(Z, 5)
    field = kind(kernel).freeze(Z, np.full(N, 0.01))
    places = place(field, Z, indices[:, :1], np.ones((5, 1)), 1)
    assert np.isfinite(places).all()


@both_fields
def test_a_point_between_far_islands_ends_somewhere_finite(kind):
    """The potential between them is noise on the grid, and may be zero or below."""
    Z = np.concatenate([np.random.default_rng(i).normal(scale=0.3, size=(50, 2)) + 20.0 * i for i in range(2)])
    indices = np.array([[0, 60, 1, 61], [60, 0, 61, 1]])
    places = place(kind(Kernel.GAUSSIAN).freeze(Z, np.ones(100)), Z, indices, np.full((2, 4), 0.25), 1)
    assert (np.abs(places) < 50.0).all()
