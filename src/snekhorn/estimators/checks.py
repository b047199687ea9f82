"""Checks of the parameters of an estimator, before any work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..affinities.base import Affinity
from ..embedding.methods import choose_method
from ..validation import check_choice, check_count, check_jobs, check_perplexity, check_positive

if TYPE_CHECKING:
    from .base import NeighborEmbedding


def check_parameters(model: NeighborEmbedding) -> None:
    """Raise for values that no data can make right."""
    check_count(model.n_components, "n_components", largest=3)
    check_perplexity(model.perplexity)
    check_choice(model.self_loops, "self_loops", (True, False))
    check_choice(model.latent_self_loops, "latent_self_loops", (True, False))
    if isinstance(model.init, str):
        check_choice(model.init, "init", ("pca", "spectral", "random"))
    for name in ("early_exaggeration", "exaggeration", "tol", "marginal_tol"):
        check_positive(getattr(model, name), name)
    if model.learning_rate != "auto":
        check_positive(model.learning_rate, "learning_rate")
    check_choice(model.optimizer, "optimizer", ("momentum", "adam"))
    check_count(model.max_iter, "max_iter")
    check_choice(model.method, "method", ("auto", "exact", "fft"))
    choose_method(model.method, 2, model.n_components)
    check_jobs(model.n_jobs)
    if any(not callable(callback) for callback in model._callbacks()):
        raise ValueError(f"callbacks must be a callable, a list of callables or None; got {model.callbacks!r}.")
    if isinstance(model.affinity, str):
        check_choice(model.affinity, "affinity", ("precomputed",))
    elif model.affinity is not None and not isinstance(model.affinity, Affinity):
        raise ValueError(
            f"affinity must be None, 'precomputed' or an object of snekhorn.affinities, got {model.affinity!r}."
        )
