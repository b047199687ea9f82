"""Entropic affinity: every row a Gaussian kernel with the bandwidth that gives it the same entropy."""

from __future__ import annotations

import numpy as np

from ..geometry.costs import Array, DenseCost, GraphCost
from ..kernels.bandwidth_search import BANDWIDTH, ENTROPY, LOG_NORMALIZER, NEAREST
from ..runtime.checks import check_choice, check_perplexity
from ..solvers.solve_report import Reason, SolveReport
from .affinity import Affinity, Matrix, marginal_gap, symmetrize
from .dual_start import entropic_duals

ENTROPY_TOLERANCE = 1e-8
MOST_ENTRIES = 0.9  # share of its entries that a row of few costs is asked to use


class EntropicAffinity(Affinity):
    """Entropic affinity of SNE and t-SNE.

        P_ij = exp(-C_ij / eps_i) / sum_l exp(-C_il / eps_i)    with    H(P_i) = log(xi) + 1,

    the cheapest, in the sum of P_ij C_ij, of the row-stochastic matrices whose rows have at least that entropy.

    Parameters
    ----------
    perplexity : float, default=30.0
        Effective number of neighbours of every row, xi.
    symmetrize : bool, default=False
        Return (P + P^T) / 2, as t-SNE does; its rows keep neither their sum nor their entropy.
    metric, n_neighbors, self_loops, n_jobs, verbose
        See `snekhorn.affinities.affinity.Affinity`.

    Attributes
    ----------
    affinity_, report_
        See `snekhorn.affinities.affinity.Affinity`.
    bandwidths_, entropy_dual_ : ndarray of shape (n,)
        eps, the dual variable of the entropy constraint.
    marginal_dual_ : ndarray of shape (n,)
        lambda, that of the row sums: P_ij = exp((lambda_i - C_ij) / eps_i).

    References
    ----------
    Hinton and Roweis, Stochastic Neighbor Embedding, NIPS 2002.
    """

    def __init__(
        self,
        perplexity: float = 30.0,
        *,
        symmetrize: bool = False,
        metric: str = "sqeuclidean",
        n_neighbors: int | str | None = None,
        self_loops: bool = True,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.perplexity = perplexity
        self.symmetrize = symmetrize
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.self_loops = self_loops
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self) -> None:
        check_perplexity(self.perplexity)
        check_choice(self.symmetrize, "symmetrize", (True, False))

    def _compute(self, cost: DenseCost | GraphCost) -> tuple[Matrix, SolveReport]:
        target = np.log(self._checked_perplexity(self.perplexity, cost))
        rows = cost.rows(self_loops=self.self_loops, entropy=target)
        self.marginal_dual_, self.entropy_dual_ = entropic_duals(rows)
        self.bandwidths_ = self.entropy_dual_
        inverse, nearest, log_normalizer = 1.0 / self.bandwidths_, rows[:, NEAREST], rows[:, LOG_NORMALIZER]
        P = cost.kernel_affinity(inverse, nearest, log_normalizer, self_loops=self.self_loops)
        report = entropic_report(P, rows[:, ENTROPY], target)
        return (symmetrize(P) if self.symmetrize else P), report


def entropic_report(P: Matrix, entropy: Array, target: float) -> SolveReport:
    """Rows above the target (more equally near points than the perplexity) or below it (too few neighbours)."""
    above = entropy > target + ENTROPY_TOLERANCE
    below = entropy < target - ENTROPY_TOLERANCE
    return SolveReport(
        converged=True,
        n_iter=1,
        n_passes=1,
        marginal_gap=marginal_gap(P),
        entropy_gap=float(np.max(np.abs(entropy - target), where=~(above | below), initial=0.0)),
        reason=Reason.CONVERGED.value,
        floor_rows=np.flatnonzero(above),
        unreachable_rows=np.flatnonzero(below),
    )


def entropic_rows(costs: Array, perplexity: float, n_threads: int) -> Array:
    """Entropic affinity of rows of costs (m, k), each by itself."""
    m, k = costs.shape
    graph = GraphCost(np.arange(0, m * k + 1, k), np.tile(np.arange(k), m), costs.ravel(), n_threads)
    rows = graph.rows(self_loops=False, entropy=np.log(min(perplexity, MOST_ENTRIES * k)))
    nearest = costs.min(axis=1, keepdims=True)
    p = np.exp((nearest - costs) / rows[:, [BANDWIDTH]])
    return p / p.sum(axis=1, keepdims=True)
