import numpy as np
import pytest
from scipy.special import logsumexp

from snekhorn.embedding.charge_grid import GridSums
from snekhorn.embedding.charge_sums import DirectSums, Kernel
from snekhorn.embedding.normalizations import DoublyStochastic, RowNormalized, TotalNormalized
from snekhorn.embedding.objective import Objective

from .layouts_and_sums import ONE_THREAD, blobs, doubly_stochastic_matrix, fitted, latent_cost, plain_latent

N = 40

both_kernels = pytest.mark.parametrize("kernel", Kernel)
with_and_without_loops = pytest.mark.parametrize("self_loops", [True, False], ids=["loops", "no loops"])


@pytest.fixture
def Z(rng):
    return 1.5 * rng.normal(size=(N, 2))


def _gap(normalization, Z):
    """Return the largest deviation of a row sum of Q from 1, computed by the formula."""
    f = normalization.potential
    Q = np.exp(f[:, None] + f - latent_cost(normalization.sums.kernel, Z))
    if not normalization.self_loops:
        np.fill_diagonal(Q, 0.0)
    return np.abs(Q.sum(axis=1) - 1.0).max()


@both_kernels
@with_and_without_loops
@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_potential_makes_q_doubly_stochastic(kernel, self_loops, d, rng):
    Z = rng.normal(size=(N, d))
    normalization = DoublyStochastic(DirectSums(kernel, ONE_THREAD), self_loops=self_loops)
    gap = normalization.solve_potential(Z, 1e-13, 200)
    assert gap <= 1e-13
    assert _gap(normalization, Z) < 1e-12
    Q = np.exp(normalization.potential[:, None] + normalization.potential - latent_cost(kernel, Z))
    off_diagonal = ~np.eye(N, dtype=bool) | self_loops
    want = plain_latent(kernel, "both", Z, self_loops)
    np.testing.assert_allclose(Q[off_diagonal], want[off_diagonal], rtol=1e-9)


@both_kernels
@with_and_without_loops
def test_solving_returns_the_gap_that_it_leaves(kernel, self_loops, Z):
    for steps in (0, 1, 5):
        normalization = DoublyStochastic(DirectSums(kernel, ONE_THREAD), self_loops=self_loops)
        gap = normalization.solve_potential(Z, 0.0, steps)
        assert gap == pytest.approx(_gap(normalization, Z), rel=1e-9)


@both_kernels
def test_a_sinkhorn_step_halves_the_gap(kernel, Z):
    """The error of f along an eigenvector of Q shrinks by (1 - eigenvalue) / 2, or by half if the eigenvalue is 0."""
    normalization = DoublyStochastic(DirectSums(kernel, ONE_THREAD))
    gaps = [normalization.solve_potential(Z, 0.0, 1) for _ in range(30)]
    rates = np.array(gaps[1:]) / np.array(gaps[:-1])
    assert (rates <= 0.51).all()
    assert rates[-1] > 0.35


@both_kernels
@with_and_without_loops
def test_the_joint_objective_falls_by_every_sinkhorn_step(kernel, self_loops, Z):
    P = doubly_stochastic_matrix(N)
    normalization = DoublyStochastic(DirectSums(kernel, ONE_THREAD), self_loops=self_loops)
    objective = Objective(P, normalization, dtype=np.float64)
    normalization.charges = np.exp(np.random.default_rng(3).normal(size=N) - 1.0)
    losses = []
    for _ in range(25):
        losses.append(objective.loss(Z))
        normalization.solve_potential(Z, 0.0, 1)
    assert (np.diff(losses) < 1e-13).all()
    assert losses[0] - losses[-1] > 0.1


def test_the_joint_objective_is_convex_in_f(Z, rng):
    normalization = DoublyStochastic(DirectSums(Kernel.STUDENT, ONE_THREAD))
    row_sums = np.ones(N)
    f, g = rng.normal(size=(2, N))

    def value(f):
        normalization.charges = np.exp(f)
        return normalization.value(Z, row_sums)

    for share in (0.2, 0.5, 0.9):
        assert value(share * f + (1 - share) * g) < share * value(f) + (1 - share) * value(g)


@both_kernels
def test_without_loops_a_gradient_solves_first(kernel, Z):
    one, other = (DoublyStochastic(DirectSums(kernel, ONE_THREAD), self_loops=False) for _ in range(2))
    one.charges = other.charges = np.full(N, 20.0)
    found = one.repulsion(Z, np.ones(N))
    assert other.solve_potential(Z, 0.1, 12) <= 0.1
    np.testing.assert_array_equal(found, other.repulsion(Z, np.ones(N)))


@both_kernels
def test_a_gradient_makes_one_sinkhorn_step(kernel, Z, rng):
    one, other = (DoublyStochastic(DirectSums(kernel, ONE_THREAD)) for _ in range(2))
    one.charges = other.charges = np.exp(rng.normal(size=N))
    one.repulsion(Z, np.ones(N))
    other.solve_potential(Z, 0.0, 1)
    np.testing.assert_array_equal(one.charges, other.charges)


