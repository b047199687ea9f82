"""A problem in which some rows stay where they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .newton_cg import Array, Linear, Point, Problem


class FewRows:
    """A problem whose first rows alone move: to the solver, the others are solved and have no part in any product.

    `share` is what a pass over its pairs takes of one over all.
    """

    def __init__(self, whole: Problem, n_moving: int, share: float) -> None:
        self.whole, self.n_moving, self.share = whole, n_moving, share
        self.lower, self.upper = whole.lower, whole.upper

    def evaluate(self, x: Array) -> Point:
        point, rest = self.whole.evaluate(x), slice(self.n_moving, None)
        held = point.held.copy()
        held[rest] = True
        gradient, rhs, blocks = point.gradient.copy(), point.rhs.copy(), np.stack(point.blocks)
        gradient[:, rest], rhs[:, rest], blocks[:, rest] = 0.0, 0.0, [[1.0], [0.0], [1.0]]
        entropy_gap = np.max(np.abs(gradient[1]), initial=0.0, where=~held)
        return replace(
            point,
            gradient=gradient,
            rhs=rhs,
            blocks=(blocks[0], blocks[1], blocks[2]),
            held=held,
            marginal_gap=float(np.max(np.abs(gradient[0]))),
            entropy_gap=float(entropy_gap) if np.all(np.isfinite(gradient)) else np.inf,
        )

    def hessian(self, x: Array) -> Linear:
        whole, rest = self.whole.hessian(x), slice(self.n_moving, None)

        def product(step: Array) -> Array:
            found = whole(step)
            found[:, rest] = step[:, rest]
            return found

        return product

    def project(self, x: Array) -> Array:
        return self.whole.project(x)

    def among(self, rows: NDArray[np.intp], x: Array) -> None:
        """They are few already."""
