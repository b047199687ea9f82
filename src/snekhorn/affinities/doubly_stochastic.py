"""Doubly stochastic affinity: the Gaussian kernel, scaled to unit row and column sums."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..geometry.costs import Array, Cost, Matrix
from ..runtime.checks import check_count, check_positive
from ..runtime.execution import Execution
from ..runtime.progress import Progress, show_progress
from ..solvers.concave_problems import Linear, Outcome, Point, gaps
from ..solvers.newton_cg import MAX_CG_ITERATIONS, maximize
from ..solvers.solve_report import Reason, SolveReport
from .affinity import Affinity, in_user_units
from .entropic import KernelRows, row_targets
from .gaussian import MISSED, bandwidth_in_units_of, bracket, check_bandwidth, rows_beyond, solve_bandwidth
from .measured_rows import MeasuredRows, measured_reason
from .symmetric_dual import SymmetricDual
from .symmetric_solver import restore_masses

SINKHORN_STEPS = 5
LARGEST_LEAP = 4.0  # factor by which the bandwidth may decrease per solve without self-loops; more may not converge
LOOSE = 1e-2  # tolerance at intermediate bandwidths; a smaller one takes longer
MARGIN = 10.0  # room for the bandwidth below those of the rows; with more, a target out of reach takes longer
MARGIN_ABOVE = (
    1e4  # the same above them, where short rows are almost uniform; with less, some targets seem out of reach
)
SHARPEST = 1e-7  # smallest bandwidth, relative to the nearest cost; below it, rounding errors exceed the tolerance
MAX_PASSES = 1500  # over all bandwidths; problems that are not solved by then hardly improve
MOST_CG_ITERATIONS = 300  # without self-loops, P is nearly singular at small bandwidths; fewer make steps too inexact


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

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from snekhorn.affinities import DoublyStochasticAffinity
    >>> P = DoublyStochasticAffinity(perplexity=20).fit_transform(load_iris().data)
    >>> bool(abs(P.sum(axis=1) - 1).max() < 1e-6)
    True
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
        super().check_parameters()
        check_bandwidth(self.bandwidth, self.perplexity)
        check_positive(self.tol, "tol")
        check_count(self.max_iter, "max_iter")

    def own_perplexity(self) -> float | None:
        return self.perplexity if self.bandwidth is None else None

    def compute(self, cost: Cost) -> tuple[Matrix, SolveReport]:
        cost = cost.symmetrized().in_own_units()
        with show_progress("affinity", verbose=self.verbose, tol=self.tol) as progress:
            scaling = _Scaling(cost, progress, self_loops=self.self_loops, tol=self.tol, max_iter=self.max_iter)
            if self.bandwidth is None:
                target = float(np.log(self.usable_perplexity(self.perplexity, cost)))
                dual, outcome = scaling.with_mean_entropy(target)
            else:
                target = np.nan
                dual, outcome = scaling.with_bandwidth(bandwidth_in_units_of(cost, self.bandwidth))
        x = outcome.point.x
        self.bandwidth_ = float(in_user_units(cost, x[1, 0])) if self.bandwidth is None else float(self.bandwidth)
        self.potential_ = in_user_units(cost, x[0] / 2.0)  # (lambda_i + lambda_j - 2 C) / 2 nu = (f_i + f_j - C) / nu
        P = dual.affinity(x)
        report = self._report(MeasuredRows.of(P, cost.execution), target, dual, outcome)
        report.n_iter, report.n_passes = scaling.n_iter, scaling.n_passes
        return P, report

    def _report(self, rows: MeasuredRows, target: float, dual: SymmetricDual, outcome: Outcome) -> SolveReport:
        missing = np.full(rows.sums.size, target - np.mean(rows.log_perplexities))
        # A target is out of reach if it is missed and the bandwidth is at its bound; NaN means that there is none.
        out_of_reach = bool(dual.held(outcome.point.x[1], missing).any())
        to_solve = not (out_of_reach or np.isnan(target))
        unsolved = rows.unbalanced(self.tol) | (rows.off(missing, min(self.tol, MISSED)) & to_solve)
        return SolveReport(
            converged=not unsolved.any(),
            n_iter=outcome.n_iter,
            n_passes=outcome.n_passes,
            marginal_gap=rows.marginal_gap,
            entropy_gap=float(np.abs(missing[0])),
            reason=measured_reason(outcome.reason.value, unsolved),
            unsolved_rows=np.flatnonzero(unsolved),
            dual_values=[dual.cost.unit * value for value in outcome.values],
            **(rows_beyond(rows.log_perplexities, target) if out_of_reach else {}),
        )


class _Scaling:
    """Solver for the potential at a given bandwidth, or together with the bandwidth.

    Each solve starts from the previous solution. All solves together are limited to MAX_PASSES.
    """

    def __init__(self, cost: Cost, progress: Progress, *, self_loops: bool, tol: float, max_iter: int) -> None:
        self.cost, self.progress, self.self_loops = cost, progress, self_loops
        self.tol, self.max_iter = tol, max_iter
        self.n_iter = self.n_passes = 0
        self.lam = np.zeros(cost.n_points)
        # Without self-loops, rows keep enough mass to scale only if the bandwidth is at least about the nearest cost.
        if self_loops:
            self.nearest = np.zeros(cost.n_points)
        else:
            self.nearest = KernelRows.with_bandwidth(cost, 1.0, self_loops=False).nearest
        self.bandwidth = float(cost.execution.max(self.nearest))

    def with_bandwidth(self, bandwidth: float) -> tuple[SymmetricDual, Outcome]:
        """Solve at this bandwidth."""
        dual = self._dual(bandwidth)
        return dual, self._solve(bandwidth, self.tol)

    def with_mean_entropy(self, target: float) -> tuple[SymmetricDual, Outcome]:
        """Solve for the bandwidth at which the average log perplexity of the rows is `target`.

        Find two bandwidths with loose solves, one on each side. Between them, solve for the potential and the bandwidth
        together. If this fails, because the problem is nearly singular, search for the bandwidth with tight solves. A
        bandwidth at its bound means that the target is out of reach.
        """
        # Short rows would have to be uniform, and rounding would decide their bandwidths: lower their targets.
        targets = row_targets(self.cost, target, self_loops=self.self_loops)
        rows = KernelRows.with_entropy(self.cost, targets, self_loops=self.self_loops)
        sharpest = SHARPEST * float(np.median(rows.nearest))
        lower = max(float(self.cost.execution.min(rows.bandwidth)) / MARGIN, sharpest)
        upper = float(self.cost.execution.max(rows.bandwidth)) * MARGIN_ABOVE
        typical = float(np.clip(np.median(rows.bandwidth), lower, upper))
        dual = SymmetricDual(self.cost, target, self.self_loops, lower=lower, upper=upper)

        def gap(bandwidth: float, tol: float) -> float:
            return -float(np.mean(dual.evaluate(self._solve(bandwidth, tol).point.x).gradient[1]))

        a, gap_a, b, gap_b = bracket(lambda nu: gap(nu, max(self.tol, LOOSE)), typical, lower, upper)
        if -np.inf < gap_a * gap_b < 0.0:
            between = float(np.exp(b - gap_b * (b - a) / (gap_b - gap_a)))
            outcome = self._run(SharedBandwidth(dual, self.tol), between, self.tol)
            if outcome.reason is Reason.CONVERGED or self.n_passes > MAX_PASSES:
                return dual, outcome
        start = float(np.clip(self.bandwidth, lower, upper))
        found = solve_bandwidth(lambda nu: gap(nu, self.tol), start, lower, upper)
        return dual, self._solve(found, self.tol)

    def _dual(self, bandwidth: float) -> SymmetricDual:
        """Return the dual problem with all bandwidths fixed."""
        return SymmetricDual(self.cost, 0.0, self.self_loops, lower=bandwidth, upper=bandwidth)

    def _solve(self, bandwidth: float, tol: float) -> Outcome:
        """Solve at this bandwidth; without self-loops, approach it in steps, so that rows keep their mass."""
        reached = True
        while reached and not self.self_loops and self.bandwidth > LARGEST_LEAP * bandwidth:
            smaller = self.bandwidth / LARGEST_LEAP
            reached = self._run(self._dual(smaller), smaller, max(tol, LOOSE)).reason is Reason.CONVERGED
        return self._run(self._dual(bandwidth), bandwidth, tol)

    def _run(self, problem: SymmetricDual | SharedBandwidth, bandwidth: float, tol: float) -> Outcome:
        """Run Newton's method from this bandwidth."""
        x = np.stack([self.lam, np.full(self.lam.size, bandwidth)])
        if self.self_loops:  # then rows have mass to scale at any bandwidth
            x = self._dual(bandwidth).sinkhorn_steps(x, SINKHORN_STEPS)
            self.n_passes += SINKHORN_STEPS
        else:
            self.n_passes += restore_masses(self.cost, x)

        def start() -> tuple[Point, int]:
            point = problem.evaluate(problem.project(x))
            if np.isfinite(point.gap):
                return point, 1
            # The last solution was far from feasible: start where no entry exceeds 1.
            return problem.evaluate(problem.project(np.stack([self.nearest, x[1]]))), 2

        before = self.n_iter
        outcome = maximize(
            problem,
            start,
            tol=tol,
            max_iter=self.max_iter,
            max_passes=max(0, MAX_PASSES - self.n_passes),
            max_cg=MAX_CG_ITERATIONS if self.self_loops else MOST_CG_ITERATIONS,
            progress=lambda n, gap: self.progress(before + n, gap),
        )
        self.n_iter += outcome.n_iter
        self.n_passes += outcome.n_passes
        self.lam, self.bandwidth = outcome.point.x[0], float(outcome.point.x[1, 0])
        return outcome


