"""Run coordinate ascent on the marginal dual variables, for rows that have lost their mass.

For one row after another, lambda_i is set so that the row sums to 1, with all other rows fixed. Sums are shifted by
their largest exponent, so a row may start with any mass, even exp(-1000). The loop is sequential, so the result does
not depend on the number of threads.
"""

import numpy as np

from . import RowLoop
from .arithmetic import fast_exp
from .compilation import FAST, compiled, inlined

MAX_ITERATIONS = 12
LOG_MASS_TOLERANCE = 0.1  # sufficient to start Newton's method; a smaller value takes more iterations


@inlined(fastmath=FAST)
def _log_mass(cost, lam, gam, lam_i, gam_i):
    """Compute log sum_j P_ij and its derivative with respect to lambda_i."""
    largest = -1e300
    for j in range(cost.size):
        largest = max(largest, (lam_i + lam[j] - 2.0 * cost[j]) / (gam_i + gam[j]))
    mass = slope = 0.0
    for j in range(cost.size):
        inverse = 1.0 / (gam_i + gam[j])
        p = fast_exp((lam_i + lam[j] - 2.0 * cost[j]) * inverse - largest)
        mass += p
        slope += p * inverse
    return np.log(mass) + largest, slope / mass


@inlined
def _restored(cost, lam, gam, lam_i, gam_i, slack):
    """Return the lambda_i that gives the row unit mass, and the initial |log mass|; below `slack`, keep lambda_i."""
    first = 0.0
    for k in range(MAX_ITERATIONS):
        log_mass, slope = _log_mass(cost, lam, gam, lam_i, gam_i)
        if k == 0:
            first = log_mass
        if abs(log_mass) < (slack if k == 0 else LOG_MASS_TOLERANCE):
            break
        lam_i -= log_mass / slope
    return lam_i, abs(first)


@compiled
def dense_masses(start, stop, cost, x, slack):
    """Restore rows of a full cost matrix without self-loops; return the largest |log mass| that a row had before."""
    lam, gam = x[0], x[1]
    n = cost.shape[0]
    worst = 0.0
    others, near_lam, near_gam = np.empty(n - 1), np.empty(n - 1), np.empty(n - 1)
    for i in range(start, stop):
        for k in range(n - 1):  # an explicit loop compiles much faster than slice assignment
            j = k + (k >= i)
            others[k], near_lam[k], near_gam[k] = cost[i, j], lam[j], gam[j]
        lam[i], met = _restored(others, near_lam, near_gam, lam[i], gam[i], slack)
        worst = max(worst, met)
    return worst


@compiled
def graph_masses(start, stop, indptr, indices, cost, x, slack):
    """Restore rows of a symmetric neighbour graph; return the largest |log mass| that a row had before."""
    lam, gam = x[0], x[1]
    worst = 0.0
    for i in range(start, stop):
        row = slice(indptr[i], indptr[i + 1])
        near = indices[row]
        lam[i], met = _restored(cost[row], lam[near], gam[near], lam[i], gam[i], slack)
        worst = max(worst, met)
    return worst


restore_rows = RowLoop(dense_masses, graph_masses)
