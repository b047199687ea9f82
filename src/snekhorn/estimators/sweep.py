"""Layouts of the same points at several perplexities: neighbours are searched once, affinities start warm."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from sklearn.base import clone

from ..affinities import SymmetricEntropicAffinity
from ..affinities.affinity import Affinity
from ..embedding.initial_layout import pca_layout
from ..geometry.building import FoundNeighbors, check_metric, count_neighbors, search, whitened
from ..geometry.inputs import check_points
from ..runtime.execution import count_threads
from . import NeighborEmbedding
from .checks import check_parameters
from .parts import default_affinity


def sweep(model: NeighborEmbedding, X: Any, perplexities: Iterable[float]) -> Iterator[NeighborEmbedding]:
    """Fit a clone of `model` at each perplexity, from the smallest, and yield it.

    The clones hold their own `affinity_`, and cannot `transform`: fit again at the perplexity that was best.

    Parameters
    ----------
    model : estimator
        Of features, with the affinity of its method.
    X : array of shape (n, p)
    perplexities : iterable of float
    """
    if model.affinity is not None or model.metric == "precomputed":
        raise ValueError("sweep needs features and the affinity of the method: affinity=None and another metric.")
    X = check_points(X)
    models = [clone(model).set_params(perplexity=perplexity) for perplexity in sorted(set(perplexities))]
    if not models:
        raise ValueError("perplexities is empty; pass at least one.")
    for one in models:
        check_parameters(one)
        one._given_layout(X)  # raises where it does not fit the points
    affinity = default_affinity(models[-1], X.shape[0])
    pairs = X
    if affinity.n_neighbors is not None:
        pairs = _shared_neighbors(affinity, X)
        affinity.set_params(metric="precomputed")
    if isinstance(affinity, SymmetricEntropicAffinity):
        affinity.set_params(warm_start=True)
    for one in models:
        P = affinity.set_params(perplexity=one.perplexity).fit_transform(pairs)
        start = pca_layout(X, one.n_components) if isinstance(one.init, str) and one.init == "pca" else one.init
        one.set_params(affinity="precomputed", init=start).fit(P)
        one.affinity_report_, one.perplexity_ = affinity.report_, affinity.perplexity_
        yield one


def _shared_neighbors(largest: Affinity, X: Any) -> FoundNeighbors:
    """The neighbours that the largest perplexity asks for; the others take the nearest of them."""
    check_metric(largest.metric)
    points, metric = whitened(X, largest.metric)
    n = X.shape[0]
    k = count_neighbors(largest.n_neighbors, n, largest._asked_perplexity())
    return search(points, k or n - 1, metric, count_threads(largest.n_jobs))
