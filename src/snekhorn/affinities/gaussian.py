"""Gaussian affinity with one bandwidth, normalised by row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..geometry.costs import Array, DenseCost, GraphCost
from ..kernels.bandwidth_search import BANDWIDTH, ENTROPY, LOG_NORMALIZER, NEAREST
from ..runtime.checks import check_choice, check_perplexity, check_positive
from ..solvers.solve_report import SolveReport
from .affinity import Affinity, Matrix, closed_form_report, marginal_gap, symmetrize

WIDEST_SEARCH = 60  # e^60 either way: no data is further from the median bandwidth of its rows
MISSED = 1e-6  # of the average entropy: no bandwidth has the one asked for
FLAT = 1e-10  # of an entropy or a logarithm: smaller differences are rounding


class GaussianAffinity(Affinity):
    """Row-stochastic Gaussian affinity with a single bandwidth.

        P_ij = exp(-C_ij / nu) / sum_l exp(-C_il / nu)

    Parameters
    ----------
    bandwidth : float or None, default=None
        nu. None takes the bandwidth whose average row entropy is log(xi) + 1.
    perplexity : float, default=30.0
        Average perplexity xi where no bandwidth is given.
    symmetrize : bool, default=False
        Return (P + P^T) / 2.
    metric, n_neighbors, self_loops, n_jobs, verbose
        See `snekhorn.affinities.affinity.Affinity`.

    Attributes
    ----------
    affinity_, report_
        See `snekhorn.affinities.affinity.Affinity`.
    bandwidth_ : float
        nu, given or found.
    """

    def __init__(
        self,
        bandwidth: float | None = None,
        *,
        perplexity: float = 30.0,
        symmetrize: bool = False,
        metric: str = "sqeuclidean",
        n_neighbors: int | str | None = None,
        self_loops: bool = True,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.bandwidth = bandwidth
        self.perplexity = perplexity
        self.symmetrize = symmetrize
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.self_loops = self_loops
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self) -> None:
        check_choice(self.symmetrize, "symmetrize", (True, False))
        check_bandwidth(self.bandwidth, self.perplexity)

    def _compute(self, cost: DenseCost | GraphCost) -> tuple[Matrix, SolveReport]:
        passes, target = 0, np.nan
        if self.bandwidth is None:
            target = np.log(self._checked_perplexity(self.perplexity, cost))

            def mean_entropy(bandwidth: float) -> float:
                nonlocal passes
                passes += 1
                return float(cost.rows(self_loops=self.self_loops, bandwidth=bandwidth)[:, ENTROPY].mean())

            self.bandwidth_ = solve_bandwidth(cost, mean_entropy, target, self_loops=self.self_loops)
        else:
            self.bandwidth_ = float(self.bandwidth)
        rows = cost.rows(self_loops=self.self_loops, bandwidth=self.bandwidth_)
        inverse = np.full(cost.n_points, 1.0 / self.bandwidth_)
        P = cost.kernel_affinity(inverse, rows[:, NEAREST], rows[:, LOG_NORMALIZER], self_loops=self.self_loops)
        report = closed_form_report(
            n_iter=passes,
            n_passes=passes + 1,
            marginal_gap=marginal_gap(P),
            entropy_gap=abs(float(rows[:, ENTROPY].mean()) - target),
            **rows_beyond(rows[:, ENTROPY], target),
        )
        return (symmetrize(P) if self.symmetrize else P), report


def check_bandwidth(bandwidth: Any, perplexity: Any) -> None:
    if bandwidth is None:
        check_perplexity(perplexity)
    else:
        check_positive(bandwidth, "bandwidth")


def rows_beyond(entropy: Array, target: float) -> dict[str, Any]:
    """For the report, the rows to blame where no bandwidth has the average entropy asked for.

    Above it, more points than the perplexity are equally near; below it, there are too few neighbours.
    """
    missed = float(np.mean(entropy)) - target
    return {
        "floor_rows": np.flatnonzero((missed > MISSED) & (entropy > target)),
        "unreachable_rows": np.flatnonzero((missed < -MISSED) & (entropy < target)),
    }


def solve_bandwidth(
    cost: DenseCost | GraphCost, mean_entropy: Callable[[float], float], target: float, *, self_loops: bool
) -> float:
    """The bandwidth at which `mean_entropy`, an increasing function of it, is the target."""
    start = np.log(np.median(cost.rows(self_loops=self_loops, entropy=target)[:, BANDWIDTH]))

    def gap(log_bandwidth: float) -> float:
        return mean_entropy(np.exp(log_bandwidth)) - target

    here, value = start, gap(start)
    direction = 1.0 if value < 0.0 else -1.0
    for _ in range(WIDEST_SEARCH):
        there = here + direction
        moved = gap(there)
        if value * moved <= 0.0:
            return float(np.exp(bisect_secant(gap, here, value, there, moved)))
        if abs(moved - value) < FLAT:
            break  # more equally near points than the perplexity (duplicates), or too few neighbours
        here, value = there, moved
    return float(np.exp(here))


def bisect_secant(gap: Callable[[float], float], a: float, gap_a: float, b: float, gap_b: float) -> float:
    """Root of `gap` between a and b, by secant steps of Illinois type; both ends' values are known."""
    for _ in range(100):
        if gap_b == 0.0 or abs(b - a) < FLAT:
            break
        c = b - gap_b * (b - a) / (gap_b - gap_a)
        gap_c = gap(c)
        if gap_c * gap_b < 0.0:
            a, gap_a = b, gap_b
        else:
            gap_a /= 2.0
        b, gap_b = c, gap_c
        if abs(gap_b) < FLAT:
            break
    return b
