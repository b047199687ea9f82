"""The places of new points in a fitted layout, a batch at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..affinities.affinity import Affinity
from ..affinities.entropic import entropic_rows
from ..embedding.charge_sums import Field
from ..embedding.placing import frozen_field, place
from ..geometry.building import NEIGHBORS_PER_PERPLEXITY
from ..runtime.checks import check_jobs
from ..runtime.execution import Threads, count_threads

if TYPE_CHECKING:
    from .neighbor_embedding import NeighborEmbedding

ROWS_AT_ONCE = 50_000  # new points; each takes 4 kB at perplexity 30 while it is placed


def placing_perplexity(affinity: Affinity, otherwise: float) -> float:
    """The perplexity that the rows of new points get: that of the affinity, or another where it has none."""
    if hasattr(affinity, "perplexity_"):
        return float(affinity.perplexity_)
    own = (getattr(affinity, name, None) for name in ("perplexity", "perplexities"))
    return float(affinity._asked_perplexity() if any(value is not None for value in own) else otherwise)


def place_points(model: NeighborEmbedding, X: Any) -> NDArray[Any]:
    """Places (m, n_components) of new points; each by itself, so the batches change nothing."""
    if model._reference.metric == "cosine" and not sparse.issparse(model._reference.X):
        _check_directions(X)
    n_threads = count_threads(check_jobs(model.n_jobs))
    field = _frozen_field(model, n_threads)
    places = np.empty((X.shape[0], model.embedding_.shape[1]), dtype=model.embedding_.dtype)
    for start in range(0, X.shape[0], ROWS_AT_ONCE):
        batch = slice(start, start + ROWS_AT_ONCE)
        places[batch] = _place_batch(model, X[batch], field, n_threads)
    return places


def _frozen_field(model: NeighborEmbedding, n_threads: int) -> Field:
    """The potential of the layout, as it was fitted."""
    log_charges = model.potential_ if model._latent.doubly_stochastic else None
    return frozen_field(model.embedding_, log_charges, model._latent, model.report_.method, Threads(n_threads))


def _place_batch(model: NeighborEmbedding, X: Any, field: Field, n_threads: int) -> NDArray[Any]:
    n = len(model.embedding_)
    perplexity = min(model.perplexity_, n - 1.0)
    k = min(n, int(np.ceil(NEIGHBORS_PER_PERPLEXITY * perplexity)))
    indices, costs = model._reference.query(X, k, n_threads)
    p = entropic_rows(costs, perplexity, n_threads)
    places = place(field, np.asarray(model.embedding_, dtype=float), indices, p, Threads(n_threads))
    places = places.astype(model.embedding_.dtype)
    known = costs[:, 0] == 0.0
    places[known] = model.embedding_[indices[known, 0]]
    return places


def _check_directions(X: Any) -> None:
    """Raise for a row of zeros here: the search sees a batch, and would count its rows from there."""
    largest = abs(X).max(axis=1).toarray() if sparse.issparse(X) else X.any(axis=1)
    zero = np.flatnonzero(largest == 0)
    if zero.size:
        raise ValueError(f"row {zero[0]} of X is zero, where metric='cosine' is undefined; drop it.")
