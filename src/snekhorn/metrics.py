"""How faithful an embedding Z is to the data X, and how well it separates known classes y.

`evaluate` gives all measures at once. Each looks at all points from every point or, above 5,000 points, from a
random sample of 1,000. A sampled point is still compared with all the others, so what is estimated is the measure of
all n points, a share such as `knn_accuracy` with a standard error of at most 0.016; time and memory grow with n, not
with its square. Of points at one distance, the one of lower index counts as nearer.

Parameters
----------
X : array or sparse matrix of shape (n, p)
    The data; with metric="precomputed" their full matrix of distances.
Z : array of shape (n, q)
    The embedding, in which distances are Euclidean.
y : array of shape (n,)
    The classes: numbers or strings.
n_neighbors : int
    How many nearest points make a neighbourhood; the point itself is not counted.
metric : str, default="euclidean"
    Distance between rows of X: any metric that scikit-learn knows, or "precomputed".
sample : "auto", int or None, default="auto"
    From how many points to look: a number, None for all (time grows with the square of n), or "auto".
random_state : int, RandomState instance or None, default=0
    Draws the sample.
n_jobs : int or None, default=None
    Number of threads; None and -1 use all cores. The result does not depend on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_random_state

from .geometry.distance_metrics import DIRECT_METRICS, check_metric, from_squared, unit_rows, whitened
from .geometry.inputs import check_classes, check_cost_matrix, check_points, check_range
from .kernels import neighbor_ranks as ranks
from .kernels.squared_distances import sampled_squared_distances
from .runtime.checks import check_count, check_jobs
from .runtime.execution import count_threads, run_rows

__all__ = [
    "continuity",
    "distance_correlation",
    "evaluate",
    "knn_accuracy",
    "neighbor_recall",
    "silhouette",
    "trustworthiness",
]

RANKED_NEIGHBORS = 5  # the default of scikit-learn's trustworthiness
NEIGHBORS = 15
EXACT_LIMIT, SAMPLE = 5_000, 1_000  # points: all are looked from up to the limit, a sample above
ENTRIES_AT_ONCE = 2**24  # distances held in memory, 128 MiB
LEAST_SPREAD = 1e-12  # relative standard deviation below which distances are equal but for rounding


def trustworthiness(
    X: Any,
    Z: Any,
    *,
    n_neighbors: int = RANKED_NEIGHBORS,
    metric: str = "euclidean",
    sample: int | str | None = "auto",
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> float:
    """Whether neighbours in Z are near in X: 1 if all are neighbours in X too, less for every intruder.

    T = 1 - 2 / (n k (2n - 3k - 1)) sum_i sum_{j in N_Z(i)} max(0, rank_X(i, j) - k)

    with N_Z(i) the k nearest points of i in Z, and rank 1 for the nearest point. `n_neighbors` must be below n / 2.
    The same as `sklearn.manifold.trustworthiness`. The module describes the parameters.

    Reference: Venna and Kaski, "Neighborhood preservation in nonlinear projection methods", ICANN 2001.
    """
    return _rank_measure(ranks.INTRUSION, X, Z, n_neighbors, metric, sample, random_state, n_jobs)


def continuity(
    X: Any,
    Z: Any,
    *,
    n_neighbors: int = RANKED_NEIGHBORS,
    metric: str = "euclidean",
    sample: int | str | None = "auto",
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> float:
    """Whether neighbours in X stay near in Z: trustworthiness with the roles of X and Z exchanged.

    C = 1 - 2 / (n k (2n - 3k - 1)) sum_i sum_{j in N_X(i)} max(0, rank_Z(i, j) - k)
    """
    return _rank_measure(ranks.EXTRUSION, X, Z, n_neighbors, metric, sample, random_state, n_jobs)


def neighbor_recall(
    X: Any,
    Z: Any,
    *,
    n_neighbors: int = NEIGHBORS,
    metric: str = "euclidean",
    sample: int | str | None = "auto",
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> float:
    """Share of the k nearest points in X that are among the k nearest in Z, averaged over points.

    R = 1 / (n k) sum_i |N_X(i) and N_Z(i)|, which is about k / (n - 1) for an embedding at random.
    """
    X, Z, metric = _check_pair(X, Z, metric)
    k = _check_neighbors(n_neighbors, len(Z))
    rows = _compare(X, Z, k, k, metric, _draw(len(Z), sample, random_state), n_jobs)
    return float(rows[:, ranks.SHARED].mean() / k)


def distance_correlation(
    X: Any,
    Z: Any,
    *,
    metric: str = "euclidean",
    sample: int | str | None = "auto",
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> float:
    """Pearson's correlation of the distances in X with those in Z, over pairs of different points.

    It tells of the global arrangement, which the measures on neighbours do not see. The pairs are those of every
    sampled point with all the others. (The statistic of Székely that has the same name is another one.)
    """
    X, Z, metric = _check_pair(X, Z, metric)
    correlation = _correlation(_compare(X, Z, 1, 1, metric, _draw(len(Z), sample, random_state), n_jobs), len(Z))
    if correlation is None:
        raise ValueError(
            f"the distances between the {len(Z)} points are all equal in X or in Z, and correlate with nothing; "
            "pass three points or more that differ in both."
        )
    return correlation


def knn_accuracy(
    Z: Any,
    y: Any,
    *,
    n_neighbors: int = NEIGHBORS,
    sample: int | str | None = "auto",
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> float:
    """Share of points whose class is the most frequent one among their k nearest other points.

    Where several classes are equally frequent, that of the nearest point among them is taken.
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
    sample: int | str | None = "auto",
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> float:
    """Mean silhouette coefficient of the classes in Z, from -1 to 1.

    S = 1 / n sum_i (b_i - a_i) / max(a_i, b_i)

    with a_i the mean distance to the other points of the class of i, and b_i the least mean distance to another
    class; a class of one point has coefficient 0. The same as `sklearn.metrics.silhouette_score`.
    """
    Z = _check_embedding(Z)
    labels, sizes = check_classes(y, len(Z))
    if not _is_partition(sizes):
        raise ValueError(
            f"y has {len(Z)} points in {sizes.size} class(es): a silhouette needs at least two classes, and one of "
            "them with at least two points; pass other classes."
        )
    rows = _classes(Z, labels, sizes, 1, _draw(len(Z), sample, random_state), n_jobs)
    return float(rows[:, ranks.SILHOUETTE].mean())


