import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import entr, logsumexp

from snekhorn.affinities.entropic import KernelRows
from snekhorn.geometry.costs import DenseCost

from ..helpers import cost_and_mask, graph_cost


def _entropy(costs, bandwidth):
    log_p = -costs / bandwidth
    return entr(np.exp(log_p - logsumexp(log_p))).sum()


def _rows_of(C, mask, *, self_loops):
    mask = mask | (np.eye(len(C), dtype=bool) & self_loops)
    return [row[keep] for row, keep in zip(C, mask, strict=True)]


@pytest.mark.parametrize("form", ["dense", "graph"])
@pytest.mark.parametrize("self_loops", [True, False])
@pytest.mark.parametrize("perplexity", [1.05, 2.0, 3.5])
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_bandwidths_are_those_of_brentq(form, self_loops, perplexity, scale):
    _, C, mask = cost_and_mask(form, n=30)
    cost = DenseCost(C * scale) if form == "dense" else graph_cost(C * scale, mask)
    found = KernelRows.with_entropy(cost, np.log(perplexity), self_loops=self_loops)
    rows = _rows_of(C * scale, mask, self_loops=self_loops)
    for bandwidth, entropy, costs in zip(found.bandwidth, found.entropy, rows, strict=True):
        want = brentq(
            lambda x, costs=costs: _entropy(costs, np.exp(x) * scale) - np.log(perplexity), -20, 20, xtol=1e-14
        )
        assert bandwidth == pytest.approx(np.exp(want) * scale, rel=1e-9)
        assert entropy == pytest.approx(np.log(perplexity), abs=1e-12)


@pytest.mark.parametrize("form", ["dense", "graph"])
@pytest.mark.parametrize("self_loops", [True, False])
@pytest.mark.parametrize("bandwidth", [1e-3, 0.3, 1.0, 1e6])
def test_a_given_bandwidth_is_kept(form, self_loops, bandwidth):
    cost, C, mask = cost_and_mask(form)
    found = KernelRows.with_bandwidth(cost, bandwidth, self_loops=self_loops)
    rows = _rows_of(C, mask, self_loops=self_loops)
    np.testing.assert_allclose(found.bandwidth, bandwidth, rtol=1e-15)
    nearest = np.array([c.min() for c in rows])
    np.testing.assert_array_equal(found.nearest, nearest)
    want = [logsumexp(-(c - c.min()) / bandwidth) for c in rows]
    np.testing.assert_allclose(found.log_normalizer, want, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(found.entropy, [_entropy(c, bandwidth) for c in rows], rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("self_loops", [True, False])
def test_more_equally_near_points_than_the_perplexity_give_the_uniform_row_over_them(self_loops):
    C = np.ones((9, 9))
    C[:4, :4] = 0.0
    np.fill_diagonal(C, 0.0)
    found = KernelRows.with_entropy(DenseCost(C), np.log(1.5), self_loops=self_loops)
    np.testing.assert_allclose(found.entropy[:4], np.log(4 if self_loops else 3), rtol=1e-12)


def test_fewer_entries_than_the_perplexity_give_the_uniform_row():
    cost, _, mask = cost_and_mask("graph")
    found = KernelRows.with_entropy(cost, np.log(50.0), self_loops=True)
    np.testing.assert_allclose(found.entropy, np.log(mask.sum(axis=1) + 1), rtol=1e-12)


def test_float32_costs_are_summed_in_float64():
    cost, C, _ = cost_and_mask("dense", dtype=np.float32)
    want = KernelRows.with_entropy(DenseCost(C), np.log(5.0), self_loops=True)
    found = KernelRows.with_entropy(cost, np.log(5.0), self_loops=True)
    for name in ("bandwidth", "nearest", "log_normalizer", "entropy"):
        np.testing.assert_allclose(getattr(found, name), getattr(want, name), rtol=1e-12)
