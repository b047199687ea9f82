"""Figure 5: two distributions, one of them measured with two levels of noise."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from numpy.typing import NDArray

from .. import SNEkhorn, SymmetricSNE
from ..affinities import EntropicAffinity, SymmetricEntropicAffinity
from ..datasets import make_heteroscedastic_multinomial
from ..metrics import silhouette
from ..plots import scatter
from ..plots.canvas import set_titles
from .drawing import class_legend, panels
from .experiment import Cells, Experiment, Plan, Settings
from .layouts import fitted, paper_model
from .markdown import claim, table

PERPLEXITY = 30.0
NOTHING = 0.01  # of a row's mass
LEAST_BLOCK = 1e-4  # mass that is drawn white
BLOCKS = 40  # parts of rows and columns that the matrix is drawn in
AFFINITIES = {
    "symmetrised entropic": EntropicAffinity(PERPLEXITY, symmetrize=True),
    "symmetric entropic": SymmetricEntropicAffinity(PERPLEXITY),
    "symmetric entropic, no self-loops": SymmetricEntropicAffinity(PERPLEXITY, self_loops=False),
}
METHODS = {  # self-loops in P
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
    """The paper's data; a fifth of the points in quick runs."""
    return make_heteroscedastic_multinomial(200 if settings.quick else 1000)


def batches(n: int) -> list[str]:
    """What each point is, in words."""
    return ["p1"] * (n // 2) + ["p2"] * (n // 4) + ["p2, low noise"] * (n // 4)


def plan(settings: Settings) -> Plan:
    masses: Plan = {name: partial(mass, name, settings) for name in AFFINITIES}
    return masses | {name: partial(layout, name, settings) for name in (*METHODS, *PAPER_METHODS)}


def mass(name: str, settings: Settings) -> dict[str, Any]:
    """What the points of p1 give, in all, to each batch of p2."""
    X, y, batch = simulated(settings)
    P = AFFINITIES[name].fit_transform(X)
    given = P[y == 0]
    return {
        "to_p2": given[:, (y == 1) & (batch == 0)].sum(axis=1).mean(),
        "to_p2_low_noise": given[:, batch == 1].sum(axis=1).mean(),
        "blocks": P.reshape(BLOCKS, len(P) // BLOCKS, BLOCKS, -1).sum(axis=3).mean(axis=1),
    }


def layout(name: str, settings: Settings) -> dict[str, Any]:
    """Layout of the points and silhouettes: of p1 against p2, and of the batches within p2, which should be 0."""
    X, y, batch = simulated(settings)
    if name in METHODS:
        method, self_loops = METHODS[name]
        model = method(perplexity=PERPLEXITY, self_loops=self_loops)
    else:
        method, self_loops = PAPER_METHODS[name]
        model = paper_model(method, PERPLEXITY, len(X), 0, self_loops=self_loops)
    Z = fitted(model, X).embedding_
    return {
        "between": silhouette(Z, y),
        "batches": silhouette(Z[y == 1], batch[y == 1]),
        "layout": Z,
    }


def draw(cells: Cells) -> Figure | None:
    matrices, layouts = (
        [name for name in kinds if name in cells] for kinds in (AFFINITIES, (*METHODS, *PAPER_METHODS))
    )
    if not layouts:
        return None
    figure, axes = panels(len(matrices) + len(layouts), width=3.6, height=3.3)
    for ax, name in zip(axes, matrices, strict=False):
        blocks = np.maximum(np.asarray(cells[name]["blocks"]), LEAST_BLOCK)
        ax.imshow(blocks, norm=LogNorm(LEAST_BLOCK, 1.0), cmap="Blues")
        ax.set(xticks=[], yticks=[])
        set_titles(ax, name, "mass between groups of points")
    for ax, name in zip(axes[len(matrices) :], layouts, strict=True):
        cell = cells[name]
        said = f"p1 / p2 {cell['between']:.2f}, batches {cell['batches']:.2f}"
        Z = np.asarray(cell["layout"])
        scatter(Z, batches(len(Z)), ax=ax, title=name, subtitle=said, legend="none")
    class_legend(figure, list(dict.fromkeys(batches(4))))
    return figure


def report(cells: Cells) -> str:
    masses = [
        [name, cells[name]["to_p2"], cells[name]["to_p2_low_noise"], _misled(cells[name])]
        if name in cells
        else [name, None, None, ""]
        for name in AFFINITIES
    ]
    rows = [
        [name, cells[name]["between"], cells[name]["batches"]] if name in cells else [name, None, None]
        for name in (*METHODS, *PAPER_METHODS)
    ]
    return (
        "The paper: the symmetrised entropic affinity is misled by the level of noise, the symmetric entropic one is "
        "not (misled: it gives one batch more than twice what it gives the other). Mass that a point of p1 gives to "
        "each batch of p2, perplexity 30:\n\n"
        + table(["affinity", "to p2", "to p2, low noise", "verdict"], masses)
        + "\n\nSilhouettes in the layout, of p1 against p2 (higher is better) and of the two batches within p2 (0 is "
        "right: they are one distribution):\n\n"
        + table(["method", "p1 against p2", "batches within p2"], rows)
        + "".join(_compared(cells, *names) for names in RIVALS)
    )


def _compared(cells: Cells, ours: str, other: str) -> str:
    """Whether SNEkhorn mixes the batches more, as the paper has it."""
    if not {ours, other} <= set(cells):
        return ""
    mine, its = cells[ours], cells[other]
    judged = claim(holds=abs(mine["batches"]) < abs(its["batches"]))
    apart = "better" if mine["between"] > its["between"] else "less well"
    return (
        f"\n\n{ours} against {other}: batches {mine['batches']:.2f} and {its['batches']:.2f}, **{judged}**; it "
        f"separates p1 from p2 {apart} ({mine['between']:.2f} and {its['between']:.2f})."
    )


def _misled(cell: Any) -> str:
    if max(cell["to_p2"], cell["to_p2_low_noise"]) < NOTHING:
        return "not misled: next to nothing leaves p1"
    ratio = max(cell["to_p2"], cell["to_p2_low_noise"]) / min(cell["to_p2"], cell["to_p2_low_noise"])
    return f"misled: {ratio:.1f} times as much to one batch" if ratio > 2.0 else "not misled"


EXPERIMENT = Experiment("figure5", "Figure 5: heteroscedastic multinomial data", plan, draw, report)
