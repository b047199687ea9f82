"""The estimators, and dense NumPy counterparts of what they compute."""

import numpy as np
import pytest

from snekhorn import SNE, TSNE, SNEkhorn, TSNEkhorn, registry

from ..helpers import dense, squared_distances

ESTIMATORS = tuple(entry.load() for entry in registry.METHODS.values())
DOUBLY_STOCHASTIC = (TSNEkhorn, SNEkhorn)
STUDENT = (TSNEkhorn, TSNE)

each_estimator = pytest.mark.parametrize("kind", ESTIMATORS)
each_method = pytest.mark.parametrize("method", ["exact", "fft"])
stops_early = pytest.mark.filterwarnings("ignore:.*stopped at max_iter:sklearn.exceptions.ConvergenceWarning")


def quick(kind, **parameters):
    """An estimator of few iterations."""
    return kind(**{"perplexity": 8.0, "max_iter": 60, **parameters})


def latent_affinity(estimator):
    """Q of a fitted estimator, dense."""
    kind, squared = type(estimator), squared_distances(estimator.embedding_)
    kernel = 1.0 / (1.0 + squared) if kind in STUDENT else np.exp(-squared)
    if kind in DOUBLY_STOCHASTIC:
        if not estimator.latent_self_loops:
            np.fill_diagonal(kernel, 0.0)
        return kernel * np.exp(estimator.potential_[:, None] + estimator.potential_)
    np.fill_diagonal(kernel, 0.0)
    return kernel / (kernel.sum(axis=1, keepdims=True) if kind is SNE else kernel.sum() / len(kernel))


def divergence(estimator):
    """KL(P | Q) / n of matrices whose mass may differ."""
    P, Q = dense(estimator.affinity_), latent_affinity(estimator)
    P *= len(P) / P.sum()
    some = P > 0.0
    return (np.sum(P[some] * np.log(P[some] / Q[some])) - P.sum() + Q.sum()) / len(P)
