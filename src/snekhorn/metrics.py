"""Measure how faithful a layout Z is to the data X, and how well it separates known classes y.

`evaluate` computes all measures at once. With up to 5,000 points, every measure is exact. With more points, it is
estimated from a random sample of 1,000 points. Each sampled point is still compared with all others, so the result
estimates the measure of the whole layout: the standard error of a proportion such as `knn_accuracy` is at most 0.016,
and time and memory grow linearly with n. Of points at equal distances, the one with the lowest index is nearer.

Parameters
----------
X : array or sparse matrix of shape (n, p)
    The data, or the full distance matrix if metric="precomputed".
Z : array of shape (n, q)
    The layout. Distances in it are Euclidean.
y : array of shape (n,)
    Classes: numbers or strings. Real numbers that are mostly different are refused.
n_neighbors : int
    Size of a neighbourhood, excluding the point itself.
metric : str, default="euclidean"
    Distance between rows of X: any metric that scikit-learn supports, or "precomputed".
sample : "auto", int or None, default="auto"
    Number of points to sample. None uses all points, in quadratic time. "auto" samples 1,000 of more than 5,000.
random_state : int, RandomState instance or None, default=0
    Random seed for the sample.
n_jobs : int or None, default=None
    Number of threads. None and -1 use all cores. The result does not depend on this number.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from .errors import InputError
from .geometry.distance_metrics import DIRECT_METRICS, check_metric, from_squared, unit_rows, whitened
from .geometry.inputs import check_classes, check_cost_matrix, check_points, check_range
from .geometry.metric_search import distances_between
from .kernels import neighbor_ranks as ranks
from .kernels.squared_distances import sampled_squared_distances
from .runtime.checks import check_count, check_seed
from .runtime.execution import Execution, choose_execution
from .runtime.user_warnings import warn

__all__ = [
    "continuity",
    "distance_correlation",
    "evaluate",
    "knn_accuracy",
    "neighbor_recall",
    "silhouette",
    "trustworthiness",
]

Sample = int | Literal["auto"] | None
Indices = NDArray[np.int64]
Floats = NDArray[np.float64]

RANKED_NEIGHBORS = 5  # the default of scikit-learn's trustworthiness
NEIGHBORS = 15
EXACT_SCORES_LIMIT = 5_000  # number of points above which "auto" takes a sample
SAMPLE = 1_000  # number of sampled points; four times this number would halve the standard error
ENTRIES_AT_ONCE = 2**24  # distances in memory at a time, 128 MiB
MIN_SPREAD = 1e-12  # relative standard deviation below which distances differ only by rounding


def trustworthiness(
    X: Any,
    Z: Any,
    *,
    n_neighbors: int = RANKED_NEIGHBORS,
    metric: str = "euclidean",
    sample: Sample = "auto",
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> float:
    """Compute how reliably neighbours in Z are neighbours in X: 1 = no false neighbours in the layout.

    T = 1 - 2 / (n k (2n - 3k - 1)) sum_i sum_{j in N_Z(i)} max(0, rank_X(i, j) - k)

    where N_Z(i) is the set of the k points nearest to i in Z, and the nearest point has rank 1. `n_neighbors` must be
    less than n / 2. Without ties, the result equals `sklearn.manifold.trustworthiness`. With ties, scikit-learn's
    result depends on its sorting algorithm, and can differ by 0.1. See `snekhorn.metrics` for ties and parameters.

    Reference: Venna and Kaski, "Neighborhood preservation in nonlinear projection methods", ICANN 2001.
    """
    return _rank_measure(ranks.INTRUSION, X, Z, n_neighbors, metric, sample, random_state, n_jobs)


def continuity(
    X: Any,
    Z: Any,
    *,
    n_neighbors: int = RANKED_NEIGHBORS,
    metric: str = "euclidean",
    sample: Sample = "auto",
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> float:
    """Compute how well neighbours in X stay neighbours in Z: 1 = no neighbours are torn apart in the layout.

    This is `trustworthiness` with X and Z swapped:
    C = 1 - 2 / (n k (2n - 3k - 1)) sum_i sum_{j in N_X(i)} max(0, rank_Z(i, j) - k)
    """
    return _rank_measure(ranks.EXTRUSION, X, Z, n_neighbors, metric, sample, random_state, n_jobs)


def neighbor_recall(
    X: Any,
    Z: Any,
    *,
    n_neighbors: int = NEIGHBORS,
    metric: str = "euclidean",
    sample: Sample = "auto",
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> float:
    """Compute the fraction of the k nearest points in X that are among the k nearest in Z, averaged over points.

    R = 1 / (n k) sum_i |N_X(i) ∩ N_Z(i)|

    A random layout has a recall of about k / (n - 1).
    """
    X, Z, metric = _check_pair(X, Z, metric, n_jobs)
    k = _check_neighbors(n_neighbors, len(Z))
    rows = _compare(X, Z, k, k, metric, _draw(len(Z), sample, random_state), n_jobs)
    return float(rows[:, ranks.SHARED].mean() / k)


def distance_correlation(
    X: Any,
    Z: Any,
    *,
    metric: str = "euclidean",
    sample: Sample = "auto",
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> float:
    """Compute Pearson's correlation between distances in X and in Z, over pairs of different points.

    It describes the global arrangement, which neighbourhood-based measures ignore: if it is low, do not trust large
    distances in the picture. Every sampled point is paired with all others. This is not Székely's distance correlation.
    """
    X, Z, metric = _check_pair(X, Z, metric, n_jobs)
    correlation = _correlation(_compare(X, Z, 1, 1, metric, _draw(len(Z), sample, random_state), n_jobs), len(Z))
    if correlation is None:
        raise InputError(f"the {len(Z)} points are equally far apart in X or in Z; pass points at different distances.")
    return correlation


def knn_accuracy(
    Z: Any,
    y: Any,
    *,
    n_neighbors: int = NEIGHBORS,
    sample: Sample = "auto",
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> float:
    """Compute the fraction of points whose class is the most frequent one among their k nearest neighbours.

    If several classes are equally frequent, the one with the nearest point counts.
    """
    Z = _check_embedding(Z)
    labels, sizes = check_classes(y, len(Z))
    k = _check_neighbors(n_neighbors, len(Z))
    rows = _classes(Z, labels, sizes, k, _draw(len(Z), sample, random_state), n_jobs)
    return float(rows[:, ranks.VOTE].mean())


def silhouette(
    Z: Any,
    y: Any,
    *,
    sample: Sample = "auto",
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> float:
    """Compute the mean silhouette coefficient of the classes in Z, from -1 to 1.

    S = 1 / n sum_i (b_i - a_i) / max(a_i, b_i)

    where a_i is the mean distance of i to the other points of its class, and b_i is the smallest mean distance to the
    points of another class. The coefficient of a point that is alone in its class is 0. Equals
    `sklearn.metrics.silhouette_score`.
    """
    Z = _check_embedding(Z)
    labels, sizes = check_classes(y, len(Z))
    if not _is_partition(sizes):
        raise InputError(f"{_few_classes(sizes)}; pass at least 2 classes, one of them with at least 2 points.")
    rows = _classes(Z, labels, sizes, 1, _draw(len(Z), sample, random_state), n_jobs)
    return float(rows[:, ranks.SILHOUETTE].mean())


def evaluate(
    X: Any,
    Z: Any,
    y: Any = None,
    *,
    n_neighbors: int | None = None,
    metric: str = "euclidean",
    sample: Sample = "auto",
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> dict[str, float]:
    """Compute all measures in one pass.

    See `snekhorn.metrics` for the parameters not listed here.

    Parameters
    ----------
    n_neighbors : int or None, default=None
        Size of a neighbourhood for all measures. None uses the default of each measure: 5 for `trustworthiness` and
        `continuity`, 15 for `neighbor_recall` and `knn_accuracy`.

    Returns
    -------
    measures : dict of str to float
        The measures by name, and the number of sampled points as "n_sampled". Undefined measures are left out:
        `knn_accuracy` and `silhouette` without y, `silhouette`, with a warning, if y has one class or as many as
        there are points, and `distance_correlation` if all distances are equal. Measures whose default number of
        neighbours is too large for the number of points are left out unless `n_neighbors` is given.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> evaluate(X, X)["neighbor_recall"]
    1.0
    """
    X, Z, metric = _check_pair(X, Z, metric, n_jobs)
    n, classes = len(Z), None if y is None else check_classes(y, len(Z))
    k_ranks = _choose_neighbors(n_neighbors, RANKED_NEIGHBORS, n, ranked=True)
    k = _choose_neighbors(n_neighbors, NEIGHBORS, n)
    chosen = _draw(n, sample, random_state)
    rows = _compare(X, Z, k_ranks or 1, k or 1, metric, chosen, n_jobs)
    result: dict[str, float] = {}
    if k_ranks:
        result["trustworthiness"] = _one_minus_excess(rows[:, ranks.INTRUSION], k_ranks, n)
        result["continuity"] = _one_minus_excess(rows[:, ranks.EXTRUSION], k_ranks, n)
    if k:
        result["neighbor_recall"] = float(rows[:, ranks.SHARED].mean() / k)
    if (correlation := _correlation(rows, n)) is not None:
        result["distance_correlation"] = correlation
    if classes is not None:
        rows = _classes(Z, *classes, k or 1, chosen, n_jobs)
        if k:
            result["knn_accuracy"] = float(rows[:, ranks.VOTE].mean())
        if _is_partition(classes[1]):
            result["silhouette"] = float(rows[:, ranks.SILHOUETTE].mean())
        elif k:
            warn(
                f"{_few_classes(classes[1])}, so silhouette is undefined and left out; pass classes of several points."
            )
    result["n_sampled"] = chosen.size
    return result


def _rank_measure(
    column: int, X: Any, Z: Any, n_neighbors: Any, metric: str, sample: Sample, random_state: Any, n_jobs: int | None
) -> float:
    X, Z, metric = _check_pair(X, Z, metric, n_jobs)
    k = _check_neighbors(n_neighbors, len(Z), ranked=True)
    rows = _compare(X, Z, k, k, metric, _draw(len(Z), sample, random_state), n_jobs)
    return _one_minus_excess(rows[:, column], k, len(Z))


def _compare(X: Any, Z: Any, k_ranks: int, k_shared: int, metric: str, sample: Indices, n_jobs: int | None) -> Floats:
    """Compute the columns of `compare_rows` for the sampled points, one block at a time."""
    execution = choose_execution(n_jobs)
    if metric == "cosine" and not sparse.issparse(X):
        X = unit_rows(X)
    table = np.empty((sample.size, ranks.N_COMPARED))
    step = min(sample.size, max(1, ENTRIES_AT_ONCE // len(Z)))
    buffers = np.empty((2, step, len(Z)))
    for start in range(0, sample.size, step):
        rows, filled = sample[start : start + step], table[start : start + step]
        dx, dz = buffers[:, : rows.size]
        _fill_distances(dx, X, rows, metric, execution, name="X")
        _fill_distances(dz, Z, rows, "euclidean", execution, name="Z")
        execution.run(ranks.compare_rows, rows.size, dx.size, dx, dz, rows, k_ranks, k_shared, filled)
    return table


def _classes(Z: Any, labels: Indices, sizes: Indices, k: int, sample: Indices, n_jobs: int | None) -> Floats:
    """Compute the columns of `class_rows` for the sampled points, one block at a time."""
    execution = choose_execution(n_jobs)
    table = np.empty((sample.size, ranks.N_CLASSED))
    step = min(sample.size, max(1, ENTRIES_AT_ONCE // len(Z)))
    buffer = np.empty((step, len(Z)))
    for start in range(0, sample.size, step):
        rows, filled = sample[start : start + step], table[start : start + step]
        dz = buffer[: rows.size]
        _fill_distances(dz, Z, rows, "euclidean", execution, name="Z")
        execution.run(ranks.class_rows, rows.size, dz.size, dz, rows, labels, sizes, k, filled)
    return table


def _fill_distances(out: Floats, points: Any, rows: Indices, metric: str, execution: Execution, *, name: str) -> None:
    """Fill `out` with the distances from the points `rows` to all points."""
    if metric == "precomputed":
        out[:] = points[rows]
        return
    if metric in DIRECT_METRICS and not sparse.issparse(points):
        execution.run(sampled_squared_distances, rows.size, out.size, points, rows, out)
        from_squared(out, metric)
    else:
        out[:] = distances_between(points[rows], points, metric)
    check_range(out.T, points, metric=metric, name=name)  # transposed, because it needs a row for every point


def _one_minus_excess(excess: Floats, k: int, n: int) -> float:
    """Compute 1 - 2 / (k (2n - 3k - 1)) mean_i excess_i, which ranges from 0 (worst) to 1 (best)."""
    return float(1.0 - 2.0 / (k * (2.0 * n - 3.0 * k - 1.0)) * excess.mean())


def _correlation(rows: Floats, n: int) -> float | None:
    """Compute Pearson's correlation from the moments of the rows; return None if the distances do not vary."""
    means = rows[:, [ranks.MEAN_X, ranks.MEAN_Z]]
    mean_x, mean_z = means.mean(axis=0)
    a, b = (means - (mean_x, mean_z)).T
    with np.errstate(over="ignore", invalid="ignore"):
        xx = rows[:, ranks.SPREAD_X].sum() + (n - 1) * np.sum(a * a)
        zz = rows[:, ranks.SPREAD_Z].sum() + (n - 1) * np.sum(b * b)
        xz = rows[:, ranks.SPREAD_XZ].sum() + (n - 1) * np.sum(a * b)
    if not np.isfinite([xx, zz]).all():
        which, mean = ("Z", mean_z) if np.isfinite(xx) else ("X", mean_x)
        raise InputError(f"{which} has distances of about {mean:.3g}, whose squares overflow; scale {which} down.")
    scale = MIN_SPREAD * np.sqrt((n - 1) * len(rows))
    if np.sqrt(xx) <= scale * mean_x or np.sqrt(zz) <= scale * mean_z:
        return None
    return float(np.clip(xz / np.sqrt(xx) / np.sqrt(zz), -1.0, 1.0))


