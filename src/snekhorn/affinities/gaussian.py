"""Gaussian affinity: one bandwidth for all points, normalised by row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from ..geometry.costs import Array, Cost, Matrix
from ..runtime.checks import check_choice, check_perplexity, check_positive
from ..solvers.solve_report import SolveReport
from .affinity import Affinity, closed_form_report, marginal_gap, symmetrize
from .entropic import KernelRows

WIDEST_SEARCH = 60  # maximum number of steps, by a factor of e, from the median row bandwidth; more are never needed
MISSED = 1e-6  # if the average entropy is off by more, no bandwidth reaches the target
FLAT = 1e-10  # smaller differences of entropies or logarithms are rounding errors


class GaussianAffinity(Affinity):
    """Row-stochastic Gaussian affinity with a single bandwidth.

        P_ij = exp(-C_ij / nu) / sum_l exp(-C_il / nu)

    Parameters
    ----------
    bandwidth : float or None, default=None
        Bandwidth nu. None searches for the bandwidth at which the average row entropy is log(xi) + 1.
    perplexity : float, default=30.0
        Perplexity xi that corresponds to the average row entropy; used if no bandwidth is given.
    symmetrize : bool, default=False
        Whether to return (P + P^T) / 2.
    metric, n_neighbors, self_loops, n_jobs, verbose
        See `snekhorn.affinities.affinity.Affinity`.

    Attributes
    ----------
    affinity_, report_
        See `snekhorn.affinities.affinity.Affinity`.
    bandwidth_ : float
        The bandwidth nu, given or found.
    """

    def __init__(
        self,
        bandwidth: float | None = None,
        *,
        perplexity: float = 30.0,
        symmetrize: bool = False,
        metric: str = "sqeuclidean",
        n_neighbors: int | Literal["auto"] | None = None,
        self_loops: bool = True,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(metric, n_neighbors, self_loops=self_loops, n_jobs=n_jobs, verbose=verbose)
        self.bandwidth = bandwidth
        self.perplexity = perplexity
        self.symmetrize = symmetrize

    def check_parameters(self) -> None:
        check_choice(self.symmetrize, "symmetrize", (True, False))
        check_bandwidth(self.bandwidth, self.perplexity)

    def compute(self, cost: Cost) -> tuple[Matrix, SolveReport]:
        passes, target = 0, np.nan
        if self.bandwidth is None:
            target = np.log(self.usable_perplexity(self.perplexity, cost))

            def mean_entropy(bandwidth: float) -> float:
                nonlocal passes
                passes += 1
                return float(self._rows(cost, bandwidth).entropy.mean())

            self.bandwidth_ = solve_bandwidth(cost, mean_entropy, target, self_loops=self.self_loops)
        else:
            self.bandwidth_ = float(self.bandwidth)
        rows = self._rows(cost, self.bandwidth_)
        P = rows.affinity(cost, self_loops=self.self_loops)
        report = closed_form_report(
            n_iter=passes,
            n_passes=passes + 1,
            marginal_gap=marginal_gap(P),
            entropy_gap=abs(float(rows.entropy.mean()) - target),
            **rows_beyond(rows.entropy, target),
        )
        return (symmetrize(P) if self.symmetrize else P), report

    def _rows(self, cost: Cost, bandwidth: float) -> KernelRows:
        return KernelRows.with_bandwidth(cost, bandwidth, self_loops=self.self_loops)


def check_bandwidth(bandwidth: Any, perplexity: Any) -> None:
    """Check the bandwidth if it is given, and the perplexity otherwise."""
    if bandwidth is None:
        check_perplexity(perplexity)
    else:
        check_positive(bandwidth, "bandwidth")


def rows_beyond(entropy: Array, target: float) -> dict[str, Any]:
    """Return, for the report, the rows responsible if no bandwidth reaches the target average entropy.

    If the average stays above the target, rows have too many points at the nearest distance. If the average stays
    below the target, rows have too few neighbours.
    """
    missed = float(np.mean(entropy)) - target
    return {
        "floor_rows": np.flatnonzero((missed > MISSED) & (entropy > target)),
        "unreachable_rows": np.flatnonzero((missed < -MISSED) & (entropy < target)),
    }


def solve_bandwidth(cost: Cost, mean_entropy: Callable[[float], float], target: float, *, self_loops: bool) -> float:
    """Find the bandwidth at which `mean_entropy`, an increasing function, equals the target."""
    start = np.log(np.median(KernelRows.with_entropy(cost, target, self_loops=self_loops).bandwidth))

    def gap(log_bandwidth: float) -> float:
        return mean_entropy(np.exp(log_bandwidth)) - target

    here, value = start, gap(start)
    direction = 1.0 if value < 0.0 else -1.0
    for _ in range(WIDEST_SEARCH):
        there = here + direction
        moved = gap(there)
        if value * moved <= 0.0:
            return float(np.exp(find_root(gap, here, value, there, moved)))
        if abs(moved - value) < FLAT:
            break  # too many points at the nearest distance (duplicates), or too few neighbours
        here, value = there, moved
    return float(np.exp(here))


def find_root(gap: Callable[[float], float], a: float, gap_a: float, b: float, gap_b: float) -> float:
    """Find the root of `gap` between a and b by the Illinois method, given the values of `gap` at a and b.

    SciPy's root finders would evaluate both ends again, and each evaluation here is a complete solve.
    """
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
