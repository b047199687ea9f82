"""Measure the effect of design choices: self-loops, exaggeration, descent, and perplexity as a function of n.

Every variant differs from the defaults in one choice. Scores are the best, or the mean, over a few perplexities.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np

from harness.data_sets import load_points, title
from harness.experiment import SEPARATOR, Case, Cases, NotAvailable, Plan, Settings
from harness.results_page import figures, part_tables, table
from snekhorn import TSNEkhorn
from snekhorn.embedding.latent import Latent

from .measure import N_THREADS, QUICK_DATA, SCORES, SMALL_LAYOUT_DATA, benchmark, layout_scores

PERPLEXITIES = (10, 30, 100)
SIZES, SIZE_PERPLEXITIES = (1_000, 3_000, 10_000, 30_000), (10, 30, 100, 300)

# Parameters of TSNEkhorn, and attributes of its schedule.
VARIANTS: dict[str, tuple[dict[str, Any], dict[str, float]]] = {
    "defaults": ({}, {}),
    "self-loops in P and Q (as in the paper)": ({"self_loops": True}, {}),
    "self-loops in P only": ({"self_loops": True, "latent_self_loops": False}, {}),
    "self-loops in neither": ({"latent_self_loops": False}, {}),
    "exaggeration 1.2": ({"exaggeration": 1.2}, {}),
    "exaggeration 1.5": ({"exaggeration": 1.5}, {}),
    "momentum 0.8, learning rate 0.25 (as in t-SNE)": ({}, {"momentum": 0.8, "rate": 0.25}),
    "momentum 0.9": ({}, {"momentum": 0.9}),
    "momentum 0.95 from the start": ({}, {"rise": 0}),
    "at most 500 iterations": ({"max_iter": 500}, {}),
    "at most 5,000 iterations, tol 3e-6": ({"max_iter": 5_000, "tol": 3e-6}, {}),
    "Adam from a random layout (as in the paper)": ({"optimizer": "adam", "self_loops": True, "tol": 1e-5}, {}),
}
SAME_LOSS = ("momentum", "at most")  # prefixes of the variants that minimise the same loss as the defaults
SCORE_FORMS = [(score, ".3f") for score in SCORES]


def plan(settings: Settings) -> Plan:
    cases: Plan = {}
    for name in QUICK_DATA if settings.quick else SMALL_LAYOUT_DATA:
        for variant in VARIANTS:
            for xi in PERPLEXITIES:
                case = {"part": "variants", "data": name, "variant": variant, "perplexity": xi}
                cases[SEPARATOR.join((name, variant, str(xi)))] = partial(solve, case, settings)
    for n in SIZES[:1] if settings.quick else SIZES:
        for xi in SIZE_PERPLEXITIES:
            case = {"part": "sizes", "n": n, "variant": "defaults", "perplexity": xi}
            cases[SEPARATOR.join(("mnist", f"{n:,} points", str(xi)))] = partial(solve, case, settings)
    return cases


def solve(case: dict[str, Any], settings: Settings) -> dict[str, Any]:
    """Return the scores, loss and iterations of one variant on one data set at one perplexity."""
    X, y = load_points(case.get("data", "mnist"), settings.data, n=case.get("n"))
    if case["perplexity"] >= len(X):
        raise NotAvailable(f"{title(case['data'])} has only {len(X)} points.")
    parameters, constants = VARIANTS[case["variant"]]
    model = TSNEkhorn(perplexity=case["perplexity"], n_jobs=N_THREADS, random_state=0, **parameters)
    if model.optimizer == "adam":
        model.set_params(init=np.random.default_rng(0).normal(size=(len(X), 2)))
    with ExitStack() as patches:
        for name, value in constants.items():
            patches.enter_context(patch.object(Latent, name, value))
        Z = model.fit_transform(X)
    return {**case, **layout_scores(X, y, Z), "loss": model.kl_divergence_, "iterations": model.n_iter_}


def report(cases: Cases) -> str:
    return part_tables(cases, {"variants": _variants_tables, "sizes": _sizes_table})


def _variants_tables(cases: list[Case]) -> str:
    """Return tables of each variant's mean scores over the data sets, then tables of scores by data set."""
    names = list(dict.fromkeys(case["data"] for case in cases))
    titles = [title(name) for name in names]
    best = [
        [
            variant,
            *_means(cases, variant, max),
            f"{np.median([case['iterations'] for case in cases if case['variant'] == variant]):.0f}",
            f"{_loss_change(cases, variant):+.2%}" if variant.startswith(SAME_LOSS) else "",
        ]
        for variant in VARIANTS
    ]
    mean = [[variant, *_means(cases, variant, np.mean)] for variant in VARIANTS]
    *first, last = PERPLEXITIES
    over = f"over the perplexities {', '.join(map(str, first))} and {last}, averaged over {len(names)} data sets"
    head = ["variant", *SCORES.values()]
    parts = [
        table(
            [*head, "median iterations", "mean change in loss from the defaults"],
            best,
            f"The table shows the best score {over}.",
        ),
        table(head, mean, f"The table shows the mean score {over}."),
    ]
    for score in ("silhouette", "neighbor_recall"):
        what = f"The table shows the {SCORES[score]}"
        rows = [[variant, *(_of(cases, name, variant, score) for name in names)] for variant in VARIANTS]
        parts.append(table(["variant", *titles], rows, f"{what} by variant and data set, at the best perplexity."))
        rows = [[str(xi), *(_of(cases, name, "defaults", score, (xi,)) for name in names)] for xi in PERPLEXITIES]
        parts.append(table(["perplexity", *titles], rows, f"{what} of the defaults by perplexity and data set."))
    return "\n\n".join(parts)


