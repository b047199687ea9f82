"""Estimate the memory and time of a fit before it starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..affinities.affinity import Affinity
from ..embedding.mesh_size import most_nodes
from ..errors import InputError
from ..geometry.costs import GRAPH_REMEDIES, count_neighbors, graph_bytes
from ..geometry.preprocessing import components_bytes
from ..runtime.execution import Execution, choose_execution
from ..runtime.memory import require_memory
from ..runtime.memory_budget import DOUBLE, LAYOUT_POINT, SINGLE, GraphSize, layout_stage
from ..runtime.user_warnings import warn

# Peak memory of the layout per pair of a full P, in addition to P: a CSR copy, made by SciPy.
FULL_BYTES = 36
FULL_MATCHED_BYTES = 8  # additional memory if the diagonal of P is dropped or its rows are scaled
MATCHED_BYTES = 12  # the same for a sparse P, ...
ASYMMETRIC_BYTES = 12  # ... and additional memory if the mean of P and its transpose is computed
LONG_SUMS = "sums over all pairs"  # in a warning that a sweep shows only once
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


@dataclass(frozen=True)
class LayoutKind:
    """What the memory of a layout depends on, apart from P.

    Parameters
    ----------
    symmetric : bool
        Whether P is known to be symmetric.
    doubly_stochastic : bool
        Whether Q is doubly stochastic.
    exact : bool
        Whether sums over all pairs are direct, in float64.
    """

    symmetric: bool
    doubly_stochastic: bool
    exact: bool

    def peak(self, n: int, n_pairs: float, *, full: bool) -> float:
        """Return the peak memory of the layout, in addition to P."""
        if full:
            extra = FULL_BYTES + (0 if self.doubly_stochastic else FULL_MATCHED_BYTES)
            return n_pairs * extra + n * LAYOUT_POINT
        extra = (0 if self.symmetric else ASYMMETRIC_BYTES) + (0 if self.doubly_stochastic else MATCHED_BYTES)
        return layout_stage(n, n_pairs, DOUBLE if self.exact else SINGLE, most_nodes(n), extra)


def require_memory_for_affinity(P: Any, layout: LayoutKind) -> None:
    """Raise if the layout of a given P does not fit into memory."""
    is_sparse = sparse.issparse(P)
    remedy = "pass a P with fewer entries" if is_sparse else "pass a sparse P, without negligible entries"
    n, n_pairs = P.shape[0], P.nnz if is_sparse else P.size
    _require(n, n_pairs, layout.peak(n, n_pairs, full=not is_sparse), remedy)


def require_memory_for_points(X: Any, affinity: Affinity, layout: LayoutKind) -> None:
    """Raise if the affinity of X and its layout do not fit into memory."""
    n, item = count_points(X), np.dtype(getattr(X, "dtype", float)).itemsize
    k, remedies = _neighbors_per_point(X, n, affinity)
    graph = GraphSize(n, k, item)
    full = k >= n - 1
    n_pairs = n * n if full else graph.n_edges
    own = float(n * n * item) if full else graph.edges  # P itself
    stages = [own + layout.peak(n, n_pairs, full=full)]
    # Points are searched for neighbours, and their principal components are the initial layout.
    if affinity.metric != "precomputed" and not isinstance(X, tuple):
        n_threads = choose_execution(affinity.n_jobs).n_threads
        stages.append(own + components_bytes(X))
        if not full:
            stages.append(graph_bytes(X, int(k), affinity.metric, n_threads))
    _require(n, round(n_pairs), max(stages) + unread_bytes(X), *remedies)


def unread_bytes(X: Any) -> int:
    """Return the memory that X will take, if it is the outline of points that are not in memory yet."""
    parts = [X.data, X.indices] if sparse.issparse(X) and X.format == "csr" else [X]
    return sum(part.nbytes for part in parts if isinstance(part, np.ndarray) and part.size and not any(part.strides))


def warn_of_long_sums(name: str, n: int, n_components: int, max_iter: int, execution: Execution) -> None:
    """Warn how long direct sums over all pairs may take if there are many points."""
    if n <= MANY_POINTS:
        return
    hours = float(n) * n * max_iter / (PAIRS_PER_SECOND * execution.n_threads * 3600.0)
    minutes = max(round(60.0 * hours), 1)
    duration = f"{hours:.0f} hours" if hours >= 2.0 else f"{minutes} minute{'s' * (minutes > 1)}"
    warn(
        f"{name}: {LONG_SUMS} of {n:,} points in {n_components} dimension{'s' * (n_components > 1)} may take "
        f"{duration} with max_iter={max_iter}; use method='auto', lower max_iter, or use a sample of the points."
    )


def _require(n: int, n_pairs: int, needed: float, *remedies: str) -> None:
    require_memory(needed, f"the layout of {n:,} points with {n_pairs:,} pairs", *remedies)


def _neighbors_per_point(X: Any, n: int, affinity: Affinity) -> tuple[float, tuple[str, ...]]:
    """Return the number of neighbours per point, n - 1 for all pairs, and the remedies if there are too many."""
    perplexity = affinity.graph_perplexity()
    k = count_neighbors(affinity.n_neighbors, n, perplexity)
    if affinity.metric == "precomputed" and (isinstance(X, tuple) or sparse.issparse(X)):
        given = X.nnz / n if sparse.issparse(X) else float(np.size(X[0][:1]))
        return (given if k is None else min(given, k)), ("pass a graph with fewer edges",)
    if k is not None:
        return k, GRAPH_REMEDIES
    usual = count_neighbors("auto", n, perplexity)  # as a number, because "auto" uses all pairs if there are few points
    if usual == n - 1:
        return n - 1, ("use fewer points",)
    return n - 1, (f"set n_neighbors={usual} for a sparse affinity, whose memory grows linearly with n",)
