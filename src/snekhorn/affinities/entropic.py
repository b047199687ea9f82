"""Entropic affinity: every row is a Gaussian kernel whose bandwidth is chosen so that all rows have equal entropy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..geometry.costs import Array, Cost, Matrix, NeighborGraph
from ..kernels import bandwidth_search
from ..runtime.checks import check_choice, check_perplexity
from ..runtime.execution import Execution
from ..solvers.solve_report import Reason, SolveReport
from .affinity import Affinity, in_user_units, symmetrize
from .measured_rows import MeasuredRows

REPORTED_GAP = 1e-8  # rows farther from the target entropy are named in the report
MOST_ENTRIES = 0.9  # target perplexity of a short row, as a fraction of its entries; more flattens the row
LEAST_SLACK = 1e-9  # by which the log number of entries must exceed a target; a uniform row has no finite bandwidth
LAST_DIGITS = 64.0  # rounding error of a cost, in units in the last place


class EntropicAffinity(Affinity):
    """Entropic affinity of SNE and t-SNE.

        P_ij = exp(-C_ij / eps_i) / sum_l exp(-C_il / eps_i)    with    H(P_i) = log(xi) + 1.

    H(P_i) = -sum_j P_ij (log P_ij - 1) is the entropy of row i. P minimises the sum of P_ij C_ij over all
    row-stochastic matrices whose rows have at least that entropy.

    Parameters
    ----------
    perplexity : float, default=30.0
        Effective number of neighbours xi of every row.
    symmetrize : bool, default=False
        Whether to return (P + P^T) / 2, as in t-SNE. Symmetrising changes the row sums and entropies.
    metric, n_neighbors, self_loops, n_jobs, verbose
        See `snekhorn.affinities.affinity.Affinity`.

    Attributes
    ----------
    affinity_, report_
        See `snekhorn.affinities.affinity.Affinity`.
    bandwidths_, entropy_dual_ : ndarray of shape (n,)
        The bandwidths eps, which are the dual variables of the entropy constraints.
    marginal_dual_ : ndarray of shape (n,)
        The dual variables lambda of the row sums: P_ij = exp((lambda_i - C_ij) / eps_i).

    References
    ----------
    Hinton and Roweis, Stochastic Neighbor Embedding, NIPS 2002.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from snekhorn.affinities import EntropicAffinity
    >>> P = EntropicAffinity(perplexity=20, symmetrize=True).fit_transform(load_iris().data)
    >>> P.shape
    (150, 150)
    """

    def __init__(
        self,
        perplexity: float = 30.0,
        *,
        symmetrize: bool = False,
        metric: str = "sqeuclidean",
        n_neighbors: int | Literal["auto"] | None = None,
        self_loops: bool = True,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(metric, n_neighbors, self_loops=self_loops, n_jobs=n_jobs, verbose=verbose)
        self.perplexity = perplexity
        self.symmetrize = symmetrize

    def check_parameters(self) -> None:
        super().check_parameters()
        check_perplexity(self.perplexity)
        check_choice(self.symmetrize, "symmetrize", (True, False))

    def compute(self, cost: Cost) -> tuple[Matrix, SolveReport]:
        cost = cost.in_own_units()
        target = np.log(self.usable_perplexity(self.perplexity, cost))
        rows = KernelRows.with_entropy(cost, target, self_loops=self.self_loops)
        self.marginal_dual_, self.entropy_dual_ = in_user_units(cost, rows.duals)
        self.bandwidths_ = self.entropy_dual_
        P = rows.affinity(cost, self_loops=self.self_loops)
        report = entropic_report(MeasuredRows.of(P, cost.execution), target, cost.degrees + bool(self.self_loops))
        return (symmetrize(P, cost.execution) if self.symmetrize else P), report


def row_targets(cost: Cost, log_perplexity: float, *, self_loops: bool) -> Array:
    """Return the target log perplexity of every row, lowered for rows with too few entries."""
    entries = cost.degrees + bool(self_loops)
    lowered = np.minimum(log_perplexity, np.log(np.maximum(MOST_ENTRIES * entries, 1.0)))
    is_long = np.log(np.maximum(entries, 1)) > log_perplexity + LEAST_SLACK
    return np.where(is_long, log_perplexity, lowered)


def entropic_report(rows: MeasuredRows, target: Array | float, n_entries: Array) -> SolveReport:
    """Report rows above the target (too many points at the nearest distance) and below it (too few neighbours)."""
    gap = rows.log_perplexities - target
    off = rows.off(gap, REPORTED_GAP)
    above = off & (gap > 0.0) & rows.lowest(REPORTED_GAP)
    below = off & (gap < 0.0) & rows.highest(n_entries, REPORTED_GAP)
    unsolved = rows.unbalanced(REPORTED_GAP) | (off & ~above & ~below)
    return SolveReport(
        converged=not unsolved.any(),
        n_iter=1,
        n_passes=1,
        marginal_gap=rows.marginal_gap,
        entropy_gap=float(np.max(np.abs(gap), where=~(above | below), initial=0.0)),
        reason=(Reason.ROUNDING if unsolved.any() else Reason.CONVERGED).value,
        floor_rows=np.flatnonzero(above),
        unreachable_rows=np.flatnonzero(below),
        unsolved_rows=np.flatnonzero(unsolved),
    )


@dataclass(frozen=True)
class KernelRows:
    """Normalised rows exp(-C_ij / bandwidth_i), stored as a few numbers per row.

    Attributes
    ----------
    bandwidth : ndarray of shape (n,)
        Bandwidth of the row.
    nearest : ndarray of shape (n,)
        Smallest cost of the row, which is subtracted from its costs; otherwise distant outliers would lose precision.
    log_normalizer : ndarray of shape (n,)
        log sum_j exp(-(C_ij - nearest_i) / bandwidth_i).
    entropy : ndarray of shape (n,)
        -sum_j P_ij log P_ij.
    """

    bandwidth: Array
    nearest: Array
    log_normalizer: Array
    entropy: Array

    @classmethod
    def with_entropy(cls, cost: Cost, entropy: Any, *, self_loops: bool) -> KernelRows:
        """Find the bandwidth at which each row has this entropy."""
        rows = _kernel_rows(cost, np.zeros(cost.n_points), entropy, self_loops=self_loops)
        bandwidth = rows[:, bandwidth_search.BANDWIDTH]
        nearest = rows[:, bandwidth_search.NEAREST]
        bandwidth = _with_usual_bandwidth(bandwidth, nearest)
        return cls(bandwidth, nearest, rows[:, bandwidth_search.LOG_NORMALIZER], rows[:, bandwidth_search.ENTROPY])

    @classmethod
    def with_bandwidth(cls, cost: Cost, bandwidth: float, *, self_loops: bool) -> KernelRows:
        """Use one bandwidth for all rows."""
        rows = _kernel_rows(cost, np.full(cost.n_points, 1.0 / bandwidth), 0.0, self_loops=self_loops)
        return cls(
            np.full(cost.n_points, bandwidth),
            rows[:, bandwidth_search.NEAREST],
            rows[:, bandwidth_search.LOG_NORMALIZER],
            rows[:, bandwidth_search.ENTROPY],
        )

    @property
    def duals(self) -> Array:
        """Dual variables (lambda, eps), for which the rows are exp((lambda_i - C_ij) / eps_i)."""
        return np.stack([self.nearest - self.bandwidth * self.log_normalizer, self.bandwidth])

    def affinity(self, cost: Cost, *, self_loops: bool) -> Matrix:
        """Compute the matrix P_ij = exp(-(C_ij - nearest_i) / bandwidth_i - log_normalizer_i)."""
        scale, tied = -1.0 / self.bandwidth, tie_limit(self.nearest, cost.dtype)

        @np.errstate(over="ignore")  # the exponential of minus infinity is right
        def formula(C: Array, i: Any, j: Any) -> Array:
            entries = C - self.nearest[i]
            if not self_loops:  # treat ties as the search for the bandwidth does
                entries[(entries >= 0.0) & (tied[i] >= C)] = 0.0
            entries *= scale[i]
            entries -= self.log_normalizer[i]
            return np.asarray(np.exp(entries, out=entries))

        return cost.map_pairs(formula, self_loops=self_loops)


def _kernel_rows(cost: Cost, inverse: Array, entropy: Any, *, self_loops: bool) -> Array:
    """Run the compiled search; where the inverse bandwidth is 0, find the one that gives the row this entropy."""
    n = cost.n_points
    target, rows = np.empty(n), np.empty((n, bandwidth_search.N_COLUMNS))
    target[:] = entropy
    cost.over_rows(bandwidth_search.search_rows, self_loops, inverse, target, _rounding(cost.dtype), rows)
    return rows


def _rounding(dtype: np.dtype[Any]) -> float:
    """Return the relative rounding error of a cost."""
    return LAST_DIGITS * float(np.finfo(dtype).eps)


def tie_limit(nearest: Array, dtype: np.dtype[Any]) -> Array:
    """Return the largest cost of each row that counts as equal to the nearest one, as in the compiled search."""
    return np.asarray((1.0 + _rounding(dtype)) * nearest)


def _with_usual_bandwidth(bandwidth: Array, nearest: Array) -> Array:
    """Give rows of equal costs, which are uniform at any bandwidth, a typical bandwidth of the data."""
    free = np.isinf(bandwidth)
    if not free.any():
        return bandwidth
    for usual in (bandwidth[~free], nearest):
        if usual.size and (median := np.median(usual)) > 0.0:
            return np.where(free, median, bandwidth)
    return np.where(free, 1.0, bandwidth)  # all points are equal


def entropic_weights(costs: Array, perplexity: float, execution: Execution) -> Array:
    """Compute the entropic affinity for rows of costs (m, k), each independently of the others."""
    m, k = costs.shape
    graph = NeighborGraph.from_lists(np.tile(np.arange(k), (m, 1)), costs, execution)
    target = np.log(min(perplexity, MOST_ENTRIES * k))
    rows = KernelRows.with_entropy(graph, target, self_loops=False)
    nearest = costs.min(axis=1, keepdims=True)
    excess = np.where(costs > tie_limit(rows.nearest, costs.dtype)[:, None], costs - nearest, 0.0)
    p = np.exp(-excess / rows.bandwidth[:, None])
    return np.asarray(p / p.sum(axis=1, keepdims=True))
