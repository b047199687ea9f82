"""Compute the loss of a layout and its gradient, for any combination of an affinity P and a latent Q.

Rows of P sum to 1 on average, so the divergence is per point and the learning rate does not depend on n. All methods
minimise, with the latent cost C (k = exp(-C)),

    KL(P | Q) = sum P log P + <P, C> + (normalisation of Q).

The gradient of <P, C> is the attraction, and the gradient of the normalisation is the repulsion. The repulsion is the
field of charges:

    Q doubly stochastic   charges e^f, with f from Sinkhorn's algorithm
    Q of total sum n      charges 1
    Q normalised by row   charges 1, and (row sums of P) / phi

See `normalizations`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..errors import NumericalOverflowError
from ..geometry.inputs import check_no_empty_row
from ..runtime.execution import Execution
from .affinity_rows import AffinityRows, ScaledRows
from .charge_grid import GridState, SumsWithState
from .charge_sums import OVERFLOW, Array, Kernel
from .latent import Latent, SumMethod, make_charge_sums
from .normalizations import Normalization
from .springs import Springs

WIDEST = 1e9  # a layout with larger coordinates has diverged
HUB = 2.0  # mass, relative to the average, above which steps are shortened because they may overshoot
SINKHORN_STEPS = 100  # maximum number of steps for the final potential; far fewer are enough if Q has a diagonal
FEW_POINTS = 2000  # with more, P is rounded to float32 to save memory; with few, one faraway point decides the loss
FINE_MARGINAL = 1e-4  # for smaller tolerances on the row sums of Q, the default grid is not accurate enough


def make_objective(
    P: Any,
    latent: Latent,
    *,
    method: SumMethod,
    self_loops: bool,
    symmetric: bool,
    execution: Execution,
    springs: Springs | None = None,
) -> Objective:
    """Build the objective that matches Q with P.

    Parameters
    ----------
    P : array or sparse matrix of shape (n, n)
        Non-negative; its scale does not matter.
    latent : Latent
    method : {"exact", "fft"}
    self_loops : bool
        Whether the diagonal is part of Q, if Q is doubly stochastic.
    symmetric : bool
        Whether P is known to be symmetric.
    execution : Execution
    springs : Springs or None
        Springs that hold points.
    """
    P = _matched(P, latent)
    check_no_empty_row(P)
    normalization = latent.normalization(make_charge_sums(method, latent.kernel, execution), self_loops=self_loops)
    dtype = np.float64 if method == "exact" or P.shape[0] <= FEW_POINTS else np.float32
    return Objective(P, normalization, dtype=dtype, symmetric=symmetric, springs=springs)


class Objective:
    """Objective KL(P | Q) per point, with its gradient.

    Parameters
    ----------
    P : array or sparse matrix of shape (n, n)
        Non-negative; scaled here so that rows sum to 1 on average.
    normalization : Normalization
        Normalisation of Q; its sums define the kernel and the execution.
    dtype : float32 or float64
        Precision of the sums over P.
    symmetric : bool
        Whether P is symmetric. If it is not, its symmetric part is used, because <P, C> depends on nothing else.
    springs : Springs or None
        Springs that hold points.

    Attributes
    ----------
    stiffness : array of shape (n, 1) or None
        Factor by which steps are shortened; None if no point attracts so much that its steps overshoot.
    """

    def __init__(
        self,
        P: Any,
        normalization: Normalization,
        *,
        dtype: Any,
        symmetric: bool = True,
        springs: Springs | None = None,
    ) -> None:
        self.normalization, self.springs = normalization, springs
        self.kernel = normalization.sums.kernel
        self.execution = normalization.sums.execution
        rows = P if isinstance(P, AffinityRows) else AffinityRows.of(P, self.execution)
        sums, entropies = rows.sums_and_entropies()
        total = float(self.execution.sum(sums))
        scale = np.float64(rows.n_points / total)  # not a float, which NumPy would round to the type of P
        # The sum of p log p over the entries p of the scaled P.
        self.negative_entropy = float(scale) * (total * float(np.log(scale)) - float(self.execution.sum(entropies)))
        self.row_sums = self.mass = sums * scale  # mass is the mean of row and column sums
        if not symmetric:
            rows = rows.symmetric_part()
            self.mass = rows.sums_and_entropies()[0] * scale
        self.rows: ScaledRows = rows.scaled(scale, dtype)
        # With the Gaussian kernel, attraction is proportional to distance and mass. In a P that is not doubly
        # stochastic, hubs have many times the average mass, and would overshoot further at every iteration.
        hubs = self.kernel is not Kernel.STUDENT and self.execution.max(self.mass) > HUB
        self.stiffness: Array | None = np.maximum(self.mass, 1.0)[:, None] if hubs else None

    @property
    def n_points(self) -> int:
        """Number of points."""
        return int(self.row_sums.size)

    @property
    def rough(self) -> bool:
        """Whether the last sums over all pairs are less accurate than they should be."""
        return self.normalization.sums.rough

    @property
    def potential(self) -> Array | None:
        """Potential f; None if Q is not doubly stochastic, and before the first layout."""
        return self.normalization.potential

    def gradient(self, Z: Array, exaggeration: float = 1.0) -> Array:
        """Return n times the gradient (n, d) of the loss, with the attraction multiplied by `exaggeration`."""
        largest = largest_coordinate(Z, self.execution)
        gradient = self.normalization.repulsion(Z, self.row_sums)
        self.rows.attract(Z, largest, 4.0 * exaggeration, gradient, student=self.kernel is Kernel.STUDENT)
        if self.springs is not None:
            self.springs.add_gradient(Z, gradient)
        return gradient

    def shorten(self, Z: Array, gradient: Array) -> None:
        """Shorten the gradient at Z, in place, where a step along it may overshoot: at hubs, and along springs."""
        if self.springs is not None:
            self.springs.shorten(Z, gradient, 1.0 if self.stiffness is None else self.stiffness)
        elif self.stiffness is not None:
            gradient /= self.stiffness

    @property
    def floats(self) -> bool:
        """Whether the loss is the same wherever the centre of the layout is, so that the layout may drift."""
        return self.springs is None or self.springs.free

    def loss(self, Z: Array, exaggeration: float = 1.0) -> float:
        """Return the loss, with the attraction term multiplied by `exaggeration`; raise if it is not finite."""
        loss = self._loss_without_springs(Z, exaggeration)
        return loss if self.springs is None else _finite(loss + self.springs.energy(Z) / self.n_points)

    def divergence(self, Z: Array) -> float:
        """Return KL(P | Q) / n, without springs.

        It equals the loss unless Q is doubly stochastic and P is not. In that case the loss is the joint objective of
        layout and potential, which differs by 2 <f, 1 - mass>.
        """
        loss = self._loss_without_springs(Z)
        if (f := self.potential) is None:
            return loss
        return _finite(loss + float(2.0 * self.execution.sum(f * (1.0 - self.mass))) / self.n_points)

    def _loss_without_springs(self, Z: Array, exaggeration: float = 1.0) -> float:
        largest = float(np.maximum(self.execution.max(Z), -self.execution.min(Z)))
        energies = self.rows.energies(Z, largest, student=self.kernel is Kernel.STUDENT)
        attraction = float(self.execution.sum(energies))
        total = self.negative_entropy + exaggeration * attraction + self.normalization.value(Z, self.row_sums)
        return _finite(total / self.n_points)

    @property
    def divergence_of_one_place(self) -> float:
        """Divergence of a layout with all points in one place; any useful layout has a lower divergence."""
        return self.negative_entropy / self.n_points + float(np.log(self.n_points))

    def solve_potential(self, Z: Array, marginal_tol: float) -> float | None:
        """Solve for the potential of a finished layout; return the largest deviation of a row sum of Q from 1.

        Return None for a Q that is not doubly stochastic and has no potential.
        """
        if marginal_tol < FINE_MARGINAL:
            self.normalization.refine()
        return self.normalization.solve_potential(Z, marginal_tol, SINKHORN_STEPS)

    def permute(self, order: NDArray[np.intp]) -> None:
        """Apply the permutation `order` to the points."""
        self.rows = self.rows.permuted(order)
        self.row_sums, self.mass = self.row_sums[order], self.mass[order]
        self.stiffness = None if self.stiffness is None else self.stiffness[order]
        self.springs = None if self.springs is None else self.springs.permuted(order)
        self.normalization.permute(order)

    @property
    def state(self) -> tuple[Array | None, GridState | None]:
        """Charges of a doubly stochastic Q, and the state of the grid: what the next gradient depends on, beside P."""
        sums = self.normalization.sums
        return self.normalization.charges, sums.state if isinstance(sums, SumsWithState) else None

    def restore(self, charges: Array | None, grid: GridState | None) -> None:
        """Continue from a state."""
        self.normalization.charges = charges
        if grid is not None and isinstance(self.normalization.sums, SumsWithState):
            self.normalization.sums.restore(grid)

    def reset(self) -> None:
        """Forget the layouts so far, after one that overflowed."""
        self.normalization.reset()


def largest_coordinate(Z: Array, execution: Execution) -> float:
    """Return the largest absolute coordinate of a layout; raise if the layout has diverged."""
    largest = float(np.maximum(execution.max(Z), -execution.min(Z)))
    if not largest < WIDEST:  # NaN also fails this test
        raise NumericalOverflowError(OVERFLOW)
    return largest


def _finite(loss: float) -> float:
    if not np.isfinite(loss):
        raise NumericalOverflowError(OVERFLOW)
    return loss


def _matched(P: Any, latent: Latent) -> Any:
    """Match P to Q: drop the diagonal if Q has none, and scale rows to sum to 1 if the rows of Q do."""
    if not latent.doubly_stochastic:
        P = _without_diagonal(P)
    return _row_stochastic(P) if latent.normalized == "rows" else P


def _without_diagonal(P: Any) -> Any:
    if not P.diagonal().any():
        return P
    if sparse.issparse(P):
        P = sparse.csr_matrix(P - sparse.diags(P.diagonal()))
        P.eliminate_zeros()
        return P
    P = P.copy()
    np.fill_diagonal(P, 0.0)
    return P


def _row_stochastic(P: Any) -> Any:
    sums = np.asarray(P.sum(axis=1)).ravel()
    sums = np.where(sums > 0.0, sums, 1.0)  # keep empty rows, so that the check of P finds them
    return sparse.diags(1.0 / sums) @ P if sparse.issparse(P) else P / sums[:, None]
