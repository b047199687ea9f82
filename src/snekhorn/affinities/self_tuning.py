"""Self-tuning affinity: bandwidths from the distance to the k-th neighbour."""

from __future__ import annotations

import sys
from typing import Any, Literal

import numpy as np

from ..errors import InputError
from ..geometry.costs import Array, Cost, Matrix, count_neighbors
from ..runtime.checks import check_count
from ..runtime.user_warnings import warn
from ..solvers.solve_report import SolveReport
from .affinity import Affinity, closed_form_report, first_row


class SelfTuningAffinity(Affinity):
    """Self-tuning affinity of Zelnik-Manor and Perona.

        P_ij = exp(-C_ij / (sigma_i sigma_j)),    sigma_i^2 = C_i,i(k),

    where i(k) is the k-th nearest neighbour of i. The affinity is symmetric but not normalised.

    Parameters
    ----------
    k : int, default=7
        Rank of the neighbour whose distance sets the bandwidth.
    metric, n_neighbors, self_loops, n_jobs, verbose
        See `snekhorn.affinities.affinity.Affinity`.

    Attributes
    ----------
    affinity_, report_
        See `snekhorn.affinities.affinity.Affinity`.
    bandwidths_ : ndarray of shape (n,)
        The bandwidths sigma.

    References
    ----------
    Zelnik-Manor and Perona, Self-tuning spectral clustering, NIPS 2004.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from snekhorn.affinities import SelfTuningAffinity
    >>> SelfTuningAffinity().fit_transform(load_iris().data).shape
    (150, 150)
    """

    def __init__(
        self,
        k: int = 7,
        *,
        metric: str = "sqeuclidean",
        n_neighbors: int | Literal["auto"] | None = None,
        self_loops: bool = True,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(metric, n_neighbors, self_loops=self_loops, n_jobs=n_jobs, verbose=verbose)
        self.k = k

    def check_parameters(self) -> None:
        super().check_parameters()
        check_count(self.k, "k")
        most = count_neighbors(self.n_neighbors, sys.maxsize, self.graph_perplexity())
        if most is not None:  # an explicit number, known before the search
            self._check_rank(most, "raise n_neighbors")

    def _check_rank(self, n_neighbors: int, remedy: str) -> None:
        if self.k > n_neighbors:
            raise InputError(f"k={self.k}, but a point has only {n_neighbors} neighbours; lower k or {remedy}.")

    def compute(self, cost: Cost) -> tuple[Matrix, SolveReport]:
        shortest = int(cost.degrees.min())
        full = shortest == cost.n_points - 1
        self._check_rank(shortest, "add points" if full else "pass a graph with more edges per point")
        scale = cost.kth_smallest(self.k)
        # A point with k or more duplicates has no scale of its own: use the smallest positive one.
        positive = scale[scale > 0.0]
        sigma = np.sqrt(np.maximum(scale, positive.min() if positive.size else cost.smallest_positive()))

        def formula(C: Array, i: Any, j: Any) -> Array:
            return np.asarray(np.exp(C / (sigma[i] * -sigma[j])))

        self.bandwidths_ = sigma
        P = cost.symmetrized().map_pairs(formula, self_loops=self.self_loops)
        empty = np.flatnonzero(np.asarray(P.sum(axis=1)).ravel() == 0.0)
        if empty.size:
            few = "1 row has" if empty.size == 1 else f"{empty.size} rows have"
            warn(
                f"{few} no mass ({first_row(empty)}), because all similarities underflow to 0; allow self_loops or "
                "remove far outliers."
            )
        return P, closed_form_report()