def test_points_at_one_place_are_solved_from_the_start():
    normalization = DoublyStochastic(DirectSums(Kernel.STUDENT, ONE_THREAD))
    assert normalization.solve_potential(np.zeros((N, 2)), 1e-13, 0) < 1e-13


@with_and_without_loops
def test_permute_takes_f_along(self_loops, Z, rng):
    normalization = DoublyStochastic(DirectSums(Kernel.STUDENT, ONE_THREAD), self_loops=self_loops)
    normalization.permute(np.arange(N))  # nothing to permute yet
    normalization.solve_potential(Z, 1e-10, 200)
    order = rng.permutation(N)
    f = normalization.potential
    normalization.permute(order)
    np.testing.assert_array_equal(normalization.potential, f[order])
    assert normalization.solve_potential(Z[order], 1.0, 0) < 1e-9


@pytest.mark.parametrize("kind", [GridSums, DirectSums])
@pytest.mark.parametrize("distance", [7.0, 14.0, 26.0])
@pytest.mark.parametrize(
    "make",
    [RowNormalized, TotalNormalized, DoublyStochastic, lambda sums: DoublyStochastic(sums, self_loops=False)],
    ids=["rows", "total", "both", "both, no loops"],
)
def test_a_point_that_the_others_hardly_reach_does_no_harm(kind, distance, make):
    """The Gaussian kernel vanishes in rounding beyond a distance of six."""
    Z = np.concatenate([fitted(blobs(200, 2), 4.0), [[distance, 1.0]]])
    normalization = make(kind(Kernel.GAUSSIAN, ONE_THREAD))
    row_sums = np.ones(len(Z))
    for _ in range(40):
        push = normalization.repulsion(Z, row_sums)
        assert np.isfinite(push).all()
        assert np.abs(push).max() < 8.0 * (distance + 4.0)  # of a distance, as all Gaussian forces
    assert np.isfinite(normalization.value(Z, row_sums))


@pytest.mark.parametrize(
    "make", [RowNormalized, lambda sums: DoublyStochastic(sums, self_loops=False)], ids=["rows", "both"]
)
def test_a_point_that_the_others_hardly_reach_is_pushed_as_the_formula_says(make):
    """Only its neighbours' direction remains, with weights that sum to 1, twice for the doubly stochastic Q."""
    Z = np.concatenate([np.zeros((30, 2)), [[0.5, 0.0]], [[14.0, 0.0]]])
    normalization = make(DirectSums(Kernel.GAUSSIAN, ONE_THREAD))
    for _ in range(300):
        push = normalization.repulsion(Z, np.ones(len(Z)))
    near = Z[:-1, 0]
    weights = np.exp(14.0**2 - (14.0 - near) ** 2)
    if make is RowNormalized:
        assert push[-1, 0] == pytest.approx(-2.0 * weights @ (14.0 - near) / weights.sum(), rel=1e-9)
    else:
        assert push[-1, 0] == pytest.approx(-4.0 * 13.5, rel=0.05)


@pytest.mark.parametrize("kind", [GridSums, DirectSums])
@pytest.mark.parametrize("distance", [5.0, 12.0, 20.0, 26.0, 30.0, 1e4])
def test_solving_returns_the_gap_of_points_that_no_other_reaches(kind, distance):
    """Three points around one: a kernel that vanishes has no potential, and no limit of the field may hide it."""
    Z = distance * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    normalization = DoublyStochastic(kind(Kernel.GAUSSIAN, ONE_THREAD), self_loops=False)
    for steps in (0, 1, 30, 300):
        gap = normalization.solve_potential(Z, 1e-3, steps)
        f = normalization.potential
        exponent = f[:, None] + f - latent_cost(Kernel.GAUSSIAN, Z)
        K = np.exp(-latent_cost(Kernel.GAUSSIAN, Z))
        Q = np.where(K > 1e-300, np.exp(np.minimum(exponent, 700.0)), 0.0)
        np.fill_diagonal(Q, 0.0)
        assert np.isfinite(f).all()
        assert gap == pytest.approx(np.abs(Q.sum(axis=1) - 1.0).max(), rel=1e-6)
    assert (gap >= 1.0) == (distance > 26.7)


@pytest.mark.parametrize("sums", [DirectSums, GridSums])
@pytest.mark.parametrize("distance", [1.0, 40.0, 2000.0])
def test_values_where_the_kernel_underflows(sums, distance):
    """Some points, or all of them, are so far from the others that their fields vanish."""
    Z = distance * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [5.0, 3.0]])
    log_k = -latent_cost(Kernel.GAUSSIAN, Z)
    np.fill_diagonal(log_k, -np.inf)
    row_sums = np.array([0.5, 1.0, 1.0, 1.5])
    close = {"rel": 1e-3, "abs": 1e-3} if sums is GridSums else {"rel": 1e-12}
    by_row = RowNormalized(sums(Kernel.GAUSSIAN, ONE_THREAD)).value(Z, row_sums)
    assert by_row == pytest.approx(row_sums @ logsumexp(log_k, axis=1), **close)
    in_total = TotalNormalized(sums(Kernel.GAUSSIAN, ONE_THREAD)).value(Z, row_sums)
    assert in_total == pytest.approx(row_sums.sum() * (logsumexp(log_k) - np.log(4.0)), **close)
