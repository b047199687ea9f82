"""Report that every solver returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..runtime.settings import offered_parameters


class Reason(str, Enum):
    """Reasons for a solver to stop; `explained` adds what the user can do."""

    CONVERGED = "converged"
    CLOSED_FORM = "computed in closed form"
    ROUNDING = "stopped by rounding: the gaps no longer shrink"
    MAX_ITER = "stopped at the maximum number of iterations before reaching the tolerance"
    MAX_PASSES = "stopped after too many passes over the pairs"
    LINE_SEARCH = "the line search found no increase before reaching the tolerance"
    STALLED = "no step increases the dual function any further; the neighbours may not support this perplexity"
    OVERFLOW = "the starting point overflowed"
    DIVERGED = "the iterates overflowed"


UNREACHABLE = "rows that cannot reach the perplexity"

# What the user can do: a parameter, and the advice. Without a parameter, the advice always applies.
_TOL = (("tol", "raise tol"), ("affinity", "pass an affinity with a larger tol"))
_WIDER = (("perplexity", "raise perplexity"), ("bandwidth", "raise bandwidth"))
_NARROWER = (("perplexity", "lower perplexity"), ("perplexities", "lower perplexities"))
_NEIGHBORS = (("n_neighbors", "raise n_neighbors"), ("graph", "add edges to the graph"))
_SELF_LOOPS = ("self_loops", "allow self_loops")
_NEWTON = ("solver", "use solver='newton'")
_REMEDIES: dict[str, tuple[tuple[str, str], ...]] = {
    Reason.ROUNDING: (*_TOL, ("", "remove far outliers")),
    Reason.MAX_ITER: (("max_iter", "raise max_iter"), *_TOL),
    Reason.MAX_PASSES: (*_NEIGHBORS, *_WIDER, *_TOL, _SELF_LOOPS),
    Reason.LINE_SEARCH: (*_TOL, _NEWTON),
    Reason.STALLED: (*_NEIGHBORS, *_NARROWER, *_TOL, _SELF_LOOPS),
    Reason.OVERFLOW: (("", "check X for extreme values"),),
    Reason.DIVERGED: (("learning_rate", "lower learning_rate"), _NEWTON),
    UNREACHABLE: (*_NEIGHBORS, *_NARROWER),
}

# Values at which a parameter cannot help; n_neighbors=None means all points.
_USELESS = {"n_neighbors": None, "bandwidth": None, "perplexities": "auto", "self_loops": True, "solver": "newton"}


def explained(reason: str, parameters: Mapping[str, Any]) -> str:
    """Add the advice to a reason."""
    text = advice(reason, parameters)
    return f"{reason}; {text}" if text else reason


def advice(reason: str, parameters: Mapping[str, Any]) -> str:
    """Return what the user can do, given the parameters in use.

    Parameters that cannot help are left out, and so are those that are not offered where the affinity is used. If an
    estimator builds the affinity, its `tol` is not offered, but an affinity object may be.
    """
    offered = offered_parameters()
    if offered is not None:
        settable = {*parameters, "affinity"} if "tol" in parameters else parameters
        parameters = {name: parameters.get(name) for name in settable if name in offered}
    remedies = [
        text
        for name, text in _REMEDIES.get(reason, ())
        if not name or (name in parameters and not _is_useless(name, parameters[name]))
    ]
    return ", ".join([*remedies[:-2], " or ".join(remedies[-2:])]) if remedies else ""


def _is_useless(name: str, value: Any) -> bool:
    return name in _USELESS and np.ndim(value) == 0 and bool(value == _USELESS[name])


@dataclass
class SolveReport:
    """Report on the computation of an affinity.

    Attributes
    ----------
    converged : bool
        Whether both gaps are below the tolerance, apart from the rounding of P to its type; `floor_rows` and
        `unreachable_rows` are exempt.
    n_iter : int
        Number of outer iterations of the solver. This number, `n_passes` and `dual_values` cover all attempts if the
        solver got stuck and started again from another point.
    n_passes : int
        Number of passes over all pairs of points: function evaluations and Hessian products. On a graph, Hessian
        products at the same iterate share weights; computing these weights is not counted.
    marginal_gap : float
        Largest deviation of a row sum from 1, before the affinity is symmetrised or mixed with another one (see
        `balance`); NaN if row sums are not constrained.
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
        Dual objective after each accepted step. It increases, but may drop where the solver started again.
    neighbor_recall : float or None
        Fraction of true nearest neighbours that were found, measured on a sample; None for a full matrix.
    balance : float or None
        Weight of the symmetric entropic affinity in P, the rest being the symmetrised entropic affinity; None for other
        affinities. If it is below 1, all other fields describe the symmetric entropic affinity, or the entropic one
        if it is 0. The rows of P itself then do not sum to 1.
    inequality : float or None
        Gini coefficient of the column sums of the directed entropic affinity, from which balance="auto" is decided:
        0 if all points count as neighbours equally often. None if `balance` was given.
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
    balance: float | None = None
    inequality: float | None = None

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
        known += [f"balance {self.balance:.3g}"] if self.balance not in (None, 1.0) else []
        iterations = "1 iteration" if self.n_iter == 1 else f"{self.n_iter} iterations"
        passes = "1 pass" if self.n_passes == 1 else f"{self.n_passes} passes"
        return f"{self.reason} ({', '.join([iterations, passes, *known])})"