def _draw(n: int, sample: Sample, random_state: Any) -> Indices:
    """Draw the sampled points, and return them in ascending order."""
    if isinstance(sample, str) and sample != "auto":
        raise InputError(f"sample must be 'auto', None or a whole number, got {sample!r}.")
    check_seed(random_state)
    generator = check_random_state(random_state)
    size = n if sample is None or n <= EXACT_SCORES_LIMIT else SAMPLE
    if sample is not None and not isinstance(sample, str):
        size = min(n, check_count(sample, "sample"))
    return np.arange(n) if size == n else np.sort(generator.choice(n, size, replace=False))


def _check_pair(X: Any, Z: Any, metric: str, n_jobs: int | None) -> tuple[Any, NDArray[Any], str]:
    """Check X, Z and the metric; if it estimates scales from X, whiten the points and use the Euclidean metric."""
    check_metric(metric)
    Z = _check_embedding(Z)
    if metric != "precomputed":
        X, metric = whitened(check_points(X), metric, choose_execution(n_jobs))
        X = X if sparse.issparse(X) else np.ascontiguousarray(X)
    elif sparse.issparse(X):
        raise InputError("metric='precomputed' needs a full distance matrix, but X is sparse; pass a dense array.")
    else:
        X = check_cost_matrix(X)
    if X.shape[0] != len(Z):
        raise InputError(f"X has {X.shape[0]} points, but Z has {len(Z)}; pass a layout of the same points.")
    return X, Z, metric


