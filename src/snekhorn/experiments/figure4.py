"""Figure 4: a kernel normalised as a whole makes a ring of a doubly stochastic P; and Sinkhorn needs few steps."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

from .. import SNEkhorn, SymmetricSNE
from ..affinities import SymmetricEntropicAffinity
from ..plots import scatter
from .drawing import class_legend, dress, panels
from .experiment import Cells, Experiment, Plan, Settings
from .figure5 import PERPLEXITY, batches, simulated
from .layouts import PAPER, fitted, shared_start
from .markdown import claim, table

METHODS = {"globally normalised": SymmetricSNE, "SNEkhorn": SNEkhorn}
MOST_STEPS = 30
TOLERANCES = (1e-1, 1e-2, 1e-3, 1e-5)


def plan(settings: Settings) -> Plan:
    return {name: partial(ring, name, settings) for name in METHODS}


@lru_cache(maxsize=2)
def _affinity(quick: bool) -> Any:  # noqa: FBT001
    return SymmetricEntropicAffinity(PERPLEXITY).fit_transform(simulated(Settings(quick))[0])


def ring(name: str, settings: Settings) -> dict[str, Any]:
    """The layout by the paper's descent, how round it is, and the errors of Sinkhorn's steps on it."""
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
    """Worst row sum of Q, from 1, after every step f <- (f - log sum exp(f - C)) / 2 from f = 0."""
    f, errors = np.zeros(len(cost)), []
    for _ in range(MOST_STEPS):
        log_sums = logsumexp(f - cost, axis=1)
        errors.append(float(np.abs(np.exp(f + log_sums) - 1.0).max()))
        f = (f - log_sums) / 2.0
    return errors


def steps_to(errors: list[float], tolerance: float) -> int | None:
    """Steps until the error is at most the tolerance."""
    return next((step for step, error in enumerate(errors) if error <= tolerance), None)


def draw(cells: Cells) -> Figure | None:
    if not set(METHODS) <= set(cells):
        return None
    figure, axes = panels(3)
    for ax, (name, cell) in zip(axes, ((name, cells[name]) for name in METHODS), strict=False):
        scatter(cell["layout"], batches(len(cell["layout"])), ax=ax, title=name, legend="none")
    errors = cells["SNEkhorn"]["sinkhorn_errors"]
    axes[2].semilogy(range(len(errors)), errors, "o-", markersize=3, color="0.2")
    class_legend(figure, list(dict.fromkeys(batches(4))))
    dress(axes[2], title="Sinkhorn on the layout of SNEkhorn", x="step", y="worst row sum, from 1")
    return figure


def report(cells: Cells) -> str:
    rows = [[name, cells[name]["radius_spread"] if name in cells else None] for name in METHODS]
    text = (
        "The paper: matched by a Gaussian kernel that is normalised by its total sum, the layout of a doubly "
        "stochastic P tends to a circle; with the doubly stochastic kernel of SNEkhorn it does not. Spread of the "
        "distances from the centre, relative to their mean (0 for a circle):\n\n"
        + table(["latent kernel", "spread"], rows)
    )
    if not set(METHODS) <= set(cells):
        return text
    first, second = (cells[name]["radius_spread"] for name in METHODS)
    errors = cells["SNEkhorn"]["sinkhorn_errors"]
    steps = table(["tolerance", "steps"], [[f"{tol:g}", steps_to(errors, tol)] for tol in TOLERANCES])
    return (
        f"{text}\n\nVerdict: **{claim(holds=first < second / 1.5)}** (the second at least 1.5 times the first).\n\n"
        f"Sinkhorn steps from zero to a tolerance of the row sums, on the layout of SNEkhorn (the paper: about "
        f"ten are enough):\n\n{steps}"
    )


EXPERIMENT = Experiment("figure4", "Figure 4: the ring, and Sinkhorn's steps", plan, draw, report)
