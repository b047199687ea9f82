"""What a solver says of its work: one result object, whatever the solver."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np
from numpy.typing import NDArray


class Reason(str, Enum):
    """Why a solver stopped; the text tells the user what to do."""

    CONVERGED = "converged"
    CLOSED_FORM = "computed in closed form"
    ROUNDING = "stopped by rounding: the gaps no longer shrink; raise tol, or bring outliers nearer"
    MAX_ITER = "stopped at the largest number of iterations before reaching tol; raise max_iter or tol"
    MAX_PASSES = "stopped after too many passes over the pairs; raise perplexity or tol, or allow self_loops"
    LINE_SEARCH = "the line search found no further increase before reaching tol; raise tol or use solver='newton'"
    STALLED = (
        "no step improves the dual any more; a neighbour graph may not carry this perplexity: "
        "raise n_neighbors, lower perplexity or allow self_loops"
    )
    OVERFLOW = "the start overflowed; check X for extreme values"
    DIVERGED = "the iterates overflowed; lower learning_rate or use solver='newton'"


@dataclass
class SolveReport:
    """Outcome of computing an affinity.

    Attributes
    ----------
    converged : bool
        Whether both gaps are below the tolerance, as far as `floor_rows` and `unreachable_rows` allow.
    n_iter : int
        Outer iterations of the solver.
    n_passes : int
        Evaluations and products with the Hessian, each a sweep over all pairs of points. On a graph, products from one
        point share weights, whose own sweep is not counted.
    marginal_gap : float
        Largest distance of a row sum from 1, before any symmetrisation; NaN for an affinity that has no
        constraint on its row sums.
    entropy_gap : float
        Largest distance of a row's entropy from its target, or of the average one where the perplexity
        is asked on average; NaN where none is asked. Rows among `floor_rows` and `unreachable_rows` are left out,
        but not of an average.
    reason : str
        Why the solver stopped, in words.
    floor_rows : ndarray of int
        Rows whose perplexity is above the one asked for: their entropy dual sits at its floor, or too many points
        are duplicates. `n_floor_rows` is their number.
    unreachable_rows : ndarray of int
        Rows that cannot reach the perplexity asked for (too few edges, or neighbours whose mass is
        spent) and were given the largest one they can be sure to reach.
    unsolved_rows : ndarray of int
        Rows whose sum or entropy is still off by the tolerance or more: empty if `converged`.
    dual_values : list of float
        Dual objective after every accepted step.
    neighbor_recall : float or None
        Share of the true nearest neighbours found, measured on a sample; None for a full matrix.
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

    def renamed(self, names: NDArray[np.intp]) -> SolveReport:
        """The report of a problem whose row i is called `names[i]`."""
        return replace(
            self,
            floor_rows=np.sort(names[self.floor_rows]),
            unreachable_rows=np.sort(names[self.unreachable_rows]),
            unsolved_rows=np.sort(names[self.unsolved_rows]),
        )

    def __str__(self) -> str:
        gaps = {"marginal gap": self.marginal_gap, "entropy gap": self.entropy_gap}
        known = [f"{name} {gap:.1e}" for name, gap in gaps.items() if not np.isnan(gap)]
        return f"{self.reason} ({', '.join([f'{self.n_iter} iterations', f'{self.n_passes} passes', *known])})"
