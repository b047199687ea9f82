"""Table 1: check numerically which affinities are symmetric, doubly stochastic and have equal row entropies."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from harness.experiment import Cases, Experiment, Plan, Settings, finished
from harness.results_page import table
from snekhorn.affinities import DoublyStochasticAffinity, EntropicAffinity, SymmetricEntropicAffinity, row_entropies
from snekhorn.datasets import make_three_gaussians

from .paper import PROPERTIES
from .verdicts import claim

PERPLEXITY = 5.0
HOLDS = 1e-6  # largest violation of a property that holds; solvers stop at 1e-9, other violations exceed 1e-2
AFFINITIES = {
    "entropic": EntropicAffinity(PERPLEXITY),
    "symmetrised entropic": EntropicAffinity(PERPLEXITY, symmetrize=True),
    "doubly stochastic": DoublyStochasticAffinity(perplexity=PERPLEXITY),
    "symmetric entropic": SymmetricEntropicAffinity(PERPLEXITY),
}


def plan(settings: Settings) -> Plan:
    return {name: partial(violations, name) for name in AFFINITIES}


def violations(name: str) -> dict[str, Any]:
    """Return the largest violation of each property over the rows, on the data of Figure 2."""
    P = AFFINITIES[name].fit_transform(make_three_gaussians()[0])
    sums = np.concatenate([P.sum(axis=0), P.sum(axis=1)])
    return {
        "symmetric": np.abs(P - P.T).max(),
        "doubly stochastic": np.abs(sums - 1.0).max(),
        "equal entropies": np.abs(row_entropies(P) - np.log(PERPLEXITY) - 1.0).max(),
    }


def report(cases: Cases) -> str:
    cases = finished(cases)
    properties = list(next(iter(PROPERTIES.values())))
    rows = []
    for name, expected in PROPERTIES.items():
        case = cases.get(name)
        found = {key: case[key] < HOLDS for key in properties} if case else None
        values = [_entry(case[key]) if case else None for key in properties]
        rows.append([name, *values, None if found is None else claim(holds=found == expected)])
    note = (
        "The table shows the largest violation of each property on the data of Figure 2 at perplexity "
        f"{PERPLEXITY:g}. A property holds (✓) if its violation is below {HOLDS:g}."
    )
    return table(["affinity", *properties, "verdict"], rows, note)


def _entry(violation: float) -> str:
    return f"{violation:.1e} {'✓' if violation < HOLDS else '✗'}"


EXPERIMENT = Experiment("table1", "Table 1: properties of the affinities", plan, report)
