"""Check each derivative of the dual against finite differences of the previous one."""

import numpy as np
import pytest

from snekhorn.affinities.symmetric_dual import SymmetricDual
from snekhorn.kernels.symmetric_sums import N_TERMS, row_terms

from ..helpers import cost_and_mask

N = 9


@pytest.fixture(params=["dense", "graph"])
def form(request):
    return request.param


@pytest.fixture(params=[True, False], ids=["loops", "no loops"])
def dual(request, form):
    cost, _, _ = cost_and_mask(form, n=N)
    return SymmetricDual(cost, np.linspace(0.5, 1.5, N), request.param, lower=1e-3, upper=1e3)


@pytest.fixture
def x(rng):
    return np.stack([-rng.uniform(0.1, 2.0, size=N), rng.uniform(0.5, 3.0, size=N)])


def _difference(function, x, direction, step=1e-5):
    return (function(x + step * direction) - function(x - step * direction)) / (2.0 * step)


def _units():
    return np.eye(2 * N).reshape(-1, 2, N)


def test_value_is_the_lagrangian_at_p(dual, x, form):
    cost, C, mask = cost_and_mask(form, n=N)
    lam, gam = x
    mask = mask | (np.eye(N, dtype=bool) & dual.self_loops)
    P = np.where(mask, np.exp((lam[:, None] + lam - 2 * C) / (gam[:, None] + gam)), 0.0)
    entropy = np.sum(np.where(mask, -P * (np.log(np.where(mask, P, 1.0)) - 1.0), 0.0), axis=1)
    lagrangian = np.sum(P * C) + gam @ (dual.log_perplexity + 1.0 - entropy) + lam @ (1.0 - P.sum(axis=1))
    assert dual.evaluate(x).value == pytest.approx(lagrangian, rel=1e-12)
    assert cost.n_points == N


def test_gradient_is_that_of_the_value(dual, x):
    slopes = [_difference(lambda y: dual.evaluate(y).value, x, unit) for unit in _units()]
    np.testing.assert_allclose(dual.evaluate(x).gradient.ravel(), slopes, rtol=1e-7, atol=1e-8)


def test_product_is_minus_the_change_of_the_gradient(dual, x, rng):
    v = rng.normal(size=(2, N))
    want = -_difference(lambda y: dual.evaluate(y).gradient, x, v)
    np.testing.assert_allclose(dual.hessian(x)(v), want, rtol=1e-7, atol=1e-8)


def test_blocks_are_those_of_the_hessian_which_is_symmetric_and_positive(dual, x):
    H = np.stack([dual.hessian(x)(unit).ravel() for unit in _units()])
    np.testing.assert_allclose(H, H.T, rtol=1e-12, atol=1e-13)
    assert np.linalg.eigvalsh(H).min() > -1e-12
    a, b, c = dual.evaluate(x).blocks
    np.testing.assert_allclose(a, np.diag(H)[:N], rtol=1e-12)
    np.testing.assert_allclose(b, np.diag(H, N), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(c, np.diag(H)[N:], rtol=1e-12)


def test_log_residual_vanishes_with_the_gradient_and_agrees_near_it(dual, x):
    """To first order in the gaps, the right-hand side of the Newton system is the gradient."""
    terms = np.empty((N, N_TERMS))
    dual.cost.over_rows(row_terms, dual.cost.arranged(x), dual.self_loops, terms)
    mass = terms[:, 0]
    dual.log_perplexity = -terms[:, 1] / mass + np.log(mass)  # the entropies of the rows, normalised
    near = dual.evaluate(np.stack([x[0], x[1]]))
    np.testing.assert_allclose(near.rhs[0], -mass * np.log(mass), rtol=1e-12)
    np.testing.assert_allclose(near.rhs[1], mass * np.log(mass) * terms[:, 1] / mass, rtol=1e-12)


def test_rows_at_a_bound_they_are_pushed_against_are_held(dual, x):
    slope = dual.evaluate(x).gradient[1]
    dual.lower = np.where(slope < 0.0, x[1], 1e-3)
    dual.upper = np.where(slope > 0.0, x[1], 1e3)
    point = dual.evaluate(x)
    assert point.held.all()
    assert point.entropy_gap == 0.0
    assert point.marginal_gap > 0.0


def test_projection_keeps_gamma_in_its_box_and_the_diagonal_of_p_below_one(dual):
    projected = dual.project(np.stack([np.linspace(-1, 1, N), np.linspace(-1, 2e3, N)]))
    assert projected[1].min() == 1e-3
    assert projected[1].max() == 1e3
    assert projected[0].max() == (0.0 if dual.self_loops else 1.0)


def test_few_rows_that_move_alone_see_the_same_function(dual, x, form, rng):
    rows = np.array([1, 6])
    found = dual.restricted_to(rows, x)
    if form == "dense":
        assert found is None
        return
    few, some = found
    point, whole = few.evaluate(some), dual.evaluate(x)
    np.testing.assert_allclose(point.gradient[:, :2], whole.gradient[:, rows], rtol=1e-12)
    np.testing.assert_array_equal(point.gradient[:, 2:], 0.0)
    moved, some_moved = x.copy(), some.copy()
    step = 0.1 * rng.normal(size=(2, 2))
    moved[:, rows] += step
    some_moved[:, :2] += step
    change = few.evaluate(some_moved).value - point.value
    assert change == pytest.approx(dual.evaluate(moved).value - whole.value, rel=1e-9)
    v = np.zeros_like(x)
    v[:, rows] = step
    product = few.hessian(some)(np.pad(step, ((0, 0), (0, some.shape[1] - 2))))
    np.testing.assert_allclose(product[:, :2], dual.hessian(x)(v)[:, rows], rtol=1e-12)


@pytest.mark.parametrize("self_loops", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weights_that_are_not_kept_give_the_same_bits(dtype, self_loops, monkeypatch):
    cost, _, _ = cost_and_mask("graph", n=150, dtype=dtype)
    rng = np.random.default_rng(0)
    x, step = np.stack([rng.normal(size=150), rng.uniform(0.3, 3.0, size=150)]), rng.normal(size=(2, 150))
    dual = SymmetricDual(cost, 1.0, self_loops, lower=0.0, upper=np.inf)
    kept = dual.hessian(x)(step)
    monkeypatch.setattr("snekhorn.geometry.neighbor_graph.left_bytes", lambda: 1000)
    np.testing.assert_array_equal(dual.hessian(x)(step), kept)
