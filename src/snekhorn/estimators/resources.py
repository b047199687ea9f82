"""Memory and time that a fit needs, estimated before it starts."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..affinities.affinity import Affinity
from ..embedding.latent import DIRECT_LIMIT
from ..geometry.costs import GRAPH_REMEDY, count_neighbors
from ..runtime.execution import Execution
from ..runtime.memory import require_memory
from ..runtime.user_warnings import warn

# Peak memory beside P, measured with tracemalloc: its entries as compressed rows, scaled, some of them left out.
BYTES_PER_PAIR = 36
ASYMMETRIC_BYTES = 12  # in addition, if the mean of P and its transpose is taken
MATCHED_BYTES = 8  # in addition, if P loses its diagonal or its rows are scaled
BYTES_PER_POINT = 500
BYTES_PER_INDEX = 4  # of an entry of a sparse P
MANY_POINTS = 20_000  # direct sums over the pairs of more points take minutes
PAIRS_PER_SECOND = 1.7e9  # of one thread


def count_points(X: Any) -> int:
    """Return the number of points of whatever `fit` accepts."""
    return len(X[0]) if isinstance(X, tuple) else int(X.shape[0])


def bytes_per_pair(*, symmetric: bool, doubly_stochastic: bool) -> int:
    """Return the peak memory per entry of P while it is laid out, beside P itself."""
    return BYTES_PER_PAIR + (0 if symmetric else ASYMMETRIC_BYTES) + (0 if doubly_stochastic else MATCHED_BYTES)


def require_memory_for_affinity(P: Any, beside: int) -> None:
    """Raise if the layout of a given P does not fit into memory; `beside` is the memory per pair beside P."""
    is_sparse = sparse.issparse(P)
    remedy = "pass a P with fewer entries" if is_sparse else "pass a sparse P, without negligible entries"
    _require(P.shape[0], P.nnz if is_sparse else P.size, beside, remedy)


def require_memory_for_points(X: Any, affinity: Affinity, beside: int) -> None:
    """Raise if the affinity of X and its layout do not fit into memory."""
    n = count_points(X)
    n_edges, remedy = _count_edges(X, n, affinity)
    # Edges in both directions; if these are more than all pairs, P is full.
    n_pairs, index = (2 * n_edges, BYTES_PER_INDEX) if 2 * n_edges < n * n else (n * n, 0)
    itemsize = np.dtype(getattr(X, "dtype", float)).itemsize
    _require(n, n_pairs, itemsize + index + beside, remedy)


def warn_of_long_sums(name: str, n: int, n_components: int, max_iter: int, execution: Execution) -> None:
    """Say how long direct sums over all pairs of many points may take."""
    if n <= MANY_POINTS:
        return
    hours = float(n) * n * max_iter / (PAIRS_PER_SECOND * execution.n_threads * 3600.0)
    duration = f"{max(60.0 * hours, 1.0):.0f} minutes" if hours < 2.0 else f"{hours:.0f} hours"
    remedy = "use method='auto'" if n_components in DIRECT_LIMIT else "use n_components=2"
    warn(
        f"{name}: sums over all pairs of {n:,} points in {n_components} dimensions may take {duration} up to "
        f"max_iter={max_iter}; {remedy}, lower max_iter, or lay out a sample."
    )


def _require(n: int, n_pairs: int, bytes_each: int, remedy: str) -> None:
    needed = float(n_pairs) * bytes_each + n * BYTES_PER_POINT
    require_memory(needed, f"the layout of {n:,} points and {n_pairs:,} pairs", remedy)


def _count_edges(X: Any, n: int, affinity: Affinity) -> tuple[int, str]:
    """Return the number of neighbours of all points together, and how to have fewer."""
    perplexity = affinity.graph_perplexity()
    k = count_neighbors(affinity.n_neighbors, n, perplexity)
    if affinity.metric == "precomputed" and (isinstance(X, tuple) or sparse.issparse(X)):
        given = X.nnz if sparse.issparse(X) else n * np.size(X[0][:1])
        return (given if k is None else min(given, n * k)), "pass a graph with fewer edges"
    if k is not None:
        return n * k, GRAPH_REMEDY
    usual = count_neighbors("auto", n, perplexity)  # as a number: "auto" means all pairs if points are few
    return n * n, f"set n_neighbors={usual} for a sparse affinity, whose memory grows with n only"
