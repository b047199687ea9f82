"""Checks of the parameters of an estimator and of neighbour lists, before any work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from ..affinities.affinity import Affinity
from ..embedding.latent import choose_method
from ..geometry.building import check_metric, count_neighbors
from ..runtime.checks import check_choice, check_count, check_jobs, check_perplexity, check_positive

if TYPE_CHECKING:
    from .neighbor_embedding import NeighborEmbedding


def check_parameters(model: NeighborEmbedding) -> None:
    """Raise for values that no data can make right."""
    check_count(model.n_components, "n_components", largest=3)
    check_perplexity(model.perplexity)
    check_metric(model.metric)
    count_neighbors(model.n_neighbors, 2, model.perplexity)  # raises for what is no number of neighbours
    check_choice(model.self_loops, "self_loops", (True, False))
    check_choice(model.latent_self_loops, "latent_self_loops", (True, False))
    if isinstance(model.init, str):
        check_choice(model.init, "init", ("pca", "spectral", "random"))
    for name in ("early_exaggeration", "exaggeration", "tol", "marginal_tol"):
        check_positive(getattr(model, name), name)
    if not (isinstance(model.learning_rate, str) and model.learning_rate == "auto"):
        check_positive(model.learning_rate, "learning_rate")
    check_choice(model.optimizer, "optimizer", ("momentum", "adam"))
    check_count(model.max_iter, "max_iter")
    check_choice(model.method, "method", ("auto", "exact", "fft"))
    choose_method(model.method, 2, model.n_components)
    check_jobs(model.n_jobs)
    _check_seed(model.random_state)
    if not isinstance(model.verbose, bool | np.bool_):  # numbers mean levels elsewhere, and are taken
        check_count(model.verbose, "verbose", smallest=0)
    if any(not callable(callback) for callback in model._callbacks()):
        raise ValueError(f"callbacks must be a callable, a list of callables or None; got {model.callbacks!r}.")
    if isinstance(model.affinity, str):
        check_choice(model.affinity, "affinity", ("precomputed",))
    elif isinstance(model.affinity, Affinity):
        model.affinity._check_parameters()
    elif model.affinity is not None:
        raise ValueError(
            "affinity must be None, 'precomputed' or an object of snekhorn.affinities; to give P itself, set it to "
            f"'precomputed' and pass P as X. Got {model.affinity!r}."
        )


def _check_seed(random_state: Any) -> None:
    try:
        check_random_state(random_state)
    except ValueError as error:
        raise ValueError(
            "random_state must be a whole number from 0 to 2**32 - 1, a numpy.random.RandomState or None; "
            f"got {random_state!r}."
        ) from error


def check_lists(X: tuple[Any, ...]) -> int:
    """The number of points of a pair (indices, distances); the affinity checks the rest."""
    try:
        indices, distances = X
        if len(indices) == len(distances):
            return len(indices)
        found = f"{len(indices)} and {len(distances)} rows"
    except (TypeError, ValueError):  # not two, or without a length
        found = f"({', '.join(type(part).__name__ for part in X)})"
    raise ValueError(
        f"X is a tuple, which must be (indices, distances), two arrays of one shape (n, k); got {found}. "
        "Pass points as one array."
    )