def _check_embedding(Z: Any) -> NDArray[Any]:
    if sparse.issparse(Z):
        raise InputError("Z is a sparse matrix; pass a dense layout, such as Z.toarray().")
    return np.ascontiguousarray(check_points(Z, name="Z"))


def _is_partition(sizes: Indices) -> bool:
    """Return whether there are at least two classes, one of them with at least two points."""
    return bool(2 <= sizes.size < sizes.sum())


def _few_classes(sizes: Indices) -> str:
    return f"y has {sizes.size} class{'es' * (sizes.size != 1)} for {sizes.sum()} points"


def _max_neighbors(n: int, *, ranked: bool) -> int:
    """Return the largest neighbourhood size for n points; rank measures are only scaled correctly below n / 2."""
    return (n - 1) // 2 if ranked else n - 1


def _choose_neighbors(n_neighbors: int | None, default: int, n: int, *, ranked: bool = False) -> int | None:
    """Return the given number, or the default, or None if the default is too large for n points."""
    if n_neighbors is not None:
        return _check_neighbors(n_neighbors, n, ranked=ranked)
    return default if default <= _max_neighbors(n, ranked=ranked) else None


def _check_neighbors(n_neighbors: Any, n: int, *, ranked: bool = False) -> int:
    k = check_count(n_neighbors, "n_neighbors")
    largest = _max_neighbors(n, ranked=ranked)
    if k > largest:
        limit = "half the number of points" if ranked else "the number of points"
        remedy = f"pass at most {largest}" if largest else "pass at least three points"
        raise InputError(f"n_neighbors={k} must be less than {limit}, and there are {n} points; {remedy}.")
    return k
