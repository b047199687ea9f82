"""Figure 4: a globally normalised kernel lays out a doubly stochastic P as a ring, and Sinkhorn converges quickly."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

from harness.experiment import Cases, Experiment, Plan, Settings, finished
from harness.results_page import table
from snekhorn import SNEkhorn, SymmetricSNE
from snekhorn.affinities import SymmetricEntropicAffinity
from snekhorn.plots import scatter

from .drawing import class_legend, dress, panels
from .figure5 import PERPLEXITY, batches, simulated
from .layout_protocols import PAPER, fitted, shared_start
from .verdicts import claim

METHODS = {"globally normalised": SymmetricSNE, "SNEkhorn": SNEkhorn}
MOST_STEPS = 30
TOLERANCES = (1e-1, 1e-2, 1e-3, 1e-5)


def plan(settings: Settings) -> Plan:
    return {name: partial(ring, name, settings) for name in METHODS}


@lru_cache(maxsize=2)
def _affinity(quick: bool) -> Any:  # noqa: FBT001
    return SymmetricEntropicAffinity(PERPLEXITY).fit_transform(simulated(Settings(quick))[0])


def ring(name: str, settings: Settings) -> dict[str, Any]:
    """Compute the layout with the paper's descent, its roundness, and the errors of Sinkhorn iterations on it."""
    P = _affinity(settings.quick)
    model = METHODS[name](affinity="precomputed", init=shared_start(len(P), 0), **PAPER)
    Z = fitted(model, P).embedding_
    radius = np.linalg.norm(Z - Z.mean(axis=0), axis=1)
    return {
        "radius_spread": radius.std() / radius.mean(),
        "sinkhorn_errors": sinkhorn_errors(cdist(Z, Z, "sqeuclidean")),
        "layout": Z,
    }


def sinkhorn_errors(cost: Any) -> list[float]:
    """Return the largest deviation of a row sum of Q from 1 before every step f <- (f - log sum exp(f - C)) / 2."""
    f, errors = np.zeros(len(cost)), []
    for _ in range(MOST_STEPS):
        log_sums = logsumexp(f - cost, axis=1)
        errors.append(float(np.abs(np.exp(f + log_sums) - 1.0).max()))
        f = (f - log_sums) / 2.0
    return errors


def steps_to(errors: list[float], tolerance: float) -> int | None:
    """Return the number of steps until the error is at most the tolerance."""
    return next((step for step, error in enumerate(errors) if error <= tolerance), None)


def draw(cases: Cases) -> Figure | None:
    if not set(METHODS) <= set(cases):
        return None
    figure, axes = panels(3)
    for ax, (name, case) in zip(axes, ((name, cases[name]) for name in METHODS), strict=False):
        scatter(case["layout"], batches(len(case["layout"])), ax=ax, title=name, legend="none")
    errors = cases["SNEkhorn"]["sinkhorn_errors"]
    axes[2].semilogy(range(len(errors)), errors, "o-", markersize=3, color="0.2")
    class_legend(figure, list(dict.fromkeys(batches(4))))
    dress(axes[2], title="Sinkhorn on SNEkhorn's layout", x="iteration", y="largest |row sum - 1|")
    return figure


def report(cases: Cases) -> str:
    cases = finished(cases)
    rows = [[name, cases[name]["radius_spread"] if name in cases else None] for name in METHODS]
    note = (
        "In the paper, the layout of a doubly stochastic P tends to a circle if the Gaussian kernel of the layout is "
        "normalised globally, but not if it is normalised to be doubly stochastic, as in SNEkhorn. The table shows "
        "the standard deviation of the distances from the centre of the layout, relative to their mean (0 for a "
        "circle)."
    )
    text = table(["kernel of the layout", "relative standard deviation"], rows, note)
    if not set(METHODS) <= set(cases):
        return text
    first, second = (cases[name]["radius_spread"] for name in METHODS)
    errors = cases["SNEkhorn"]["sinkhorn_errors"]
    steps = (
        "The second table shows how many Sinkhorn iterations on SNEkhorn's layout, starting from f = 0, are needed "
        "until every row sum differs from 1 by at most the tolerance. In the paper, about ten iterations are enough."
    )
    return (
        f"{text}\n\nVerdict: **{claim(holds=first < second / 1.5)}** (criterion: the second value is more than "
        "1.5 times the first).\n\n"
        + table(["tolerance", "iterations"], [[f"{tol:g}", steps_to(errors, tol)] for tol in TOLERANCES], steps)
    )


EXPERIMENT = Experiment("figure4", "Figure 4: the ring, and Sinkhorn iterations", plan, report, draw)
