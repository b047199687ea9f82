"""The dual of the symmetric entropic affinity, and of the doubly stochastic one, as a problem for the solvers.

With s_ij = gamma_i + gamma_j and P_ij = exp((lambda_i + lambda_j - 2 C_ij) / s_ij), maximise

    q = sum_i (h_i + 1) gamma_i + sum_i lambda_i - 1/2 sum_ij s_ij P_ij,    lower <= gamma <= upper,

where h_i is the log of the target perplexity of row i. dq/dlambda_i is 1 minus the row sum, and dq/dgamma_i is the
target entropy minus the entropy of the row. With gamma fixed (lower = upper) this is Sinkhorn's problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..geometry.costs import Cost, DenseCost, Matrix
from ..kernels import symmetric_sums
from ..kernels.symmetric_sums import MASS, MASS_LOG, MASS_SCALE, W_L, W_LL, W
from ..runtime.execution import Execution
from ..solvers.concave_problems import Array, Linear, Point, RestrictedProblem, gaps

SMALLEST_MASS = 1e-300  # keeps logarithms finite


@dataclass
class SymmetricDual:
    """Dual objective q, its gradient and Hessian products; x = (lambda, gamma) is an array (2, n)."""

    cost: Cost
    log_perplexity: Array | float
    self_loops: bool
    lower: Array | float
    upper: Array | float

    @property
    def execution(self) -> Execution:
        return self.cost.execution

    @np.errstate(over="ignore", invalid="ignore")  # a trial step may overflow; its gap then shows it
    def evaluate(self, x: Array) -> Point:
        lam, gam = x
        terms = self._terms(x)
        mass, mass_log = terms[:, MASS], terms[:, MASS_LOG]
        target = self.log_perplexity + 1.0
        pieces = np.stack([target * gam, lam, -0.5 * terms[:, MASS_SCALE]])
        row_values = pieces.sum(axis=0)
        magnitude = float(self.execution.sum(np.abs(pieces, out=pieces)))
        del pieces
        rhs, blocks = self._log_residual(mass, mass_log), self._blocks(x, terms)
        gradient = np.stack([1.0 - mass, target - mass + mass_log])
        del terms, mass, mass_log  # as long as the points, like everything here
        held = self.held(gam, gradient[1])
        marginal_gap, entropy_gap = gaps(gradient, held, self.execution)
        return Point(
            x=x,
            value=float(self.execution.sum(row_values)),
            row_values=row_values,
            magnitude=magnitude,
            gradient=gradient,
            rhs=rhs,
            blocks=blocks,
            held=held,
            marginal_gap=marginal_gap,
            entropy_gap=entropy_gap,
        )

    def hessian(self, x: Array) -> Linear:
        near: tuple[Array, ...] = (self.cost.arranged(x),)
        if not isinstance(self.cost, DenseCost):  # reuse weights; dense ones would take two more full matrices
            weights, kept = self.cost.new_weights()
            if kept:
                self.cost.over_rows(symmetric_sums.edge_weights, *near, weights)
            near = (*near, weights)

        def product(step: Array) -> Array:
            out = np.empty((2, self.cost.n_points))
            step = self.cost.arranged(step)
            self.cost.over_rows(symmetric_sums.hessian_product, *near, step, self.self_loops, out)
            return out

        return product

    def project(self, x: Array) -> Array:
        lam, gam = x
        # Keep P_ii = exp(lambda_i / gamma_i) at most 1.
        return np.stack([np.minimum(lam, 0.0) if self.self_loops else lam, np.clip(gam, self.lower, self.upper)])

    def restricted_to(self, rows: NDArray[np.intp], x: Array) -> tuple[RestrictedProblem, Array] | None:
        """Return the problem on the edges of these rows, or None for a full matrix, where this saves nothing."""
        if isinstance(self.cost, DenseCost):
            return None
        cost, points = self.cost.around(rows)
        bounds = (np.broadcast_to(bound, x[1].shape)[points] for bound in (self.log_perplexity, self.lower, self.upper))
        log_perplexity, lower, upper = bounds
        whole = SymmetricDual(cost, log_perplexity, self.self_loops, lower, upper)
        return RestrictedProblem(whole, rows.size, cost.n_pairs / self.cost.n_pairs), x[:, points]

    def held(self, gam: Array, slope: Array) -> NDArray[np.bool_]:
        """Return the rows whose gamma is pushed against a bound by the derivative `slope`."""
        held: Any = ((gam <= self.lower) & (slope < 0.0)) | ((gam >= self.upper) & (slope > 0.0))
        return np.asarray(held)

    def restored(self, order: NDArray[np.intp]) -> SymmetricDual:
        """Return the dual on the points in their own order, if this one is on the points ``order``."""
        assert not isinstance(self.cost, DenseCost)
        places = np.argsort(order)
        values = (self.log_perplexity, self.lower, self.upper)
        log_perplexity, lower, upper = (np.broadcast_to(value, places.shape)[places] for value in values)
        return SymmetricDual(self.cost.permuted(places), log_perplexity, self.self_loops, lower, upper)

    def sinkhorn_steps(self, x: Array, n_steps: int) -> Array:
        """Take Sinkhorn steps; each makes one pass and scales all rows at once, to bring row sums closer to one."""
        for _ in range(n_steps):
            mass = self._terms(x)[:, MASS]
            x = self.project(np.stack([x[0] - x[1] * np.log(np.maximum(mass, SMALLEST_MASS)), x[1]]))
        return x

    def affinity(self, x: Array) -> Matrix:
        """Compute P_ij = exp((lambda_i + lambda_j - 2 C_ij) / (gamma_i + gamma_j))."""
        return self.cost.as_matrix(*self.entries(x))

    def entries(self, x: Array) -> tuple[Array, Array | None]:
        """Return the entries of P, as `cost.as_matrix` expects them, and its diagonal if there are self-loops."""
        entries = self.cost.new_entries()
        self.cost.over_rows(symmetric_sums.write_affinity, self.cost.arranged(x), self.self_loops, entries)
        return entries, np.exp(x[0] / x[1]) if self.self_loops else None

    def _terms(self, x: Array) -> Array:
        terms = np.empty((self.cost.n_points, symmetric_sums.N_TERMS))
        self.cost.over_rows(symmetric_sums.row_terms, self.cost.arranged(x), self.self_loops, terms)
        return terms

    def _log_residual(self, mass: Array, mass_log: Array) -> Array:
        """Return the right-hand side of Newton's method for log(row sum) = 0 and entropy(row / row sum) = h_i.

        These equations have the same roots as the gradient, and the matrix is still the Hessian. Far from the roots,
        where row sums are off by orders of magnitude, they are nearly linear, unlike the gradient.
        """
        mass = np.maximum(mass, SMALLEST_MASS)
        mean_log, log_mass = mass_log / mass, np.log(mass)
        residual = np.empty((2, mass.size))
        wanted_mass = np.multiply(-mass, log_mass, out=residual[0])
        missing_entropy = np.subtract(self.log_perplexity + mean_log, log_mass, out=log_mass)
        np.subtract(mass * missing_entropy, mean_log * wanted_mass, out=residual[1])
        return residual

    def _blocks(self, x: Array, terms: Array) -> tuple[Array, Array, Array]:
        a, b, c = terms[:, W].copy(), -terms[:, W_L], terms[:, W_LL].copy()  # views would keep all terms in memory
        if self.self_loops:  # the pair (i, i) couples a row with itself, so it counts twice
            lam, gam = x
            own = lam / gam
            w = np.exp(own) / (2.0 * gam)
            a += w
            w *= own
            b -= w
            c += np.multiply(w, own, out=w)
        return a, b, c