def evaluate(
    X: Any,
    Z: Any,
    y: Any = None,
    *,
    n_neighbors: int | None = None,
    metric: str = "euclidean",
    sample: int | str | None = "auto",
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> dict[str, float]:
    """All measures in one pass, by name, and "n_sampled", the number of points they are looked from.

    What these data cannot give is left out: `knn_accuracy` and `silhouette` without y; `silhouette` if y has one
    class, or as many as points; `distance_correlation` if all distances are equal; and, where `n_neighbors` is
    None, measures that need more points than there are. The module describes the parameters but one.

    Parameters
    ----------
    n_neighbors : int or None, default=None
        None takes the default of each measure: 5 for `trustworthiness` and `continuity`, 15 for `neighbor_recall`
        and `knn_accuracy`. A number is used for all of them.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> evaluate(X, X)["neighbor_recall"]
    1.0
    """
    X, Z, metric = _check_pair(X, Z, metric)
    n = len(Z)
    classes = None if y is None else check_classes(y, n)
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
        labels, sizes = classes
        rows = _classes(Z, labels, sizes, k or 1, chosen, n_jobs)
        if k:
            result["knn_accuracy"] = float(rows[:, ranks.VOTE].mean())
        if _is_partition(sizes):
            result["silhouette"] = float(rows[:, ranks.SILHOUETTE].mean())
    result["n_sampled"] = chosen.size
    return result


def _rank_measure(
    column: int, X: Any, Z: Any, n_neighbors: Any, metric: str, sample: Any, random_state: Any, n_jobs: Any
) -> float:
    X, Z, metric = _check_pair(X, Z, metric)
    k = _check_neighbors(n_neighbors, len(Z), ranked=True)
    rows = _compare(X, Z, k, k, metric, _draw(len(Z), sample, random_state), n_jobs)
    return _one_minus_excess(rows[:, column], k, len(Z))


def _compare(X: Any, Z: Any, k_ranks: int, k_shared: int, metric: str, sample: Any, n_jobs: Any) -> Any:
    """The columns of `compare_rows` for the sampled points."""
    n_threads = count_threads(check_jobs(n_jobs))
    if metric == "cosine" and not sparse.issparse(X):
        X = unit_rows(X)
    table = np.empty((sample.size, ranks.N_COMPARED))
    step = _rows_at_once(sample.size, len(Z))
    buffers = np.empty((2, step, len(Z)))
    for start in range(0, sample.size, step):
        rows, filled = sample[start : start + step], table[start : start + step]
        dx, dz = buffers[:, : rows.size]
        _fill_distances(dx, X, rows, metric, n_threads, name="X")
        _fill_distances(dz, Z, rows, "euclidean", n_threads, name="Z")
        run_rows(ranks.compare_rows, rows.size, dx.size, n_threads, dx, dz, rows, k_ranks, k_shared, filled)
    return table


def _classes(Z: Any, labels: Any, sizes: Any, k: int, sample: Any, n_jobs: Any) -> Any:
    """The columns of `class_rows` for the sampled points."""
    n_threads = count_threads(check_jobs(n_jobs))
    table = np.empty((sample.size, ranks.N_CLASSED))
    step = _rows_at_once(sample.size, len(Z))
    buffer = np.empty((step, len(Z)))
    for start in range(0, sample.size, step):
        rows, filled = sample[start : start + step], table[start : start + step]
        dz = buffer[: rows.size]
        _fill_distances(dz, Z, rows, "euclidean", n_threads, name="Z")
        run_rows(ranks.class_rows, rows.size, dz.size, n_threads, dz, rows, labels, sizes, k, filled)
    return table


def _rows_at_once(n_rows: int, n: int) -> int:
    """How many rows of distances to n points to hold at once."""
    return min(n_rows, max(1, ENTRIES_AT_ONCE // n))


def _fill_distances(out: Any, points: Any, rows: Any, metric: str, n_threads: int, *, name: str) -> None:
    """Distances of some points to all."""
    if metric == "precomputed":
        out[:] = points[rows]
        return
    if metric in DIRECT_METRICS and not sparse.issparse(points):
        run_rows(sampled_squared_distances, rows.size, out.size, n_threads, points, rows, out)
        from_squared(out, metric)
    else:  # on one thread: more would split the sums differently, and round differently
        squared = metric == "sqeuclidean"
        out[:] = pairwise_distances(points[rows], points, metric="euclidean" if squared else metric)
        if squared:
            np.square(out, out=out)
    check_range(out.T, points, metric=metric, name=name)  # not all points have a row here, but all have a column


def _one_minus_excess(excess: NDArray[np.float64], k: int, n: int) -> float:
    """1 - 2 / (k (2n - 3k - 1)) mean_i excess_i: 1 at best and, by the choice of the factor, 0 at worst."""
    return float(1.0 - 2.0 / (k * (2.0 * n - 3.0 * k - 1.0)) * excess.mean())


def _correlation(rows: NDArray[np.float64], n: int) -> float | None:
    """Pearson's correlation from the moments of the rows, None where the distances do not vary."""
    means = rows[:, [ranks.MEAN_X, ranks.MEAN_Z]]
    mean_x, mean_z = means.mean(axis=0)
    a, b = (means - (mean_x, mean_z)).T
    with np.errstate(over="ignore", invalid="ignore"):
        xx = rows[:, ranks.SPREAD_X].sum() + (n - 1) * (a @ a)
        zz = rows[:, ranks.SPREAD_Z].sum() + (n - 1) * (b @ b)
        xz = rows[:, ranks.SPREAD_XZ].sum() + (n - 1) * (a @ b)
    if not np.isfinite([xx, zz]).all():
        which, mean = ("Z", mean_z) if np.isfinite(xx) else ("X", mean_x)
        raise ValueError(f"{which} has distances of {mean:.3g}, whose squares overflow; scale {which} down.")
    scale = LEAST_SPREAD * np.sqrt((n - 1) * len(rows))
    if np.sqrt(xx) <= scale * mean_x or np.sqrt(zz) <= scale * mean_z:
        return None
    return float(np.clip(xz / np.sqrt(xx) / np.sqrt(zz), -1.0, 1.0))


def _draw(n: int, sample: int | str | None, random_state: Any) -> NDArray[np.int64]:
    """The points to look from, in ascending order."""
    if isinstance(sample, str) and sample != "auto":
        raise ValueError(f"sample must be 'auto', None or a whole number, got {sample!r}.")
    generator = check_random_state(random_state)
    if isinstance(sample, str):
        size = n if n <= EXACT_LIMIT else SAMPLE
    else:
        size = n if sample is None else min(n, check_count(sample, "sample"))
    return np.arange(n) if size == n else np.sort(generator.choice(n, size, replace=False))


def _check_pair(X: Any, Z: Any, metric: str) -> tuple[Any, Any, str]:
    """X and Z as arrays of one length, and the metric of X: metrics with scales of their own have become Euclidean."""
    check_metric(metric)
    Z = _check_embedding(Z)
    if metric != "precomputed":
        X, metric = whitened(check_points(X), metric)
        X = X if sparse.issparse(X) else np.ascontiguousarray(X)
    elif sparse.issparse(X):
        raise ValueError("metric='precomputed' needs the full matrix of distances, X is sparse; pass the features.")
    else:
        X = check_cost_matrix(X)
    if X.shape[0] != len(Z):
        raise ValueError(f"X has {X.shape[0]} points and Z has {len(Z)}; pass data and their embedding, row by row.")
    return X, Z, metric


def _check_embedding(Z: Any) -> Any:
    if sparse.issparse(Z):
        raise ValueError("Z is a sparse matrix, an embedding is dense; pass Z.toarray().")
    return np.ascontiguousarray(check_points(Z, name="Z"))


def _is_partition(sizes: NDArray[np.int64]) -> bool:
    """Two classes or more, one of them with two points or more."""
    return 2 <= sizes.size < sizes.sum()


def _most_neighbors(n: int, *, ranked: bool) -> int:
    """The largest neighbourhood of n points; the scale of the rank measures holds below n / 2 only."""
    return (n - 1) // 2 if ranked else n - 1


def _choose_neighbors(n_neighbors: int | None, default: int, n: int, *, ranked: bool = False) -> int | None:
    """The number asked for or else the default, None if that is too large for n points."""
    if n_neighbors is not None:
        return _check_neighbors(n_neighbors, n, ranked=ranked)
    return default if default <= _most_neighbors(n, ranked=ranked) else None


def _check_neighbors(n_neighbors: Any, n: int, *, ranked: bool = False) -> int:
    k = check_count(n_neighbors, "n_neighbors")
    most = _most_neighbors(n, ranked=ranked)
    if k > most:
        limit = "half the number of points" if ranked else "the number of points"
        remedy = f"pass at most {most}" if most else "pass three points or more"
        raise ValueError(f"n_neighbors={k} must be below {limit}, and there are {n}; {remedy}.")
    return k
