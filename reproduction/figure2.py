"""Figure 2: doubly stochastic and symmetric entropic affinities of three Gaussians with different spreads."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from harness.experiment import Case, Cases, Experiment, Plan, Settings, finished
from harness.results_page import table
from snekhorn.affinities import DoublyStochasticAffinity, SymmetricEntropicAffinity, row_perplexities
from snekhorn.datasets import make_three_gaussians

from .drawing import categorical, dress, panels, set_titles
from .verdicts import claim

PERPLEXITY = 5.0
SAMPLES = 20  # samples of the data; the first is drawn
N_EIGENVALUES = 15
VANISHING = 1e-2  # largest Laplacian eigenvalue counted as zero; eigenvalues lie between 0 and 1
EDGE_SCALE = 4.0  # opacity of an edge per unit of weight, as in the authors' figure
LEAST_EDGE = 5e-3
KINDS = {
    "doubly stochastic": DoublyStochasticAffinity(perplexity=PERPLEXITY),
    "symmetric entropic": SymmetricEntropicAffinity(PERPLEXITY),
}


def plan(settings: Settings) -> Plan:
    samples = 3 if settings.quick else SAMPLES
    return {kind: partial(spectra, kind, samples) for kind in KINDS}


def spectra(kind: str, samples: int) -> dict[str, Any]:
    """Count the vanishing Laplacian eigenvalues in several samples, and return details of the first sample."""
    affinities = [KINDS[kind].fit_transform(make_three_gaussians(random_state=seed)[0]) for seed in range(samples)]
    eigenvalues = [smallest_eigenvalues(P) for P in affinities]
    i, j = np.nonzero(np.triu(affinities[0] > LEAST_EDGE, 1))
    return {
        "eigenvalues": eigenvalues[0],
        "vanishing": [int(np.sum(values < VANISHING)) for values in eigenvalues],
        "perplexities": row_perplexities(affinities[0]),
        "edges": np.stack([i, j, affinities[0][i, j]], axis=1),
    }


def smallest_eigenvalues(P: Any) -> Any:
    """Return the smallest eigenvalues of the Laplacian diag(P 1) - P."""
    return np.linalg.eigvalsh(np.diag(P.sum(axis=1)) - P)[:N_EIGENVALUES]


def draw(cases: Cases) -> Figure | None:
    if set(cases) < set(KINDS):
        return None
    figure, axes = panels(3, width=3.6, height=3.4)
    X, _ = make_three_gaussians()
    widest = max(max(cases[kind]["perplexities"]) for kind in KINDS)
    for ax, kind in zip(axes[:2], KINDS, strict=True):
        dots = _draw_graph(ax, X, cases[kind], widest)
        set_titles(ax, kind, "")
    figure.colorbar(dots, ax=axes[:2], label="perplexity", shrink=0.7)
    for kind, colour in zip(KINDS, categorical(2), strict=True):
        values = cases[kind]["eigenvalues"]
        axes[2].plot(range(1, len(values) + 1), values, "o", color=colour, label=kind)
    axes[2].axhline(0.0, color="0.6", linewidth=0.8)
    axes[2].legend(frameon=False, fontsize=8)
    dress(axes[2], title="Laplacian", x="rank", y="eigenvalue")
    return figure


def _draw_graph(ax: Axes, X: Any, case: Case, widest: float) -> Any:
    """Draw edges with opacity by weight, and points coloured by perplexity on a scale shared by both panels."""
    edges = np.asarray(case["edges"])
    ends = X[edges[:, :2].astype(int)]
    opacity = np.minimum(EDGE_SCALE * edges[:, 2], 1.0)
    ax.add_collection(LineCollection(list(ends), colors=[(0.0, 0.0, 0.0, a) for a in opacity], linewidths=1.2))
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_axis_off()
    return ax.scatter(X[:, 0], X[:, 1], s=18, c=case["perplexities"], vmin=1.0, vmax=widest, zorder=3)


def report(cases: Cases) -> str:
    cases = finished(cases)
    rows = []
    for kind in KINDS:
        case = cases.get(kind)
        if case is None:
            rows.append([kind, None, None, None])
            continue
        counts, spread = case["vanishing"], case["perplexities"]
        rows.append(
            [
                kind,
                _counted(counts),
                f"{min(spread):.2f} to {max(spread):.2f}",
                _verdict(kind, counts),
            ]
        )
    note = (
        "In the paper, the doubly stochastic affinity breaks up into many unwanted clusters, whereas the Laplacian of "
        "the symmetric entropic affinity has exactly three vanishing eigenvalues, one per cluster. Here, an "
        f"eigenvalue counts as vanishing if it is below {VANISHING:g}. The average perplexity of both affinities is "
        f"{PERPLEXITY:g}."
    )
    return table(["affinity", "vanishing eigenvalues", "row perplexities (first sample)", "verdict"], rows, note)


def _counted(counts: list[int]) -> str:
    if min(counts) == max(counts):
        return f"{min(counts)} in each of {len(counts)} samples"
    return f"{min(counts)} to {max(counts)} in {len(counts)} samples"


def _verdict(kind: str, counts: list[int]) -> str:
    good = all(count == 3 for count in counts) if kind == "symmetric entropic" else all(count > 3 for count in counts)
    return claim(holds=good)


EXPERIMENT = Experiment("figure2", "Figure 2: three Gaussians, edges and Laplacian eigenvalues", plan, report, draw)
