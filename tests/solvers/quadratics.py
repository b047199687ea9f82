"""A concave problem whose answer is known: a quadratic in two unknowns per row, the second in a box."""

from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import minimize

from snekhorn.runtime.execution import Threads
from snekhorn.solvers.concave_problems import Point, RestrictedProblem


@dataclass
class Quadratic:
    """b . x - x . A x / 2, x = (free, boxed) of shape (2, n)."""

    A: np.ndarray
    b: np.ndarray
    lower: float = 0.9
    upper: float = 10.0
    execution: Threads = field(default_factory=Threads)

    @classmethod
    def random(cls, n=8, seed=0):
        rng = np.random.default_rng(seed)
        root = rng.normal(size=(2 * n, 2 * n)) / np.sqrt(2 * n)
        return cls(np.eye(2 * n) + root @ root.T, rng.normal(size=2 * n) + np.repeat([0.0, 1.0], n))

    @property
    def start(self):
        return np.ones((2, self.b.size // 2))

    def hessian(self, x):
        return lambda v: (self.A @ v.ravel()).reshape(v.shape)

    def project(self, x):
        return np.stack([x[0], np.clip(x[1], self.lower, self.upper)])

    def evaluate(self, x):
        flat = x.ravel()
        gradient = (self.b - self.A @ flat).reshape(x.shape)
        held = ((x[1] <= self.lower) & (gradient[1] < 0)) | ((x[1] >= self.upper) & (gradient[1] > 0))
        n = x.shape[1]
        diagonal = np.diag(self.A)
        linear, square = self.b * flat, 0.5 * flat * (self.A @ flat)
        return Point(
            x=x,
            value=float((linear - square).sum()),
            row_values=(linear - square).reshape(x.shape).sum(axis=0),
            magnitude=float(np.abs(linear).sum() + np.abs(square).sum()),
            gradient=gradient,
            rhs=gradient.copy(),
            blocks=(diagonal[:n].copy(), np.diag(self.A, n).copy(), diagonal[n:].copy()),
            held=held,
            marginal_gap=float(np.abs(gradient[0]).max()),
            entropy_gap=float(np.abs(gradient[1]).max(initial=0.0, where=~held)),
        )

    def restricted_to(self, rows, x):
        """Return the problem in which only these rows move."""
        n = x.shape[1]
        points = np.concatenate([rows, np.setdiff1d(np.arange(n), rows)])
        both = np.concatenate([points, n + points])
        whole = Quadratic(self.A[np.ix_(both, both)], self.b[both], self.lower, self.upper)
        return RestrictedProblem(whole, rows.size, rows.size / n), x[:, points]

    def solution(self):
        n = self.b.size // 2
        found = minimize(
            lambda x: (0.5 * x @ self.A @ x - self.b @ x, self.A @ x - self.b),
            self.start.ravel(),
            jac=True,
            method="L-BFGS-B",
            bounds=[(None, None)] * n + [(self.lower, self.upper)] * n,
            options={"ftol": 0.0, "gtol": 1e-12, "maxiter": 10_000},
        )
        return found.x.reshape(2, n)
