"""Gaussian affinity: one bandwidth for all points, normalised by row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np

from ..geometry.costs import Array, Cost, Matrix
from ..runtime.checks import check_choice, check_perplexity, check_positive
from ..solvers.solve_report import Reason, SolveReport
from .affinity import Affinity, closed_form_report, in_user_units, symmetrize
from .entropic import REPORTED_GAP, KernelRows
from .measured_rows import MeasuredRows

WIDEST_SEARCH = 1e55  # largest factor between the bandwidth and the median row bandwidth; more is never needed
MISSED = 1e-6  # an average entropy that is off by more has missed its target; smaller values are rounding errors
FLAT = 1e-10  # smaller differences of entropies or logarithms are rounding errors
EXTREME = 1e300  # bandwidths beyond this or its inverse, relative to the costs, change nothing


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

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from snekhorn.affinities import GaussianAffinity
    >>> P = GaussianAffinity(perplexity=20).fit_transform(load_iris().data)
    >>> bool(abs(P.sum(axis=1) - 1).max() < 1e-12)
    True
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
        super().check_parameters()
        check_choice(self.symmetrize, "symmetrize", (True, False))
        check_bandwidth(self.bandwidth, self.perplexity)

    def own_perplexity(self) -> float | None:
        return self.perplexity if self.bandwidth is None else None

    def compute(self, cost: Cost) -> tuple[Matrix, SolveReport]:
        cost = cost.in_own_units()
        passes, target = 0, np.nan
        if self.bandwidth is None:
            target = float(np.log(self.usable_perplexity(self.perplexity, cost)))

            def gap(bandwidth: float) -> float:
                nonlocal passes
                passes += 1
                return float(self._rows(cost, bandwidth).entropy.mean()) - target

            rows = KernelRows.with_entropy(cost, target, self_loops=self.self_loops)
            start = float(np.median(rows.bandwidth))
            bandwidth = solve_bandwidth(gap, start, start / WIDEST_SEARCH, start * WIDEST_SEARCH)
        else:
            bandwidth = bandwidth_in_units_of(cost, self.bandwidth)
        self.bandwidth_ = (
            float(in_user_units(cost, np.asarray(bandwidth))) if self.bandwidth is None else float(self.bandwidth)
        )
        P = self._rows(cost, bandwidth).affinity(cost, self_loops=self.self_loops)
        report = self._report(MeasuredRows.of(P, cost.execution), target, cost.degrees + bool(self.self_loops))
        report.n_iter, report.n_passes = passes, passes + 1
        return (symmetrize(P, cost.execution) if self.symmetrize else P), report

    def _report(self, rows: MeasuredRows, target: float, n_entries: Array) -> SolveReport:
        beyond = rows_beyond(rows.log_perplexities, target)
        above, below = bool(beyond["floor_rows"].size), bool(beyond["unreachable_rows"].size)
        # A target that is missed at some bandwidth is out of reach only if no row can move any closer to it.
        moving = (above & ~rows.lowest(MISSED)) | (below & ~rows.highest(n_entries, MISSED))
        unsolved = rows.unbalanced(REPORTED_GAP) | moving
        return closed_form_report(
            converged=not unsolved.any(),
            reason=(Reason.ROUNDING if unsolved.any() else Reason.CLOSED_FORM).value,
            marginal_gap=rows.marginal_gap,
            entropy_gap=abs(float(rows.log_perplexities.mean()) - target),
            unsolved_rows=np.flatnonzero(unsolved),
            **beyond,
        )

    def _rows(self, cost: Cost, bandwidth: float) -> KernelRows:
        return KernelRows.with_bandwidth(cost, bandwidth, self_loops=self.self_loops)


def check_bandwidth(bandwidth: Any, perplexity: Any) -> None:
    """Check the bandwidth if it is given, and the perplexity otherwise."""
    if bandwidth is None:
        check_perplexity(perplexity)
    else:
        check_positive(bandwidth, "bandwidth")


def bandwidth_in_units_of(cost: Cost, bandwidth: float) -> float:
    """Return a bandwidth given by the user in the unit of these costs."""
    return float(np.clip(float(bandwidth) / cost.unit, 1.0 / EXTREME, EXTREME))


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


Gap: TypeAlias = Callable[[float], float]  # bandwidth -> average entropy minus its target, which increases


def solve_bandwidth(gap: Gap, start: float, lower: float, upper: float) -> float:
    """Find the bandwidth at which `gap` is zero, or the bound at which it is closest to zero."""

    def log_gap(log_bandwidth: float) -> float:
        return gap(float(np.clip(np.exp(log_bandwidth), lower, upper)))

    found = find_root(log_gap, *bracket(gap, start, lower, upper))
    return float(np.clip(np.exp(found), lower, upper))


def bracket(gap: Gap, start: float, lower: float, upper: float) -> tuple[float, float, float, float]:
    """Walk from `start` until `gap` changes its sign or a bound is reached.

    Return the logarithms of the last two bandwidths, each with its gap. The steps grow and never stop early, because
    costs of two scales leave the entropy flat between them.
    """
    here, value = np.log(start), gap(start)
    there, moved = here, value
    step = 1.0 if value < 0.0 else -1.0
    while value * moved > 0.0 and lower < np.exp(there) < upper:
        here, value = there, moved
        there = here + step
        moved = gap(float(np.clip(np.exp(there), lower, upper)))
        step *= 2.0
    return here, value, there, moved


def find_root(gap: Callable[[float], float], a: float, gap_a: float, b: float, gap_b: float) -> float:
    """Find the root of `gap` between a and b by the Illinois method, given the values of `gap` at a and b.

    If both have the same sign, or one is unknown, return b.

    SciPy's root finders would evaluate both ends again.
    """
    for _ in range(100):
        if not -np.inf < gap_a * gap_b < 0.0 or abs(b - a) < FLAT:
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
