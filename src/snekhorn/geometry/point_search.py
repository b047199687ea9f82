"""Search for the points nearest to queries by Euclidean distance: exact, or with an inverted file.

Both searches find candidates in float32. These are ranked by their costs in the precision of X, computed by direct
differences, then by index, so duplicates have cost 0 and neither the offset nor the scale of X matters. In the exact
search, a bound on the rounding of float32 tells whether other points may be as near as the last one found, as with
ties, or if groups are far apart; then all points within that bound are ranked.

BLAS and faiss round by the size of a batch and by the number of threads. Blocks of a fixed size, each searched on one
thread, make results independent of the number of threads. faiss thus never starts threads, which would not survive a
fork.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..kernels.candidate_ranking import distances_from_products, rank_candidates, rank_within
from ..runtime.execution import Execution, run_in_blocks
from .distance_metrics import Array, unit_rows

Indices: TypeAlias = NDArray[np.integer[Any]]

SPARE = 8  # extra candidates per query; with fewer, more queries are searched twice, and more take longer
PRODUCTS_AT_ONCE = 2**21  # inner products per block of an exact search; more take more memory per thread, ...
QUERIES_AT_ONCE = 192  # ... and fewer, or fewer queries, are slower to compute
CHUNKS_PER_CANDIDATE = 8  # chunks of points whose minima select the candidates; with fewer, too many are selected
LONGEST_CHUNK = 64  # points; shorter chunks take longer to compare, longer ones to search
POINTS_AT_ONCE = 4096  # searched in an inverted file; faiss is slower with fewer, and more keep fewer threads busy
ROW_BY_ROW = 16  # queries searched at once in an inverted file; faiss uses matrix products for 20 or more, and ...
SMALL_BATCH = 64_000  # ... for 128,000 or more entries; they would round by the batch
ROWS_AT_ONCE = 1024  # rows converted to float32 at a time, so that their float64 copy stays in the cache
CENTRE_SAMPLE = 1000  # points whose median is the centre; more take longer and change little
FARTHEST = 1e12  # in half-widths of the data from its centre; queries farther away would overflow float32
RESOLVED = 2.0**-14  # relative to the norm; float32 rounds at 2^-24, so longer distances are accurate to a thousandth
SAME_DIRECTION = 4.0  # units in the last place; unit rows of multiples of one row differ by no more

RECALL_GOAL = 0.96  # of the inverted file; a higher goal takes longer
TUNING_SAMPLE = 300  # points used to tune the number of probes
FIRST_PROBES, MORE_PROBES = 4, 1.25  # lists probed at first, and growth factor until the recall is reached
LISTS = 4.0  # number of lists, in units of the square root of the number of points
ASSIGNED_AT_ONCE = 512  # points assigned to the nearest centre at once; more leave the cache, fewer are slower
CENTRE_ITERATIONS = 4  # of k-means; more take longer and hardly raise the recall
POINTS_PER_LIST = 39  # k-means uses this many points per list; with fewer, the centres are ill-determined


@contextmanager
def faiss_on_one_thread() -> Iterator[Any]:
    """Import faiss and keep it to the calling thread."""
    import faiss  # imported here because it takes longer to load than the rest of the package

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield faiss
    finally:
        faiss.omp_set_num_threads(before)


class PointSearch:
    """Search for the points nearest to queries.

    Parameters
    ----------
    X : array of shape (n, p)
        Points.
    metric : str
        One of the DIRECT_METRICS; "cosine" searches among unit rows.
    """

    def __init__(self, X: Array, metric: str) -> None:
        self.metric = metric
        self.X = self.prepared(X)
        self.zero = 0.0  # squared distances up to this are rounding errors
        if metric == "cosine":
            self.zero = float(SAME_DIRECTION * np.finfo(self.X.dtype).eps) ** 2
        sample = np.linspace(0, len(X) - 1, min(len(X), CENTRE_SAMPLE)).astype(np.intp)
        self.centre = np.median(self.X[sample], axis=0).astype(float)  # not the mean, which an outlier shifts
        above, below = self.X.max(axis=0) - self.centre, self.centre - self.X.min(axis=0)
        self.scale = max(float(above.max()), float(below.max())) or 1.0
        self.points = self._in_frame(self.X)
        self._inverted: tuple[int, Any] | None = None

    def prepared(self, X: Array) -> Array:
        """Return points or queries as rows whose Euclidean distances are searched; memory order affects rounding."""
        return np.ascontiguousarray(unit_rows(X) if self.metric == "cosine" else X)

    def exact(self, queries: Array | None, k: int, dtype: Any, execution: Execution) -> tuple[Indices, Array]:
        """Return indices and squared distances (m, k) of the nearest points, nearest first, then by index.

        With queries=None, every point is a query, and is not its own neighbour.
        """
        found = _Lists(self.X, queries, k, dtype, self.zero)
        self._fill_exactly(found, np.arange(found.size), execution)
        return found.indices, found.squared

    def inverted(self, queries: Array | None, k: int, dtype: Any, execution: Execution) -> tuple[Indices, Array]:
        """Return most of the nearest points, like `exact`, but faster with many points.

        Points as queries are searched in the order of the lists. Other queries are searched row by row, so that each
        is independent of its batch; one whose neighbours float32 cannot resolve is searched exactly.
        """
        found = _Lists(self.X, queries, k, dtype, self.zero)
        n_candidates = min(len(self.X), found.n_wanted + SPARE)
        index = self._inverted_file(n_candidates, execution)
        points = self.points if queries is None else self._in_frame(queries)
        order = _points_by_list(index) if queries is None else np.arange(len(points))
        again = np.zeros(len(points), dtype=bool)

        size = len(points) if queries is None else _rows_of_small_batch(points.shape[1])

        def search(block: slice) -> None:
            rows = order[block]
            reach, near = _search_in_batches(index, points[rows], n_candidates, size)
            found.rank(rows, near)
            again[rows] = found.indices[rows, -1] < 0  # the probed lists held too few points
            if queries is not None:
                again[rows] |= np.sqrt(reach[:, -1]) <= RESOLVED * np.sqrt(_norms(points[rows]))

        at_once = POINTS_AT_ONCE if queries is None else QUERIES_AT_ONCE
        run_in_blocks(execution, search, len(points), at_once, len(points) * n_candidates)
        self._fill_exactly(found, np.flatnonzero(again), execution)
        return found.indices, found.squared

    def ranked(self, candidates: Indices, dtype: Any, execution: Execution) -> tuple[Indices, Array]:
        """Rank the candidates (n, k) of every point, like `exact`."""
        found = _Lists(self.X, None, candidates.shape[1], dtype, self.zero)

        def rank(rows: slice) -> None:
            found.rank(np.arange(rows.start, rows.stop), candidates[rows])

        run_in_blocks(execution, rank, found.size, POINTS_AT_ONCE, candidates.size)
        return found.indices, found.squared

    def _fill_exactly(self, found: _Lists, rows: NDArray[np.intp], execution: Execution) -> None:
        """Fill the lists of these queries with the nearest of all points."""
        n = len(self.X)
        n_candidates = min(n, found.n_wanted + SPARE)
        chunk = max(1, min(LONGEST_CHUNK, n // (CHUNKS_PER_CANDIDATE * n_candidates)))
        norms = _norms(self.points).astype(np.float32)

        def search(block: slice) -> None:
            queries = self._in_frame(found.queries[rows[block]])
            distances = queries @ self.points.T
            minima = np.empty((len(queries), -(-n // chunk)), dtype=np.float32)
            distances_from_products(distances, norms, minima)  # less the squared norm of the query
            limits = np.partition(minima, n_candidates - 1, axis=1)[:, n_candidates - 1]
            found.rank_within(rows[block], distances, minima, limits)
            needed = self._radii(found.squared[rows[block], -1], queries) - _norms(queries)
            unsure = needed >= limits
            found.rank_within(rows[block][unsure], distances[unsure], minima[unsure], needed[unsure])

        size = max(1, min(QUERIES_AT_ONCE, PRODUCTS_AT_ONCE // n))
        run_in_blocks(execution, search, rows.size, size, rows.size * n)

    def _radii(self, squared: Array, points: Array) -> Array:
        """Return the squared distances in float32 beyond which no point can be nearer than the `squared` ones.

        The rounding errors of a product are at most about c (|x| + |y|)^2, and |y| <= |x| + d, so a point at distance d
        appears within ``d^2 + c (8 |x|^2 + 2 d^2)``. Errors of both signs add up like a random walk, hence the root in
        c. If X overflows, nothing can be resolved, and nothing is searched again.
        """
        p = points.shape[1]
        c = (8.0 + 4.0 * np.sqrt(p)) * 2.0**-24
        near = squared.astype(float) / self.scale / self.scale
        radii = near + c * (8.0 * _norms(points) + 2.0 * near) + p * float(np.finfo(np.float32).tiny)
        return np.where(np.isfinite(near), radii, -np.inf)

    def _in_frame(self, X: Array) -> Array:
        """Return X centred and scaled, which removes any offset and unit, as float32."""
        points = np.empty(X.shape, dtype=np.float32)
        for start in range(0, len(X), ROWS_AT_ONCE):
            block = slice(start, start + ROWS_AT_ONCE)
            centred = X[block] - self.centre
            centred /= self.scale
            points[block] = np.clip(centred, -FARTHEST, FARTHEST, out=centred)
        return points

    def _inverted_file(self, k: int, execution: Execution) -> Any:
        """Return the inverted file for k neighbours; one tuned for another k would give different results."""
        if self._inverted is None or self._inverted[0] != k:
            self._inverted = (k, self._build_inverted_file(k, execution))
        return self._inverted[1]

    def _build_inverted_file(self, k: int, execution: Execution) -> Any:
        """Build an inverted file with the smallest number of probes whose recall on a sample reaches the goal."""
        n, p = self.points.shape
        n_lists = max(1, min(int(LISTS * np.sqrt(n)), n // POINTS_PER_LIST))
        centres = _list_centres(self.points, n_lists, execution)
        lists = _nearest_centres(self.points, centres, execution)
        with faiss_on_one_thread() as faiss:
            quantizer = faiss.IndexFlatL2(p)
            quantizer.add(centres)
            index = faiss.IndexIVFFlat(quantizer, p, n_lists, faiss.METRIC_L2)
            index.add_core(n, faiss.swig_ptr(self.points), None, faiss.swig_ptr(lists))  # points are numbered from 0
        sample = np.linspace(0, n - 1, TUNING_SAMPLE).astype(np.intp)
        truth, _ = self.exact(self.X[sample], k, self.X.dtype, execution)
        found = np.empty_like(truth)

        def search(rows: slice) -> None:
            found[rows] = _search_in_batches(index, self.points[sample[rows]], k, ROW_BY_ROW)[1]

        index.nprobe = FIRST_PROBES
        while True:
            run_in_blocks(execution, search, sample.size, ROW_BY_ROW, sample.size * n)
            recall = np.mean([np.any(t[:, None] == f, axis=1) for t, f in zip(truth, found, strict=True)])
            if recall >= RECALL_GOAL or index.nprobe >= n_lists:
                return index
            index.nprobe = min(int(np.ceil(MORE_PROBES * index.nprobe)), n_lists)


class _Lists:
    """Lists of the nearest points of every query."""

    def __init__(self, X: Array, queries: Array | None, k: int, dtype: Any, zero: float) -> None:
        self.X, self.zero = X, zero
        self.exclude_self = queries is None
        self.queries = X if queries is None else queries
        self.n_wanted = k + self.exclude_self
        self.size = len(self.queries)
        self.indices = np.empty((self.size, k), dtype=np.int64)
        self.squared = np.empty((self.size, k), dtype=dtype)

    def rank(self, rows: NDArray[np.intp], candidates: Indices) -> None:
        """Fill the lists of the queries `rows` with the nearest of their candidates."""
        rank_candidates(self.X, self.queries, rows, candidates, *self._settings)

    def rank_within(self, rows: NDArray[np.intp], distances: Array, minima: Array, limits: Array) -> None:
        """Fill the lists of the queries `rows` with the nearest of the points whose distances are within limits."""
        rank_within(self.X, self.queries, rows, distances, minima, limits, *self._settings)

    @property
    def _settings(self) -> tuple[Any, ...]:
        return self.exclude_self, self.zero, self.indices, self.squared


def _list_centres(points: Array, n_lists: int, execution: Execution) -> Array:
    """Run a few steps of k-means on a sample; a centre without points stays where it is."""
    sample = points[np.random.default_rng(0).permutation(len(points))[: POINTS_PER_LIST * n_lists]]
    centres = sample[:n_lists]
    for _ in range(CENTRE_ITERATIONS):
        nearest = _nearest_centres(sample, centres, execution)
        members = sparse.csr_array((np.ones(nearest.size), (nearest, np.arange(nearest.size))), (n_lists, nearest.size))
        sizes = np.bincount(nearest, minlength=n_lists)[:, None]
        centres = np.where(sizes > 0, (members @ sample) / np.maximum(sizes, 1), centres).astype(np.float32)
    return centres


def _nearest_centres(points: Array, centres: Array, execution: Execution) -> NDArray[np.int64]:
    """Return the index of the centre nearest to each point, in float32."""
    halves = (_norms(centres) / 2).astype(np.float32)
    nearest = np.empty(len(points), dtype=np.int64)

    def assign(rows: slice) -> None:
        nearest[rows] = np.argmin(halves - points[rows] @ centres.T, axis=1)

    run_in_blocks(execution, assign, len(points), ASSIGNED_AT_ONCE, points.size)
    return nearest


def _search_in_batches(index: Any, points: Array, k: int, size: int) -> tuple[Array, Indices]:
    """Search an inverted file for the k points nearest to each of these, `size` of them at a time, on one thread."""
    squared, found = np.empty((len(points), k), dtype=np.float32), np.empty((len(points), k), dtype=np.int64)
    with faiss_on_one_thread():
        for start in range(0, len(points), size):
            rows = slice(start, start + size)
            squared[rows], found[rows] = index.search(points[rows], k)
    return squared, found


def _rows_of_small_batch(p: int) -> int:
    """Return the number of rows with p entries that faiss does not multiply as a matrix; one at least."""
    return max(1, min(ROW_BY_ROW, SMALL_BATCH // p))


def _points_by_list(index: Any) -> NDArray[np.intp]:
    """Return the points of an inverted file by list: consecutive ones probe the same lists, which stay in the cache."""
    import faiss

    lists = index.invlists
    sizes = [lists.list_size(i) for i in range(index.nlist)]
    ids = [faiss.rev_swig_ptr(lists.get_ids(i), size) for i, size in enumerate(sizes) if size]
    return np.concatenate(ids)


def _norms(points: Array) -> Array:
    """Return the squared norms of float32 rows in float64."""
    norms: Array = np.einsum("ij,ij->i", points, points, dtype=float)
    return norms
