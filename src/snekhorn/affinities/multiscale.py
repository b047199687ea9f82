"""Multi-scale symmetric entropic affinity: several perplexities at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from ..geometry.building import NEIGHBORS_PER_PERPLEXITY
from ..geometry.costs import ROWS_AT_ONCE, Array, DenseCost, GraphCost
from ..kernels.symmetric_sums import dense_affinity
from ..runtime.checks import check_choice, check_perplexity, check_positive, clamp_perplexity
from ..solvers.solve_report import SolveReport
from .affinity import Affinity, Matrix
from .symmetric_entropic import SymmetricEntropicAffinity

SMALLEST_SCALE = 8.0  # of "auto"; the next is twice as large, and so on
LEAST_SCALE = 1.5  # of "auto", however few the points: a perplexity is above 1, and rows of two entries carry this
LARGEST_ON_GRAPH = 100.0  # that "auto" asks neighbours for


class MultiscaleSymmetricEntropicAffinity(Affinity):
    r"""Mean of the symmetric entropic affinities of several perplexities.

    .. math:: P = \frac{1}{L} \sum_{h=1}^{L} P^{se}_{\xi_h}, \qquad
              P^{se}_{\xi} = \arg\min \{ \langle P, C \rangle : P = P^\top, P \mathbf{1} = \mathbf{1},
              H(P_{i:}) \ge \log \xi + 1 \}.

    Symmetric doubly stochastic matrices are a convex set: P is one of them. And the divergence that a layout
    minimises is linear in P but for a term without the layout, :math:`\mathrm{KL}(P | Q) = \frac{1}{L} \sum_h
    \mathrm{KL}(P^{se}_{\xi_h} | Q) + \text{const}`, so matching the mean matches all scales together. Entropy is
    concave: every row has a perplexity between the geometric mean of the :math:`\xi_h` and L times it, the same
    bounds for all rows, though not the same value.

    Parameters
    ----------
    perplexities : sequence of float or "auto", default="auto"
        The scales. "auto" doubles from 8 up to half of the points or, on a neighbour graph, up to a third of the
        neighbours of a point; where that is below 8, it is the only scale.
    tol : float, default=1e-8
        Largest gap allowed at every scale, of a row's sum from 1 and of its entropy from the target.
    metric, n_neighbors, self_loops, n_jobs, verbose
        See :class:`snekhorn.affinities.affinity.Affinity`; n_neighbors="auto" takes three times the largest perplexity,
        300 where the scales are "auto" too.

    Attributes
    ----------
    affinity_, report_
        See :class:`snekhorn.affinities.affinity.Affinity`; the report is that of all scales together: the largest gaps,
        the sums of iterations and passes.
    perplexities_ : list of float
        The scales used, from the smallest; those that rows are too short for are one, the largest sensible.
    reports_ : list of SolveReport
        Of each scale.

    References
    ----------
    Lee, Peluffo-Ordóñez and Verleysen, Multi-scale similarities in stochastic neighbour embedding: Reducing
    dimensionality while preserving both local and global structure, Neurocomputing 2015.
    """

    def __init__(
        self,
        perplexities: Sequence[float] | str = "auto",
        *,
        tol: float = 1e-8,
        metric: str = "sqeuclidean",
        n_neighbors: int | str | None = None,
        self_loops: bool = True,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.perplexities = perplexities
        self.tol = tol
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.self_loops = self_loops
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self) -> None:
        check_positive(self.tol, "tol")
        if isinstance(self.perplexities, str):
            check_choice(self.perplexities, "perplexities", ("auto",))
        elif not isinstance(self.perplexities, Sequence) and np.ndim(self.perplexities) != 1:
            raise ValueError(
                f"perplexities must be 'auto' or a list of numbers above 1, got {self.perplexities!r}; "
                "[10, 30, 100] is a good start."
            )
        elif len(self.perplexities) == 0:
            raise ValueError("perplexities is empty; pass at least one, or 'auto'.")
        else:
            for perplexity in self.perplexities:
                check_perplexity(perplexity)

    def _asked_perplexity(self) -> float:
        return LARGEST_ON_GRAPH if isinstance(self.perplexities, str) else float(max(self.perplexities))

    def _carried_perplexity(self) -> float:
        return self.perplexities_[-1]

    def _compute(self, cost: DenseCost | GraphCost) -> tuple[Matrix, SolveReport]:
        symmetric = cost.symmetrized()
        self.perplexities_ = self._scales(cost, self._row_entries(symmetric))
        # From the smallest scale, each starts from the solution of the one before.
        scale = _Scale(tol=self.tol, warm_start=True, self_loops=self.self_loops, verbose=self.verbose)
        if isinstance(symmetric, DenseCost):
            symmetric = _Summing(symmetric.matrix, symmetric.n_threads)
        total: Any = None
        self.reports_ = []
        for perplexity in self.perplexities_:
            P, scale.report_ = scale.set_params(perplexity=perplexity)._compute(symmetric)
            self.reports_.append(scale.report_)
            total = P if total is None or isinstance(symmetric, _Summing) else _sum(total, P)
            del P  # or the next scale is solved beside it
        total /= len(self.perplexities_)
        return total, _together(self.reports_)

    def _scales(self, cost: DenseCost | GraphCost, n_entries: int) -> list[float]:
        """The scales that rows of so many entries can have, each once."""
        asked = _doubling(cost) if isinstance(self.perplexities, str) else [float(xi) for xi in self.perplexities]
        # Only the largest is clamped, so that one warning tells of all that are too large.
        largest = clamp_perplexity(max(asked), n_entries)
        return sorted({min(perplexity, largest) for perplexity in asked})


class _Scale(SymmetricEntropicAffinity):
    """One scale, whose perplexity is clamped already: once more would be one more warning."""

    def _checked_perplexity(self, perplexity: float, cost: DenseCost | GraphCost) -> float:
        return perplexity


@dataclass(frozen=True)
class _Summing(DenseCost):
    """A full cost matrix whose affinities are sums of all so far: beside a sum, each would be a third n x n matrix."""

    total: Array = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", np.zeros_like(self.matrix))

    def symmetric_affinity(self, lam: Array, gam: Array, *, self_loops: bool) -> Array:
        def add_rows(first: int, last: int) -> None:
            for start in range(first, last, ROWS_AT_ONCE):
                stop = min(start + ROWS_AT_ONCE, last)
                before = self.total[start:stop].copy()
                dense_affinity(start, stop, self.matrix, lam, gam, self_loops, self.total)  # in place of the sum
                self.total[start:stop] += before

        self._run(add_rows)
        return self.total


def _sum(total: sparse.csr_matrix, P: sparse.csr_matrix) -> sparse.csr_matrix:
    """total + P; in place where no edge was added in between, since a sum of sparse matrices takes the room of both."""
    if np.array_equal(total.indptr, P.indptr) and np.array_equal(total.indices, P.indices):
        total.data += P.data
        return total
    return total + P


def _doubling(cost: DenseCost | GraphCost) -> list[float]:
    """The scales of "auto"."""
    largest = cost.n_points / 2.0
    if isinstance(cost, GraphCost):
        largest = min(largest, float(np.median(cost.degrees)) / NEIGHBORS_PER_PERPLEXITY)
    largest = max(largest, LEAST_SCALE)
    smallest = min(SMALLEST_SCALE, largest)
    n_scales = int(np.floor(np.log2(largest / smallest))) + 1
    return [smallest * 2.0**scale for scale in range(n_scales)]


def _together(reports: list[SolveReport]) -> SolveReport:
    """One report of all scales: the worst of them, and the work of all."""
    unsolved = [report for report in reports if not report.converged]
    return SolveReport(
        converged=not unsolved,
        n_iter=sum(report.n_iter for report in reports),
        n_passes=sum(report.n_passes for report in reports),
        marginal_gap=max(report.marginal_gap for report in reports),
        entropy_gap=max(report.entropy_gap for report in reports),
        reason=(unsolved or reports)[0].reason,
        floor_rows=_union([report.floor_rows for report in reports]),
        unreachable_rows=_union([report.unreachable_rows for report in reports]),
        unsolved_rows=_union([report.unsolved_rows for report in reports]),
    )


def _union(rows: list[Any]) -> Any:
    return np.unique(np.concatenate(rows))
