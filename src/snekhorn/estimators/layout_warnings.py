"""Warn about problems of a finished layout, with what to change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ..embedding.charge_sums import ROUGH_SUMS
from ..embedding.descent import EmbeddingReport, Stop
from ..embedding.objective import Objective
from ..runtime.user_warnings import warn

if TYPE_CHECKING:
    from .neighbor_embedding import NeighborEmbedding

UNIFORM = 0.98  # perplexity of P relative to the number of other points; below, P still separates points
COLLAPSED = 1e-3  # width of a layout; if it is narrower, the kernel is nearly the same for all pairs


def warn_of_layout(model: NeighborEmbedding, objective: Objective, Z: NDArray[Any], report: EmbeddingReport) -> None:
    """Warn if sums are inaccurate, Q is not balanced, the descent was cut short, or the layout shows nothing."""
    name = type(model).__name__
    if objective.rough:
        warn(f"{name}: {ROUGH_SUMS}", ConvergenceWarning)
    if report.marginal_gap is not None and report.marginal_gap > model.marginal_tol:
        allow = "" if model.latent_self_loops else "set latent_self_loops=True, or "
        warn(
            f"{name}: the row sums of Q deviate from 1 by up to {report.marginal_gap:.1e}; {allow}raise marginal_tol.",
            ConvergenceWarning,
        )
    if report.interrupted or report.reason == Stop.MAX_ITER.value:
        warn(f"{name}: {report}.", ConvergenceWarning)
    if not isinstance(model.init, str) and model.kl_divergence_ > objective.divergence_of_one_place:
        warn(
            f"{name}: the divergence is higher than if all points were in one place, because init is so wide that "
            "points do not attract each other; scale init to a standard deviation of 1 or less.",
            ConvergenceWarning,
        )
    if np.ptp(Z, axis=0).max() < COLLAPSED:
        warn(f"{name}: the layout has collapsed to a single point{_cause_of_collapse(model, objective, report)}.")


def _cause_of_collapse(model: NeighborEmbedding, objective: Objective, report: EmbeddingReport) -> str:
    """Return why all points are in one place, as far as that is known, and what to change."""
    n, init = objective.n_points, model.init
    if np.exp(-objective.negative_entropy / n) > UNIFORM * (n - 1):
        if model.takes_affinity:
            return ", because P is nearly uniform; pass a P that differs between pairs of points"
        allow = "" if getattr(model.affinity or model, "self_loops", True) else ", allow self-loops"
        return (
            f", because P is nearly uniform; check that the points differ, lower the perplexity{allow}, or add points"
        )
    if report.n_iter <= model.schedule().early.n_iter:
        return ", because the descent ended during early exaggeration; let it take more iterations"
    if not isinstance(init, str) and np.ptp(np.asarray(init, dtype=float), axis=0).max() < COLLAPSED:
        return ", because init is so narrow; scale it to a standard deviation of 0.01"
    if model.exaggeration > 1.0:
        return f", because of exaggeration={model.exaggeration:g}; lower it, 1.5 to 2 shows groups clearly"
    return "; try another init"
