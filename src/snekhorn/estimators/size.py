"""What a fit will need, said before it starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from ..affinities.affinity import Affinity
from ..embedding.latent import DIRECT_LIMIT
from ..geometry.building import GRAPH_REMEDY, count_neighbors
from ..runtime.execution import count_threads
from ..runtime.memory import require
from ..runtime.user_warnings import warn

if TYPE_CHECKING:
    from .neighbor_embedding import NeighborEmbedding

# Measured with tracemalloc, at the peak, beside P: its entries as compressed rows, scaled, some of them left out.
BYTES_PER_PAIR = 36
ASYMMETRIC = 12  # more where the mean of P and its transpose is taken
MATCHED = 8  # more where P loses its diagonal, or its rows are scaled
BYTES_PER_POINT = 500
BYTES_PER_INDEX = 4  # of an entry of a sparse P
LONG_FROM = 20_000  # points from which on sums over all pairs take minutes
PAIRS_PER_SECOND = 1.7e9  # of a thread, see docs/limits.md


def count_points(X: Any) -> int:
    """Number of points of whatever `fit` takes."""
    return len(X[0]) if isinstance(X, tuple) else X.shape[0]


def require_memory(model: NeighborEmbedding, X: Any, affinity: Affinity | None) -> None:
    """Raise MemoryError where P and its layout will not fit; `affinity` None means that X is P."""
    n = count_points(X)
    if affinity is None:
        n_pairs, of_P = (X.nnz if sparse.issparse(X) else X.size), 0  # P is there already
        remedy = "pass a P with fewer entries" if sparse.issparse(X) else "pass a sparse P, without negligible entries"
    else:
        n_edges, remedy = _count_edges(X, n, affinity)
        # Edges in both directions; where they are more than all pairs, P is full.
        n_pairs, index = (2 * n_edges, BYTES_PER_INDEX) if 2 * n_edges < n * n else (n * n, 0)
        of_P = np.dtype(getattr(X, "dtype", float)).itemsize + index
    needed = float(n_pairs) * (of_P + _bytes_beside_P(model)) + n * BYTES_PER_POINT
    require(needed, f"the layout of {n:,} points and {n_pairs:,} pairs", remedy)


def warn_of_long_sums(model: NeighborEmbedding, n: int, method: str) -> None:
    """Say how long direct sums over all pairs of many points will take."""
    if method != "exact" or n <= LONG_FROM:
        return
    hours = float(n) * n * model.max_iter / (PAIRS_PER_SECOND * count_threads(model.n_jobs) * 3600.0)
    remedy = "use method='auto'" if model.n_components in DIRECT_LIMIT else "use n_components=2"
    warn(
        f"{type(model).__name__}: sums over all pairs of {n:,} points in {model.n_components} dimensions may take "
        f"{_in_words(hours)} up to max_iter={model.max_iter}; {remedy}, lower max_iter, or lay out a sample."
    )


def _in_words(hours: float) -> str:
    return f"{max(60.0 * hours, 1.0):.0f} minutes" if hours < 2.0 else f"{hours:.0f} hours"


def knows_symmetry(model: NeighborEmbedding) -> bool:
    """Whether P is symmetric by construction, or was checked to be."""
    return (model.affinity is None or model._given_affinity) and model._latent.normalized != "rows"


def _bytes_beside_P(model: NeighborEmbedding) -> int:
    asymmetric = 0 if knows_symmetry(model) else ASYMMETRIC
    return BYTES_PER_PAIR + asymmetric + (0 if model._latent.doubly_stochastic else MATCHED)


def _count_edges(X: Any, n: int, affinity: Affinity) -> tuple[int, str]:
    """Neighbours of all points together, and how to have fewer."""
    perplexity = affinity._asked_perplexity()
    k = count_neighbors(affinity.n_neighbors, n, perplexity)
    if affinity.metric == "precomputed" and (isinstance(X, tuple) or sparse.issparse(X)):
        given = X.nnz if sparse.issparse(X) else n * np.size(X[0][:1])
        return (given if k is None else min(given, n * k)), "pass a graph with fewer edges"
    if k is not None:
        return n * k, GRAPH_REMEDY
    usual = count_neighbors("auto", n, perplexity)  # as a number: "auto" means all pairs where points are few
    return n * n, f"set n_neighbors={usual} for a sparse affinity, whose memory grows with n only"
