"""Concave functions of two unknowns per row, one free and one box-constrained, as the solvers see them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..runtime.execution import Execution
from .solve_report import Reason

Array: TypeAlias = NDArray[Any]  # float64
Linear: TypeAlias = Callable[[Array], Array]  # a matrix, represented by the function that multiplies by it


@dataclass(frozen=True)
class Point:
    """Value and derivatives of the function at x = (free unknowns, boxed unknowns), an array (2, n)."""

    x: Array
    value: float
    row_values: Array  # their sum is the value; row-by-row differences have the smallest rounding errors
    magnitude: float  # sum of absolute values of the terms, which sets the scale of rounding errors
    gradient: Array
    rhs: Array  # right-hand side of the Newton system: the gradient, or a better-scaled residual
    blocks: tuple[Array, Array, Array]  # first diagonal, off-diagonal and second diagonal entries of the blocks of H
    held: NDArray[np.bool_]  # rows whose boxed unknown is pushed against its bound
    marginal_gap: float
    entropy_gap: float

    @property
    def gap(self) -> float:
        return max(self.marginal_gap, self.entropy_gap)

    @property
    def row_gaps(self) -> Array:
        """Gap of every row; NaN if it is unknown."""
        gaps: Array = np.maximum(np.abs(self.gradient[0]), np.where(self.held, 0.0, np.abs(self.gradient[1])))
        return gaps

    def unsolved(self, tol: float) -> NDArray[np.intp]:
        """Return the rows whose gap is `tol` or more."""
        return np.flatnonzero(~(self.row_gaps < tol))  # NaN counts as unsolved


class Problem(Protocol):
    """Concave function to maximise, with the execution of its loops."""

    lower: Array | float
    upper: Array | float

    @property
    def execution(self) -> Execution: ...

    def evaluate(self, x: Array) -> Point:
        """Return the point at x, which it may refer to; its other arrays are new."""

    def hessian(self, x: Array) -> Linear:
        """Return minus the Hessian at x; its products are new arrays."""

    def project(self, x: Array) -> Array:
        """Return the nearest feasible x."""

    def restricted_to(self, rows: NDArray[np.intp], x: Array) -> tuple[RestrictedProblem, Array] | None:
        """Return the problem in which only these rows move (they come first), and its x; None if this saves nothing."""


@dataclass
class Outcome:
    """Result of a solver loop: the last point, and why the loop stopped."""

    point: Point
    reason: Reason
    n_iter: int
    n_passes: int
    values: list[float]


class RestrictedProblem:
    """Problem in which only the first rows move; the others appear as solved, with the identity as their Hessian.

    Parameters
    ----------
    whole : Problem
        The problem in which all rows could move.
    n_moving : int
        Number of rows that move.
    share : float
        Cost of a pass over the restricted pairs, relative to a pass over all pairs.
    """

    def __init__(self, whole: Problem, n_moving: int, share: float) -> None:
        self.whole, self.n_moving, self.share = whole, n_moving, share
        self.lower, self.upper = whole.lower, whole.upper

    @property
    def execution(self) -> Execution:
        return self.whole.execution

    def evaluate(self, x: Array) -> Point:
        point, rest = self.whole.evaluate(x), slice(self.n_moving, None)
        point.held[rest], point.gradient[:, rest], point.rhs[:, rest] = True, 0.0, 0.0
        for block, value in zip(point.blocks, (1.0, 0.0, 1.0), strict=True):
            block[rest] = value
        marginal_gap, entropy_gap = gaps(point.gradient, point.held, self.execution)
        return replace(point, marginal_gap=marginal_gap, entropy_gap=entropy_gap)

    def hessian(self, x: Array) -> Linear:
        whole, rest = self.whole.hessian(x), slice(self.n_moving, None)

        def product(step: Array) -> Array:
            found = whole(step)
            found[:, rest] = step[:, rest]
            return found

        return product

    def project(self, x: Array) -> Array:
        return self.whole.project(x)

    def restricted_to(self, rows: NDArray[np.intp], x: Array) -> None:
        """Return None, because few rows are left already."""


def gaps(gradient: Array, held: NDArray[np.bool_], execution: Execution) -> tuple[float, float]:
    """Return the largest gaps of the free and of the boxed unknowns; held rows do not count for the latter."""
    marginal_gap = float(execution.max(np.abs(gradient[0])))
    entropy_gap = float(execution.max(np.where(held, 0.0, np.abs(gradient[1]))))
    return marginal_gap, entropy_gap if np.isfinite(execution.max(np.abs(gradient))) else np.inf
