"""Loss and gradient of every method, against dense formulas and finite differences."""

import numpy as np
import pytest
from scipy import sparse

from snekhorn.embedding.charge_grid import GridSums
from snekhorn.embedding.charge_sums import DirectSums, Kernel
from snekhorn.embedding.latent import Latent
from snekhorn.embedding.normalizations import DoublyStochastic
from snekhorn.embedding.objective import Objective, make_objective
from snekhorn.errors import NumericalOverflowError
from snekhorn.runtime.execution import MIN_WORK_FOR_THREADS, Threads

from .layouts_and_sums import (
    ONE_THREAD,
    blobs,
    doubly_stochastic_matrix,
    error,
    fitted,
    latent_cost,
    plain_divergence,
    plain_latent,
    row_stochastic_matrix,
)

N = 14
METHODS = {
    "t-SNEkhorn": (Latent(Kernel.STUDENT, "both"), True),
    "t-SNEkhorn, no loops": (Latent(Kernel.STUDENT, "both"), False),
    "SNEkhorn": (Latent(Kernel.GAUSSIAN, "both"), True),
    "SNEkhorn, no loops": (Latent(Kernel.GAUSSIAN, "both"), False),
    "t-SNE": (Latent(Kernel.STUDENT, "total"), True),
    "symmetric SNE": (Latent(Kernel.GAUSSIAN, "total"), True),
    "SNE": (Latent(Kernel.GAUSSIAN, "rows"), True),
    "SNE, Student": (Latent(Kernel.STUDENT, "rows"), True),
}


@pytest.fixture(params=METHODS)
def method(request):
    return METHODS[request.param]


def _affinity(latent, n=N):
    return row_stochastic_matrix(n) if latent.normalized == "rows" else doubly_stochastic_matrix(n)


def _objective(method, P, sums=None, dtype=np.float64, execution=ONE_THREAD):
    latent, self_loops = method
    sums = sums or DirectSums(latent.kernel, execution)
    normalization = latent.normalization(sums, self_loops=self_loops)
    symmetric = latent.normalized != "rows"
    return Objective(P, normalization, dtype=dtype, symmetric=symmetric)


def _solved_loss(objective, Z):
    if isinstance(objective.normalization, DoublyStochastic):
        objective.normalization.solve_potential(Z, 1e-13, 200)
    return objective.loss(Z)


def _solved_gradient(objective, Z, exaggeration=1.0):
    if isinstance(objective.normalization, DoublyStochastic):
        objective.normalization.solve_potential(Z, 1e-13, 200)
    return objective.gradient(Z, exaggeration)


