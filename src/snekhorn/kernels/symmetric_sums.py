"""Sums over pairs for the dual of the symmetric entropic affinity.

With s = gamma_i + gamma_j, L = (lambda_i + lambda_j - 2 C_ij) / s, P = exp(L) and w = P / s, the dual value, its
gradient and its Hessian are row sums of a few products of s, L and w. A row's own term (i = j, C_ii = 0) is added if
self-loops are part of P.

x holds (lambda, gamma) and y a step (u, v): two rows for a full matrix, and two columns for a graph, so that the values
of a neighbour are adjacent in memory.
"""

import numpy as np

from . import RowLoop
from .arithmetic import fast_exp
from .compilation import FAST, compiled, inlined
from .graph_rows import longest_row

# Columns of the array that the `*_terms` loops fill.
MASS, MASS_LOG, MASS_SCALE, W, W_L, W_LL, N_TERMS = 0, 1, 2, 3, 4, 5, 6


@inlined(fastmath=FAST)
def _add_terms(cost, lam, gam, lam_i, gam_i, sums):
    """Add sum_j of P, P L, P s, w, w L, w L^2 over one run of pairs to `sums`."""
    mass = mass_log = mass_scale = w_sum = wl_sum = wll_sum = 0.0
    for j in range(cost.size):
        s = gam_i + gam[j]
        inverse = 1.0 / s
        log_p = (lam_i + lam[j] - 2.0 * cost[j]) * inverse
        p = fast_exp(log_p)
        w = p * inverse
        wl = w * log_p
        mass += p
        mass_log += p * log_p
        mass_scale += p * s
        w_sum += w
        wl_sum += wl
        wll_sum += wl * log_p
    sums[MASS] += mass
    sums[MASS_LOG] += mass_log
    sums[MASS_SCALE] += mass_scale
    sums[W] += w_sum
    sums[W_L] += wl_sum
    sums[W_LL] += wll_sum


@inlined(fastmath=FAST)
def _products(cost, lam, gam, u, v, mine):
    """Sum w t and -w L t, t = u_i + u_j - L (v_i + v_j), over one run of pairs."""
    lam_i, gam_i, u_i, v_i = mine
    first = second = 0.0
    for j in range(cost.size):
        inverse = 1.0 / (gam_i + gam[j])
        log_p = (lam_i + lam[j] - 2.0 * cost[j]) * inverse
        wt = fast_exp(log_p) * inverse * (u_i + u[j] - log_p * (v_i + v[j]))
        first += wt
        second -= wt * log_p
    return first, second


@inlined(fastmath=FAST)
def _weigh(cost, lam, gam, lam_i, gam_i, w, log_p):
    """Write w and L of one run of pairs."""
    for j in range(cost.size):
        inverse = 1.0 / (gam_i + gam[j])
        log_p[j] = (lam_i + lam[j] - 2.0 * cost[j]) * inverse
        w[j] = fast_exp(log_p[j]) * inverse


@inlined(fastmath=FAST)
def _weighed_products(w, log_p, near, y, u_i, v_i):
    """Compute the sums of `_products` from precomputed w and L."""
    first = second = 0.0
    for k in range(w.size):
        j = near[k]
        wt = w[k] * (u_i + y[j, 0] - log_p[k] * (v_i + y[j, 1]))
        first += wt
        second -= wt * log_p[k]
    return first, second


@inlined
def _own_product(mine):
    """Compute the products of the pair (i, i)."""
    lam_i, gam_i, u_i, v_i = mine
    log_p = lam_i / gam_i
    wt = fast_exp(log_p) / gam_i * (u_i - log_p * v_i)
    return wt, -wt * log_p


@inlined
def _gather(x, near, first, second):
    """Copy the two columns of some rows of x."""
    for k in range(near.size):
        first[k], second[k] = x[near[k], 0], x[near[k], 1]


@compiled
def dense_terms(start, stop, cost, x, self_loops, terms):
    """Sum the six terms over every row of a full cost matrix."""
    lam, gam = x[0], x[1]
    own_cost = np.zeros(1, cost.dtype)
    for i in range(start, stop):
        before, after, own = slice(0, i), slice(i + 1, lam.size), slice(i, i + 1)
        terms[i] = 0.0
        _add_terms(cost[i, before], lam[before], gam[before], lam[i], gam[i], terms[i])
        _add_terms(cost[i, after], lam[after], gam[after], lam[i], gam[i], terms[i])
        if self_loops:
            _add_terms(own_cost, lam[own], gam[own], lam[i], gam[i], terms[i])


