"""Symmetric entropic affinity: symmetric, doubly stochastic, and of constant row entropy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..geometry.costs import DenseCost, GraphCost
from ..runtime.checks import check_choice, check_count, check_perplexity, check_positive
from ..runtime.progress import show_progress
from ..solvers.dual_ascent import ascend
from ..solvers.newton_cg import Array, Outcome, maximize
from ..solvers.solve_report import Reason, SolveReport
from .affinity import Affinity, Matrix
from .dual_start import balance, entropic_start, refill, settle
from .hubs import feed_starved, metropolis_entropies
from .symmetric_dual import SymmetricDual

FLOOR = 1e-2  # smallest entropy dual of a row, relative to its bandwidth in the ordinary entropic affinity
NARROWEST = 1e-3  # bandwidth that counts at least for the floor, relative to the median: near duplicates have none
CEILING = 1e3  # largest, relative to the largest bandwidth
FEW_ENTRIES = 0.9  # share of its entries that a row with too few of them is asked to use
NO_MASS = 1e-3  # of a row: it has lost its neighbours, and the solver the way to bring them back
STUCK = (Reason.STALLED, Reason.MAX_ITER, Reason.MAX_PASSES)
MAX_ITER = {"newton": 200, "adam": 5000, "sgd": 5000, "lbfgs": 1000}


class SymmetricEntropicAffinity(Affinity):
    """Symmetric entropic affinity (SEA).

        minimise sum_ij P_ij C_ij    subject to    P = P^T,  rows sum to 1,  H(P_i) >= log(xi) + 1,

    solved through its concave dual in gamma >= 0 and lambda, at whose maximum

        P_ij = exp((lambda_i + lambda_j - 2 C_ij) / (gamma_i + gamma_j)).

    A row whose gamma_i reaches its floor (a hundredth of its bandwidth in the ordinary entropic
    affinity) has a perplexity above the one asked for, which the constraint allows; `report_.n_floor_rows`
    counts them.

    Parameters
    ----------
    perplexity : float, default=30.0
        Effective number of neighbours of every row, xi.
    solver : {"newton", "adam", "sgd", "lbfgs"}, default="newton"
        "newton" needs no tuning. The others are the dual ascent of the paper, for comparison.
    gamma_squared : bool, default=True
        Whether the dual ascent works on the square root of gamma; "newton" does not use it.
    learning_rate : float or None, default=None
        Step of "adam" and "sgd" in units of the median bandwidth, 0.1 if None.
    tol : float, default=1e-8
        Largest gap allowed, of a row's sum from 1 and of its entropy from the target.
    max_iter : int or None, default=None
        Largest number of outer iterations; None is 200 for "newton", 1000 for "lbfgs", 5000 for the others.
    warm_start : bool, default=False
        Start from the solution of the last call to `fit` if it had as many points: for sweeps of perplexity.
    metric, n_neighbors, self_loops, n_jobs, verbose
        See `snekhorn.affinities.affinity.Affinity`.

    Attributes
    ----------
    affinity_, report_
        See `snekhorn.affinities.affinity.Affinity`.
    entropy_dual_ : ndarray of shape (n,)
        gamma.
    marginal_dual_ : ndarray of shape (n,)
        lambda.

    References
    ----------
    Van Assel, Vayer, Flamary and Courty, SNEkhorn: Dimension Reduction with Symmetric Entropic Affinities,
    NeurIPS 2023.
    """

    def __init__(
        self,
        perplexity: float = 30.0,
        *,
        solver: str = "newton",
        gamma_squared: bool = True,
        learning_rate: float | None = None,
        tol: float = 1e-8,
        max_iter: int | None = None,
        warm_start: bool = False,
        metric: str = "sqeuclidean",
        n_neighbors: int | str | None = None,
        self_loops: bool = True,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.perplexity = perplexity
        self.solver = solver
        self.gamma_squared = gamma_squared
        self.learning_rate = learning_rate
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.self_loops = self_loops
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self) -> None:
        check_perplexity(self.perplexity)
        check_choice(self.solver, "solver", tuple(MAX_ITER))
        check_choice(self.gamma_squared, "gamma_squared", (True, False))
        check_choice(self.warm_start, "warm_start", (True, False))
        check_positive(self.tol, "tol")
        if self.learning_rate is not None:
            check_positive(self.learning_rate, "learning_rate")
        if self.max_iter is not None:
            check_count(self.max_iter, "max_iter")

    def _compute(self, cost: DenseCost | GraphCost) -> tuple[Matrix, SolveReport]:
        cost = cost.symmetrized()
        log_perplexity = float(np.log(self._checked_perplexity(self.perplexity, cost)))
        last = self._last(cost.n_points)
        if isinstance(cost, GraphCost):
            cost = feed_starved(cost, log_perplexity)
            x, report = self._maximum_in_order(cost, log_perplexity, last)
        else:
            x, report = self._maximum(cost, log_perplexity, last)
        self.marginal_dual_, self.entropy_dual_ = x
        return cost.symmetric_affinity(*x, self_loops=self.self_loops), report

    def _maximum_in_order(
        self, cost: GraphCost, log_perplexity: float, last: Array | None
    ) -> tuple[Array, SolveReport]:
        """The maximum, found in an order of the points that is quick, if there is one, told in their own."""
        order = cost.local_order()
        if order is None:
            return self._maximum(cost, log_perplexity, last)
        last = None if last is None else last[:, order]
        local, report = self._maximum(cost.permuted(order), log_perplexity, last)
        x = np.empty_like(local)
        x[:, order] = local
        return x, report.renamed(order)

    def _last(self, n: int) -> Array | None:
        """The solution of the last call, if it is one to start from."""
        if not self.warm_start or not hasattr(self, "report_"):
            return None
        if not self.report_.converged or self.entropy_dual_.size != n:
            return None
        return np.stack([self.marginal_dual_, self.entropy_dual_])

    def _maximum(
        self, cost: DenseCost | GraphCost, log_perplexity: float, last: Array | None
    ) -> tuple[Array, SolveReport]:
        """The solution of the dual problem, from a last one if there is."""
        entries = cost.degrees + bool(self.self_loops)
        target = np.minimum(log_perplexity, np.log(np.maximum(FEW_ENTRIES * entries, 1.0)))
        target = np.where(entries > np.exp(log_perplexity), log_perplexity, target)

        dual, x, n_passes = self._start(cost, target, last)
        outcome = self._solve(dual, x)
        n_passes += outcome.n_passes
        if last is not None and outcome.reason is not Reason.CONVERGED:  # it was too far away
            dual, x, passes = self._start(cost, target)
            outcome = self._solve(dual, x)
            n_passes += passes + outcome.n_passes
        lost = outcome.reason in (*STUCK, Reason.ROUNDING) and np.max(outcome.point.gradient[0]) > 1.0 - NO_MASS
        if lost and self.self_loops and self.solver == "newton":
            x, passes = refill(dual, outcome.point.x)
            outcome = self._solve(dual, x)
            n_passes += passes + outcome.n_passes
        if outcome.reason in STUCK and isinstance(cost, GraphCost) and self.self_loops and self.solver == "newton":
            # Some rows ask for more than the graph can carry: fall back on what it certainly can.
            target = np.minimum(target, metropolis_entropies(cost))
            dual, x, passes = self._start(cost, target)
            outcome = self._solve(dual, x)
            n_passes += passes + outcome.n_passes
        return outcome.point.x, self._report(outcome, dual, target < log_perplexity, n_passes)

    def _start(
        self, cost: DenseCost | GraphCost, target: Array, last: Array | None = None
    ) -> tuple[SymmetricDual, Array, int]:
        """The dual problem, the point to start from, and the passes that took."""
        x = entropic_start(cost, target, self_loops=self.self_loops)
        floor = FLOOR * np.maximum(x[1], NARROWEST * np.median(x[1]))
        dual = SymmetricDual(cost, target, self.self_loops, lower=floor, upper=CEILING * np.max(x[1]))
        if last is not None:
            return dual, last, 1
        x = dual.project(x)
        return dual, x, 1 + (0 if self.self_loops else balance(cost, x))

    def _solve(self, dual: SymmetricDual, x: Array) -> Outcome:
        max_iter = MAX_ITER[self.solver] if self.max_iter is None else self.max_iter
        with show_progress(f"SEA, {self.solver}", verbose=self.verbose) as progress:
            if self.solver == "newton":
                point, passes = settle(dual, x)
                outcome = maximize(dual, point, tol=self.tol, max_iter=max_iter, progress=progress)
                return replace(outcome, n_passes=passes + outcome.n_passes)
            return ascend(
                dual,
                x,
                solver=self.solver,
                squared=self.gamma_squared,
                learning_rate=self.learning_rate,
                tol=self.tol,
                max_iter=max_iter,
                progress=progress,
            )

    def _report(self, outcome: Outcome, dual: SymmetricDual, lowered: Array, n_passes: int) -> SolveReport:
        point = outcome.point
        starved = (point.x[1] >= dual.upper) & (point.gradient[1] > self.tol) & (self.solver == "newton")
        return SolveReport(
            converged=outcome.reason is Reason.CONVERGED,
            n_iter=outcome.n_iter,
            n_passes=n_passes,
            marginal_gap=point.marginal_gap,
            entropy_gap=point.entropy_gap,
            reason=outcome.reason.value,
            floor_rows=np.flatnonzero((point.x[1] <= dual.lower) & point.held),
            unreachable_rows=np.flatnonzero(lowered | starved),
            unsolved_rows=point.unsolved(self.tol),
            dual_values=outcome.values,
        )
