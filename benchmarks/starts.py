"""Determine whether the descent or the loss makes the difference: continue openTSNE's layouts with t-SNEkhorn.

If the loss from there is no lower, but the scores approach those of t-SNEkhorn's own layouts, the loss determines them.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from harness.data_sets import load_points, title
from harness.experiment import Cases, Plan, Settings, finished
from harness.peers import largest_perplexity, peer_layout
from harness.results_page import table
from snekhorn import TSNEkhorn

from .measure import N_THREADS, QUICK_DATA, SMALL_LAYOUT_DATA, Array, benchmark, layout_scores

PERPLEXITY, SEED = 30, 1
TITLES = {"peer": "openTSNE", "onwards": "t-SNEkhorn from openTSNE", "own": "t-SNEkhorn"}
SHOWN = {"silhouette": "silhouette", "neighbor_recall": "neighbour recall"}


def plan(settings: Settings) -> Plan:
    return {name: partial(compare, name, settings) for name in (QUICK_DATA if settings.quick else SMALL_LAYOUT_DATA)}


def compare(name: str, settings: Settings) -> dict[str, Any]:
    """Score three layouts: openTSNE's, t-SNEkhorn's started from it, and t-SNEkhorn's own."""
    X, y = load_points(name, settings.data)
    perplexity = min(PERPLEXITY, largest_perplexity("openTSNE", len(X)))
    Z = peer_layout("openTSNE", X, perplexity, SEED, N_THREADS)
    layouts = {
        "peer": (Z, None),
        "onwards": laid_out(X, perplexity=perplexity, init=Z, early_exaggeration=1.0),
        "own": laid_out(X, perplexity=perplexity),
    }
    scored = {kind: {"loss": loss, **layout_scores(X, y, layout)} for kind, (layout, loss) in layouts.items()}
    return {"data": name, "layouts": scored}


def laid_out(X: Array, **parameters: Any) -> tuple[Array, float]:
    """Return a layout of t-SNEkhorn and its loss."""
    model = TSNEkhorn(n_jobs=N_THREADS, **parameters).fit(X)
    return model.embedding_, model.kl_divergence_


def report(cases: Cases) -> str:
    rows = []
    for case in finished(cases).values():
        layouts = case["layouts"]
        scores = [f"{layouts[kind][score]:.3f}" for score in SHOWN for kind in TITLES]
        rows.append([title(case["data"]), *scores, *(f"{layouts[kind]['loss']:.4f}" for kind in ("onwards", "own"))])
    heads = [f"{short}: {kind}" for short in SHOWN.values() for kind in TITLES.values()]
    note = (
        f"The table shows three layouts of each data set at perplexity {PERPLEXITY}, or at a third of the number of "
        "points if that is less: the layout of openTSNE, the layout of t-SNEkhorn started from that of openTSNE, and "
        "the layout of t-SNEkhorn with its defaults. The second layout continues the first with another loss, and the "
        "last two minimise the same loss from different initial layouts, so the comparison separates the effect of "
        "the loss from that of the descent."
    )
    return table(["data", *heads, f"loss: {TITLES['onwards']}", f"loss: {TITLES['own']}"], rows, note)


EXPERIMENT = benchmark("starts", "Effect of the loss and of the descent", plan, report, timed=False)
