"""Distances that are passed as affinities are told, and no affinity is taken for distances."""

import numpy as np
import pytest

from snekhorn import TSNEkhorn
from snekhorn.affinities import SymmetricEntropicAffinity

from ..helpers import clusters, squared_distances

OTHERS = pytest.mark.filterwarnings("ignore:.*(stopped at max_iter|collapsed|cannot reach|row sums of Q)")


@OTHERS
@pytest.mark.parametrize("power", [1, 2])
def test_distances_that_are_passed_as_affinities_are_told(power):
    D = squared_distances(np.random.default_rng(0).normal(size=(60, 3))) ** (power / 2)
    with pytest.warns(UserWarning, match="looks like a matrix of distances; pass these with metric='precomputed'"):
        TSNEkhorn(affinity="precomputed", max_iter=20, tol=1.0).fit(D)


@OTHERS
@pytest.mark.parametrize("perplexity", [3.0, 20.0, 50.0, 57.0])
def test_affinities_do_not_look_like_distances(perplexity):
    for X in (np.random.default_rng(0).normal(size=(60, 5)), np.linspace(0, 1, 60)[:, None], clusters(60)):
        P = SymmetricEntropicAffinity(perplexity, self_loops=False).fit_transform(X)
        kernel = np.exp(-squared_distances(X) / perplexity) - np.eye(60)
        for given in (P, kernel):
            TSNEkhorn(affinity="precomputed", max_iter=20, tol=1.0).fit(given)
