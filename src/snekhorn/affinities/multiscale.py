"""Multi-scale symmetric entropic affinity: the mean over several perplexities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..errors import InputError
from ..geometry.costs import NEIGHBORS_PER_PERPLEXITY, Array, Cost, DenseCost, Matrix, NeighborGraph
from ..geometry.dense_cost import row_blocks
from ..kernels import RowLoop, row_measures
from ..kernels.symmetric_sums import dense_affinity
from ..runtime.checks import check_choice, check_perplexity, check_positive
from ..solvers.solve_report import SolveReport
from .affinity import Affinity
from .measured_rows import MeasuredRows, measured_reason
from .symmetric_dual import SymmetricDual
from .symmetric_solver import EntropicStart, SymmetricSolver

SMALLEST_SCALE = 8.0  # smallest scale of "auto"; each further scale is twice the previous one
LEAST_SCALE = 1.5  # lower limit of "auto" for few points; rows of two entries support it
LARGEST_ON_GRAPH = 100.0  # largest scale for which "auto" searches neighbours; a larger one takes longer


class MultiscaleSymmetricEntropicAffinity(Affinity):
    r"""Mean of the symmetric entropic affinities of several perplexities.

    .. math:: P = \frac{1}{L} \sum_{h=1}^{L} P^{se}_{\xi_h}, \qquad
              P^{se}_{\xi} = \arg\min \{ \langle P, C \rangle : P = P^\top, P \mathbf{1} = \mathbf{1},
              H(P_{i:}) \ge \log \xi + 1 \}.

    Here, :math:`H(p) = -\sum_j p_j (\log p_j - 1)` is the entropy of a row p. Symmetric doubly stochastic matrices form
    a convex set, so P is also symmetric and doubly stochastic. Up to a term that does not depend on the layout, the
    objective is linear in P, :math:`\mathrm{KL}(P | Q) = \frac{1}{L} \sum_h \mathrm{KL}(P^{se}_{\xi_h} | Q) +
    \text{const}`, so matching the mean matches all scales together. Entropy is concave, so every row has a perplexity
    between the geometric mean of the :math:`\xi_h` and L times that mean. The bounds are the same for all rows, but the
    perplexities are not.

    Parameters
    ----------
    perplexities : sequence of float or "auto", default="auto"
        The scales. "auto" doubles from 8 up to half the number of points or, on a neighbour graph, up to two
        thirds of the number of neighbours. If this limit is below 8, it is the only scale.
    tol : float, default=1e-8
        Tolerance at every scale on the deviation of row sums from 1 and of row entropies from their target.
    metric, n_neighbors, self_loops, n_jobs, verbose
        See :class:`snekhorn.affinities.affinity.Affinity`. n_neighbors="auto" uses one and a half times the largest
        perplexity, or 150 if `perplexities` is also "auto".

    Attributes
    ----------
    affinity_, report_
        See :class:`snekhorn.affinities.affinity.Affinity`. The report covers all scales: the row sums of the mean,
        the largest entropy gap, and the total numbers of iterations and passes.
    perplexities_ : list of float
        The scales used, smallest first. Scales that are too large for the rows are replaced by the largest possible
        one.
    reports_ : list of SolveReport
        One report per scale.

    References
    ----------
    Lee, Peluffo-Ordóñez and Verleysen, Multi-scale similarities in stochastic neighbour embedding: Reducing
    dimensionality while preserving both local and global structure, Neurocomputing 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from snekhorn import TSNEkhorn
    >>> from snekhorn.affinities import MultiscaleSymmetricEntropicAffinity
    >>> affinity = MultiscaleSymmetricEntropicAffinity(perplexities=[8, 32], self_loops=False)
    >>> TSNEkhorn(affinity=affinity).fit_transform(load_iris().data).shape
    (150, 2)
    """

    def __init__(
        self,
        perplexities: Sequence[float] | Literal["auto"] = "auto",
        *,
        tol: float = 1e-8,
        metric: str = "sqeuclidean",
        n_neighbors: int | Literal["auto"] | None = None,
        self_loops: bool = True,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(metric, n_neighbors, self_loops=self_loops, n_jobs=n_jobs, verbose=verbose)
        self.perplexities = perplexities
        self.tol = tol

    def check_parameters(self) -> None:
        super().check_parameters()
        check_positive(self.tol, "tol")
        if isinstance(self.perplexities, str):
            check_choice(self.perplexities, "perplexities", ("auto",))
        elif not isinstance(self.perplexities, Sequence) and np.ndim(self.perplexities) != 1:
            raise InputError(
                f"perplexities must be 'auto' or a list of numbers above 1, got {self.perplexities!r}; "
                "[10, 30, 100] is a good start."
            )
        elif len(self.perplexities) == 0:
            raise InputError("perplexities is empty; pass at least one perplexity, or 'auto'.")
        else:
            for perplexity in self.perplexities:
                check_perplexity(perplexity)

    def own_perplexity(self) -> float:
        return self.graph_perplexity()

    def graph_perplexity(self) -> float:
        return LARGEST_ON_GRAPH if isinstance(self.perplexities, str) else float(max(self.perplexities))

    def reached_perplexity(self) -> float:
        return self.perplexities_[-1]

    def compute(self, cost: Cost) -> tuple[Matrix, SolveReport]:
        symmetric = cost.symmetrized().in_own_units()
        self.perplexities_ = self._scales(cost, symmetric)
        del cost  # a graph takes much memory
        solver = SymmetricSolver(tol=self.tol, self_loops=self.self_loops, verbose=self.verbose)
        total: Matrix = None
        last: Array | None = None
        self.reports_ = []
        for perplexity in self.perplexities_:  # smallest first, each starting from the previous solution
            start = EntropicStart.on(symmetric, float(np.log(perplexity)), self_loops=self.self_loops)
            solution = solver.solve(start, last)
            total, rows = _add_affinity(solution.dual, solution.x, total)
            self.reports_.append(solution.report(rows))
            last = solution.x if solution.converged else None
            del start, solution
        total /= len(self.perplexities_)
        return total, _joint_report(self.reports_, MeasuredRows.of(total, symmetric.execution), self.tol)

    def _scales(self, cost: Cost, symmetric: Cost) -> list[float]:
        """Return the distinct scales that the rows of the symmetrised costs support."""
        asked = _doubling(cost) if isinstance(self.perplexities, str) else [float(xi) for xi in self.perplexities]
        # Clamp only the largest scale, so that one warning covers all scales that are too large.
        largest = self.clamped(max(asked), symmetric)
        return sorted({min(perplexity, largest) for perplexity in asked})


def _add_affinity(dual: SymmetricDual, x: Array, total: Matrix) -> tuple[Matrix, MeasuredRows]:
    """Add P to the total, which is None at first, in place if possible; return the total, and the rows of P."""
    if isinstance(dual.cost, DenseCost):
        total = np.zeros_like(dual.cost.matrix) if total is None else total
        measures = np.empty((dual.cost.n_points, row_measures.N_MEASURES))
        dual.cost.over_rows(RowLoop(dense=_add_dense_rows), x, dual.self_loops, total, measures)
        return total, MeasuredRows.of_measures(measures, total.dtype)
    P = dual.affinity(x)
    rows = MeasuredRows.of(P, dual.execution)
    if total is None:
        return P, rows
    if np.array_equal(total.indptr, P.indptr) and np.array_equal(total.indices, P.indices):
        total.data += P.data
        return total, rows
    return sparse.csr_matrix(total + P), rows  # the graph has gained edges since


def _add_dense_rows(
    start: int,
    stop: int,
    matrix: Array,
    x: Array,
    self_loops: bool,  # noqa: FBT001
    total: Array,
    measures: Array,
) -> None:
    """Add rows of P to the total, and measure them, block by block, to avoid a third full matrix in memory."""
    for block in row_blocks(stop - start):
        first, last = start + block.start, start + block.stop
        before = total[first:last].copy()
        dense_affinity(first, last, matrix, x, self_loops, total)  # overwrites the total
        row_measures.dense_measures(first, last, total, measures)
        total[first:last] += before


def _doubling(cost: Cost) -> list[float]:
    """Return the scales of "auto"."""
    largest = cost.n_points / 2.0
    if isinstance(cost, NeighborGraph):
        largest = min(largest, float(np.median(cost.degrees)) / NEIGHBORS_PER_PERPLEXITY)
    largest = max(largest, LEAST_SCALE)
    smallest = min(SMALLEST_SCALE, largest)
    n_scales = int(np.floor(np.log2(largest / smallest))) + 1
    return [smallest * 2.0**scale for scale in range(n_scales)]


def _joint_report(reports: list[SolveReport], rows: MeasuredRows, tol: float) -> SolveReport:
    """Return one report for all scales: the row sums of the mean, the largest entropy gap, and the total work."""
    failed = [report for report in reports if not report.converged]
    unsolved = rows.unbalanced(tol)
    unsolved[_union([report.unsolved_rows for report in reports])] = True
    return SolveReport(
        converged=not unsolved.any(),
        n_iter=sum(report.n_iter for report in reports),
        n_passes=sum(report.n_passes for report in reports),
        marginal_gap=rows.marginal_gap,
        entropy_gap=max(report.entropy_gap for report in reports),
        reason=measured_reason((failed or reports)[0].reason, unsolved),
        floor_rows=_union([report.floor_rows for report in reports]),
        unreachable_rows=_union([report.unreachable_rows for report in reports]),
        unsolved_rows=np.flatnonzero(unsolved),
    )


def _union(rows: list[NDArray[np.intp]]) -> NDArray[np.intp]:
    return np.unique(np.concatenate(rows))
