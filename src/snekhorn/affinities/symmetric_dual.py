"""The dual of the symmetric entropic affinity, and of the doubly stochastic one, as a problem for the solvers.

With s_ij = gamma_i + gamma_j and P_ij = exp((lambda_i + lambda_j - 2 C_ij) / s_ij), maximise

    q = sum_i (h_i + 1) gamma_i + sum_i lambda_i - 1/2 sum_ij s_ij P_ij,    floor <= gamma <= ceiling,

h_i the log of the perplexity asked of row i. dq/dlambda_i is 1 minus the row's sum, dq/dgamma_i its
target entropy minus its entropy. With gamma pinned (floor = ceiling) this is Sinkhorn's problem.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..geometry.costs import DenseCost, GraphCost
from ..kernels.symmetric_sums import MASS, MASS_LOG, MASS_SCALE, W_L, W_LL, W
from ..solvers.few_rows import FewRows
from ..solvers.newton_cg import Array, Linear, Point

SMALLEST_MASS = 1e-300


@dataclass
class SymmetricDual:
    """q, its gradient and the products with its Hessian; x is (lambda, gamma), an array (2, n)."""

    cost: DenseCost | GraphCost
    log_perplexity: Array | float
    self_loops: bool
    lower: Array | float
    upper: Array | float

    @np.errstate(over="ignore", invalid="ignore")  # a trial step may overflow: its gap says so
    def evaluate(self, x: Array) -> Point:
        lam, gam = x
        terms = self.cost.terms(lam, gam, self_loops=self.self_loops)
        mass, mass_log = terms[:, MASS], terms[:, MASS_LOG]
        target = self.log_perplexity + 1.0
        gradient = np.stack([1.0 - mass, target - mass + mass_log])
        held = self._held(gam, gradient[1])
        entropy_gap = np.max(np.abs(gradient[1]), initial=0.0, where=~held)
        pieces = np.stack([target * gam, lam, -0.5 * terms[:, MASS_SCALE]])
        return Point(
            x=x,
            row_values=pieces.sum(axis=0),
            magnitude=float(np.abs(pieces).sum()),
            gradient=gradient,
            rhs=self._log_residual(mass, mass_log),
            blocks=self._blocks(x, terms),
            held=held,
            marginal_gap=float(np.max(np.abs(gradient[0]))),
            entropy_gap=float(entropy_gap) if np.all(np.isfinite(gradient)) else np.inf,
        )

    def hessian(self, x: Array) -> Linear:
        return self.cost.hessian(*x, self_loops=self.self_loops)

    def among(self, rows: NDArray[np.intp], x: Array) -> tuple[FewRows, Array] | None:
        """The problem in which these rows alone move, on their edges; all others of a full matrix are neighbours."""
        if isinstance(self.cost, DenseCost):
            return None
        cost, points = self.cost.around(rows)
        bounds = (np.broadcast_to(bound, x[1].shape)[points] for bound in (self.log_perplexity, self.lower, self.upper))
        log_perplexity, lower, upper = bounds
        whole = SymmetricDual(cost, log_perplexity, self.self_loops, lower, upper)
        return FewRows(whole, rows.size, cost.n_pairs / self.cost.n_pairs), x[:, points]

    def project(self, x: Array) -> Array:
        lam, gam = x
        # P_ii = exp(lambda_i / gamma_i) is at most 1.
        return np.stack([np.minimum(lam, 0.0) if self.self_loops else lam, np.clip(gam, self.lower, self.upper)])

    def _held(self, gam: Array, slope: Array) -> NDArray[np.bool_]:
        return ((gam <= self.lower) & (slope < 0.0)) | ((gam >= self.upper) & (slope > 0.0))

    def _log_residual(self, mass: Array, mass_log: Array) -> Array:
        """Right-hand side that makes Newton's method solve log(row sum) = 0 and h(row / row sum) = h_i.

        The roots are those of the gradient and the matrix stays the Hessian, but far from them, where
        row sums are off by orders of magnitude, these equations are nearly linear and the gradient's
        are not.
        """
        mass = np.maximum(mass, SMALLEST_MASS)
        mean_log = mass_log / mass
        wanted_mass = -mass * np.log(mass)
        missing_entropy = self.log_perplexity + mean_log - np.log(mass)
        return np.stack([wanted_mass, mass * missing_entropy - mean_log * wanted_mass])

    def _blocks(self, x: Array, terms: Array) -> tuple[Array, Array, Array]:
        a, b, c = terms[:, W], -terms[:, W_L], terms[:, W_LL]
        if self.self_loops:  # the pair (i, i) couples a row with itself: it counts once more
            lam, gam = x
            own = lam / gam
            w = np.exp(own) / (2.0 * gam)
            a, b, c = a + w, b - w * own, c + w * own * own
        return a, b, c
