"""Symmetric entropic affinity: symmetric, doubly stochastic, with constant row entropy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from ..geometry.costs import Array, Cost, Matrix
from ..runtime.checks import check_choice, check_count, check_perplexity, check_positive
from ..solvers.solve_report import SolveReport
from .affinity import Affinity, in_user_units, symmetrize
from .balance import Balance, EntropicMean, check_balance, choose_balance, gini
from .entropic import entropic_report
from .measured_rows import MeasuredRows
from .symmetric_solver import MAX_ITER, EntropicStart, Solver, SymmetricSolver


class SymmetricEntropicAffinity(Affinity):
    """Symmetric entropic affinity (SEA).

        minimise sum_ij P_ij C_ij    subject to    P = P^T,  rows sum to 1,  H(P_i) >= log(xi) + 1.

    H(P_i) = -sum_j P_ij (log P_ij - 1) is the entropy of row i. The problem is solved through its concave dual in
    gamma >= 0 and lambda. At the maximum,

        P_ij = exp((lambda_i + lambda_j - 2 C_ij) / (gamma_i + gamma_j)).

    A row whose gamma_i reaches its floor (a hundredth of its bandwidth in the ordinary entropic affinity) has a
    perplexity above the requested one, which the constraint allows. `report_.n_floor_rows` counts these rows.

    With `balance` b below 1, the result is b P + (1 - b) (E + E^T) / 2, where E is the `EntropicAffinity` on the same
    edges. Its rows do not sum to 1, because hubs count more. The gaps in the report and the dual variables are those of
    P.

    Parameters
    ----------
    perplexity : float, default=30.0
        Effective number of neighbours xi of every row.
    balance : float or "auto", default=1.0
        How equally points count, from 0 to 1: 1 is the symmetric entropic affinity, and 0 is the symmetrised entropic
        affinity of t-SNE, in which hubs count more. "auto" uses 0.5, and up to 1 if the column sums of the directed
        entropic affinity are so unequal that hubs would mislead. `report_.balance` is the value used, and
        `report_.inequality` the Gini coefficient of these sums.
    solver : {"newton", "adam", "sgd", "lbfgs"}, default="newton"
        "newton" needs no tuning. The others are variants of the paper's dual ascent, for comparison.
    gamma_squared : bool, default=True
        Whether the dual ascent works on the square root of gamma. Ignored by "newton".
    learning_rate : float or None, default=None
        Step size of "adam" and "sgd", in units of the median bandwidth; None means 0.1.
    tol : float, default=1e-8
        Tolerance on the deviation of row sums from 1 and of row entropies from their target.
    max_iter : int or None, default=None
        Maximum number of outer iterations from each starting point; None means 200 for "newton", 1000 for "lbfgs", and
        5000 for "adam" and "sgd".
    warm_start : bool, default=False
        Whether to start from the solution of the previous call to `fit` if the number of points is unchanged; useful
        for trying several perplexities.
    metric, n_neighbors, self_loops, n_jobs, verbose
        See `snekhorn.affinities.affinity.Affinity`.

    Attributes
    ----------
    affinity_, report_
        See `snekhorn.affinities.affinity.Affinity`.
    entropy_dual_ : ndarray of shape (n,)
        The dual variables gamma of the entropies; if `balance` is 0, those of the entropic affinity.
    marginal_dual_ : ndarray of shape (n,)
        The dual variables lambda of the row sums; if `balance` is 0, those of the entropic affinity.

    References
    ----------
    Van Assel, Vayer, Flamary and Courty, SNEkhorn: Dimension Reduction with Symmetric Entropic Affinities,
    NeurIPS 2023.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from snekhorn.affinities import SymmetricEntropicAffinity, row_perplexities
    >>> P = SymmetricEntropicAffinity(perplexity=20).fit_transform(load_iris().data)
    >>> bool(abs(P.sum(axis=1) - 1).max() < 1e-6), bool(abs(P - P.T).max() < 1e-12)
    (True, True)
    >>> round(float(row_perplexities(P).min()), 3)
    20.0
    """

    def __init__(  # noqa: PLR0913
        self,
        perplexity: float = 30.0,
        *,
        balance: Balance = 1.0,
        solver: Solver = "newton",
        gamma_squared: bool = True,
        learning_rate: float | None = None,
        tol: float = 1e-8,
        max_iter: int | None = None,
        warm_start: bool = False,
        metric: str = "sqeuclidean",
        n_neighbors: int | Literal["auto"] | None = None,
        self_loops: bool = True,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(metric, n_neighbors, self_loops=self_loops, n_jobs=n_jobs, verbose=verbose)
        self.perplexity = perplexity
        self.balance = balance
        self.solver = solver
        self.gamma_squared = gamma_squared
        self.learning_rate = learning_rate
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start

    def check_parameters(self) -> None:
        super().check_parameters()
        check_perplexity(self.perplexity)
        check_balance(self.balance)
        check_choice(self.solver, "solver", tuple(MAX_ITER))
        check_choice(self.gamma_squared, "gamma_squared", (True, False))
        check_choice(self.warm_start, "warm_start", (True, False))
        check_positive(self.tol, "tol")
        if self.learning_rate is not None:
            check_positive(self.learning_rate, "learning_rate")
        if self.max_iter is not None:
            check_count(self.max_iter, "max_iter")

    def effective_parameters(self) -> dict[str, Any]:
        parameters = super().effective_parameters()
        if self.solver not in ("adam", "sgd"):
            parameters.pop("learning_rate", None)
        return parameters

    def compute(self, cost: Cost) -> tuple[Matrix, SolveReport]:
        cost = cost.symmetrized().in_own_units()
        log_perplexity = float(np.log(self.usable_perplexity(self.perplexity, cost)))
        costs = [cost]
        del cost  # so that `start` alone refers to a graph
        start = EntropicStart.on(costs.pop(), log_perplexity, self_loops=self.self_loops)
        balance, inequality = self.balance, None
        if balance == "auto":
            inequality = gini(EntropicMean(start.cost, start.rows, self.self_loops).column_sums())
            balance = choose_balance(inequality)
        P, report = self._entropic(start) if balance == 0.0 else self._mixed(start, balance)
        return P, replace(report, balance=float(balance), inequality=inequality)

    def _mixed(self, start: EntropicStart, balance: float) -> tuple[Matrix, SolveReport]:
        """Return the symmetric entropic affinity, mixed with the entropic one, and the report on the former."""
        solver = SymmetricSolver(
            tol=self.tol,
            self_loops=self.self_loops,
            solver=self.solver,
            gamma_squared=self.gamma_squared,
            learning_rate=self.learning_rate,
            max_iter=self.max_iter,
            verbose=self.verbose,
        )
        solution = solver.solve(start, self._last_solution(start.cost))
        self.marginal_dual_, self.entropy_dual_ = in_user_units(start.cost, solution.x)
        entries, diagonal = solution.dual.entries(solution.x)
        P = start.cost.as_matrix(entries, diagonal)
        report = solution.report(MeasuredRows.of(P, start.cost.execution))
        if balance < 1.0:
            P = EntropicMean(start.cost, start.rows, self.self_loops).mixed_with(entries, diagonal, balance)
        return P, report

    def _entropic(self, start: EntropicStart) -> tuple[Matrix, SolveReport]:
        """Return the symmetrised entropic affinity, which needs no solver, and its report."""
        cost = start.cost
        self.marginal_dual_, self.entropy_dual_ = in_user_units(cost, start.rows.duals)
        E = start.rows.affinity(cost, self_loops=self.self_loops)
        n_entries = cost.degrees + bool(self.self_loops)
        report = entropic_report(MeasuredRows.of(E, cost.execution), start.targets, n_entries)
        lowered = np.flatnonzero(start.targets < start.log_perplexity)
        report = replace(report, unreachable_rows=np.union1d(report.unreachable_rows, lowered))
        return symmetrize(E, cost.execution), report

    def _last_solution(self, cost: Cost) -> Array | None:
        """Return the solution of the previous call to `fit` if it can serve as a starting point."""
        if not self.warm_start or not hasattr(self, "report_"):
            return None
        if not self.report_.converged or self.entropy_dual_.size != cost.n_points:
            return None
        return np.asarray(np.stack([self.marginal_dual_, self.entropy_dual_]) / cost.unit)
