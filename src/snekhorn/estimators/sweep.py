"""Lay out the same points at several perplexities, with one neighbour search and warm-started affinities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone

from ..affinities.affinity import Affinity
from ..affinities.symmetric_entropic import SymmetricEntropicAffinity
from ..embedding.initial_layout import pca_layout
from ..errors import InputError, InputTypeError
from ..geometry.costs import NeighborGraph, count_neighbors, search_neighbors
from ..geometry.distance_metrics import check_metric, whitened
from ..geometry.inputs import check_layout, check_points, check_squares
from ..runtime.checks import check_perplexity
from ..runtime.execution import choose_execution
from .neighbor_embedding import NeighborEmbedding

Model = TypeVar("Model", bound=NeighborEmbedding)


def sweep(model: Model, X: Any, perplexities: Iterable[float]) -> Iterator[Model]:
    """Fit a clone of `model` at each perplexity, smallest first, and yield it.

    Each clone has its own `affinity_`, but cannot `transform` new points: fit again at the perplexity that you choose.
    The layouts are close, but not identical, to those of separate fits.

    Parameters
    ----------
    model : estimator
        Estimator with its own affinity (affinity=None) and a metric for features.
    X : array of shape (n, p)
        Features.
    perplexities : iterable of float
        Perplexities to fit; duplicates are fitted once.

    Yields
    ------
    estimator
        A fitted clone of `model`.
    """
    if model.affinity is not None or model.metric == "precomputed":
        raise InputError(
            "sweep needs features and the method's own affinity; set affinity=None, and choose a metric other than "
            "'precomputed'."
        )
    perplexities = _checked_list(perplexities)
    X = check_points(X)
    if model.starts_from_pca:
        check_squares(X)
    models: list[Model] = [clone(model).set_params(perplexity=perplexity) for perplexity in sorted(set(perplexities))]
    if not models:
        raise InputError("perplexities is empty; pass at least one perplexity.")
    for one in models:
        one.check_parameters()
        if not isinstance(one.init, str):
            check_layout(one.init, (X.shape[0], one.n_components))
    affinity = models[-1].default_affinity(X.shape[0])
    searched = X
    if affinity.n_neighbors is not None:
        searched = _shared_neighbors(affinity, X)
        affinity.set_params(metric="precomputed")
    if isinstance(affinity, SymmetricEntropicAffinity):
        affinity.set_params(warm_start=True)
    for one in models:
        P = affinity.set_params(perplexity=one.perplexity).fit_transform(searched)
        start = pca_layout(X, one.n_components) if isinstance(one.init, str) and one.init == "pca" else one.init
        one.set_params(affinity="precomputed", init=start).fit(P)
        one.affinity_report_, one.perplexity_ = affinity.report_, affinity.perplexity_
        yield one


def _checked_list(perplexities: Any) -> list[float]:
    """Return the perplexities as a list; raise unless each is a finite number above 1."""
    if isinstance(perplexities, str) or not np.iterable(perplexities):
        raise InputTypeError(
            f"perplexities must be a list of numbers, got {perplexities!r}; pass a list such as [10, 30]."
        )
    found = list(perplexities)
    for perplexity in found:
        check_perplexity(perplexity)
    return found


def _shared_neighbors(largest: Affinity, X: Any) -> NeighborGraph:
    """Search for the neighbours that the largest perplexity needs; smaller perplexities use the nearest of these."""
    check_metric(largest.metric)
    points, metric = whitened(X, largest.metric)
    n = X.shape[0]
    k = count_neighbors(largest.n_neighbors, n, largest.graph_perplexity())
    return search_neighbors(points, k or n - 1, metric, choose_execution(largest.n_jobs))
