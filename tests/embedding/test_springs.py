"""Springs: their energy and gradient, the similarity that anchors follow, and their place in the objective."""

import numpy as np
import pytest
from scipy.spatial import procrustes
from scipy.stats import ortho_group

from snekhorn.embedding.descent import minimize
from snekhorn.embedding.springs import CALM, Similarity, Springs
from snekhorn.runtime.execution import Threads
from snekhorn.solvers.descent_steps import Momentum

from .descents import N, cluster_objective, short_schedule, small_start
from .layouts_and_sums import ONE_THREAD

each_freedom = pytest.mark.parametrize("free", [False, True])
each_dimension = pytest.mark.parametrize("d", [1, 2, 3])


def _springs(n, d=2, *, free, execution=ONE_THREAD):
    rng = np.random.default_rng(5)
    strengths = np.where(np.arange(n) % 4 == 0, 0.0, rng.uniform(0.1, 2.0, size=n))
    return Springs(rng.normal(size=(n, d)), strengths, execution, free=free)


def _slopes(function, Z, step=1e-6):
    slopes = np.empty_like(Z)
    for place in np.ndindex(Z.shape):
        ahead, behind = Z.copy(), Z.copy()
        ahead[place] += step
        behind[place] -= step
        slopes[place] = (function(ahead) - function(behind)) / (2.0 * step)
    return slopes


@each_freedom
@each_dimension
def test_the_gradient_is_that_of_the_energy(rng, free, d):
    springs, Z = _springs(15, d, free=free), rng.normal(size=(15, d))
    gradient = np.zeros_like(Z)
    springs.add_gradient(Z, gradient)
    np.testing.assert_allclose(gradient, _slopes(springs.energy, Z), atol=1e-6)
    assert np.abs(gradient).max() > 0.1
    assert not gradient[::4].any()  # points without a spring


@each_freedom
def test_the_gradient_of_an_objective_with_springs(rng, free):
    Z = rng.normal(size=(N, 2))
    without = cluster_objective().gradient(Z)
    objective = cluster_objective(springs=_springs(N, free=free))
    np.testing.assert_allclose(objective.gradient(Z), N * _slopes(objective.loss, Z), atol=1e-5)
    assert np.abs(objective.gradient(Z) - without).max() > 0.1


@each_dimension
@pytest.mark.parametrize("mirrored", [False, True])
def test_the_closest_similarity_undoes_any_other(rng, d, mirrored):
    A, weights = rng.normal(size=(30, d)), rng.uniform(size=30)
    rotation = ortho_group.rvs(d, random_state=3) if d > 1 else np.eye(1)
    if (np.linalg.det(rotation) < 0.0) != mirrored:
        rotation[0] *= -1.0
    Z = 7.0 * A @ rotation.T + rng.normal(size=d)
    np.testing.assert_allclose(Similarity.closest(A, Z, weights, ONE_THREAD)(A), Z, atol=1e-12)
    rigid = Similarity.closest(A, Z, weights, ONE_THREAD, scale=False)
    np.testing.assert_allclose(rigid.matrix, rotation, atol=1e-12)


def test_the_closest_similarity_is_that_of_scipy(rng):
    A, Z = rng.normal(size=(2, 40, 2))
    left = Z - Similarity.closest(A, Z, np.ones(40), ONE_THREAD)(A)
    _, _, disparity = procrustes(Z, A)
    assert np.sum(left**2) / np.sum((Z - Z.mean(axis=0)) ** 2) == pytest.approx(disparity)


def test_only_weighted_points_count(rng):
    A, Z = rng.normal(size=(2, 40, 2))
    weights = np.repeat([1.0, 0.0], 20)
    far = Z.copy()
    far[20:] += 1e6
    for scale in (True, False):
        found = [Similarity.closest(A, places, weights, ONE_THREAD, scale=scale)(A) for places in (Z, far)]
        np.testing.assert_allclose(*found, rtol=1e-12)


