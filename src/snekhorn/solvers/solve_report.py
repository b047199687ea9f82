"""Report that every solver returns."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np
from numpy.typing import NDArray


class Reason(str, Enum):
    """Reasons for a solver to stop; each text says what the user can do."""

    CONVERGED = "converged"
    CLOSED_FORM = "computed in closed form"
    ROUNDING = "stopped by rounding: the gaps no longer shrink; raise tol, or remove far outliers"
    MAX_ITER = "stopped at max_iter before reaching tol; raise max_iter or tol"
    MAX_PASSES = "stopped after too many passes over the pairs; raise perplexity or tol, or allow self_loops"
    LINE_SEARCH = "the line search found no increase before reaching tol; raise tol or use solver='newton'"
    STALLED = (
        "no step increases the dual function any further; the neighbour graph may not support this perplexity: "
        "raise n_neighbors, lower perplexity or allow self_loops"
    )
    OVERFLOW = "the starting point overflowed; check X for extreme values"
    DIVERGED = "the iterates overflowed; lower learning_rate or use solver='newton'"


@dataclass
class SolveReport:
    """Report on the computation of an affinity.

    Attributes
    ----------
    converged : bool
        Whether both gaps are below the tolerance; `floor_rows` and `unreachable_rows` are exempt.
    n_iter : int
        Number of outer iterations of the solver.
    n_passes : int
        Number of passes over all pairs of points: function evaluations and Hessian products. On a graph, Hessian
        products at the same iterate share weights; computing these weights is not counted.
    marginal_gap : float
        Largest deviation of a row sum from 1, before any symmetrisation; NaN if row sums are not constrained.
    entropy_gap : float
        Largest deviation of a row's entropy from its target, or of the average entropy if the perplexity is an
        average; NaN if there is no target. Rows in `floor_rows` and `unreachable_rows` are excluded, except from the
        average.
    reason : str
        Why the solver stopped, and what to do about it.
    floor_rows : ndarray of int
        Rows whose perplexity is above the requested one, because their entropy dual is at its floor or they have too
        many duplicates. `n_floor_rows` is their number.
    unreachable_rows : ndarray of int
        Rows that cannot reach the requested perplexity (too few edges, or neighbours without mass to spare). They get a
        lower perplexity, which the graph supports.
    unsolved_rows : ndarray of int
        Rows whose sum or entropy still deviates from its target by the tolerance or more; empty if `converged`.
    dual_values : list of float
        Dual objective after each accepted step.
    neighbor_recall : float or None
        Fraction of true nearest neighbours that were found, measured on a sample; None for a full matrix.
    """

    converged: bool
    n_iter: int
    n_passes: int
    marginal_gap: float
    entropy_gap: float
    reason: str
    floor_rows: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    unreachable_rows: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    unsolved_rows: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    dual_values: list[float] = field(default_factory=list)
    neighbor_recall: float | None = None

    @property
    def n_floor_rows(self) -> int:
        return self.floor_rows.size

    def renumbered(self, order: NDArray[np.intp]) -> SolveReport:
        """Return the report of a problem whose row i is point ``order[i]``."""
        return replace(
            self,
            floor_rows=np.sort(order[self.floor_rows]),
            unreachable_rows=np.sort(order[self.unreachable_rows]),
            unsolved_rows=np.sort(order[self.unsolved_rows]),
        )

    def __str__(self) -> str:
        gaps = {"marginal gap": self.marginal_gap, "entropy gap": self.entropy_gap}
        known = [f"{name} {gap:.1e}" for name, gap in gaps.items() if not np.isnan(gap)]
        iterations = "1 iteration" if self.n_iter == 1 else f"{self.n_iter} iterations"
        passes = "1 pass" if self.n_passes == 1 else f"{self.n_passes} passes"
        return f"{self.reason} ({', '.join([iterations, passes, *known])})"
