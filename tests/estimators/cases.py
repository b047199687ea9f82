"""The estimators, and dense NumPy counterparts of what they compute."""

import numpy as np
import pytest

from snekhorn import registry
from snekhorn.embedding.charge_sums import Kernel

from ..helpers import dense, squared_distances

ESTIMATORS = tuple(entry.load() for entry in registry.METHODS.values())
DOUBLY_STOCHASTIC = tuple(kind for kind in ESTIMATORS if kind.latent.doubly_stochastic)

each_estimator = pytest.mark.parametrize("kind", ESTIMATORS)
each_method = pytest.mark.parametrize("method", ["exact", "fft"])
stops_early = pytest.mark.filterwarnings("ignore:.*stopped at max_iter:sklearn.exceptions.ConvergenceWarning")


def quick(kind, **parameters):
    """An estimator of few iterations."""
    return kind(**{"perplexity": 8.0, "max_iter": 60, **parameters})


def latent_affinity(estimator):
    """Q of a fitted estimator, dense."""
    latent, squared = estimator.latent, squared_distances(estimator.embedding_)
    kernel = 1.0 / (1.0 + squared) if latent.kernel is Kernel.STUDENT else np.exp(-squared)
    if latent.doubly_stochastic:
        if not estimator.latent_self_loops:
            np.fill_diagonal(kernel, 0.0)
        return kernel * np.exp(estimator.potential_[:, None] + estimator.potential_)
    np.fill_diagonal(kernel, 0.0)
    by_row = latent.normalized == "rows"
    return kernel / (kernel.sum(axis=1, keepdims=True) if by_row else kernel.sum() / len(kernel))


def divergence(estimator):
    """KL(P | Q) / n of matrices whose mass may differ."""
    P, Q = dense(estimator.affinity_), latent_affinity(estimator)
    P *= len(P) / P.sum()
    some = P > 0.0
    return (np.sum(P[some] * np.log(P[some] / Q[some])) - P.sum() + Q.sum()) / len(P)
