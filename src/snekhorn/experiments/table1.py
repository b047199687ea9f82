"""Table 1: which affinity is symmetric, doubly stochastic, and of equal row entropies; checked in numbers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..affinities import DoublyStochasticAffinity, EntropicAffinity, SymmetricEntropicAffinity, row_entropies
from ..datasets import make_three_gaussians
from .experiment import Cells, Experiment, Plan, Settings
from .markdown import claim, table
from .paper import PROPERTIES

PERPLEXITY = 5.0
HOLDS = 1e-6
AFFINITIES = {
    "entropic": EntropicAffinity(PERPLEXITY),
    "symmetrised entropic": EntropicAffinity(PERPLEXITY, symmetrize=True),
    "doubly stochastic": DoublyStochasticAffinity(perplexity=PERPLEXITY),
    "symmetric entropic": SymmetricEntropicAffinity(PERPLEXITY),
}


def plan(settings: Settings) -> Plan:
    return {name: partial(violations, name) for name in AFFINITIES}


def violations(name: str) -> dict[str, Any]:
    """How far each property is from holding, at worst over the rows, on the data of Figure 2."""
    P = AFFINITIES[name].fit_transform(make_three_gaussians()[0])
    sums = np.concatenate([P.sum(axis=0), P.sum(axis=1)])
    return {
        "symmetric": np.abs(P - P.T).max(),
        "doubly stochastic": np.abs(sums - 1.0).max(),
        "equal entropies": np.abs(row_entropies(P) - np.log(PERPLEXITY) - 1.0).max(),
    }


def draw(cells: Cells) -> Figure | None:
    return None


def report(cells: Cells) -> str:
    properties = list(next(iter(PROPERTIES.values())))
    rows = []
    for name, expected in PROPERTIES.items():
        cell = cells.get(name)
        found = {key: cell[key] < HOLDS for key in properties} if cell else None
        values = [_entry(cell[key]) if cell else None for key in properties]
        rows.append([name, *values, None if found is None else claim(holds=found == expected)])
    note = (
        f"Largest violation of each property on the data of Figure 2 at perplexity {PERPLEXITY:g}; a property that "
        f"is violated by less than {HOLDS:g} holds (✓)."
    )
    return f"{note}\n\n{table(['affinity', *properties, 'verdict'], rows)}"


def _entry(violation: float) -> str:
    return f"{violation:.1e} {'✓' if violation < HOLDS else '✗'}"


EXPERIMENT = Experiment("table1", "Table 1: properties of the affinities", plan, draw, report)
