"""Self-tuning affinity: bandwidths from the distance to the k-th neighbour."""

from __future__ import annotations

import sys

import numpy as np

from ..geometry.building import count_neighbors
from ..geometry.costs import DenseCost, GraphCost
from ..runtime.checks import check_count
from ..solvers.solve_report import SolveReport
from .affinity import Affinity, Matrix, closed_form_report


class SelfTuningAffinity(Affinity):
    """Self-tuning affinity of Zelnik-Manor and Perona.

        P_ij = exp(-C_ij / (sigma_i sigma_j)),    sigma_i^2 = C_i,i(k),

    i(k) the k-th nearest neighbour of i. It is symmetric and not normalised.

    Parameters
    ----------
    k : int, default=7
        Rank of the neighbour whose distance is the bandwidth.
    metric, n_neighbors, self_loops, n_jobs, verbose
        See `snekhorn.affinities.affinity.Affinity`.

    Attributes
    ----------
    affinity_, report_
        See `snekhorn.affinities.affinity.Affinity`.
    bandwidths_ : ndarray of shape (n,)
        sigma.

    References
    ----------
    Zelnik-Manor and Perona, Self-tuning spectral clustering, NIPS 2004.
    """

    def __init__(
        self,
        k: int = 7,
        *,
        metric: str = "sqeuclidean",
        n_neighbors: int | str | None = None,
        self_loops: bool = True,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.k = k
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.self_loops = self_loops
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self) -> None:
        check_count(self.k, "k")
        most = count_neighbors(self.n_neighbors, sys.maxsize, self._asked_perplexity())
        if most is not None:  # known before the search, however many the points are
            self._check_rank(most)

    def _check_rank(self, n_neighbors: int) -> None:
        if self.k > n_neighbors:
            raise ValueError(
                f"k={self.k} is more than the {n_neighbors} neighbours that a point has here; lower k or raise "
                "n_neighbors."
            )

    def _compute(self, cost: DenseCost | GraphCost) -> tuple[Matrix, SolveReport]:
        self._check_rank(int(cost.degrees.min()))
        scale = cost.kth_smallest(self.k)
        # More than k duplicates leave no scale of their own: take the smallest there is.
        positive = scale[scale > 0.0]
        scale = np.maximum(scale, positive.min() if positive.size else 1.0)
        self.bandwidths_ = np.sqrt(scale)
        P = cost.symmetrized().scaled_affinity(self.bandwidths_, self_loops=self.self_loops)
        return P, closed_form_report()
