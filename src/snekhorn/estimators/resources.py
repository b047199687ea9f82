"""Estimate the memory and time of a fit before it starts."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..affinities.affinity import Affinity
from ..errors import InputError
from ..geometry.costs import GRAPH_REMEDY, count_neighbors, graph_bytes
from ..geometry.preprocessing import components_bytes
from ..runtime.execution import Execution, choose_execution
from ..runtime.memory import require_memory
from ..runtime.user_warnings import warn

# Peak memory in addition to P, measured with tracemalloc: a scaled CSR copy without its negligible entries.
BYTES_PER_PAIR = 36
ASYMMETRIC_BYTES = 12  # additional memory if the mean of P and its transpose is computed
MATCHED_BYTES = 8  # additional memory if the diagonal of P is dropped or its rows are scaled
BYTES_PER_POINT = 500
BYTES_PER_INDEX = 4  # per entry of a sparse P
MANY_POINTS = 20_000  # with more points, direct sums over all pairs take minutes
PAIRS_PER_SECOND = 1.7e9  # per thread


def count_points(X: Any) -> int:
    """Return the number of points in any input that `fit` accepts."""
    return len(X[0]) if isinstance(X, tuple) else int(X.shape[0])


def count_lists(X: tuple[Any, ...]) -> int:
    """Return the number of points of a pair (indices, distances); the affinity checks the rest."""
    try:
        indices, distances = X
        if len(indices) == len(distances):
            return len(indices)
        found = f"{len(indices)} and {len(distances)} rows"
    except (TypeError, ValueError):  # not two items, or items without a length
        found = f"({', '.join(type(part).__name__ for part in X)})"
    raise InputError(
        f"X is a tuple, which must be (indices, distances), two arrays of the same shape (n, k); got {found}. "
        "Pass points as one array."
    )


def bytes_per_pair(*, symmetric: bool, doubly_stochastic: bool) -> int:
    """Return the peak memory of the layout per entry of P, in addition to P itself."""
    return BYTES_PER_PAIR + (0 if symmetric else ASYMMETRIC_BYTES) + (0 if doubly_stochastic else MATCHED_BYTES)


def require_memory_for_affinity(P: Any, beside: int) -> None:
    """Raise if the layout of a given P does not fit into memory; `beside` is the memory per pair in addition to P."""
    is_sparse = sparse.issparse(P)
    remedy = "pass a P with fewer entries" if is_sparse else "pass a sparse P, without negligible entries"
    n, n_pairs = P.shape[0], P.nnz if is_sparse else P.size
    _require(n, n_pairs, _layout_bytes(n, n_pairs, beside), remedy)


def require_memory_for_points(X: Any, affinity: Affinity, beside: int) -> None:
    """Raise if the affinity of X and its layout do not fit into memory."""
    n = count_points(X)
    n_edges, remedy = _count_edges(X, n, affinity)
    # Count edges in both directions, but no more than all pairs.
    n_pairs, index = (2 * n_edges, BYTES_PER_INDEX) if 2 * n_edges < n * n else (n * n, 0)
    own = float(n_pairs) * (np.dtype(getattr(X, "dtype", float)).itemsize + index)
    needed = own + _layout_bytes(n, n_pairs, beside)
    # Points are searched for neighbours, and their principal components are the initial layout.
    if affinity.metric != "precomputed" and not isinstance(X, tuple):
        k = count_neighbors(affinity.n_neighbors, n, affinity.graph_perplexity())
        n_threads = choose_execution(affinity.n_jobs).n_threads
        search = 0.0 if k is None else graph_bytes(X, k, affinity.metric, n_threads)
        needed = max(needed, search, own + components_bytes(X))
    _require(n, n_pairs, needed, remedy)


def warn_of_long_sums(name: str, n: int, n_components: int, max_iter: int, execution: Execution) -> None:
    """Warn how long direct sums over all pairs may take if there are many points."""
    if n <= MANY_POINTS:
        return
    hours = float(n) * n * max_iter / (PAIRS_PER_SECOND * execution.n_threads * 3600.0)
    minutes = max(round(60.0 * hours), 1)
    duration = f"{hours:.0f} hours" if hours >= 2.0 else f"{minutes} minute{'s' * (minutes > 1)}"
    warn(
        f"{name}: sums over all pairs of {n:,} points in {n_components} dimension{'s' * (n_components > 1)} may take "
        f"{duration} with max_iter={max_iter}; use method='auto', lower max_iter, or use a sample of the points."
    )


def _layout_bytes(n: int, n_pairs: int, beside: int) -> float:
    return float(n_pairs) * beside + n * BYTES_PER_POINT


def _require(n: int, n_pairs: int, needed: float, remedy: str) -> None:
    require_memory(needed, f"the layout of {n:,} points with {n_pairs:,} pairs", remedy)


def _count_edges(X: Any, n: int, affinity: Affinity) -> tuple[int, str]:
    """Return the total number of edges, and the remedy if there are too many."""
    perplexity = affinity.graph_perplexity()
    k = count_neighbors(affinity.n_neighbors, n, perplexity)
    if affinity.metric == "precomputed" and (isinstance(X, tuple) or sparse.issparse(X)):
        given = X.nnz if sparse.issparse(X) else n * np.size(X[0][:1])
        return (given if k is None else min(given, n * k)), "pass a graph with fewer edges"
    if k is not None:
        return n * k, GRAPH_REMEDY
    usual = count_neighbors("auto", n, perplexity)  # as a number, because "auto" uses all pairs if there are few points
    return n * n, f"set n_neighbors={usual} for a sparse affinity, whose memory grows linearly with n"
