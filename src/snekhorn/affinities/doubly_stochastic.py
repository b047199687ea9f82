"""Doubly stochastic affinity: the Gaussian kernel scaled to unit rows and columns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..geometry.costs import DenseCost, GraphCost
from ..kernels.bandwidth_search import NEAREST
from ..runtime.checks import check_count, check_positive
from ..runtime.progress import show_progress
from ..solvers.newton_cg import Array, Outcome, Point, maximize
from ..solvers.solve_report import Reason, SolveReport
from .affinity import Affinity, Matrix
from .dual_start import balance, scale
from .gaussian import check_bandwidth, rows_beyond, solve_bandwidth
from .symmetric_dual import SymmetricDual

SINKHORN_STEPS = 5
LARGEST_LEAP = 4.0  # by which the bandwidth may fall at once without self-loops
LOOSE = 1e-1  # gap that is enough on the way


class DoublyStochasticAffinity(Affinity):
    """Symmetric doubly stochastic affinity with a single bandwidth.

        P_ij = exp((f_i + f_j - C_ij) / nu),    rows of P sum to 1,

    the entropic optimal transport of the points to themselves. A few steps of the symmetric Sinkhorn iteration,
    f_i <- (f_i - nu log sum_k exp((f_k - C_ki) / nu)) / 2, start; Newton's method on the same dual finishes.

    Parameters
    ----------
    bandwidth : float or None, default=None
        nu. None takes the bandwidth whose average row entropy is log(xi) + 1.
    perplexity : float, default=30.0
        Average perplexity xi where no bandwidth is given.
    tol : float, default=1e-8
        Largest distance of a row sum from 1.
    max_iter : int, default=200
        Largest number of Newton steps at any one bandwidth.
    metric, n_neighbors, self_loops, n_jobs, verbose
        See `snekhorn.affinities.affinity.Affinity`.

    Attributes
    ----------
    affinity_, report_
        See `snekhorn.affinities.affinity.Affinity`.
    bandwidth_ : float
        nu, given or found.
    potential_ : ndarray of shape (n,)
        f.

    References
    ----------
    Lu, Corander and Yang, Doubly stochastic neighbor embedding on spheres, 2019.
    Knight, Ruiz and Uçar, A symmetry preserving algorithm for matrix scaling, 2014.
    """

    def __init__(
        self,
        bandwidth: float | None = None,
        *,
        perplexity: float = 30.0,
        tol: float = 1e-8,
        max_iter: int = 200,
        metric: str = "sqeuclidean",
        n_neighbors: int | str | None = None,
        self_loops: bool = True,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.bandwidth = bandwidth
        self.perplexity = perplexity
        self.tol = tol
        self.max_iter = max_iter
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.self_loops = self_loops
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self) -> None:
        check_bandwidth(self.bandwidth, self.perplexity)
        check_positive(self.tol, "tol")
        check_count(self.max_iter, "max_iter")

    def _compute(self, cost: DenseCost | GraphCost) -> tuple[Matrix, SolveReport]:
        cost = cost.symmetrized()
        with show_progress("Sinkhorn, newton", verbose=self.verbose) as progress:
            solver = _Scaling(cost, progress, self_loops=self.self_loops, max_iter=self.max_iter)
            target = np.nan
            if self.bandwidth is None:
                target = np.log(self._checked_perplexity(self.perplexity, cost))
                self.bandwidth_ = solve_bandwidth(
                    cost,
                    lambda nu: mean_entropy(solver.solve(nu, self.tol).point),
                    target,
                    self_loops=self.self_loops,
                )
            else:
                self.bandwidth_ = float(self.bandwidth)
            outcome = solver.solve(self.bandwidth_, self.tol)
        lam, gam = outcome.point.x
        self.potential_ = lam / 2.0  # (lambda_i + lambda_j - 2 C) / 2 nu = (f_i + f_j - C) / nu
        report = SolveReport(
            converged=outcome.reason is Reason.CONVERGED,
            n_iter=solver.n_iter,
            n_passes=solver.n_passes,
            marginal_gap=outcome.point.marginal_gap,
            entropy_gap=abs(mean_entropy(outcome.point) - target),
            reason=outcome.reason.value,
            unsolved_rows=outcome.point.unsolved(self.tol),
            dual_values=outcome.values,
            **rows_beyond(row_entropies_of(outcome.point), target),
        )
        return cost.symmetric_affinity(lam, gam, self_loops=self.self_loops), report


class _Scaling:
    """Solves for f at one bandwidth after the other, each from the solution before."""

    def __init__(
        self, cost: DenseCost | GraphCost, progress: Callable[[int, float], None], *, self_loops: bool, max_iter: int
    ) -> None:
        self.cost, self.progress, self.self_loops, self.max_iter = cost, progress, self_loops, max_iter
        self.n_iter = self.n_passes = 0
        self.lam = np.zeros(cost.n_points)
        # Rows without self-loops have mass to scale down to about their nearest cost.
        nearest = cost.rows(self_loops=self_loops, bandwidth=1.0)[:, NEAREST]
        self.bandwidth = float(nearest.max())

    def solve(self, bandwidth: float, tol: float) -> Outcome:
        """Without self-loops, where rows lose their mass if the bandwidth falls at once, in several leaps."""
        reached = True
        while reached and not self.self_loops and self.bandwidth > LARGEST_LEAP * bandwidth:
            reached = self._solve(self.bandwidth / LARGEST_LEAP, max(tol, LOOSE)).reason is Reason.CONVERGED
        return self._solve(bandwidth, tol)

    def _solve(self, bandwidth: float, tol: float) -> Outcome:
        dual = SymmetricDual(self.cost, 0.0, self.self_loops, lower=bandwidth, upper=bandwidth)
        x = np.stack([self.lam, np.full(self.lam.size, bandwidth)])
        if self.self_loops:  # a row then has mass to scale, whatever the bandwidth
            x = scale(dual, x, SINKHORN_STEPS)
            self.n_passes += SINKHORN_STEPS
        else:
            self.n_passes += balance(self.cost, x)
        before = self.n_iter
        outcome = maximize(
            dual,
            dual.evaluate(dual.project(x)),
            tol=tol,
            max_iter=self.max_iter,
            progress=lambda n, gap: self.progress(before + n, gap),
        )
        self.n_iter += outcome.n_iter
        self.n_passes += 1 + outcome.n_passes
        self.lam, self.bandwidth = outcome.point.x[0], bandwidth
        return outcome


def mean_entropy(point: Point) -> float:
    return float(np.mean(row_entropies_of(point)))


def row_entropies_of(point: Point) -> Array:
    """-sum_j P log P of every row: the difference of the dual's two gradients."""
    marginal, entropy = point.gradient
    return marginal - entropy
