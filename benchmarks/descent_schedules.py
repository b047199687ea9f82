"""Compare schedules of the descent on data sets of 10,000 points and more: loss, scores and iterations.

Every variant differs from the defaults in one respect; all minimise the same loss from the same initial layout.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import Any
from unittest.mock import patch

from harness.experiment import SEPARATOR, Cases, Plan, Settings, finished
from harness.results_page import figures, table
from snekhorn import TSNEkhorn
from snekhorn.embedding import schedule
from snekhorn.embedding.latent import Latent

from .many_points import TITLES, load_many
from .measure import N_THREADS, SCORES, benchmark, layout_scores

# Parameters of TSNEkhorn, and constants of its schedule.
VARIANTS: dict[str, tuple[dict[str, Any], dict[str, float]]] = {
    "defaults": ({}, {}),
    "early phase of 50 iterations": ({}, {"EARLY_ITER": 50}),
    "early phase of 250 iterations": ({}, {"EARLY_ITER": 250}),
    "momentum 0.95 from the start": ({}, {"rise": 0}),
    "momentum rising over 200 iterations": ({}, {"rise": 200}),
    "momentum 0.9": ({}, {"momentum": 0.9}),
    "momentum 0.98": ({}, {"momentum": 0.98}),
    "momentum 0.8, learning rate 0.25 (as in t-SNE)": ({}, {"momentum": 0.8, "rate": 0.25}),
    "learning rate 2": ({}, {"rate": 2.0}),
    "tol 1e-4": ({"tol": 1e-4}, {}),
    "tol 1e-5": ({"tol": 1e-5}, {}),
}


def plan(settings: Settings) -> Plan:
    return {
        SEPARATOR.join((name, variant)): partial(solve, name, variant, settings)
        for name in TITLES
        for variant in VARIANTS
    }


def solve(name: str, variant: str, settings: Settings) -> dict[str, Any]:
    """Return the scores, loss and iterations of one variant on one data set."""
    X, y = load_many(name, settings.data, quick=settings.quick)
    parameters, constants = VARIANTS[variant]
    model = TSNEkhorn(n_jobs=N_THREADS, random_state=0, **parameters)
    with ExitStack() as patches:
        for constant, value in constants.items():
            patches.enter_context(patch.object(schedule if constant.isupper() else Latent, constant, value))
        Z = model.fit_transform(X)
    case = {"data": name, "variant": variant, "n": len(X), "width": float(Z.max() - Z.min())}
    return {**case, **layout_scores(X, y, Z), "loss": model.kl_divergence_, "iterations": model.n_iter_}


def report(cases: Cases) -> str:
    forms = [*((score, ".3f") for score in SCORES), ("loss", ".3f"), ("iterations", "d"), ("width", ".0f")]
    rows = [[TITLES[case["data"]], case["variant"], *figures(case, forms)] for case in finished(cases).values()]
    note = "The table shows variants of the descent at the default perplexity of 30."
    return table(["data set", "variant", *SCORES.values(), "loss", "iterations", "width of the layout"], rows, note)


EXPERIMENT = benchmark("descents", "Schedules of the descent", plan, report, timed=False)
