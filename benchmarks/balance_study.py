"""Measure how scores depend on `balance` and on the number of neighbours, on data and on simulated noise."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from harness.data_sets import load_points, title
from harness.experiment import SEPARATOR, Case, Cases, Plan, Settings
from harness.peers import largest_perplexity
from harness.results_page import part_tables, table
from snekhorn import TSNEkhorn
from snekhorn.metrics import silhouette

from .measure import LAYOUT_DATA, N_THREADS, QUICK_DATA, SCORES, Array, benchmark, layout_scores

PERPLEXITY = 30.0
MOST_POINTS = 10_000
BALANCES = (0.0, 0.25, 0.5, 0.75, 1.0)
NOISE_BALANCES = ("auto", 0.5, 0.75, 1.0)
RATIOS = (1.0, 1.1, 1.25, 1.5, 2.0, 3.0)
PER_PERPLEXITY = (1.1, 1.25, 1.5, 2.0, 3.0)
LARGE_DATA = ("cifar_resnet56", "mnist")  # the data sets with so many points that neighbours are searched


def counts(ratio: float, features: int, depth: int) -> tuple[Array, Array, Array]:
    """Draw relative frequencies of two classes, one with two batches, of which the second is `ratio` times as deep."""
    rng = np.random.default_rng(0)
    first, second = rng.dirichlet(np.ones(features), size=2)
    drawn = [
        rng.multinomial(depth, first, size=300),
        rng.multinomial(depth, second, size=150),
        rng.multinomial(round(ratio * depth), second, size=150),
    ]
    X = np.concatenate([one / one.sum(axis=1, keepdims=True) for one in drawn])
    return X, np.repeat([0, 0, 1, 1], 150), np.repeat([0, 0, 0, 1], 150)


def gaussians(ratio: float, p: int) -> tuple[Array, Array, Array]:
    """Draw five Gaussian clusters in p dimensions; a quarter of the points has noise `ratio` times as large."""
    rng = np.random.default_rng(0)
    y, batch = np.arange(600) % 5, (rng.random(600) < 0.25).astype(int)
    centers = 12.0 * rng.normal(size=(5, p)) / np.sqrt(p)
    return centers[y] + np.where(batch, ratio, 1.0)[:, None] * rng.normal(size=(600, p)), y, batch


SIMULATIONS = {
    "counts, 2,000 features, 1,000 draws": partial(counts, features=2000, depth=1000),
    "counts, 2,000 features, 200 draws": partial(counts, features=2000, depth=200),
    "Gaussians, 10 dimensions": partial(gaussians, p=10),
    "Gaussians, 50 dimensions": partial(gaussians, p=50),
    "Gaussians, 200 dimensions": partial(gaussians, p=200),
}


def plan(settings: Settings) -> Plan:
    cases: Plan = {}
    for name in QUICK_DATA if settings.quick else LAYOUT_DATA:
        for balance in BALANCES:
            cases[SEPARATOR.join((name, "balance", f"{balance:g}"))] = partial(solve, name, balance, settings)
    for kind in SIMULATIONS:
        for ratio in RATIOS[:1] if settings.quick else RATIOS:
            cases[SEPARATOR.join((kind, f"ratio {ratio:g}"))] = partial(solve_noise, kind, ratio)
    for name in () if settings.quick else LARGE_DATA:
        for per in PER_PERPLEXITY:
            cases[SEPARATOR.join((name, "neighbours", f"{per:g}"))] = partial(solve_neighbors, name, per, settings)
    return cases


def _points(name: str, settings: Settings) -> tuple[Array, Array, float]:
    X, y = load_points(name, settings.data, sample=MOST_POINTS)
    return X, y, min(PERPLEXITY, largest_perplexity("openTSNE", len(X)))


def solve(name: str, balance: float, settings: Settings) -> dict[str, Any]:
    """Score the layout of a data set at this balance, and measure what "auto" would choose."""
    X, y, perplexity = _points(name, settings)
    model = TSNEkhorn(perplexity=perplexity, balance=balance, n_jobs=N_THREADS).fit(X)
    auto = model.default_affinity(len(X)).set_params(balance="auto").fit(X).report_ if balance == 1.0 else None
    return {
        "part": "balances",
        "data": name,
        "balance": balance,
        **layout_scores(X, y, model.embedding_),
        "inequality": auto.inequality if auto else None,
    }


def solve_noise(kind: str, ratio: float) -> dict[str, Any]:
    """Measure how well layouts of simulated data separate the classes, and mix the batches of each class."""
    X, y, batch = SIMULATIONS[kind](ratio)
    case: dict[str, Any] = {"part": "noise", "kind": kind, "ratio": ratio}
    for balance in NOISE_BALANCES:
        model = TSNEkhorn(perplexity=PERPLEXITY, balance=balance, n_jobs=N_THREADS).fit(X)
        Z, report = model.embedding_, model.affinity_report_
        classes = [c for c in np.unique(y) if len(np.unique(batch[y == c])) > 1]
        mixed = [silhouette(Z[y == c], batch[y == c]) for c in classes]
        case[f"classes {balance}"], case[f"batches {balance}"] = silhouette(Z, y), float(np.mean(mixed))
        if balance == "auto":
            case |= {"inequality": report.inequality, "balance": report.balance}
    return case


def solve_neighbors(name: str, per_perplexity: float, settings: Settings) -> dict[str, Any]:
    """Score the layout of a data set with this number of neighbours per unit of perplexity."""
    X, y, perplexity = _points(name, settings)
    k = int(np.ceil(per_perplexity * perplexity))
    model = TSNEkhorn(perplexity=perplexity, n_neighbors=k, n_jobs=N_THREADS).fit(X)
    report = model.affinity_report_
    return {
        "part": "neighbors",
        "data": name,
        "k": k,
        "passes": report.n_passes,
        "unreachable_rows": int(report.unreachable_rows.size),
        **layout_scores(X, y, model.embedding_),
    }


def report(cases: Cases) -> str:
    return part_tables(cases, {"balances": _balances_tables, "noise": _noise_table, "neighbors": _neighbors_table})


def _balances_tables(cases: list[Case]) -> str:
    names = list(dict.fromkeys(case["data"] for case in cases))
    found = {(case["data"], case["balance"]): case for case in cases}
    complete = [name for name in names if all((name, balance) in found for balance in BALANCES)]
    rows = [
        [
            f"{balance:g}",
            *(f"{np.mean([found[name, balance][score] for name in complete]):.3f}" for score in SCORES),
        ]
        for balance in BALANCES
        if complete
    ]
    note = (
        f"The table shows the mean scores of t-SNEkhorn over {len(complete)} data sets (of at most {MOST_POINTS:,} "
        f"points) at perplexity {PERPLEXITY:g}, or a third of the number of points if that is less."
    )
    parts = [table(["balance", *SCORES.values()], rows, note)]
    for score in ("neighbor_recall", "silhouette"):
        rows = [
            [
                title(name),
                f"{found[name, 1.0]['inequality']:.2f}" if (name, 1.0) in found else None,
                *(f"{found[name, b][score]:.3f}" if (name, b) in found else None for b in BALANCES),
            ]
            for name in names
        ]
        note = f"The table shows the {SCORES[score]} by data set and balance, beside the inequality of the column sums."
        parts.append(table(["data", "inequality", *(f"balance {balance:g}" for balance in BALANCES)], rows, note))
    return "\n\n".join(parts)


def _noise_table(cases: list[Case]) -> str:
    rows = [
        [
            case["kind"],
            f"{case['ratio']:g}",
            f"{case['inequality']:.2f}",
            f"{case['balance']:.2f}",
            *(f"{case[f'classes {b}']:.2f} / {case[f'batches {b}']:.2f}" for b in NOISE_BALANCES),
        ]
        for case in cases
    ]
    note = (
        "The table shows simulated classes in which some points, a batch, have more noise, or more draws, than the "
        "others, by the ratio. The entries are the silhouette of the classes and, after the slash, the mean silhouette "
        "of the batches within a class, for which 0 is right."
    )
    heads = ["balance auto", *(f"balance {b}" for b in NOISE_BALANCES[1:])]
    return table(["simulation", "ratio", "inequality", "balance chosen", *heads], rows, note)


def _neighbors_table(cases: list[Case]) -> str:
    rows = [
        [
            title(case["data"]),
            str(case["k"]),
            *(f"{case[score]:.3f}" for score in SCORES),
            str(case["passes"]),
            str(case["unreachable_rows"]),
        ]
        for case in cases
    ]
    note = f"The table shows scores at perplexity {PERPLEXITY:g} by number of neighbours, on {MOST_POINTS:,} points."
    return table(["data", "neighbours", *SCORES.values(), "passes", "unreachable rows"], rows, note)


EXPERIMENT = benchmark("balance", "Balance and number of neighbours", plan, report, timed=False)
