"""What all affinities share: input, parameters, and the report of how the work went."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from ..geometry.building import build_cost
from ..geometry.costs import ROWS_AT_ONCE, DenseCost, GraphCost, symmetrize_in_place
from ..runtime.checks import check_choice, check_jobs, check_perplexity, clamp_perplexity
from ..runtime.execution import count_threads
from ..runtime.user_warnings import warn
from ..solvers.solve_report import Reason, SolveReport

Matrix: TypeAlias = Any  # a dense array or a CSR matrix
USUAL_PERPLEXITY = 30.0  # of affinities that have none, to count neighbours by


class Affinity(BaseEstimator, ABC):
    """Base of the affinities: `fit` computes the matrix, `fit_transform` returns it.

    Parameters
    ----------
    metric : str, default="sqeuclidean"
        Cost between points: any metric that scikit-learn knows, or "precomputed". The costs enter as they
        are: "sqeuclidean" gives Gaussian kernels, "euclidean" exponential ones. With "precomputed", X is a
        full cost matrix, a sparse neighbour graph as `sklearn.neighbors.KNeighborsTransformer` writes it,
        or a pair (indices, distances). An edge may be there in one direction only; where both are, the
        symmetric affinities need one cost. "seuclidean" and "mahalanobis" take their scales from X.
    n_neighbors : int, "auto" or None, default=None
        None computes the full matrix. A number restricts the affinity to that many nearest neighbours and
        makes it sparse; "auto" takes three times the perplexity. Of a precomputed graph, None keeps every
        edge, "auto" at most that many of each row, and a number that many: fewer are an error.
    self_loops : bool, default=True
        Whether the diagonal is part of the affinity, as in the paper.
    n_jobs : int or None, default=None
        Number of threads; None and -1 use all cores. The result does not depend on it.
    verbose : bool, default=False
        Show the progress of an iterative solver; the affinities computed in closed form or row by row have
        none to show.

    Attributes
    ----------
    affinity_ : ndarray or scipy.sparse.csr_matrix of shape (n, n)
        The affinity: dense if n_neighbors is None (and no graph was given), sparse otherwise.
    report_ : SolveReport
        Convergence, iterations, gaps, and why the solver stopped.
    perplexity_ : float
        The perplexity that rows were given: less than `perplexity` where they cannot have that one. Affinities without
        a perplexity have none.
    n_features_in_ : int
        Number of columns of X.
    """

    metric: str
    n_neighbors: int | str | None
    self_loops: bool
    n_jobs: int | None
    verbose: bool

    def fit(self, X: Any, y: Any = None) -> Affinity:
        """Compute the affinity of X.

        Parameters
        ----------
        X : array of shape (n, p)
            Or what metric="precomputed" allows.
        y : None
            Ignored.

        Returns
        -------
        self
            Fitted.
        """
        n_threads = count_threads(check_jobs(self.n_jobs))
        check_choice(self.self_loops, "self_loops", (True, False))
        self._check_parameters()
        cost = build_cost(
            X,
            metric=self.metric,
            n_neighbors=self.n_neighbors,
            perplexity=self._asked_perplexity(),
            n_threads=n_threads,
        )
        self.n_features_in_ = np.shape(X[0])[1] if isinstance(X, tuple) else np.shape(X)[1]
        self.__dict__.pop("perplexity_", None)  # of an earlier fit
        self.affinity_, self.report_ = self._compute(cost)
        if not np.isfinite(self.affinity_.sum()):
            raise FloatingPointError(f"{type(self).__name__} overflowed; check X for extreme values.")
        if isinstance(cost, GraphCost):
            self.report_.neighbor_recall = cost.recall
        self._warn()
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Matrix:
        """Compute and return the affinity of X."""
        return self.fit(X, y).affinity_

    def _check_parameters(self) -> None:
        """Raise for values that no data can make right, before any work."""

    def _asked_perplexity(self) -> float:
        """The largest perplexity that a neighbour graph has to carry."""
        perplexity = getattr(self, "perplexity", None)
        return USUAL_PERPLEXITY if perplexity is None else perplexity

    def _carried_perplexity(self) -> float:
        """The largest perplexity that the neighbour graph had to carry."""
        return self._asked_perplexity()

    @abstractmethod
    def _compute(self, cost: DenseCost | GraphCost) -> tuple[Matrix, SolveReport]:
        """The affinity of the costs and its report."""

    def _warn(self) -> None:
        if not self.report_.converged:
            rows = self.report_.unsolved_rows
            named = f" Rows not solved: {rows.size} (first {rows[0]}), in report_.unsolved_rows." if rows.size else ""
            warn(f"{type(self).__name__} did not converge: {self.report_}.{named}", ConvergenceWarning)
        if (rows := self.report_.unreachable_rows).size:
            warn(
                f"{rows.size} rows (first {rows[0]}) cannot reach perplexity {self._carried_perplexity():g} on "
                "this neighbour graph and have the largest one it is sure to carry; "
                "raise n_neighbors or lower perplexity."
            )

    def _row_entries(self, cost: DenseCost | GraphCost) -> int:
        """Largest number of entries that a row can have."""
        return int(cost.degrees.max()) + bool(self.self_loops)

    def _checked_perplexity(self, perplexity: Any, cost: DenseCost | GraphCost) -> float:
        self.perplexity_ = clamp_perplexity(check_perplexity(perplexity), self._row_entries(cost))
        return self.perplexity_


def closed_form_report(**extra: Any) -> SolveReport:
    """Report of an affinity that no iteration is needed for."""
    defaults: dict[str, Any] = {"n_iter": 0, "n_passes": 1, "marginal_gap": np.nan, "entropy_gap": np.nan}
    return SolveReport(converged=True, reason=Reason.CLOSED_FORM.value, **{**defaults, **extra})


def marginal_gap(P: Matrix) -> float:
    """Largest distance of a row sum from 1."""
    return float(np.max(np.abs(P.sum(axis=1, dtype=float) - 1.0)))


def symmetrize(P: Matrix) -> Matrix:
    """(P + P^T) / 2, a dense P in place."""
    if sparse.issparse(P):
        return ((P + P.T) / 2).tocsr()
    return symmetrize_in_place(P)


def row_entropies(P: Matrix) -> NDArray[np.floating[Any]]:
    """-sum_j P_ij (log P_ij - 1), whose value at a uniform row of xi entries is log(xi) + 1."""
    if sparse.issparse(P):
        terms = P.copy()
        terms.data = terms.data * (1.0 - np.log(np.where(terms.data > 0.0, terms.data, 1.0)))
        return np.asarray(terms.sum(axis=1), dtype=float).ravel()
    out = np.empty(P.shape[0])
    for start in range(0, P.shape[0], ROWS_AT_ONCE):
        block = P[start : start + ROWS_AT_ONCE].astype(float)
        out[start : start + ROWS_AT_ONCE] = np.sum(block * (1.0 - np.log(np.where(block > 0.0, block, 1.0))), axis=1)
    return out


def row_perplexities(P: Matrix) -> NDArray[np.floating[Any]]:
    """exp(H - 1) of every row, as in the paper; where the row sums to one, its effective number of neighbours."""
    return np.exp(row_entropies(P) - 1.0)