@compiled
def graph_terms(start, stop, indptr, indices, cost, x, self_loops, terms):
    """Sum the six terms over every row of a symmetric neighbour graph."""
    own_cost, longest = np.zeros(1, cost.dtype), longest_row(start, stop, indptr)
    lam, gam = np.empty(longest), np.empty(longest)
    for i in range(start, stop):
        row = slice(indptr[i], indptr[i + 1])
        _gather(x, indices[row], lam, gam)
        terms[i] = 0.0
        _add_terms(cost[row], lam, gam, x[i, 0], x[i, 1], terms[i])
        if self_loops:
            _add_terms(own_cost, x[i, :1], x[i, 1:], x[i, 0], x[i, 1], terms[i])


@compiled
def dense_product(start, stop, cost, x, y, self_loops, out):
    """Multiply minus the Hessian by (u, v) for a full cost matrix."""
    lam, gam, u, v = x[0], x[1], y[0], y[1]
    for i in range(start, stop):
        before, after = slice(0, i), slice(i + 1, lam.size)
        mine = (lam[i], gam[i], u[i], v[i])
        left = _products(cost[i, before], lam[before], gam[before], u[before], v[before], mine)
        right = _products(cost[i, after], lam[after], gam[after], u[after], v[after], mine)
        own = _own_product(mine) if self_loops else (0.0, 0.0)
        out[0, i] = left[0] + right[0] + own[0]
        out[1, i] = left[1] + right[1] + own[1]


@compiled
def graph_weights(start, stop, indptr, indices, cost, x, weights):
    """Write w and L for the edges of a symmetric neighbour graph, to share them between products."""
    longest = longest_row(start, stop, indptr)
    lam, gam = np.empty(longest), np.empty(longest)
    for i in range(start, stop):
        row = slice(indptr[i], indptr[i + 1])
        _gather(x, indices[row], lam, gam)
        _weigh(cost[row], lam, gam, x[i, 0], x[i, 1], weights[0, row], weights[1, row])


@compiled
def graph_product(start, stop, indptr, indices, cost, x, weights, y, self_loops, out):
    """Multiply minus the Hessian by (u, v) for a symmetric neighbour graph.

    `weights` are those of its edges. If there are none, they are computed anew, one row at a time.
    """
    longest = 0 if weights.size else longest_row(start, stop, indptr)
    lam, gam, row_weights = np.empty(longest), np.empty(longest), np.empty((2, longest), weights.dtype)
    for i in range(start, stop):
        row = slice(indptr[i], indptr[i + 1])
        if weights.size:
            w, log_p = weights[0, row], weights[1, row]
        else:
            w, log_p = row_weights[0, : row.stop - row.start], row_weights[1, : row.stop - row.start]
            _gather(x, indices[row], lam, gam)
            _weigh(cost[row], lam, gam, x[i, 0], x[i, 1], w, log_p)
        rest = _weighed_products(w, log_p, indices[row], y, y[i, 0], y[i, 1])
        own = _own_product((x[i, 0], x[i, 1], y[i, 0], y[i, 1])) if self_loops else (0.0, 0.0)
        out[0, i] = rest[0] + own[0]
        out[1, i] = rest[1] + own[1]


# Without re-association, so that P_ij and P_ji are bit-for-bit identical.
@inlined(fastmath={"contract"})
def _write_row(cost, lam, gam, lam_i, gam_i, out):
    """Write P of one run of pairs."""
    for j in range(cost.size):
        out[j] = fast_exp((lam_i + lam[j] - 2.0 * cost[j]) / (gam_i + gam[j]))


@compiled
def dense_affinity(start, stop, cost, x, self_loops, out):
    """Write P for a full cost matrix."""
    lam, gam = x[0], x[1]
    for i in range(start, stop):
        _write_row(cost[i], lam, gam, lam[i], gam[i], out[i])
        if not self_loops:
            out[i, i] = 0.0


@compiled
def graph_affinity(start, stop, indptr, indices, cost, x, self_loops, out):
    """Write P for the edges of a symmetric neighbour graph."""
    longest = longest_row(start, stop, indptr)
    lam, gam = np.empty(longest), np.empty(longest)
    for i in range(start, stop):
        row = slice(indptr[i], indptr[i + 1])
        _gather(x, indices[row], lam, gam)
        _write_row(cost[row], lam, gam, x[i, 0], x[i, 1], out[row])


row_terms = RowLoop(dense_terms, graph_terms)
edge_weights = RowLoop(graph=graph_weights)
hessian_product = RowLoop(dense_product, graph_product)
write_affinity = RowLoop(dense_affinity, graph_affinity)
