"""One step beyond: several perplexities at once."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from .. import TSNEkhorn
from ..affinities import MultiscaleSymmetricEntropicAffinity, row_perplexities
from ..metrics import distance_correlation, neighbor_recall, silhouette
from .data import points, title
from .drawing import curves, legend, logarithmic, panels
from .experiment import Cells, Experiment, Plan, Settings, finished
from .layouts import fitted
from .markdown import table

SINGLE = (10, 30, 100, 300)
SETS = ("hierarchy", "digits", "coil20")
MULTI = "multi-scale"
SMALL, LARGE = 10, 100  # neighbourhoods


def hierarchy(seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """1,000 points in ten dimensions: five groups, each of five clusters, each of forty points."""
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
    """A layout, and how well it keeps neighbourhoods of every size."""
    X, y = hierarchy() if name == "hierarchy" else points(name, settings)
    if column == MULTI:
        model = TSNEkhorn(affinity=MultiscaleSymmetricEntropicAffinity(self_loops=False))
    else:
        model = TSNEkhorn(perplexity=float(column.split()[1]))
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
    """R_NX of Lee et al.: shared neighbours beyond chance, 1 for all of them, for neighbourhoods of growing size."""
    n = len(X)
    sizes = sorted({int(k) for k in np.geomspace(2, n / 2, 16)})
    recalls = [neighbor_recall(X, Z, n_neighbors=k) for k in sizes]
    return sizes, [((n - 1) * recall - k) / (n - 1 - k) for k, recall in zip(sizes, recalls, strict=True)]


def draw(cells: Cells) -> Figure | None:
    names = list(dict.fromkeys(cell["data"] for cell in cells.values()))
    if not names:
        return None
    figure, axes = panels(len(names), width=3.4)
    columns = list(dict.fromkeys(cell["column"] for cell in cells.values()))
    for ax, name in zip(axes, names, strict=True):
        lines = {c["column"]: (c["sizes"], c["kept"]) for c in cells.values() if c["data"] == name}
        curves(ax, lines, columns, title=_title(name), x="size of the neighbourhood", y="kept beyond chance")
        logarithmic(ax, max(sizes[-1] for sizes, _ in lines.values()))
    legend(figure, axes, columns=5)
    return figure


def report(cells: Cells) -> str:
    cells = finished(cells)
    rows = [
        [
            _title(c["data"]),
            c["column"],
            average(c),
            _part(c, 0, SMALL),
            _part(c, LARGE, np.inf),
            c["distance_correlation"],
            c["silhouette"],
            "{:.1f} to {:.1f}".format(*c["row_perplexities"]),
        ]
        for c in cells.values()
    ]
    kept = ["kept, all sizes", f"up to {SMALL}", f"from {LARGE}"]
    head = ["data", "affinity", *kept, "correlation of distances", "silhouette", "row perplexities"]
    return (
        "The mean of the symmetric entropic affinities of perplexities 8, 16, 32 ... up to half of the points, which "
        "is symmetric and doubly stochastic like each of them, against single ones, all by t-SNEkhorn at its "
        "defaults. Neighbourhoods kept beyond chance, averaged over their sizes on a logarithmic scale (Lee et al. "
        f"2015), tell of small and large scales together. {_findings(cells)}\n\n{table(head, rows)}"
    )


def average(cell: Any) -> float:
    """Of what is kept, over neighbourhoods of all sizes, which are evenly spaced on a logarithmic scale."""
    return float(np.mean(cell["kept"]))


def _part(cell: Any, least: float, most: float) -> float | None:
    """The same over some sizes, where there are such."""
    kept = [k for size, k in zip(cell["sizes"], cell["kept"], strict=True) if least <= size <= most]
    return float(np.mean(kept)) if kept else None


def _findings(cells: Cells) -> str:
    """The multi-scale affinity against the best single one, on every data set."""
    found, scores = [], []
    for name in dict.fromkeys(cell["data"] for cell in cells.values()):
        values = {c["column"]: average(c) for c in cells.values() if c["data"] == name}
        multi = values.pop(MULTI, None)
        if multi is None or not values:
            continue
        best = max(values, key=lambda column: values[column])
        what = "more than" if multi > values[best] else "less than"
        found.append(f"on {_title(name)} it keeps {multi:.3f}, {what} the best single one ({best}, {values[best]:.3f})")
        classes = {c["column"]: c["silhouette"] for c in cells.values() if c["data"] == name}
        top = max(values, key=lambda column: classes[column])
        scores.append(f"{classes[MULTI]:.3f} on {_title(name)} ({top}: {classes[top]:.3f})")
    if not found:
        return ""
    return (
        f"Over all sizes: {'; '.join(found)}. Classes are a matter of one scale, and its silhouette is "
        f"{'; '.join(scores)}. Rows above the perplexity of a single affinity are at the floor of their bandwidths."
    )


def _title(name: str) -> str:
    return "hierarchy of clusters" if name == "hierarchy" else title(name)


EXPERIMENT = Experiment("multiscale", "Beyond the paper: several perplexities at once", plan, draw, report)