def _slopes(loss, Z, step=1e-5):
    slopes = np.empty_like(Z)
    for place in np.ndindex(Z.shape):
        ahead, behind = Z.copy(), Z.copy()
        ahead[place] += step
        behind[place] -= step
        slopes[place] = (loss(ahead) - loss(behind)) / (2.0 * step)
    return slopes


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("scale", [0.1, 1.0])
def test_gradient_is_that_of_the_loss(method, d, scale, rng):
    Z = scale * rng.normal(size=(N, d))
    objective = _objective(method, _affinity(method[0]))
    want = N * _slopes(lambda Z: _solved_loss(objective, Z), Z)
    np.testing.assert_allclose(_solved_gradient(objective, Z), want, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("normalized", ["total", "rows", "both"])
def test_gradient_is_that_of_the_loss_for_rows_of_any_mass(normalized, rng):
    P = rng.exponential(size=(N, N)) ** 2
    P = P if normalized == "rows" else P + P.T
    np.fill_diagonal(P, 0.0)
    Z = rng.normal(size=(N, 2))
    objective = _objective((Latent(Kernel.STUDENT, normalized), True), P)
    want = N * _slopes(lambda Z: _solved_loss(objective, Z), Z)
    np.testing.assert_allclose(_solved_gradient(objective, Z), want, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("self_loops", [True, False], ids=["loops", "no loops"])
@pytest.mark.parametrize("kernel", Kernel)
def test_gradient_is_that_of_the_joint_objective_at_any_f(kernel, self_loops, rng):
    Z, f = rng.normal(size=(N, 2)), rng.normal(size=N) - 1.0
    objective = _objective((Latent(kernel, "both"), self_loops), doubly_stochastic_matrix(N))
    objective.normalization.charges = np.exp(f)
    if not self_loops:  # solved before every gradient
        objective.normalization.solve_potential(Z, 0.1, 12)
    want = N * _slopes(objective.loss, Z)
    np.testing.assert_allclose(objective.gradient(Z), want, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("scale", [0.1, 0.5, 1.0])
def test_loss_is_the_divergence(method, d, scale, rng):
    latent, self_loops = method
    Z = scale * rng.normal(size=(N, d))
    P = _affinity(latent)
    want = plain_divergence(P, plain_latent(latent.kernel, latent.normalized, Z, self_loops))
    found = _solved_loss(_objective(method, P), Z)
    assert found == pytest.approx(want, rel=1e-10, abs=1e-10)
    assert found >= 0.0


@pytest.mark.parametrize("kernel", Kernel)
def test_loss_is_the_divergence_with_loops_on_both_sides(kernel, rng):
    Z, P = rng.normal(size=(N, 2)), doubly_stochastic_matrix(N, diagonal=True)
    want = plain_divergence(P, plain_latent(kernel, "both", Z, self_loops=True))
    assert _solved_loss(_objective((Latent(kernel, "both"), True), P), Z) == pytest.approx(want, rel=1e-10)


def test_loss_vanishes_where_q_is_p(method, rng):
    latent, self_loops = method
    Z = rng.normal(size=(N, 2))
    P = plain_latent(latent.kernel, latent.normalized, Z, self_loops)
    objective = _objective(method, P)
    assert _solved_loss(objective, Z) == pytest.approx(0.0, abs=1e-5)  # entries of P below 1e-6 / n are left out
    assert np.abs(_solved_gradient(objective, Z)).max() < 1e-4


@pytest.mark.parametrize("scale", [1e-3, 3.0, 30.0])
def test_loss_is_not_negative(method, scale, rng):
    objective = _objective(method, _affinity(method[0]))
    assert _solved_loss(objective, scale * rng.normal(size=(N, 2))) >= 0.0


def test_loss_is_not_negative_before_the_potential_is_solved(rng):
    objective = _objective(METHODS["t-SNEkhorn"], doubly_stochastic_matrix(N))
    for _ in range(20):
        objective.normalization.charges = np.exp(2.0 * rng.normal(size=N))
        assert objective.loss(rng.normal(size=(N, 2))) > 0.0


def test_exaggeration_multiplies_the_attraction_alone(method, rng):
    Z = rng.normal(size=(N, 2))
    objective = _objective(method, _affinity(method[0]))
    once, twice, twelve = (_solved_gradient(objective, Z, factor) for factor in (1.0, 2.0, 12.0))
    attraction = twice - once
    repulsion = once - attraction
    np.testing.assert_allclose(twelve, repulsion + 12.0 * attraction, rtol=1e-9, atol=1e-10)
    C_slope = {Kernel.STUDENT: lambda r: 1.0 / (1.0 + r), Kernel.GAUSSIAN: np.ones_like}[method[0].kernel]
    difference = Z[:, None] - Z
    P = _affinity(method[0])
    weights = (P + P.T) * C_slope((difference**2).sum(axis=2))
    np.testing.assert_allclose(attraction, 2.0 * np.einsum("ij,ijd->id", weights, difference), rtol=1e-9, atol=1e-11)


def test_the_scale_of_p_does_not_matter(method, rng):
    Z, P = rng.normal(size=(N, 2)), _affinity(method[0])
    one = _objective(method, P)
    for scale in (1e-8, 1.0 / N, 1e5):
        other = _objective(method, scale * P)
        assert _solved_loss(other, Z) == pytest.approx(_solved_loss(one, Z), rel=1e-12)
        np.testing.assert_allclose(_solved_gradient(other, Z), _solved_gradient(one, Z), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csr_array, sparse.coo_array, sparse.csc_matrix])
def test_p_may_be_sparse_and_is_left_as_it_is(method, form, rng):
    Z, P = rng.normal(size=(N, 2)), _affinity(method[0])
    P[P < 0.02] = 0.0
    stored = form(P)
    assert _solved_loss(_objective(method, stored), Z) == _solved_loss(_objective(method, P), Z)
    np.testing.assert_array_equal(stored.toarray(), P)


def test_permute_takes_everything_along(method, rng):
    Z = rng.normal(size=(N, 2))
    order = rng.permutation(N)
    objective = _objective(method, _affinity(method[0]))
    loss, gradient = _solved_loss(objective, Z), _solved_gradient(objective, Z)
    objective.permute(order)
    assert objective.loss(Z[order]) == pytest.approx(loss, rel=1e-12)
    np.testing.assert_allclose(objective.gradient(Z[order]), gradient[order], rtol=1e-9, atol=1e-11)
    objective.permute(np.argsort(order))
    assert objective.loss(Z) == pytest.approx(loss, rel=1e-12)


def test_moving_or_turning_the_layout_changes_nothing(method, rng):
    Z = rng.normal(size=(N, 2))
    turn = np.array([[np.cos(0.7), -np.sin(0.7)], [np.sin(0.7), np.cos(0.7)]])
    objective = _objective(method, _affinity(method[0]))
    loss, gradient = _solved_loss(objective, Z), _solved_gradient(objective, Z)
    assert _solved_loss(objective, Z @ turn + 3.0) == pytest.approx(loss, rel=1e-12)
    np.testing.assert_allclose(_solved_gradient(objective, Z @ turn + 3.0), gradient @ turn, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(gradient.sum(axis=0), 0.0, atol=1e-10)


@pytest.mark.parametrize("span", [0.1, 20.0])
def test_on_the_grid_in_float32_all_is_the_same_to_its_accuracy(method, span):
    latent, _ = method
    n = 600
    Z = fitted(blobs(n, 2), span)
    P = _affinity(latent, n)
    exact, fast = _objective(method, P), _objective(method, P, GridSums(latent.kernel, ONE_THREAD), np.float32)
    losses = []
    for objective in (exact, fast):
        if isinstance(objective.normalization, DoublyStochastic):
            objective.normalization.charges = np.exp(np.full(n, -2.0))
        losses.append(objective.loss(Z))
    assert losses[1] == pytest.approx(losses[0], rel=2e-4)
    assert error(fast.gradient(Z), exact.gradient(Z)) < 5e-3


def test_threads_leave_no_trace(method):
    n = 400
    assert n * n >= MIN_WORK_FOR_THREADS
    Z, P = fitted(blobs(n, 2), 10.0), _affinity(method[0], n)
    one = _objective(method, P)
    want = one.gradient(Z), one.loss(Z)
    for n_threads in (2, 4):
        many = _objective(method, P, execution=Threads(n_threads))
        np.testing.assert_array_equal(many.gradient(Z), want[0])
        assert many.loss(Z) == want[1]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("normalized", ["total", "rows", "both"])
def test_p_gets_the_form_of_q(normalized, form, rng):
    """P has no diagonal if Q has none, and rows that sum to 1 if the rows of Q do."""
    Z, P = rng.normal(size=(N, 2)), rng.uniform(0.1, 1.0, size=(N, N))
    P = P + P.T
    want = P.copy()
    if normalized != "both":
        np.fill_diagonal(want, 0.0)
    if normalized == "rows":
        want /= want.sum(axis=1, keepdims=True)
    latent, stored = Latent(Kernel.STUDENT, normalized), form(P)
    found = make_objective(stored, latent, method="exact", self_loops=True, symmetric=False, execution=ONE_THREAD)
    plain = Objective(want, found.normalization, dtype=np.float64, symmetric=False)
    np.testing.assert_allclose(found.row_sums, plain.row_sums, rtol=1e-13)
    np.testing.assert_allclose(found.mass, plain.mass, rtol=1e-13)
    assert found.loss(Z) == pytest.approx(plain.loss(Z), rel=1e-12)
    np.testing.assert_array_equal(stored.toarray() if sparse.issparse(stored) else stored, P)


@pytest.mark.parametrize(
    ("method", "few", "dtype"), [("exact", 0, np.float64), ("fft", N, np.float64), ("fft", N - 1, np.float32)]
)
def test_precision_follows_the_method_and_the_number_of_points(method, few, dtype, rng, monkeypatch):
    monkeypatch.setattr("snekhorn.embedding.objective.FEW_POINTS", few)
    latent, Z = Latent(Kernel.STUDENT, "both"), rng.normal(size=(N, 2))
    P = _affinity(latent)
    found = make_objective(P, latent, method=method, self_loops=False, symmetric=True, execution=ONE_THREAD)
    kind = {"exact": DirectSums, "fft": GridSums}[method]
    assert isinstance(found.normalization.sums, kind)
    want = _objective((latent, False), P, kind(latent.kernel, ONE_THREAD), dtype)
    np.testing.assert_array_equal(found.gradient(Z), want.gradient(Z))


@pytest.mark.parametrize("normalized", ["total", "rows", "both"])
def test_a_point_without_neighbours_is_refused(normalized):
    P = doubly_stochastic_matrix(N)
    P[3] = P[:, 3] = 0.0
    with pytest.raises(ValueError, match=r"row 3 of the affinity is zero"):
        make_objective(
            P,
            Latent(Kernel.STUDENT, normalized),
            method="exact",
            self_loops=True,
            symmetric=True,
            execution=ONE_THREAD,
        )


@pytest.mark.parametrize(("tol", "grid_error"), [(1e-2, 1e-3), (1e-7, 5e-6)], ids=["default grid", "tight grid"])
@pytest.mark.parametrize("kind", [DirectSums, GridSums])
def test_the_row_sums_of_q_reach_the_tolerance(kind, tol, grid_error):
    n = 300
    Z, latent = fitted(blobs(n, 2), 10.0), Latent(Kernel.STUDENT, "both")
    objective = _objective((latent, True), doubly_stochastic_matrix(n), kind(latent.kernel, ONE_THREAD))
    assert objective.potential is None
    assert objective.solve_potential(Z, tol) <= tol
    f = objective.potential
    K = np.exp(-latent_cost(latent.kernel, Z))
    gap = np.abs((np.exp(f[:, None] + f) * K).sum(axis=1) - 1.0).max()
    assert gap <= tol + (1e-12 if kind is DirectSums else grid_error)


@pytest.mark.parametrize("normalized", ["total", "rows"])
def test_other_normalisations_have_no_potential(normalized, rng):
    latent = Latent(Kernel.STUDENT, normalized)
    objective = _objective((latent, True), _affinity(latent))
    assert objective.solve_potential(rng.normal(size=(N, 2)), 1e-2) is None
    assert objective.potential is None


def test_divergence_of_a_p_with_other_row_sums(rng):
    """The joint objective differs from the divergence then; `divergence` corrects for it."""
    Z, latent = rng.normal(size=(N, 2)), Latent(Kernel.STUDENT, "both")
    P = rng.exponential(size=(N, N)) + 0.1
    P = (P + P.T) * (N / (P + P.T).sum())
    objective = _objective((latent, True), P)
    objective.solve_potential(Z, 1e-13)
    want = plain_divergence(P, plain_latent(latent.kernel, "both", Z, self_loops=True))
    assert objective.divergence(Z) == pytest.approx(want, rel=1e-9)
    assert objective.loss(Z) != pytest.approx(want, rel=1e-3)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_loss_that_is_not_finite_is_an_error(method, value, rng):
    objective = _objective(method, _affinity(method[0]))
    Z = rng.normal(size=(N, 2))
    objective.loss(Z)
    Z[2, 1] = value
    for function in (objective.loss, objective.divergence, objective.gradient):
        with pytest.raises(NumericalOverflowError, match="overflowed"):
            function(Z)
