"""Base class of all affinities: common parameters, input and report."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, Literal, TypeVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from ..errors import NumericalOverflowError
from ..geometry.costs import (
    NEIGHBORS_PER_PERPLEXITY,
    Array,
    Cost,
    Matrix,
    NeighborGraph,
    build_cost,
    check_neighbors,
    count_neighbors,
)
from ..geometry.dense_cost import symmetrize_in_place
from ..geometry.distance_metrics import check_metric
from ..geometry.graph_unions import mean_with_transpose
from ..runtime.checks import USUAL_PERPLEXITY, check_choice, check_jobs, check_perplexity, clamp_perplexity
from ..runtime.execution import Execution, choose_execution, one_blas_thread
from ..runtime.progress import shown_stage
from ..runtime.sparse_format import check_sparse
from ..runtime.user_warnings import warn
from ..solvers.solve_report import UNREACHABLE, Reason, SolveReport, advice, explained

LEAST_USABLE = 1.5  # perplexity; rows with less tell hardly anything but the nearest neighbour

Self = TypeVar("Self", bound="Affinity")


class Affinity(BaseEstimator, ABC):  # type: ignore[misc]
    """Base class of all affinities: `fit` computes the matrix, `fit_transform` also returns it.

    A subclass stores its parameters in `__init__` and implements `compute`. It may extend `check_parameters`, and
    override `own_perplexity` and `graph_perplexity`.

    Parameters
    ----------
    metric : str, default="sqeuclidean"
        Cost between points: any metric that scikit-learn supports, or "precomputed". Costs are used unchanged, so
        "sqeuclidean" gives Gaussian kernels and "euclidean" gives exponential ones. With "precomputed", X is a full
        cost matrix, a sparse neighbour graph such as the output of `sklearn.neighbors.KNeighborsTransformer`, or a pair
        (indices, distances). Edges may be one-directional; if both directions exist, symmetric affinities need
        equal costs. "seuclidean" and "mahalanobis" estimate their scales from X.
    n_neighbors : int, "auto" or None, default=None
        None computes the full matrix. A number restricts the affinity to that many nearest neighbours and makes it
        sparse; "auto" uses one and a half times the perplexity. For a precomputed graph, None keeps every edge, a
        number keeps exactly that many edges per row (a row with fewer is an error), and "auto" keeps at most one and a
        half times the perplexity.
    self_loops : bool, default=True
        Whether the diagonal is part of the affinity, as in the paper.
    n_jobs : int or None, default=None
        Number of threads; None and -1 use all cores. The result does not depend on this number.
    verbose : bool, default=False
        Whether to show the progress of an iterative solver. This parameter has no effect on affinities that are
        computed in closed form or row by row.

    Attributes
    ----------
    affinity_ : ndarray or scipy.sparse.csr_matrix of shape (n, n)
        The affinity: dense if `n_neighbors` is None and X is not a graph, sparse otherwise.
    report_ : SolveReport
        Convergence, iterations, gaps, and why the solver stopped.
    perplexity_ : float
        Perplexity of the rows; lower than `perplexity` if rows are too short for it. Absent for affinities without a
        perplexity.
    n_features_in_ : int
        Number of columns of X.
    """

    def __init__(
        self,
        metric: str = "sqeuclidean",
        n_neighbors: int | Literal["auto"] | None = None,
        *,
        self_loops: bool = True,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.self_loops = self_loops
        self.n_jobs = n_jobs
        self.verbose = verbose

    @one_blas_thread()
    def fit(self: Self, X: Any, y: Any = None) -> Self:
        """Compute the affinity of X.

        Parameters
        ----------
        X : array of shape (n, p)
            Features, or the input that metric="precomputed" describes.
        y : None
            Ignored.

        Returns
        -------
        self
            The fitted affinity.
        """
        self.check_parameters()
        execution = choose_execution(self.n_jobs)
        costs = [self.costs_of(X, execution)]
        self.n_features_in_ = X.n_points if isinstance(X, NeighborGraph) else _count_columns(X)
        return self.fit_costs(costs.pop())  # no reference is kept here, so that `compute` can free a large graph

    def costs_of(self, X: Any, execution: Execution) -> Cost:
        """Return the costs of X, and show the progress of the search for neighbours."""
        with shown_stage("distances" if self.n_neighbors is None else "neighbours", verbose=bool(self.verbose)):
            return build_cost(
                X,
                metric=self.metric,
                n_neighbors=self.n_neighbors,
                perplexity=self.graph_perplexity(),
                execution=execution,
            )

    def fit_costs(self: Self, cost: Cost) -> Self:
        """Compute the affinity of these costs."""
        costs, recall = [cost], getattr(cost, "recall", None)
        del cost  # as in `fit`
        self.__dict__.pop("perplexity_", None)  # left by an earlier fit
        P, report = self.compute(costs.pop())
        check_sparse(P, f"the affinity that {type(self).__name__}.compute returns")
        if not np.isfinite(P.sum()):
            raise NumericalOverflowError(
                f"{type(self).__name__} overflowed; check X and bandwidths for extreme values."
            )
        self.affinity_ = P
        self.report_ = replace(report, reason=explained(report.reason, self.effective_parameters()))
        self.report_.neighbor_recall = recall
        self._warn_of_problems()
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Matrix:
        """Compute and return the affinity of X."""
        return self.fit(X, y).affinity_

    @abstractmethod
    def compute(self, cost: Cost) -> tuple[Matrix, SolveReport]:
        """Compute the affinity from these costs, and return it with a report."""

    def check_parameters(self) -> None:
        """Raise for values that are invalid for any data, before any work is done; a subclass adds its own checks."""
        check_metric(self.metric)
        check_neighbors(self.n_neighbors)
        check_choice(self.self_loops, "self_loops", (True, False))
        check_jobs(self.n_jobs)

    def own_perplexity(self) -> float | None:
        """Return the perplexity that P depends on, the largest one if there are several; None if there is none."""
        return getattr(self, "perplexity", None)

    def graph_perplexity(self) -> float:
        """Return the largest perplexity that the neighbour graph must support."""
        perplexity = getattr(self, "perplexity", None)
        return USUAL_PERPLEXITY if perplexity is None else perplexity

    def effective_parameters(self) -> dict[str, Any]:
        """Return the parameters that affected the result; reports advise the user to change one of them."""
        parameters: dict[str, Any] = self.get_params(deep=False)
        P, n = self.affinity_, self.affinity_.shape[0]
        given = self.n_neighbors is None or self.metric == "precomputed"
        if given and sparse.issparse(P) and P.nnz < n * (n - 1):
            parameters["graph"] = "precomputed"
        if count_neighbors(self.n_neighbors, n, self.graph_perplexity()) == n - 1:
            parameters["n_neighbors"] = None  # there are no more points
        if self.own_perplexity() is None:
            parameters.pop("perplexity", None)
        return parameters

    def reached_perplexity(self) -> float:
        """Return the largest perplexity used for the rows."""
        return float(getattr(self, "perplexity_", self.graph_perplexity()))

    def usable_perplexity(self, perplexity: Any, cost: Cost) -> float:
        """Return the perplexity, lowered with a warning if rows are too short for it; store it as `perplexity_`."""
        self.perplexity_ = self.clamped(check_perplexity(perplexity), cost)
        return self.perplexity_

    def clamped(self, perplexity: float, cost: Cost) -> float:
        """Return the perplexity, lowered with a warning if all rows are too short for it.

        If rows differ in length, the longest are those of hubs, and a value that suits them would be out of reach for
        most other rows. It is therefore lowered to what the median row supports.
        """
        entries = cost.degrees + bool(self.self_loops)
        longest, usable = int(entries.max()), None
        if longest > entries.min():
            usable = max(float(np.median(entries) // NEIGHBORS_PER_PERPLEXITY), LEAST_USABLE)
        return clamp_perplexity(perplexity, longest, cost.n_points, usable)

    def _warn_of_problems(self) -> None:
        if not self.report_.converged:
            rows = self.report_.unsolved_rows
            are = "1 row is" if rows.size == 1 else f"{rows.size} rows are"
            named = f" {are} unsolved ({first_row(rows)}); the report lists them as unsolved_rows." if rows.size else ""
            warn(f"{type(self).__name__} did not converge: {self.report_}.{named}", ConvergenceWarning)
        if (rows := self.report_.unreachable_rows).size:
            few = "1 row" if rows.size == 1 else f"{rows.size} rows"
            # The advice of the first warning must stand alone, because it may be the opposite.
            remedy = advice(UNREACHABLE, self.effective_parameters()) if self.report_.converged else ""
            warn(
                f"{few} ({first_row(rows)}) cannot reach perplexity {self.reached_perplexity():g} on this neighbour "
                f"graph; using the largest one that is certain to be reachable."
                f"{f' {remedy[:1].upper()}{remedy[1:]}.' if remedy else ''}"
            )


def first_row(rows: Array) -> str:
    return f"row {rows[0]}" if rows.size == 1 else f"the first is row {rows[0]}"


def _count_columns(X: Any) -> int:
    return int(np.shape(X[0])[1] if isinstance(X, tuple) else np.shape(X)[1])


def closed_form_report(**extra: Any) -> SolveReport:
    """Return the report of an affinity that is computed without iteration."""
    defaults: dict[str, Any] = {
        **{"converged": True, "reason": Reason.CLOSED_FORM.value, "n_iter": 0, "n_passes": 1},
        **{"marginal_gap": np.nan, "entropy_gap": np.nan},
    }
    return SolveReport(**{**defaults, **extra})


def in_user_units(cost: Cost, values: Array) -> Array:
    """Convert values from the unit of these costs to that of the user; values out of range become the largest ones."""
    largest = np.finfo(float).max
    with np.errstate(over="ignore"):
        return np.asarray(np.clip(cost.unit * values, -largest, largest))


def symmetrize(P: Matrix, execution: Execution) -> Matrix:
    """Return (P + P^T) / 2, computed in place if P is dense."""
    return mean_with_transpose(P, execution) if sparse.issparse(P) else symmetrize_in_place(P)