class SharedBandwidth:
    """The dual in which all rows have the same gamma, which is then the bandwidth.

    The dual stays concave on this subspace: project gradients and Hessian products onto it. `tol` is the tolerance on
    the row sums.
    """

    def __init__(self, dual: SymmetricDual, tol: float) -> None:
        self.dual, self.lower, self.upper = dual, dual.lower, dual.upper
        # A loose tolerance on the row sums leaves the average entropy as accurate as its own tolerance.
        self.weight = max(1.0, tol / MISSED)

    @property
    def execution(self) -> Execution:
        return self.dual.execution

    def evaluate(self, x: Array) -> Point:
        point = self.dual.evaluate(x)
        gradient = self._shared(point.gradient)
        held = self.dual.held(x[1], gradient[1])
        marginal_gap, entropy_gap = gaps(gradient, held, self.execution)
        a, _, c = point.blocks
        # One bandwidth for all rows is coupled with every lambda, and with none in particular.
        blocks = (a, np.zeros_like(a), self._shared(np.stack([a, c]))[1])
        return replace(
            point,
            gradient=gradient,
            rhs=self._shared(point.rhs),
            blocks=blocks,
            held=held,
            marginal_gap=marginal_gap,
            entropy_gap=self.weight * entropy_gap,
        )

    def hessian(self, x: Array) -> Linear:
        product = self.dual.hessian(x)
        return lambda step: self._shared(product(self._shared(step)))

    def project(self, x: Array) -> Array:
        return self.dual.project(self._shared(x))

    def restricted_to(self, rows: NDArray[np.intp], x: Array) -> None:
        """Return None, because no row can move without the others."""

    def _shared(self, x: Array) -> Array:
        """Replace the second row with its mean."""
        mean = float(self.execution.sum(x[1])) / x.shape[1]
        return np.stack([x[0], np.full(x.shape[1], mean)])
