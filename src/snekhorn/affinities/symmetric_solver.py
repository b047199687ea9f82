"""Solve the dual of the symmetric entropic affinity: starting point, recovery and report.

`EntropicStart` has the costs and the starting point, `SymmetricSolver` solves, and `Solution` reports.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..geometry.costs import Array, Cost, NeighborGraph
from ..kernels.row_masses import restore_rows
from ..runtime.progress import show_progress
from ..solvers.concave_problems import Outcome, Point
from ..solvers.dual_ascent import ascend
from ..solvers.newton_cg import maximize
from ..solvers.solve_report import Reason, SolveReport
from .entropic import KernelRows, row_targets
from .hubs import ROUNDS, feed_starved, metropolis_entropies, typical_degree
from .measured_rows import MeasuredRows, measured_reason
from .symmetric_dual import SymmetricDual

Solver: TypeAlias = Literal["newton", "adam", "sgd", "lbfgs"]
MAX_ITER: dict[Solver, int] = {"newton": 200, "adam": 5000, "sgd": 5000, "lbfgs": 1000}

FLOOR = 1e-2  # smallest entropy dual of a row, relative to its bandwidth in the ordinary entropic affinity
NARROWEST = 1e-3  # smallest bandwidth used for the floor, relative to the median; near-duplicates have almost none
CEILING = 1e3  # largest entropy dual, relative to the largest bandwidth
NO_MASS = 1e-3  # a row with less mass has lost its neighbours, and Newton's method cannot recover it
STUCK = (Reason.STALLED, Reason.MAX_ITER, Reason.MAX_PASSES)

MAX_RESTORING = 6  # passes over the rows
SLACK = 0.5  # rows with a smaller |log mass| are left unchanged
ENOUGH = 1.0  # largest |log mass| at which Newton's method takes over
FAR, SETTLING_STEPS = 5.0, 5  # above this gap, this many Sinkhorn steps are cheaper than Newton steps
REFILLING_STEPS = 20


@dataclass
class EntropicStart:
    """Costs on which the dual is solved, and the entropic affinity on them, from which the solver starts.

    A graph takes much memory. This object alone should refer to it, so that `SymmetricSolver.solve` can replace it.

    Attributes
    ----------
    cost : Cost
        Costs, with edges for starved points.
    log_perplexity : float
        Logarithm of the requested perplexity.
    targets : ndarray of shape (n,)
        The same of every row, lowered for rows with too few entries.
    rows : KernelRows
        Rows of the entropic affinity.
    """

    cost: Cost
    log_perplexity: float
    targets: Array
    rows: KernelRows

    @classmethod
    def on(cls, cost: Cost, log_perplexity: float, *, self_loops: bool) -> EntropicStart:
        """Add edges for starved points to symmetric costs, and compute the entropic affinity."""
        degree = typical_degree(cost)
        for _ in range(ROUNDS):
            cost = feed_starved(cost, log_perplexity, degree)
        targets = row_targets(cost, log_perplexity, self_loops=self_loops)
        return cls(cost, log_perplexity, targets, KernelRows.with_entropy(cost, targets, self_loops=self_loops))


@dataclass(frozen=True)
class Solution:
    """Solution of the dual.

    Attributes
    ----------
    dual : SymmetricDual
        The problem.
    x : ndarray of shape (2, n)
        Its solution (lambda, gamma).
    seen : SolveReport
        What the solver saw, which `report` corrects.
    tol : float
        Tolerance of the solver.
    """

    dual: SymmetricDual
    x: Array
    seen: SolveReport
    tol: float

    @property
    def converged(self) -> bool:
        """Whether the solver converged, so that another one may start from x."""
        return self.seen.converged

    def report(self, rows: MeasuredRows) -> SolveReport:
        """Return the report on P, given the rows of P as stored."""
        missing = self.dual.log_perplexity - rows.log_perplexities
        held = self.dual.held(self.x[1], missing)
        gap = np.where(held, 0.0, missing)
        unsolved = rows.unbalanced(self.tol) | rows.off(gap, self.tol)
        at_ceiling = held & (missing > 0.0) & rows.off(missing, self.tol)
        unreachable = self.seen.unreachable_rows
        gap[unreachable] = 0.0  # their targets are lower than the one that was asked for
        return replace(
            self.seen,
            converged=not unsolved.any(),
            marginal_gap=rows.marginal_gap,
            entropy_gap=float(np.max(np.abs(gap))),
            reason=measured_reason(self.seen.reason, unsolved),
            floor_rows=np.setdiff1d(np.flatnonzero(held & (missing < 0.0)), unreachable),
            unreachable_rows=np.union1d(unreachable, np.flatnonzero(at_ceiling)),
            unsolved_rows=np.flatnonzero(unsolved),
        )

    def restored(self, order: NDArray[np.intp]) -> Solution:
        """Return the solution on the points in their own order, if this one is on the points ``order``."""
        x = np.empty_like(self.x)
        x[:, order] = self.x
        return Solution(self.dual.restored(order), x, self.seen.renumbered(order), self.tol)


@dataclass(frozen=True)
class SymmetricSolver:
    """Solver of the dual, with the parameters of `SymmetricEntropicAffinity` that it needs; see `solve`."""

    tol: float
    self_loops: bool
    solver: Solver = "newton"
    gamma_squared: bool = True
    learning_rate: float | None = None
    max_iter: int | None = None
    verbose: bool = False

    def solve(self, start: EntropicStart, last: Array | None = None) -> Solution:
        """Solve the dual, from `last` if it is not None, and from the entropic affinity otherwise.

        The points are in a cache-friendly order meanwhile.
        """
        start.cost, order = start.cost.in_local_order()
        entropic, targets = start.rows.duals, start.targets
        if order is not None:
            entropic, targets = entropic[:, order], targets[order]
            last = None if last is None else last[:, order]
        solution = self._maximum(start.cost, entropic, targets, start.log_perplexity, last)
        if order is not None:
            solution = solution.restored(order)
            start.cost = solution.dual.cost
        return solution

    def _maximum(
        self, cost: Cost, entropic: Array, target: Array, log_perplexity: float, last: Array | None
    ) -> Solution:
        """Maximise the dual; if the solver gets stuck, try again from a better starting point."""
        newton = self.solver == "newton"
        attempts = _Attempts(self)
        dual, x, passes = self._start(cost, entropic, target, last)
        outcome = attempts.run(dual, x, passes)
        if last is not None and outcome.reason is not Reason.CONVERGED:  # the last solution was too far away
            dual, x, passes = self._start(cost, entropic, target)
            outcome = attempts.run(dual, x, passes)
        largest_gap = dual.execution.max(outcome.point.gradient[0])
        lost = outcome.reason in (*STUCK, Reason.ROUNDING) and largest_gap > 1.0 - NO_MASS
        if lost and self.self_loops and newton:
            x, passes = refilled(dual, outcome.point.x)
            outcome = attempts.run(dual, x, passes)
        if outcome.reason in STUCK and isinstance(cost, NeighborGraph) and self.self_loops and newton:
            # Some targets exceed what the graph can support: lower them to what it is certain to support.
            target = np.minimum(target, metropolis_entropies(cost, least_degree=2))
            rows = KernelRows.with_entropy(cost, target, self_loops=self.self_loops)
            dual, x, passes = self._start(cost, rows.duals, target)
            outcome = attempts.run(dual, x, passes)
        seen = self._seen(outcome, dual, target < log_perplexity, attempts)
        return Solution(dual, outcome.point.x, seen, self.tol)

    def _start(
        self, cost: Cost, entropic: Array, target: Array, last: Array | None = None
    ) -> tuple[SymmetricDual, Array, int]:
        """Return the dual problem, the starting point, and the number of passes used.

        Without `last`, start from the dual variables of the ordinary entropic affinity. P is then a weighted geometric
        mean of that affinity and its transpose.
        """
        bandwidth = entropic[1]
        floor = FLOOR * np.maximum(bandwidth, NARROWEST * np.median(bandwidth))
        ceiling = CEILING * cost.execution.max(bandwidth)
        dual = SymmetricDual(cost, target, self.self_loops, lower=floor, upper=ceiling)
        if last is not None:
            return dual, dual.project(last), 1
        x = dual.project(entropic)
        return dual, x, 1 + (0 if self.self_loops else restore_masses(cost, x))

    def climb(self, dual: SymmetricDual, x: Array) -> Outcome:
        """Run the solver from x."""
        max_iter = MAX_ITER[self.solver] if self.max_iter is None else self.max_iter
        with show_progress("affinity", verbose=self.verbose, tol=self.tol) as progress:
            if self.solver == "newton":
                return maximize(dual, partial(settled, dual, x), tol=self.tol, max_iter=max_iter, progress=progress)
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

    def _seen(self, outcome: Outcome, dual: SymmetricDual, lowered: Array, attempts: _Attempts) -> SolveReport:
        """Return what the solver saw."""
        point = outcome.point
        at_ceiling = (point.x[1] >= dual.upper) & (point.gradient[1] > self.tol)
        return SolveReport(
            converged=outcome.reason is Reason.CONVERGED,
            n_iter=attempts.n_iter,
            n_passes=attempts.n_passes,
            marginal_gap=point.marginal_gap,
            entropy_gap=point.entropy_gap,
            reason=outcome.reason.value,
            floor_rows=np.flatnonzero((point.x[1] <= dual.lower) & point.held & ~lowered),
            unreachable_rows=np.flatnonzero(lowered | at_ceiling),
            unsolved_rows=point.unsolved(self.tol),
            dual_values=[dual.cost.unit * value for value in attempts.values],
        )


class _Attempts:
    """Runs of a solver from several starting points, with their total work."""

    def __init__(self, solver: SymmetricSolver) -> None:
        self.solver = solver
        self.n_iter = self.n_passes = 0
        self.values: list[float] = []

    def run(self, dual: SymmetricDual, x: Array, passes: int) -> Outcome:
        """Run the solver from x, which took this number of passes to find."""
        outcome = self.solver.climb(dual, x)
        self.n_iter += outcome.n_iter
        self.n_passes += passes + outcome.n_passes
        self.values += outcome.values
        return outcome


def restore_masses(cost: Cost, x: Array) -> int:
    """Restore the mass of rows of a P without self-loops, in place; return the number of passes used.

    In the starting point, a weighted geometric mean leaves outliers, whose neighbours have small bandwidths, with
    almost no mass.
    """
    n_passes = 0
    while n_passes < MAX_RESTORING:
        n_passes += 1
        if cost.in_order(restore_rows, x, SLACK) < ENOUGH:
            break
    return n_passes


def settled(dual: SymmetricDual, x: Array) -> tuple[Point, int]:
    """Return a starting point for Newton's method, and the passes used; with hubs, a feasible x may be too far away."""
    point = dual.evaluate(x)
    if not FAR < point.gap < np.inf:
        return point, 1
    moved = dual.evaluate(dual.sinkhorn_steps(point.x, SETTLING_STEPS))
    better = moved.gap < np.inf and moved.value > point.value
    return (moved if better else point), 2 + SETTLING_STEPS


def refilled(dual: SymmetricDual, x: Array) -> tuple[Array, int]:
    """Restore, by Sinkhorn steps, the mass of rows that have lost it; return the point and the number of passes.

    Duplicates can exceed the target entropy at every bandwidth. As their bandwidth decreases to the floor, they can
    lose their mass, and Newton steps cannot then restore it. Their bandwidths are therefore put at the floor at once.
    """
    lower = np.broadcast_to(dual.lower, x[1].shape)
    for _ in range(2):
        x = dual.sinkhorn_steps(x, REFILLING_STEPS)
        above = dual.evaluate(x).gradient[1] < 0.0
        x = np.stack([np.where(above, x[0] * lower / x[1], x[0]), np.where(above, lower, x[1])])
    return x, 2 * (1 + REFILLING_STEPS)
