"""Springs that hold points of a layout at the positions of an earlier layout, the anchors.

A spring of strength s adds 2 s |z - T(a)|^2 to n times the loss, and 4 s (z - T(a)) to its gradient. At short
distances, a spring of strength 1 is as stiff as the attraction of all neighbours of a point together.

T is the identity if the layout should stay where it is. If only its shape should stay, T is the similarity (rotation,
mirror image, scale and shift) that brings the anchors closest to the layout. T then minimises the energy, so the
gradient has no term for the change of T.

Springs are stiff, so steps along them are shortened: the gradient g is multiplied by the inverse of D + H, where D is
the stiffness of the points without springs, and H that of the springs. If T is the identity, H is the diagonal matrix S
of the strengths. If not, springs do not resist a similarity, and such a step must keep its length, or the descent would
seem to have converged before the layout has reached its size. With a basis B of the steps that are similarities,

    H = S - S B (B' S B)^-1 B' S,
    (D + H)^-1 g = h + V B (B' D V B)^-1 B' S h,    where h = (D + S)^-1 g and V = S (D + S)^-1.

S is multiplied by `CALM` in this case.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ..kernels.spring_forces import pull_to_anchors, spring_energies
from ..runtime.execution import Execution
from .charge_sums import Array

CALM = 4.0  # with 1, the shape oscillates while the layout grows and gains exceed 1; larger keeps it from settling


@dataclass(frozen=True)
class Similarity:
    """Map a -> M a + t, where M is a rotation, perhaps a mirror image, times a scale."""

    matrix: Array
    shift: Array

    @classmethod
    def identity(cls, d: int) -> Similarity:
        """Return the map of d-dimensional positions to themselves."""
        return cls(np.eye(d), np.zeros(d))

    @classmethod
    def closest(cls, A: Array, Z: Array, weights: Array, execution: Execution, *, scale: bool = True) -> Similarity:
        """Return the similarity that minimises sum_i w_i |z_i - T(a_i)|^2 (Procrustes); without `scale`, a rigid one.

        Parameters
        ----------
        A, Z : array of shape (n, d)
        weights : array of shape (n,)
            Non-negative, not all zero.
        execution : Execution
        scale : bool
            Whether T may change distances.
        """
        total = execution.sum(weights)
        middle_a, middle_z = (execution.sum(weights[:, None] * part, axis=0) / total for part in (A, Z))
        A, Z = A - middle_a, Z - middle_z
        U, singular, Vt = np.linalg.svd(_outer_sum(weights[:, None] * Z, A, execution))
        matrix = U @ Vt
        if scale:
            spread = float(execution.sum(weights[:, None] * A**2))
            matrix = matrix * (singular.sum() / spread if spread > 0.0 else 0.0)
        return cls(matrix, middle_z - matrix @ middle_a)

    def __call__(self, A: Array) -> Array:
        return np.asarray(A @ self.matrix.T + self.shift)


@dataclass(frozen=True)
class Springs:
    """Springs between points and their anchors.

    Parameters
    ----------
    anchors : array of shape (n, d)
        Positions of the anchors; finite also for points without a spring.
    strengths : array of shape (n,)
        Strength of each spring; 0 for a point without one.
    execution : Execution
    free : bool
        Whether the anchors follow the layout by a similarity.
    """

    anchors: Array
    strengths: Array
    execution: Execution
    free: bool

    def add_gradient(self, Z: Array, gradient: Array) -> None:
        """Add n times the gradient of the loss term of the springs."""
        self._run(pull_to_anchors, Z, gradient)

    def energy(self, Z: Array) -> float:
        """Return n times the loss term of the springs."""
        energies = np.empty(len(Z))
        self._run(spring_energies, Z, energies)
        return float(self.execution.sum(energies))

    def shorten(self, Z: Array, gradient: Array, stiffness: Array | float) -> None:
        """Multiply the gradient (n, d) of the loss at Z by the inverse of D + H, in place.

        Parameters
        ----------
        Z, gradient : array of shape (n, d)
        stiffness : array of shape (n, 1) or float
            Stiffness D of the points without springs.
        """
        strengths = (CALM if self.free else 1.0) * self.strengths[:, None]
        gradient /= stiffness + strengths
        if not self.free:
            return
        shares = strengths / (stiffness + strengths)
        weights, pulls = (stiffness * shares)[:, 0], strengths * gradient
        turned = Similarity.closest(self.anchors, Z, self.strengths, self.execution, scale=False)(self.anchors)
        total = self.execution.sum(weights)
        arms = turned - self.execution.sum(weights[:, None] * turned, axis=0) / total  # so that B' D V B is in blocks
        shift = self.execution.sum(pulls, axis=0) / total
        inertia, torque = (_outer_sum(part, arms, self.execution) for part in (weights[:, None] * arms, pulls))
        turns = _scaling_and_rotations(Z.shape[1])
        blocks = np.einsum("pij,qik,jk->pq", turns, turns, inertia)
        rates = np.linalg.lstsq(blocks, np.einsum("pij,ij->p", turns, torque), rcond=None)[0]
        gradient += shares * Similarity(np.tensordot(rates, turns, 1), shift)(arms)

    def permuted(self, order: NDArray[np.intp]) -> Springs:
        """Apply the permutation `order` to the points."""
        return replace(self, anchors=self.anchors[order], strengths=self.strengths[order])

    def _run(self, loop: Callable[..., None], Z: Array, out: Array) -> None:
        place = Similarity.identity(Z.shape[1])
        if self.free:
            place = Similarity.closest(self.anchors, Z, self.strengths, self.execution)
        arrays = (Z, self.anchors, self.strengths, place.matrix, place.shift, out)
        self.execution.run(loop, len(Z), Z.size, *arrays)


def _outer_sum(A: Array, B: Array, execution: Execution) -> Array:
    """Return the sum over all points of the outer products of rows of A and B."""
    return np.stack([execution.sum(A[:, axis, None] * B, axis=0) for axis in range(A.shape[1])])


def _scaling_and_rotations(d: int) -> Array:
    """Return matrices that generate the similarities without a shift: the identity, and rotations of two axes."""
    turns = [np.eye(d)]
    for i, j in combinations(range(d), 2):
        turn = np.zeros((d, d))
        turn[i, j], turn[j, i] = 1.0, -1.0
        turns.append(turn)
    return np.stack(turns)
