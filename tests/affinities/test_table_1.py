"""Table 1 of the paper: properties hold to the tolerance, or are clearly violated."""

import numpy as np
import pytest

from snekhorn.affinities import DoublyStochasticAffinity, EntropicAffinity, SymmetricEntropicAffinity

from ..helpers import clusters, dense, entropies

PERPLEXITY = 8.0
HOLDS, VIOLATED = 1e-7, 1e-2

TABLE = {
    "entropic": (EntropicAffinity(PERPLEXITY), {"entropies"}),
    "symmetrised entropic": (EntropicAffinity(PERPLEXITY, symmetrize=True), {"symmetric"}),
    "doubly stochastic": (DoublyStochasticAffinity(perplexity=PERPLEXITY), {"symmetric", "doubly stochastic"}),
    "symmetric entropic": (
        SymmetricEntropicAffinity(PERPLEXITY),
        {"symmetric", "doubly stochastic", "entropies"},
    ),
}
VIOLATIONS = {
    "symmetric": lambda P: np.abs(P - P.T).max(),
    "doubly stochastic": lambda P: max(np.abs(P.sum(axis=axis) - 1.0).max() for axis in (0, 1)),
    "entropies": lambda P: np.abs(entropies(P) - np.log(PERPLEXITY)).max(),
}


@pytest.mark.parametrize("n_neighbors", [None, 24])
@pytest.mark.parametrize("name", TABLE)
def test_table_1(name, n_neighbors):
    affinity, properties = TABLE[name]
    P = dense(affinity.set_params(n_neighbors=n_neighbors).fit_transform(clusters(90)))
    for kind, violation in VIOLATIONS.items():
        if kind in properties:
            assert violation(P) < HOLDS, kind
        else:
            assert violation(P) > VIOLATED, kind


def test_doubly_stochastic_has_the_perplexity_on_average_only():
    P = DoublyStochasticAffinity(perplexity=PERPLEXITY).fit_transform(clusters(90))
    assert entropies(P).mean() == pytest.approx(np.log(PERPLEXITY), abs=HOLDS)