def test_anchors_at_one_position_are_mapped_to_the_centre(rng):
    Z = rng.normal(size=(10, 2))
    found = Similarity.closest(np.ones((10, 2)), Z, np.ones(10), ONE_THREAD)(np.ones((10, 2)))
    np.testing.assert_allclose(found, np.broadcast_to(Z.mean(axis=0), Z.shape), atol=1e-12)


def test_free_springs_ignore_position_and_scale(rng):
    springs, Z = _springs(30, free=True), rng.normal(size=(30, 2))
    moved = Z @ ortho_group.rvs(2, random_state=1).T + 5.0
    assert springs.energy(moved) == pytest.approx(springs.energy(Z))
    assert springs.energy(springs.anchors * -3.0 + 1.0) == pytest.approx(0.0, abs=1e-12)


@each_freedom
def test_a_permutation_moves_springs_with_their_points(rng, free):
    springs, Z, order = _springs(30, free=free), rng.normal(size=(30, 2)), rng.permutation(30)
    assert springs.permuted(order).energy(Z[order]) == pytest.approx(springs.energy(Z))
    objective = cluster_objective(springs=_springs(N, free=free))
    Z, order = rng.normal(size=(N, 2)), rng.permutation(N)
    before = objective.gradient(Z)
    objective.permute(order)
    np.testing.assert_allclose(objective.gradient(Z[order]), before[order], atol=1e-10)


@each_freedom
def test_results_do_not_depend_on_threads(rng, free):
    Z, found = rng.normal(size=(200_000, 2)), []
    for threads in (1, 3):
        springs, gradient = _springs(len(Z), free=free, execution=Threads(threads)), np.zeros_like(Z)
        springs.add_gradient(Z, gradient)
        springs.shorten(Z, gradient, 1.0)
        found.append((springs.energy(Z), gradient))
    assert found[0][0] == found[1][0]
    np.testing.assert_array_equal(found[0][1], found[1][1])


def test_the_divergence_has_no_springs(rng):
    Z = rng.normal(size=(N, 2))
    plain = cluster_objective().divergence(Z)
    objective = cluster_objective(springs=_springs(N, free=False))
    assert objective.divergence(Z) == pytest.approx(plain)
    assert objective.loss(Z) > plain + 0.1


@each_dimension
@pytest.mark.parametrize("stiffness", [1.0, np.linspace(1.0, 3.0, 15)[:, None]], ids=["equal", "hubs"])
def test_steps_are_shortened_by_the_stiffness_of_free_springs(rng, d, stiffness):
    springs = _springs(15, d, free=True)
    Z = springs.anchors @ (3.0 * ortho_group.rvs(d, random_state=3).T if d > 1 else np.full((1, 1), 3.0)) + 2.0

    def spring_gradient(Z):
        gradient = np.zeros_like(Z)
        springs.add_gradient(Z, gradient)
        return gradient.ravel()

    columns = []
    for place in np.ndindex(Z.shape):
        step = np.zeros_like(Z)
        step[place] = 1e-5
        columns.append((spring_gradient(Z + step) - spring_gradient(Z - step)) / 2e-5)
    hessian = np.stack(columns, axis=1)
    assert np.linalg.matrix_rank(hessian, tol=1e-6) == np.count_nonzero(springs.strengths) * d - {1: 2, 2: 4, 3: 7}[d]
    matrix = np.diag(np.broadcast_to(stiffness, Z.shape).ravel()) + CALM / 4.0 * hessian
    gradient = rng.normal(size=Z.shape)
    expected = np.linalg.solve(matrix, gradient.ravel()).reshape(Z.shape)
    springs.shorten(Z, gradient, stiffness)
    np.testing.assert_allclose(gradient, expected, atol=1e-7)


def test_strong_springs_hold_without_overshooting():
    Z = small_start() + 3.0
    anchors = Z + np.random.default_rng(2).normal(size=Z.shape)
    objective = cluster_objective(springs=Springs(anchors, np.full(N, 1e6), ONE_THREAD, free=False))
    found, _ = minimize(objective, Z, Momentum(Z.shape, ONE_THREAD), short_schedule(early=0, main=300, rate=1.0))
    np.testing.assert_allclose(found, anchors, atol=1e-4)  # and it has not been centred
