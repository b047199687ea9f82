"""Beyond the paper: an affinity for several perplexities at once."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from harness.data_sets import title
from harness.experiment import Case, Cases, Experiment, Plan, Settings, finished
from harness.results_page import table
from snekhorn import TSNEkhorn
from snekhorn.affinities import MultiscaleSymmetricEntropicAffinity, row_perplexities
from snekhorn.metrics import distance_correlation, neighbor_recall, silhouette

from .drawing import curves, legend, log_axis, panels
from .layout_protocols import fitted, paper_affinity
from .paper_data import points

SINGLE = (10, 30, 100, 300)
SETS = ("hierarchy", "digits", "coil20")
MULTI = "multi-scale"
SMALL, LARGE = 10, 100  # sizes of neighbourhoods


def hierarchy(seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw 1,000 points in ten dimensions: five groups of five clusters of forty points each."""
    rng = np.random.default_rng(seed)
    groups = 30.0 * rng.normal(size=(5, 1, 1, 10))
    clusters = 6.0 * rng.normal(size=(5, 5, 1, 10))
    X = groups + clusters + rng.normal(size=(5, 5, 40, 10))
    return X.reshape(-1, 10), np.repeat(np.arange(25), 40)


def plan(settings: Settings) -> Plan:
    names, single = (("digits",), SINGLE[:2]) if settings.quick else (SETS, SINGLE)
    columns = (*(f"perplexity {xi}" for xi in single), MULTI)
    return {f"{name}, {column}": partial(measured, name, column, settings) for name in names for column in columns}


def measured(name: str, column: str, settings: Settings) -> dict[str, Any]:
    """Compute a layout and measure how well it preserves neighbourhoods of every size."""
    X, y = hierarchy() if name == "hierarchy" else points(name, settings)
    if column == MULTI:
        model = TSNEkhorn(affinity=MultiscaleSymmetricEntropicAffinity(self_loops=False))
    else:
        model = TSNEkhorn(perplexity=float(column.split()[1]), **paper_affinity(TSNEkhorn))
    Z = fitted(model, X).embedding_
    sizes, kept = kept_neighbours(X, Z)
    rows = row_perplexities(model.affinity_)
    return {
        "data": name,
        "column": column,
        "sizes": sizes,
        "kept": kept,
        "distance_correlation": distance_correlation(X, Z),
        "silhouette": silhouette(Z, y),
        "row_perplexities": [rows.min(), rows.max()],
    }


def kept_neighbours(X: Any, Z: Any) -> tuple[list[int], list[float]]:
    """Compute R_NX of Lee et al. by neighbourhood size: the fraction of neighbours kept, corrected for chance."""
    n = len(X)
    sizes = sorted({int(k) for k in np.geomspace(2, n / 2, 16)})
    recalls = [neighbor_recall(X, Z, n_neighbors=k) for k in sizes]
    return sizes, [((n - 1) * recall - k) / (n - 1 - k) for k, recall in zip(sizes, recalls, strict=True)]


def draw(cases: Cases) -> Figure | None:
    names = list(dict.fromkeys(case["data"] for case in cases.values()))
    if not names:
        return None
    figure, axes = panels(len(names), width=3.4)
    columns = list(dict.fromkeys(case["column"] for case in cases.values()))
    for ax, name in zip(axes, names, strict=True):
        lines = {c["column"]: (c["sizes"], c["kept"]) for c in cases.values() if c["data"] == name}
        curves(ax, lines, columns, title=_title(name), x="size of the neighbourhood", y="kept beyond chance")
        log_axis(ax, max(sizes[-1] for sizes, _ in lines.values()))
    legend(figure, axes, columns=5)
    return figure


def report(cases: Cases) -> str:
    cases = finished(cases)
    rows = [
        [
            _title(c["data"]),
            c["column"],
            _kept(c),
            _kept(c, 0, SMALL),
            _kept(c, LARGE, np.inf),
            c["distance_correlation"],
            c["silhouette"],
            "{:.1f} to {:.1f}".format(*c["row_perplexities"]),
        ]
        for c in cases.values()
    ]
    kept = ["preserved, all sizes", f"preserved, sizes up to {SMALL}", f"preserved, sizes of at least {LARGE}"]
    head = ["data", "affinity", *kept, "distance correlation", "silhouette", "row perplexities"]
    note = (
        "The multi-scale affinity is the mean of the symmetric entropic affinities at the perplexities 8, 16, 32 and "
        "so on, up to half the number of points. Like each of these affinities, it is symmetric and doubly "
        "stochastic. We compare it with single perplexities, using t-SNEkhorn with a balance of 1. The score is the "
        "fraction of neighbours preserved, corrected for chance and averaged over neighbourhood sizes on a "
        f"logarithmic scale (Lee et al. 2015), so that small and large scales have equal weight. {_findings(cases)}"
    )
    return table(head, rows, note.rstrip())


def _kept(case: Case, least: float = 0.0, most: float = np.inf) -> float | None:
    """Average the fraction kept over a range of sizes, which are evenly spaced on a logarithmic scale."""
    kept = [k for size, k in zip(case["sizes"], case["kept"], strict=True) if least <= size <= most]
    return float(np.mean(kept)) if kept else None


def _findings(cases: Cases) -> str:
    """Compare the multi-scale affinity with the best single perplexity on every data set."""
    kept, scores = [], []
    for name in dict.fromkeys(case["data"] for case in cases.values()):
        columns = {c["column"]: c for c in cases.values() if c["data"] == name}
        if MULTI in columns and len(columns) > 1:
            kept.append(_compared(name, {column: float(np.mean(c["kept"])) for column, c in columns.items()}))
            scores.append(_compared(name, {column: c["silhouette"] for column, c in columns.items()}))
    if not kept:
        return ""
    return (
        f"Over all sizes, the score of the multi-scale affinity is {_listed(kept)}; the value of the best single "
        "perplexity is in brackets. The silhouette of the multi-scale affinity, which measures classes and "
        f"therefore a single scale, is {_listed(scores)}. If a row perplexity exceeds the single perplexity "
        "requested, the bandwidth of that row is at its lower bound."
    )


def _listed(said: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(said[:-1]), said[-1]]))


def _compared(name: str, values: dict[str, float]) -> str:
    multi = values.pop(MULTI)
    best = max(values, key=lambda column: values[column])
    return f"{multi:.3f} on {_title(name)} ({values[best]:.3f} at {best})"


def _title(name: str) -> str:
    return "nested clusters" if name == "hierarchy" else title(name)


EXPERIMENT = Experiment("multiscale", "Beyond the paper: several perplexities at once", plan, report, draw)
