"""State the convex problems of the paper for an independent solver."""

import warnings

import cvxpy as cp
import numpy as np
from scipy import sparse

ACCURACY = 1e-12


def solve(C, *, symmetric=True, self_loops=True, log_perplexity=None, mean_log_perplexity=None, temperature=0.0):
    """argmin <P, C> - sum_i temperature_i H(P_i), rows of P summing to 1.

    `symmetric` adds P = P^T, `log_perplexity` a bound from below on the entropy of every row,
    `mean_log_perplexity` one on their average; without `self_loops`, P has no diagonal.
    """
    n = len(C)
    C = C / (unit := np.median(C[C > 0.0]))  # well scaled for the solver; P does not change
    first = 0 if self_loops else 1
    row, column = np.triu_indices(n, first) if symmetric else np.nonzero(1 - (1 - self_loops) * np.eye(n))
    entries = np.arange(row.size)
    gather = sparse.csr_matrix((np.ones(row.size), (row, entries)), shape=(n, row.size))
    if symmetric:
        twice = row != column
        ones = np.ones(twice.sum())
        gather = gather + sparse.csr_matrix((ones, (column[twice], entries[twice])), shape=gather.shape)

    p = cp.Variable(row.size)
    entropy = gather @ cp.entr(p)
    constraints = [gather @ p == 1]
    if log_perplexity is not None:
        constraints.append(entropy >= log_perplexity)
    if mean_log_perplexity is not None:
        constraints.append(cp.sum(entropy) >= n * mean_log_perplexity)
    weights = np.asarray(gather.sum(axis=0)).ravel() * C[row, column]
    problem = cp.Problem(cp.Minimize(weights @ p - np.full(n, temperature / unit) @ entropy), constraints)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of entries that round to zero, or short of 1e-12: the tests will see
        problem.solve(solver=cp.CLARABEL, tol_gap_abs=ACCURACY, tol_gap_rel=ACCURACY, tol_feas=ACCURACY)

    P = np.zeros((n, n))
    P[row, column] = p.value
    if symmetric:
        P[column, row] = p.value
    return P


def kl_projection(C, sigma, log_perplexity, *, symmetric):
    """argmin KL(P | exp(-C / sigma)) over the P whose rows sum to 1 and have at least the entropy.

    KL(P | K) = sum P log P + <P, C> / sigma, up to constants: kernels that underflow need not be formed.
    """
    return solve(C, symmetric=symmetric, log_perplexity=log_perplexity, temperature=sigma)
