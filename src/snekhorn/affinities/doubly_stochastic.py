"""Doubly stochastic affinity: the Gaussian kernel, scaled to unit row and column sums."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..geometry.costs import Array, Cost, Matrix
from ..runtime.checks import check_count, check_positive
from ..runtime.progress import Progress, show_progress
from ..solvers.newton_cg import Outcome, Point, maximize
from ..solvers.solve_report import Reason, SolveReport
from .affinity import Affinity
from .entropic import KernelRows
from .gaussian import check_bandwidth, rows_beyond, solve_bandwidth
from .symmetric_dual import SymmetricDual
from .symmetric_solver import balance

SINKHORN_STEPS = 5
LARGEST_LEAP = 4.0  # factor by which the bandwidth may decrease per solve without self-loops; more may not converge
LOOSE = 1e-1  # tolerance at intermediate bandwidths; a smaller one takes longer


class DoublyStochasticAffinity(Affinity):
    """Symmetric doubly stochastic affinity with a single bandwidth.

        P_ij = exp((f_i + f_j - C_ij) / nu),    rows of P sum to 1.

    This is the entropic optimal transport plan from the points to themselves. A few steps of the symmetric Sinkhorn
    iteration, f_i <- (f_i - nu log sum_k exp((f_k - C_ki) / nu)) / 2, are followed by Newton's method on the dual.

    Parameters
    ----------
    bandwidth : float or None, default=None
        Bandwidth nu. None searches for the bandwidth at which the average row entropy is log(xi) + 1.
    perplexity : float, default=30.0
        Perplexity xi that corresponds to the average row entropy; used if no bandwidth is given.
    tol : float, default=1e-8
        Tolerance on the deviation of row sums from 1.
    max_iter : int, default=200
        Maximum number of Newton steps at each bandwidth.
    metric, n_neighbors, self_loops, n_jobs, verbose
        See `snekhorn.affinities.affinity.Affinity`.

    Attributes
    ----------
    affinity_, report_
        See `snekhorn.affinities.affinity.Affinity`.
    bandwidth_ : float
        The bandwidth nu, given or found.
    potential_ : ndarray of shape (n,)
        The potential f.

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
        n_neighbors: int | Literal["auto"] | None = None,
        self_loops: bool = True,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(metric, n_neighbors, self_loops=self_loops, n_jobs=n_jobs, verbose=verbose)
        self.bandwidth = bandwidth
        self.perplexity = perplexity
        self.tol = tol
        self.max_iter = max_iter

    def check_parameters(self) -> None:
        check_bandwidth(self.bandwidth, self.perplexity)
        check_positive(self.tol, "tol")
        check_count(self.max_iter, "max_iter")

    def compute(self, cost: Cost) -> tuple[Matrix, SolveReport]:
        cost = cost.symmetrized()
        with show_progress("Sinkhorn and Newton", verbose=self.verbose) as progress:
            scaling = _Scaling(cost, progress, self_loops=self.self_loops, max_iter=self.max_iter)
            target = np.nan
            if self.bandwidth is None:
                target = np.log(self.usable_perplexity(self.perplexity, cost))
                self.bandwidth_ = solve_bandwidth(
                    cost,
                    lambda nu: scaling.mean_entropy(scaling.solve(nu, self.tol).point),
                    target,
                    self_loops=self.self_loops,
                )
            else:
                self.bandwidth_ = float(self.bandwidth)
            outcome = scaling.solve(self.bandwidth_, self.tol)
        x = outcome.point.x
        self.potential_ = x[0] / 2.0  # (lambda_i + lambda_j - 2 C) / 2 nu = (f_i + f_j - C) / nu
        report = SolveReport(
            converged=outcome.reason is Reason.CONVERGED,
            n_iter=scaling.n_iter,
            n_passes=scaling.n_passes,
            marginal_gap=outcome.point.marginal_gap,
            entropy_gap=abs(scaling.mean_entropy(outcome.point) - target),
            reason=outcome.reason.value,
            unsolved_rows=outcome.point.unsolved(self.tol),
            dual_values=outcome.values,
            **rows_beyond(entropies_of(outcome.point), target),
        )
        return scaling.dual(self.bandwidth_).affinity(x), report


class _Scaling:
    """Solver for f at a sequence of bandwidths, each starting from the previous solution."""

    def __init__(self, cost: Cost, progress: Progress, *, self_loops: bool, max_iter: int) -> None:
        self.cost, self.progress, self.self_loops, self.max_iter = cost, progress, self_loops, max_iter
        self.n_iter = self.n_passes = 0
        self.lam = np.zeros(cost.n_points)
        # Without self-loops, rows keep enough mass to scale only if the bandwidth is at least about the nearest cost.
        nearest = KernelRows.with_bandwidth(cost, 1.0, self_loops=self_loops).nearest
        self.bandwidth = float(cost.execution.max(nearest))

    def dual(self, bandwidth: float) -> SymmetricDual:
        """Return the dual problem with all bandwidths fixed."""
        return SymmetricDual(self.cost, 0.0, self.self_loops, lower=bandwidth, upper=bandwidth)

    def mean_entropy(self, point: Point) -> float:
        """Return the average of -sum_j P log P over the rows."""
        return float(self.cost.execution.sum(entropies_of(point)) / self.cost.n_points)

    def solve(self, bandwidth: float, tol: float) -> Outcome:
        """Solve at this bandwidth; without self-loops, approach it in steps, so that rows keep their mass."""
        reached = True
        while reached and not self.self_loops and self.bandwidth > LARGEST_LEAP * bandwidth:
            reached = self._solve(self.bandwidth / LARGEST_LEAP, max(tol, LOOSE)).reason is Reason.CONVERGED
        return self._solve(bandwidth, tol)

    def _solve(self, bandwidth: float, tol: float) -> Outcome:
        dual = self.dual(bandwidth)
        x = np.stack([self.lam, np.full(self.lam.size, bandwidth)])
        if self.self_loops:  # then rows have mass to scale at any bandwidth
            x = dual.scaled(x, SINKHORN_STEPS)
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


def entropies_of(point: Point) -> Array:
    """Compute -sum_j P log P of every row: the difference between the two halves of the dual's gradient."""
    marginal, entropy = point.gradient
    return np.asarray(marginal - entropy)