def _means(cases: list[Case], variant: str, choose: Callable[[list[float]], float]) -> list[str]:
    """Return every score, averaged over the data sets, at the best perplexity or averaged over perplexities."""
    names = dict.fromkeys(case["data"] for case in cases)
    return [
        f"{np.mean([_score(cases, name, variant, score, choose=choose) for name in names]):.3f}" for score in SCORES
    ]


def _sizes_table(cases: list[Case]) -> str:
    found = {(case["n"], case["perplexity"]): case for case in cases}
    head = ["points", *(f"perplexity {xi}" for xi in SIZE_PERPLEXITIES)]
    rows = [
        [f"{n:,}", *(" ".join(figures(found.get((n, xi), {}), SCORE_FORMS)) for xi in SIZE_PERPLEXITIES)]
        for n in dict.fromkeys(n for n, _ in found)
    ]
    *first, last = SCORES.values()
    sizes = [n for n, _ in found]
    note = (
        f"Each entry gives the {', '.join(first)} and {last}, in this order, of the defaults on the first "
        f"{min(sizes):,} to {max(sizes):,} points of MNIST."
    )
    return table(head, rows, note)


def _loss_change(cases: list[Case], variant: str) -> float:
    """Return the mean relative change of the loss from the defaults, over data sets and perplexities."""
    losses = {(c["data"], c["perplexity"]): c["loss"] for c in cases if c["variant"] == "defaults"}
    found = [case for case in cases if case["variant"] == variant]
    return float(np.mean([c["loss"] / losses[c["data"], c["perplexity"]] - 1.0 for c in found]))


def _of(cases: list[Case], name: str, variant: str, score: str, perplexities: tuple[int, ...] = PERPLEXITIES) -> str:
    best = _score(cases, name, variant, score, perplexities)
    return "" if best is None else f"{best:.3f}"


def _score(
    cases: list[Case],
    name: str,
    variant: str,
    score: str,
    perplexities: tuple[int, ...] = PERPLEXITIES,
    choose: Callable[[list[float]], float] = max,
) -> float | None:
    """Return the largest or mean score over the perplexities, or None if the data set has too few points."""
    found = [case for case in cases if case["data"] == name and case["variant"] == variant]
    scores = [case[score] for case in found if case["perplexity"] in perplexities]
    return choose(scores) if scores else None


EXPERIMENT = benchmark("study", "Design choices", plan, report, timed=False)
