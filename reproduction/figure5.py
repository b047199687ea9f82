"""Figure 5: two distributions, one of them measured at two noise levels."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from numpy.typing import NDArray

from harness.experiment import Case, Cases, Experiment, Plan, Settings, finished
from harness.results_page import table
from snekhorn import SNEkhorn, SymmetricSNE
from snekhorn.affinities import EntropicAffinity, SymmetricEntropicAffinity
from snekhorn.datasets import make_heteroscedastic_multinomial
from snekhorn.metrics import silhouette
from snekhorn.plots import scatter

from .drawing import class_legend, panels, set_titles
from .layout_protocols import fitted, paper_affinity, paper_model
from .verdicts import claim

PERPLEXITY = 30.0
NOTHING = 0.01  # fraction of a row's mass that counts as none
MISLED = 2.0  # an affinity is misled if one batch gets more than this many times the mass of the other
LEAST_BLOCK = 1e-4  # mass below this is drawn in white
BLOCKS = 40  # number of blocks per side in the drawing of the matrix
AFFINITIES = {
    "symmetrised entropic": EntropicAffinity(PERPLEXITY, symmetrize=True),
    "symmetric entropic": SymmetricEntropicAffinity(PERPLEXITY),
    "symmetric entropic, no self-loops": SymmetricEntropicAffinity(PERPLEXITY, self_loops=False),
}
METHODS = {  # method, self-loops in P
    "symmetric SNE": (SymmetricSNE, False),
    "SNEkhorn with self-loops": (SNEkhorn, True),
    "SNEkhorn": (SNEkhorn, False),
}
PAPER_METHODS = {
    "symmetric SNE, paper's protocol": (SymmetricSNE, True),
    "SNEkhorn, paper's protocol": (SNEkhorn, True),
}
RIVALS = (tuple(PAPER_METHODS)[::-1], ("SNEkhorn", "symmetric SNE"))


@lru_cache(maxsize=1)
def simulated(settings: Settings) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the paper's data, with a fifth of the points in quick runs."""
    return make_heteroscedastic_multinomial(200 if settings.quick else 1000)


def batches(n: int) -> list[str]:
    """Return the name of each point's distribution and batch."""
    return ["p1"] * (n // 2) + ["p2, high noise"] * (n // 4) + ["p2, low noise"] * (n // 4)


def plan(settings: Settings) -> Plan:
    masses: Plan = {name: partial(mass, name, settings) for name in AFFINITIES}
    return masses | {name: partial(layout, name, settings) for name in (*METHODS, *PAPER_METHODS)}


def mass(name: str, settings: Settings) -> dict[str, Any]:
    """Return the mean mass that a point of p1 gives to each batch of p2, and the affinity in blocks."""
    X, y, batch = simulated(settings)
    P = AFFINITIES[name].fit_transform(X)
    given = P[y == 0]
    return {
        "to_p2": given[:, (y == 1) & (batch == 0)].sum(axis=1).mean(),
        "to_p2_low_noise": given[:, batch == 1].sum(axis=1).mean(),
        "blocks": P.reshape(BLOCKS, len(P) // BLOCKS, BLOCKS, -1).sum(axis=3).mean(axis=1),
    }


def layout(name: str, settings: Settings) -> dict[str, Any]:
    """Compute a layout and its silhouettes for p1 and p2, and for the batches within p2, which should be 0."""
    X, y, batch = simulated(settings)
    if name in METHODS:
        method, self_loops = METHODS[name]
        model = method(perplexity=PERPLEXITY, self_loops=self_loops, **paper_affinity(method))
    else:
        method, self_loops = PAPER_METHODS[name]
        model = paper_model(method, PERPLEXITY, len(X), 0, self_loops=self_loops)
    Z = fitted(model, X).embedding_
    return {
        "between": silhouette(Z, y),
        "batches": silhouette(Z[y == 1], batch[y == 1]),
        "layout": Z,
    }


def draw(cases: Cases) -> Figure | None:
    matrices, layouts = (
        [name for name in kinds if name in cases] for kinds in (AFFINITIES, (*METHODS, *PAPER_METHODS))
    )
    if not layouts:
        return None
    figure, axes = panels(len(matrices) + len(layouts), width=3.6, height=3.3)
    for ax, name in zip(axes, matrices, strict=False):
        blocks = np.maximum(np.asarray(cases[name]["blocks"]), LEAST_BLOCK)
        ax.imshow(blocks, norm=LogNorm(LEAST_BLOCK, 1.0), cmap="Blues")
        ax.set(xticks=[], yticks=[])
        set_titles(ax, name, "mass between groups of points")
    for ax, name in zip(axes[len(matrices) :], layouts, strict=True):
        case = cases[name]
        said = f"p1 / p2 {case['between']:.2f}, batches {case['batches']:.2f}"
        Z = np.asarray(case["layout"])
        scatter(Z, batches(len(Z)), ax=ax, title=name, subtitle=said, legend="none")
    class_legend(figure, list(dict.fromkeys(batches(4))))
    return figure


def report(cases: Cases) -> str:
    cases = finished(cases)
    masses = [
        [name, cases[name]["to_p2"], cases[name]["to_p2_low_noise"], _misled(cases[name])]
        if name in cases
        else [name, None, None, ""]
        for name in AFFINITIES
    ]
    rows = [
        [name, cases[name]["between"], cases[name]["batches"]] if name in cases else [name, None, None]
        for name in (*METHODS, *PAPER_METHODS)
    ]
    affinities = (
        "The data come from two distributions, p1 and p2. The points of p2 form two batches, one of which has less "
        "noise. In the paper, the symmetrised entropic affinity is misled by the noise level, and the symmetric "
        "entropic affinity is not. Here, an affinity counts as misled if one batch gets more than twice the mass of "
        "the other. The table shows the mean mass that a point of p1 gives to each batch of p2 at perplexity "
        f"{PERPLEXITY:g}."
    )
    layouts = (
        "The second table shows two silhouettes of each layout: that of p1 against p2 (higher is better), and that of "
        "the two batches within p2 (0 is ideal, because both batches come from p2)."
    )
    return "\n\n".join(
        [
            table(["affinity", "to p2, high noise", "to p2, low noise", "verdict"], masses, affinities),
            table(["method", "p1 against p2", "batches within p2"], rows, layouts),
            *filter(None, (_compared(cases, *names) for names in RIVALS)),
        ]
    )


def _compared(cases: Cases, ours: str, other: str) -> str:
    """Report whether SNEkhorn mixes the batches more, as in the paper."""
    if not {ours, other} <= set(cases):
        return ""
    mine, its = cases[ours], cases[other]
    judged = claim(holds=abs(mine["batches"]) < abs(its["batches"]))
    apart = "better" if mine["between"] > its["between"] else "less well"
    return (
        f"The silhouette of the batches is {mine['batches']:.2f} for *{ours}* and {its['batches']:.2f} for *{other}*: "
        f"**{judged}**. The former separates p1 from p2 {apart} (silhouettes of {mine['between']:.2f} and "
        f"{its['between']:.2f})."
    )


def _misled(case: Case) -> str:
    if max(case["to_p2"], case["to_p2_low_noise"]) < NOTHING:
        return "not misled: almost no mass leaves p1"
    ratio = max(case["to_p2"], case["to_p2_low_noise"]) / min(case["to_p2"], case["to_p2_low_noise"])
    return f"misled: one batch gets {ratio:.1f} times as much" if ratio > MISLED else "not misled"


EXPERIMENT = Experiment("figure5", "Figure 5: heteroscedastic multinomial data", plan, report, draw)
