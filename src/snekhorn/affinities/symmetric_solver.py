"""Solve the dual of the symmetric entropic affinity: where to start, how to recover, and what to report."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from ..geometry.costs import Array, Cost, NeighborGraph
from ..kernels.row_balancing import balance_rows
from ..runtime.progress import show_progress
from ..solvers.dual_ascent import ascend
from ..solvers.newton_cg import Outcome, Point, maximize
from ..solvers.solve_report import Reason, SolveReport
from .entropic import KernelRows
from .hubs import feed_starved, metropolis_entropies
from .symmetric_dual import SymmetricDual

Solver: TypeAlias = Literal["newton", "adam", "sgd", "lbfgs"]
MAX_ITER: dict[Solver, int] = {"newton": 200, "adam": 5000, "sgd": 5000, "lbfgs": 1000}

FLOOR = 1e-2  # smallest entropy dual of a row, relative to its bandwidth in the ordinary entropic affinity
NARROWEST = 1e-3  # smallest bandwidth that the floor counts with, relative to the median; near duplicates have none
CEILING = 1e3  # largest entropy dual, relative to the largest bandwidth
FEW_ENTRIES = 0.9  # share of its entries that a row too short for the perplexity is asked to use
NO_MASS = 1e-3  # a row with less has lost its neighbours, and the solver the way to bring them back
STUCK = (Reason.STALLED, Reason.MAX_ITER, Reason.MAX_PASSES)

MAX_BALANCING = 6  # passes over the rows
SLACK = 0.5  # rows whose log mass is within this are left alone
ENOUGH = 1.0  # largest log mass at which Newton's method takes over
FAR, SETTLING_STEPS = 5.0, 5  # above this gap, so many Sinkhorn steps are cheaper than Newton's
REFILLING_STEPS = 20


@dataclass(frozen=True)
class SymmetricSolver:
    """How to solve the dual: the parameters of `SymmetricEntropicAffinity` that the solver needs.

    `solve` is the way in. The other methods are its steps.
    """

    tol: float
    self_loops: bool
    solver: Solver = "newton"
    gamma_squared: bool = True
    learning_rate: float | None = None
    max_iter: int | None = None
    verbose: bool = False

    def solve(
        self, cost: Cost, log_perplexity: float, last: Array | None = None
    ) -> tuple[SymmetricDual, Array, SolveReport]:
        """Return the dual problem, its solution x = (lambda, gamma) and the report; `last` is a solution to start from.

        A graph may get more edges, for points that could not place their mass otherwise.
        """
        if isinstance(cost, NeighborGraph):
            cost = feed_starved(cost, log_perplexity)
        order = cost.local_order() if isinstance(cost, NeighborGraph) else None
        if order is None or not isinstance(cost, NeighborGraph):
            dual, x, report = self._maximum(cost, log_perplexity, last)
            return dual, x, report
        # Solve in a cache-friendly order of the points, then undo the permutation.
        last = None if last is None else last[:, order]
        dual, local, report = self._maximum(cost.permuted(order), log_perplexity, last)
        x = np.empty_like(local)
        x[:, order] = local
        return replace(dual, cost=cost), x, report.renumbered(order)

    def _maximum(
        self, cost: Cost, log_perplexity: float, last: Array | None
    ) -> tuple[SymmetricDual, Array, SolveReport]:
        """Maximise the dual; if the solver gets stuck, try again from where it has a chance."""
        newton = self.solver == "newton"
        target = self._row_targets(cost, log_perplexity)
        dual, x, n_passes = self._start(cost, target, last)
        outcome = self._climb(dual, x)
        n_passes += outcome.n_passes
        if last is not None and outcome.reason is not Reason.CONVERGED:  # it was too far away
            dual, x, passes = self._start(cost, target)
            outcome = self._climb(dual, x)
            n_passes += passes + outcome.n_passes
        largest_gap = dual.execution.max(outcome.point.gradient[0])
        lost = outcome.reason in (*STUCK, Reason.ROUNDING) and largest_gap > 1.0 - NO_MASS
        if lost and self.self_loops and newton:
            x, passes = refilled(dual, outcome.point.x)
            outcome = self._climb(dual, x)
            n_passes += passes + outcome.n_passes
        if outcome.reason in STUCK and isinstance(cost, NeighborGraph) and self.self_loops and newton:
            # Some rows ask for more than the graph can support: ask for what it certainly can.
            target = np.minimum(target, metropolis_entropies(cost))
            dual, x, passes = self._start(cost, target)
            outcome = self._climb(dual, x)
            n_passes += passes + outcome.n_passes
        report = self._report(outcome, dual, target < log_perplexity, n_passes)
        return dual, outcome.point.x, report

    def _row_targets(self, cost: Cost, log_perplexity: float) -> Array:
        """Return the log perplexity of every row, lowered for rows with too few entries."""
        entries = cost.degrees + bool(self.self_loops)
        target = np.minimum(log_perplexity, np.log(np.maximum(FEW_ENTRIES * entries, 1.0)))
        return np.where(entries > np.exp(log_perplexity), log_perplexity, target)

    def _start(self, cost: Cost, target: Array, last: Array | None = None) -> tuple[SymmetricDual, Array, int]:
        """Return the dual problem, the point to start from, and the passes that took.

        The duals of the ordinary entropic affinity make P the geometric mean of that affinity and its transpose.
        """
        x = KernelRows.with_entropy(cost, target, self_loops=self.self_loops).duals
        floor = FLOOR * np.maximum(x[1], NARROWEST * np.median(x[1]))
        ceiling = CEILING * cost.execution.max(x[1])
        dual = SymmetricDual(cost, target, self.self_loops, lower=floor, upper=ceiling)
        if last is not None:
            return dual, last, 1
        x = dual.project(x)
        return dual, x, 1 + (0 if self.self_loops else balance(cost, x))

    def _climb(self, dual: SymmetricDual, x: Array) -> Outcome:
        """Run the solver from x."""
        max_iter = MAX_ITER[self.solver] if self.max_iter is None else self.max_iter
        with show_progress(f"SEA, {self.solver}", verbose=self.verbose) as progress:
            if self.solver == "newton":
                point, passes = settled(dual, x)
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
        at_ceiling = (point.x[1] >= dual.upper) & (point.gradient[1] > self.tol) & (self.solver == "newton")
        return SolveReport(
            converged=outcome.reason is Reason.CONVERGED,
            n_iter=outcome.n_iter,
            n_passes=n_passes,
            marginal_gap=point.marginal_gap,
            entropy_gap=point.entropy_gap,
            reason=outcome.reason.value,
            floor_rows=np.flatnonzero((point.x[1] <= dual.lower) & point.held),
            unreachable_rows=np.flatnonzero(lowered | at_ceiling),
            unsolved_rows=point.unsolved(self.tol),
            dual_values=outcome.values,
        )


def balance(cost: Cost, x: Array) -> int:
    """Give the rows of a P without self-loops their mass back, in place; return the passes used.

    The geometric mean leaves outliers, whose neighbours have small bandwidths, with next to no mass.
    """
    n_passes = 0
    while n_passes < MAX_BALANCING:
        n_passes += 1
        if cost.in_order(balance_rows, x, SLACK) < ENOUGH:
            break
    return n_passes


def settled(dual: SymmetricDual, x: Array) -> tuple[Point, int]:
    """Return the point to start Newton's method from, and the passes used; near hubs, x itself is too far away."""
    point = dual.evaluate(dual.project(x))
    if not FAR < point.gap < np.inf:
        return point, 1
    scaled = dual.evaluate(dual.scaled(point.x, SETTLING_STEPS))
    better = scaled.gap < np.inf and scaled.value > point.value
    return (scaled if better else point), 2 + SETTLING_STEPS


def refilled(dual: SymmetricDual, x: Array) -> tuple[Array, int]:
    """Give rows whose mass has vanished their mass back, by Sinkhorn steps; return the point and the passes used.

    Duplicates can have more entropy than asked for at every bandwidth. On its way down to the floor, the bandwidth can
    leave them without mass, and so without a Hessian that leads back: put them at the floor at once.
    """
    lower = np.broadcast_to(dual.lower, x[1].shape)
    for _ in range(2):
        x = dual.scaled(x, REFILLING_STEPS)
        above = dual.evaluate(x).gradient[1] < 0.0
        x = np.stack([np.where(above, x[0] * lower / x[1], x[0]), np.where(above, lower, x[1])])
    return x, 2 * (1 + REFILLING_STEPS)
