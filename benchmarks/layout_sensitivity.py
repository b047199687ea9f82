"""Measure how much layouts change with the seed, with a tenth of the features dropped, and with the neighbourhood size.

Two layouts of the same points are compared by the neighbours that they share and, after the best rotation, reflection
and scaling of one to the other, by the distances that remain. About ten minutes on two cores (`--jobs 2`): five data
sets of 177 to 1,797 points, on which a layout of the slowest method takes a few seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.spatial import procrustes

from harness.data_sets import load_labeled, prepare_rows, reduce_dimension, title
from harness.experiment import SEPARATOR, Case, Cases, Plan, Settings
from harness.results_page import part_tables, table
from snekhorn.metrics import neighbor_recall, silhouette

from .field_methods import DEFAULTS, ONE_THREAD, PEERS, lay_out, still_valid, version
from .measure import Array, benchmark

DATA = ("scgem", "pbmc68k", "coil20", "digits", "segment, standardised columns")
QUICK_DATA = ("scgem",)
METHODS = (DEFAULTS, "t-SNEkhorn, exaggeration 1.5", "openTSNE", "umap-learn", "PaCMAP", "TriMap", "PHATE")
DROPPED = 0.1  # of the features
REPEATS = 3
FACTORS = (1 / 3, 3.0)
KINDS = {
    "seeds": f"{REPEATS} other seeds",
    "features": f"{DROPPED:.0%} of the features dropped, {REPEATS} times",
    "neighbourhood": "a neighbourhood a third as large, and three times as large",
}
COLUMNS = {
    "agreement": "shared neighbours",
    "disparity": "remaining distances",
    "recall_spread": "spread of the recall",
    "silhouette_spread": "spread of the silhouette",
}


def plan(settings: Settings) -> Plan:
    return {
        SEPARATOR.join((name, kind, method)): partial(solve, name, kind, method, settings)
        for name in (QUICK_DATA if settings.quick else DATA)
        for kind in KINDS
        for method in METHODS
    }


def solve(name: str, kind: str, method: str, settings: Settings) -> dict[str, Any]:
    """Compare layouts that differ in one respect with the layout at the defaults."""
    data, _, preparation = name.partition(", ")
    raw, y = load_labeled(data, settings.data, download=not settings.quick)
    raw = prepare_rows(raw, preparation or "raw")
    lay = partial(lay_out, method, n_jobs=ONE_THREAD)
    X = reduce_dimension(raw)
    Z = lay(X, seed=0)
    others = list(variants(kind, raw, lay))
    recalls = [neighbor_recall(X, other) for other in (Z, *others)]
    silhouettes = [silhouette(other, y) for other in (Z, *others)]
    return {
        "part": kind,
        "data": name,
        "method": method,
        "version": version(method),
        "agreement": float(np.mean([neighbor_recall(Z, other) for other in others])),
        "disparity": float(np.mean([procrustes(Z, other)[2] for other in others])),
        "recall_spread": float(np.std(recalls)),
        "silhouette_spread": float(np.std(silhouettes)),
    }


def variants(kind: str, raw: Array, lay: Any) -> Iterator[Array]:
    """Yield layouts that differ in one respect from the layout of all features with seed 0."""
    if kind == "neighbourhood":
        yield from (lay(reduce_dimension(raw), seed=0, factor=factor) for factor in FACTORS)
        return
    for repeat in range(1, REPEATS + 1):
        kept = kept_features(raw.shape[1], repeat) if kind == "features" else slice(None)
        yield lay(reduce_dimension(raw[:, kept]), seed=repeat if kind == "seeds" else 0)


def kept_features(n_features: int, seed: int) -> Array:
    """Return the features that remain if a tenth, but at least one, is dropped."""
    dropped = max(1, round(DROPPED * n_features))
    return np.sort(np.random.default_rng(seed).permutation(n_features)[dropped:])


def report(cases: Cases) -> str:
    about = (
        "Every layout is compared with the layout of the same points at the defaults: by the fraction of the 15 "
        "nearest neighbours in one that are also among the 15 nearest in the other (1 = no change), and by the squared "
        "distances that remain after the best rotation, reflection and scaling (0 = no change, 1 = no similarity). The "
        "spreads are standard deviations of the scores. All numbers are means over the data sets. t-SNEkhorn starts "
        "from principal components and draws no random numbers for so few points, so a seed has no effect."
    )
    return part_tables(cases, {kind: partial(_kind_text, kind) for kind in KINDS}, about)


def _kind_text(kind: str, cases: list[Case]) -> str:
    names = list(dict.fromkeys(case["data"] for case in cases))
    complete = [m for m in METHODS if sum(case["method"] == m for case in cases) == len(names)]
    means = {m: {key: _mean(cases, m, key) for key in COLUMNS} for m in complete}
    rows = [[m, *(f"{value:.3f}" for value in found.values())] for m, found in means.items()]
    what = f"**{KINDS[kind][0].upper()}{KINDS[kind][1:]}**, on {', '.join(map(title, names))}:"
    return "\n\n".join(filter(None, [table(["method", *COLUMNS.values()], rows, what), verdict(means)]))


def _mean(cases: list[Case], method: str, key: str) -> float:
    return float(np.mean([case[key] for case in cases if case["method"] == method]))


def verdict(means: dict[str, dict[str, float]]) -> str:
    """Say which method keeps the most neighbours, among the peers and our defaults, and where ours is."""
    kept = {m: found["agreement"] for m, found in means.items() if m == DEFAULTS or m in PEERS}
    if DEFAULTS not in kept or len(kept) < 2:
        return ""
    first, second = sorted(kept, key=lambda method: -kept[method])[:2]
    if kept[first] == kept[DEFAULTS]:
        return f"{DEFAULTS} keeps the most neighbours, {kept[first]:.2f}; next is {second} ({kept[second]:.2f})."
    place = 1 + sum(value > kept[DEFAULTS] for value in kept.values())
    return (
        f"{first} keeps the most neighbours, {kept[first]:.2f}; {DEFAULTS} is number {place} of {len(kept)} "
        f"({kept[DEFAULTS]:.2f})."
    )


EXPERIMENT = benchmark("sensitivity", "Sensitivity", plan, report, timed=False, reusable=still_valid)
