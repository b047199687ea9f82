"""The compiled sums over pairs beside the formulas written out in NumPy."""

import numpy as np
import pytest

from snekhorn.affinities.symmetric_dual import SymmetricDual
from snekhorn.kernels.symmetric_sums import row_terms

from ..helpers import cost_and_mask, dense


def _dual(cost, self_loops):
    return SymmetricDual(cost, 0.0, self_loops, lower=0.0, upper=np.inf)


@pytest.fixture(params=["dense", "graph"])
def form(request):
    return request.param


@pytest.fixture(params=[True, False], ids=["loops", "no loops"])
def self_loops(request):
    return request.param


@pytest.fixture(params=[np.float64, np.float32])
def case(request, form, self_loops, rng):
    """The cost object, and s, L and P of the formulas at random dual variables."""
    cost, C, mask = cost_and_mask(form, dtype=request.param)
    n = len(C)
    lam, gam = rng.normal(size=n), rng.uniform(0.3, 3.0, size=n)
    mask = mask | (np.eye(n, dtype=bool) & self_loops)
    s = gam[:, None] + gam
    L = (lam[:, None] + lam - 2.0 * C) / s
    return cost, lam, gam, s, L, np.where(mask, np.exp(L), 0.0)


def test_terms_are_the_row_sums_of_the_formulas(case, self_loops):
    cost, lam, gam, s, L, P = case
    want = np.stack([(P * factor).sum(axis=1) for factor in (np.ones_like(s), L, s, 1 / s, L / s, L**2 / s)], axis=1)
    found = np.empty(want.shape)
    cost.over_rows(row_terms, cost.arranged(np.stack([lam, gam])), self_loops, found)
    np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-13)


def test_product_is_that_of_the_formula(case, form, self_loops, rng):
    cost, lam, gam, s, L, P = case
    u, v = rng.normal(size=(2, lam.size))
    wt = P / s * (u[:, None] + u - L * (v[:, None] + v))
    want = np.stack([wt.sum(axis=1), -(wt * L).sum(axis=1)])
    product = _dual(cost, self_loops).hessian(np.stack([lam, gam]))
    found = product(np.stack([u, v]))
    if form == "graph" and cost.dtype == np.float32:  # the weights of edges are then kept in float32
        size = np.stack([np.abs(wt).sum(axis=1), np.abs(wt * L).sum(axis=1)])
        assert (np.abs(found - want) <= 1e-6 * size).all()
    else:
        np.testing.assert_allclose(found, want, rtol=1e-11, atol=1e-12)


def test_affinity_is_p_symmetric_to_the_bit(case, self_loops):
    cost, lam, gam, _, _, P = case
    found = _dual(cost, self_loops).affinity(np.stack([lam, gam]))
    single = found.dtype == np.float32
    np.testing.assert_allclose(dense(found), P, rtol=1e-6 if single else 1e-14)
    np.testing.assert_array_equal(dense(found), dense(found).T)
