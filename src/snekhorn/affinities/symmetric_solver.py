"""Solve the dual of the symmetric entropic affinity: starting point, recovery and report."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..geometry.costs import Array, Cost, Matrix, NeighborGraph
from ..kernels.row_balancing import balance_rows
from ..runtime.progress import show_progress
from ..solvers.concave_problems import Outcome, Point
from ..solvers.dual_ascent import ascend
from ..solvers.newton_cg import maximize
from ..solvers.solve_report import Reason, SolveReport
from .entropic import KernelRows, row_targets
from .hubs import metropolis_entropies
from .measured_rows import MeasuredRows, measured_reason
from .symmetric_dual import SymmetricDual

Solver: TypeAlias = Literal["newton", "adam", "sgd", "lbfgs"]
MAX_ITER: dict[Solver, int] = {"newton": 200, "adam": 5000, "sgd": 5000, "lbfgs": 1000}

FLOOR = 1e-2  # smallest entropy dual of a row, relative to its bandwidth in the ordinary entropic affinity
NARROWEST = 1e-3  # smallest bandwidth used for the floor, relative to the median; near-duplicates have almost none
CEILING = 1e3  # largest entropy dual, relative to the largest bandwidth
NO_MASS = 1e-3  # a row with less mass has lost its neighbours, and Newton's method cannot recover it
STUCK = (Reason.STALLED, Reason.MAX_ITER, Reason.MAX_PASSES)

MAX_BALANCING = 6  # passes over the rows
SLACK = 0.5  # rows with a smaller |log mass| are left unchanged
ENOUGH = 1.0  # largest |log mass| at which Newton's method takes over
FAR, SETTLING_STEPS = 5.0, 5  # above this gap, this many Sinkhorn steps are cheaper than Newton steps
REFILLING_STEPS = 20


@dataclass(frozen=True)
class SymmetricSolver:
    """Solver of the dual, with the parameters of `SymmetricEntropicAffinity` that it needs.

    `entropic_rows` computes the entropic affinity, and `solve` starts from its dual variables; the other methods are
    steps of `solve`.
    """

    tol: float
    self_loops: bool
    solver: Solver = "newton"
    gamma_squared: bool = True
    learning_rate: float | None = None
    max_iter: int | None = None
    verbose: bool = False

    def entropic_rows(self, cost: Cost, log_perplexity: float) -> KernelRows:
        """Return the rows of the entropic affinity."""
        target = row_targets(cost, log_perplexity, self_loops=self.self_loops)
        return KernelRows.with_entropy(cost, target, self_loops=self.self_loops)

    def solve(
        self,
        cost: Cost,
        order: NDArray[np.intp] | None,
        entropic: Array,
        log_perplexity: float,
        last: Array | None = None,
    ) -> tuple[SymmetricDual, Array, SolveReport]:
        """Return the dual problem, its solution x = (lambda, gamma) and the report, in the given order of the points.

        `cost` and `order` come from `in_local_order`. The costs in the given order are restored at the end, so that the
        caller need not keep both. `entropic`, the dual variables of the entropic affinity, and `last` are in the given
        order. Start from `last` if it is not None, and from `entropic` otherwise.
        """
        if order is None:
            return self._maximum(cost, entropic, log_perplexity, last)
        entropic = entropic[:, order]
        last = None if last is None else last[:, order]
        dual, x_local, report = self._maximum(cost, entropic, log_perplexity, last)
        x = np.empty_like(x_local)
        x[:, order] = x_local
        return dual.restored(order), x, report.renumbered(order)

    def _maximum(
        self, cost: Cost, entropic: Array, log_perplexity: float, last: Array | None
    ) -> tuple[SymmetricDual, Array, SolveReport]:
        """Maximise the dual; if the solver gets stuck, try again from a better starting point."""
        newton = self.solver == "newton"
        target = row_targets(cost, log_perplexity, self_loops=self.self_loops)
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
        report = self._report(outcome, dual, target < log_perplexity, attempts)
        return dual, outcome.point.x, report

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
        return dual, x, 1 + (0 if self.self_loops else balance(cost, x))

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

    def _report(self, outcome: Outcome, dual: SymmetricDual, lowered: Array, attempts: _Attempts) -> SolveReport:
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

    def measured(self, report: SolveReport, P: Matrix, dual: SymmetricDual, x: Array) -> SolveReport:
        """Return the report with everything that the stored P itself shows."""
        rows = MeasuredRows.of(P, dual.execution)
        missing = dual.log_perplexity - rows.log_perplexities
        held = dual.held(x[1], missing)
        gap = np.where(held, 0.0, missing)
        unsolved = rows.unbalanced(self.tol) | rows.off(gap, self.tol)
        at_ceiling = held & (missing > 0.0) & rows.off(missing, self.tol)
        gap[report.unreachable_rows] = 0.0  # their targets are lower than the one that was asked for
        return replace(
            report,
            converged=not unsolved.any(),
            marginal_gap=rows.marginal_gap,
            entropy_gap=float(np.max(np.abs(gap))),
            reason=measured_reason(report.reason, unsolved),
            floor_rows=np.setdiff1d(np.flatnonzero(held & (missing < 0.0)), report.unreachable_rows),
            unreachable_rows=np.union1d(report.unreachable_rows, np.flatnonzero(at_ceiling)),
            unsolved_rows=np.flatnonzero(unsolved),
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


def balance(cost: Cost, x: Array) -> int:
    """Restore the mass of rows of a P without self-loops, in place; return the number of passes used.

    In the starting point, a weighted geometric mean leaves outliers, whose neighbours have small bandwidths, with
    almost no mass.
    """
    n_passes = 0
    while n_passes < MAX_BALANCING:
        n_passes += 1
        if cost.in_order(balance_rows, x, SLACK) < ENOUGH:
            break
    return n_passes


def settled(dual: SymmetricDual, x: Array) -> tuple[Point, int]:
    """Return a starting point for Newton's method, and the passes used; with hubs, a feasible x may be too far away."""
    point = dual.evaluate(x)
    if not FAR < point.gap < np.inf:
        return point, 1
    scaled = dual.evaluate(dual.scaled(point.x, SETTLING_STEPS))
    better = scaled.gap < np.inf and scaled.value > point.value
    return (scaled if better else point), 2 + SETTLING_STEPS


def refilled(dual: SymmetricDual, x: Array) -> tuple[Array, int]:
    """Restore, by Sinkhorn steps, the mass of rows that have lost it; return the point and the number of passes.

    Duplicates can exceed the target entropy at every bandwidth. As their bandwidth decreases to the floor, they can
    lose their mass, and Newton steps cannot then restore it. Their bandwidths are therefore put at the floor at once.
    """
    lower = np.broadcast_to(dual.lower, x[1].shape)
    for _ in range(2):
        x = dual.scaled(x, REFILLING_STEPS)
        above = dual.evaluate(x).gradient[1] < 0.0
        x = np.stack([np.where(above, x[0] * lower / x[1], x[0]), np.where(above, lower, x[1])])
    return x, 2 * (1 + REFILLING_STEPS)
