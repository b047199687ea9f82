from functools import partial

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from scipy.stats import special_ortho_group
from sklearn import manifold
from sklearn.datasets import load_digits
from sklearn.metrics import silhouette_score

from snekhorn import metrics
from snekhorn.errors import InputError
from snekhorn.metrics import (
    continuity,
    distance_correlation,
    evaluate,
    knn_accuracy,
    neighbor_recall,
    silhouette,
    trustworthiness,
)

from .helpers import clusters, needs_data, real_data, without_some_entries

ON_X_AND_Z = {
    "trustworthiness": trustworthiness,
    "continuity": continuity,
    "neighbor_recall": neighbor_recall,
    "distance_correlation": distance_correlation,
}
ON_Z_AND_Y = {"knn_accuracy": knn_accuracy, "silhouette": silhouette}


@pytest.fixture(scope="module")
def data():
    """Return points, a noisy projection of them, and their classes."""
    X = clusters(300, p=6)
    Z = X[:, :2] + 0.3 * np.random.default_rng(1).normal(size=(300, 2))
    return X, Z, np.arange(300) % 3


def _order(D):
    """Return all other points sorted by distance, then by index."""
    return np.argsort(D + np.diag(np.full(len(D), np.inf)), axis=1, kind="stable")[:, :-1]


def _reference(X, Z, y, k_ranks, k, metric="euclidean"):
    """Compute all measures by their definitions."""
    n = len(Z)
    DX, DZ = cdist(X, X, metric), cdist(Z, Z)
    near_x, near_z = _order(DX), _order(DZ)

    def rank_measure(near, order):
        ranks = np.argsort(np.concatenate([order, np.arange(n)[:, None]], axis=1), axis=1) + 1
        excess = np.maximum(np.take_along_axis(ranks, near[:, :k_ranks], axis=1) - k_ranks, 0).sum()
        return 1 - 2 * excess / (n * k_ranks * (2 * n - 3 * k_ranks - 1))

    pairs = np.triu_indices(n, 1)
    right = 0
    for i in range(n):
        votes = [y[j] for j in near_z[i, :k]]
        right += max(votes, key=votes.count) == y[i]  # of equal counts, max takes the first
    return {
        "trustworthiness": rank_measure(near_z, near_x),
        "continuity": rank_measure(near_x, near_z),
        "neighbor_recall": np.mean([np.isin(near_x[i, :k], near_z[i, :k]).mean() for i in range(n)]),
        "distance_correlation": np.corrcoef(DX[pairs], DZ[pairs])[0, 1],
        "knn_accuracy": right / n,
        "silhouette": silhouette_score(Z, y),
        "n_sampled": n,
    }


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("k", [None, 1, 7, 149])
def test_every_measure_agrees_with_its_definition(data, k, dtype):
    X, Z, y = (data[0].astype(dtype), data[1].astype(dtype), data[2])
    want = _reference(X.astype(float), Z.astype(float), y, k or 5, k or 15)
    assert evaluate(X, Z, y, n_neighbors=k) == pytest.approx(want, rel=1e-11)


@pytest.mark.parametrize(
    ("metric", "scipy_name"),
    [("cosine", "cosine"), ("sqeuclidean", "sqeuclidean"), ("manhattan", "cityblock"), ("correlation", "correlation")],
)
def test_other_metrics(data, metric, scipy_name):
    X, Z, y = data
    assert evaluate(X, Z, y, metric=metric) == pytest.approx(_reference(X, Z, y, 5, 15, scipy_name), rel=1e-6)


@pytest.mark.parametrize("metric", ["seuclidean", "mahalanobis"])
def test_metrics_that_depend_on_the_scales_of_the_data(data, metric):
    X, Z, y = data
    X = X * [1.0, 10.0, 100.0, 1.0, 0.1, 1.0] + 50.0
    want = _reference(X, Z, y, 5, 15, metric)
    assert evaluate(X, Z, y, metric=metric) == pytest.approx(want, rel=1e-6)
    for name, measure in ON_X_AND_Z.items():
        assert measure(X, Z, metric=metric) == pytest.approx(want[name], rel=1e-6)


def test_precomputed_distances(data):
    X, Z, y = data
    assert evaluate(cdist(X, X), Z, y, metric="precomputed") == pytest.approx(evaluate(X, Z, y), rel=1e-12)


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cosine"])
def test_sparse_points(data, metric):
    X, Z, y = without_some_entries(data[0]), *data[1:]
    want = evaluate(X, Z, y, metric=metric)
    assert evaluate(sparse.csr_matrix(X), Z, y, metric=metric) == pytest.approx(want, rel=1e-6)


@pytest.mark.parametrize("k", [5, 1, 30])
def test_scikit_learns_measures_on_digits(k):
    X, y = load_digits(return_X_y=True)
    X = X + 0.01 * np.random.default_rng(0).normal(size=X.shape)  # digits are whole numbers, full of ties
    Z = X @ np.random.default_rng(1).normal(size=(64, 2))
    assert trustworthiness(X, Z, n_neighbors=k) == pytest.approx(
        manifold.trustworthiness(X, Z, n_neighbors=k), abs=1e-9
    )
    assert continuity(X, Z, n_neighbors=k) == pytest.approx(manifold.trustworthiness(Z, X, n_neighbors=k), abs=1e-9)
    assert silhouette(Z, y) == pytest.approx(silhouette_score(Z, y), rel=1e-10)


def _with_ties_broken(X):
    """Add a coordinate per point that makes squared distances to later points larger, by less than they differ."""
    return np.hstack([X, np.diag(np.sqrt(1e-6 * np.arange(len(X))))])


@pytest.mark.parametrize("k", [1, 5, 40])
@pytest.mark.parametrize("levels", [2, 3, 10])
def test_ties_are_scikit_learns_measure_with_the_lowest_index_first(k, levels, rng):
    X, Z = rng.integers(levels, size=(120, 4)).astype(float), rng.integers(levels, size=(120, 2)).astype(float)
    broken_X, broken_Z = _with_ties_broken(X), _with_ties_broken(Z)
    want = manifold.trustworthiness(broken_X, broken_Z, n_neighbors=k)
    assert trustworthiness(X, Z, n_neighbors=k) == pytest.approx(want, abs=1e-12)
    want = manifold.trustworthiness(broken_Z, broken_X, n_neighbors=k)
    assert continuity(X, Z, n_neighbors=k) == pytest.approx(want, abs=1e-12)
    assert trustworthiness(X, X, n_neighbors=k) == 1.0


def test_the_description_does_not_promise_scikit_learns_order_of_ties(rng):
    X, Z = rng.integers(2, size=(120, 4)).astype(float), rng.integers(2, size=(120, 2)).astype(float)
    assert abs(trustworthiness(X, Z) - manifold.trustworthiness(X, Z)) > 1e-3  # otherwise it could promise more
    assert "Without ties, the result equals `sklearn.manifold.trustworthiness`" in trustworthiness.__doc__


@needs_data
@pytest.mark.parametrize("name", ["olivetti", "coil20", "microarray_khan"])
def test_scikit_learns_measures_on_real_data(name):
    """Real data without duplicates, because scikit-learn does not define their order."""
    X = real_data(name)
    Z = X[:, -2:]
    assert trustworthiness(X, Z) == pytest.approx(manifold.trustworthiness(X, Z), abs=1e-9)
    y = (X[:, 0] > 0).astype(int)
    assert silhouette(Z, y) == pytest.approx(silhouette_score(Z, y), rel=1e-9)


def test_evaluate_agrees_with_the_single_measures(data):
    X, Z, y = data
    together = evaluate(X, Z, y, sample=100)
    for name, measure in ON_X_AND_Z.items():
        assert measure(X, Z, sample=100) == together[name]
    for name, measure in ON_Z_AND_Y.items():
        assert measure(Z, y, sample=100) == together[name]
    assert together["n_sampled"] == 100
    assert all(type(value) in (float, int) for value in together.values())


@pytest.mark.parametrize("copies", [1, 4, 30])
def test_a_layout_equal_to_the_data_is_perfect(data, copies):
    X = np.repeat(data[0][: 300 // copies], copies, axis=0)
    found = evaluate(X, X)
    assert [found[name] for name in ("trustworthiness", "continuity", "neighbor_recall")] == [1.0, 1.0, 1.0]
    assert found["distance_correlation"] == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize(("n", "k"), [(3, 1), (9, 4), (1000, 5)])
def test_the_scale_of_trustworthiness_ends_at_zero(n, k):
    farthest = np.arange(n - k, n)
    assert metrics._one_minus_excess(np.array([(farthest - k).sum()]), k, n) == pytest.approx(0.0, abs=1e-14)


@pytest.mark.parametrize("change", ["scale", "shift", "rotate", "order"])
def test_scale_shift_rotation_and_order_do_not_matter(data, change, rng):
    X, Z, y = data
    want = evaluate(X, Z, y)
    if change == "scale":
        X, Z = 1e20 * X, 1e-20 * Z
    elif change == "shift":
        X, Z = X + 1e3, Z - 1e3
    elif change == "rotate":
        X, Z = (A @ special_ortho_group.rvs(A.shape[1], random_state=0) for A in (X, Z))
    else:
        order = rng.permutation(len(X))
        X, Z, y = X[order], Z[order], y[order]
    assert evaluate(X, Z, y) == pytest.approx(want, rel=1e-9)


@pytest.mark.parametrize("names", [[-0.5, 0.5, 7.5], ["b", "a", "c"], np.array(["b", "a", "c"], dtype=object)])
def test_names_of_classes_do_not_matter(data, names):
    _, Z, y = data
    named = np.asarray(names)[y]
    for measure in ON_Z_AND_Y.values():
        assert measure(Z, named) == measure(Z, named.tolist()) == measure(Z, y)


def test_a_random_layout_scores_as_expected_by_chance(data, rng):
    X, Z, _ = data
    found = evaluate(X, rng.normal(size=Z.shape))
    assert found["neighbor_recall"] == pytest.approx(15 / 299, abs=0.02)
    assert found["trustworthiness"] == pytest.approx(0.5, abs=0.05)
    assert found["distance_correlation"] == pytest.approx(0.0, abs=0.05)


def test_a_sample_estimates_the_exact_measures():
    X = clusters(5000, p=8)
    Z, y = X[:, :2], np.arange(5000) % 3
    exact, sampled = evaluate(X, Z, y), evaluate(X, Z, y, sample=1000)
    assert (exact.pop("n_sampled"), sampled.pop("n_sampled")) == (5000, 1000)
    assert sampled == pytest.approx(exact, abs=0.02)
    assert sampled != exact


def test_auto_samples_only_above_the_limit(monkeypatch, data):
    X, Z, _ = data
    monkeypatch.setattr(metrics, "EXACT_SCORES_LIMIT", 299)
    monkeypatch.setattr(metrics, "SAMPLE", 50)
    assert evaluate(X, Z)["n_sampled"] == 50
    assert evaluate(X, Z, sample=None)["n_sampled"] == 300
    assert evaluate(X, Z, sample=1000)["n_sampled"] == 300
    assert evaluate(X[:299], Z[:299])["n_sampled"] == 299


def test_the_seed_chooses_the_sample(data):
    first, again, other = (neighbor_recall(*data[:2], sample=50, random_state=seed) for seed in (0, 0, 1))
    assert first == again != other


def test_neither_threads_nor_blocks_change_the_result(monkeypatch, many):
    Z, y = many[:, :2], np.arange(len(many)) % 3
    for points in (many, sparse.csr_matrix(many)):
        one = evaluate(points, Z, y, n_jobs=1)
        assert evaluate(points, Z, y, n_jobs=2) == evaluate(points, Z, y, n_jobs=4) == one
    one = evaluate(many, Z, y)
    monkeypatch.setattr(metrics, "ENTRIES_AT_ONCE", 1)
    assert evaluate(many, Z, y) == one


def test_inputs_are_not_changed(data):
    X, Z, y = (a.copy() for a in data)
    D = cdist(X, X)
    before = D.copy()
    evaluate(X, Z, y)
    evaluate(D, Z, y, metric="precomputed")
    for a, b in zip((X, Z, y, D), (*data, before), strict=True):
        np.testing.assert_array_equal(a, b)


def test_lists_and_frames(data):
    pd = pytest.importorskip("pandas")
    X, Z, y = data
    want = evaluate(X, Z, y)
    assert evaluate(X.tolist(), Z.tolist(), y.tolist()) == want
    names = pd.Series(np.array(["a", "b", "c"])[y])
    assert evaluate(pd.DataFrame(X), pd.DataFrame(Z), names) == want
    assert evaluate(X, Z, names.astype("category")) == want
    assert evaluate(np.asfortranarray(X), Z[::-1][::-1], y.astype(np.int8)) == want


def test_polars_frames(data):
    pl = pytest.importorskip("polars")
    X, Z, y = data
    assert evaluate(pl.DataFrame(X), pl.DataFrame(Z), pl.Series(y)) == evaluate(X, Z, y)


@pytest.mark.parametrize(
    ("n", "names"),
    [
        (2, set()),
        (3, {"distance_correlation"}),
        (11, {"distance_correlation", "trustworthiness", "continuity"}),
        (16, {*ON_X_AND_Z}),
    ],
)
def test_measures_that_need_more_points_are_left_out(n, names, rng):
    X, Z = rng.normal(size=(n, 3)), rng.normal(size=(n, 2))
    assert set(evaluate(X, Z)) == names | {"n_sampled"}
    with_classes = (
        names | {"n_sampled"} | ({"silhouette"} if n > 2 else set()) | ({"knn_accuracy"} if n > 15 else set())
    )
    assert set(evaluate(X, Z, np.arange(n) % 2)) == with_classes


def test_two_and_three_points(rng):
    X, Z = rng.normal(size=(3, 4)), rng.normal(size=(3, 2))
    assert neighbor_recall(X[:2], Z[:2], n_neighbors=1) == neighbor_recall(X, Z, n_neighbors=2) == 1.0
    assert knn_accuracy(Z[:2], [0, 1], n_neighbors=1) == 0.0
    assert 0.0 <= trustworthiness(X, Z, n_neighbors=1) <= 1.0


def test_undefined_measures_are_left_out(data):
    X, Z, _ = data
    for y, said in (np.zeros(300), "1 class"), (np.arange(300), "300 classes"):
        with pytest.warns(UserWarning, match=f"y has {said} for 300 points, so silhouette is undefined and left out"):
            scores = evaluate(X, Z, y)
        assert "silhouette" not in scores
        assert scores["knn_accuracy"] == (y[1] == 0)
    assert "distance_correlation" not in evaluate(X, np.zeros((300, 2)))
    assert "distance_correlation" not in evaluate(np.eye(300), Z)
    assert all(np.isfinite(list(evaluate(np.zeros((300, 3)), np.zeros((300, 2)), np.arange(300) % 2).values())))


BAD = {
    "n_neighbors=150 must be less than half": lambda X, Z, y: trustworthiness(X, Z, n_neighbors=150),
    "there are 300 points; pass at most 149": lambda X, Z, y: evaluate(X, Z, n_neighbors=150),
    "pass at most 299": lambda X, Z, y: neighbor_recall(X, Z, n_neighbors=300),
    "n_neighbors=15 must be less than the number of points": lambda X, Z, y: knn_accuracy(Z[:15], y[:15]),
    "pass at least three points": lambda X, Z, y: continuity(X[:2], Z[:2], n_neighbors=1),
    "n_neighbors must be a whole number": lambda X, Z, y: neighbor_recall(X, Z, n_neighbors=0),
    "n_neighbors must be a whole number of at least 1, got 2.5": lambda X, Z, y: evaluate(X, Z, n_neighbors=2.5),
    "X has 300 points, but Z has 299": lambda X, Z, y: evaluate(X, Z[1:]),
    "X contains nan at row 3, column 1": lambda X, Z, y: evaluate(_with_nan(X), Z),
    "Z contains nan": lambda X, Z, y: silhouette(_with_nan(Z), y),
    "Z has shape 1 x 2": lambda X, Z, y: silhouette(Z[:1], y[:1]),
    "Z is a sparse matrix": lambda X, Z, y: evaluate(X, sparse.csr_matrix(Z)),
    "Z has entries as large as .* scale Z down": lambda X, Z, y: silhouette(1e200 * Z, y),
    "the costs of X, .* scale X up": lambda X, Z, y: evaluate(1e-200 * X, Z),
    "y has 299 labels for 300 points": lambda X, Z, y: evaluate(X, Z, y[1:]),
    "y has missing labels": lambda X, Z, y: evaluate(X, Z, np.where(y == 1, np.nan, y)),
    "or mixes numbers and strings": lambda X, Z, y: knn_accuracy(Z, np.array([None, "a", 2], dtype=object)[y]),
    "y has 1 class for 300 points": lambda X, Z, y: silhouette(Z, np.zeros(300)),
    "300 classes for 300 points; pass at least 2 classes": lambda X, Z, y: silhouette(Z, np.arange(300)),
    "X has distances of .* scale X down": lambda X, Z, y: distance_correlation(3e152 * X, Z),
    "Z has distances of .* scale Z down": lambda X, Z, y: evaluate(X, 3e152 * Z),
    "2 points are equally far apart in X or in Z": lambda X, Z, y: distance_correlation(X[:2], Z[:2]),
    "metric must be one of": lambda X, Z, y: evaluate(X, Z, metric="nonsense"),
    "row 0 of X is zero": lambda X, Z, y: evaluate(0 * X, Z, metric="cosine"),
    "'correlation' is undefined for row 7 of X": lambda X, Z, y: evaluate(
        _with_a_constant_row(X), Z, metric="correlation"
    ),
    "needs a square cost matrix": lambda X, Z, y: evaluate(X, Z, metric="precomputed"),
    "X is sparse; pass a dense array": lambda X, Z, y: evaluate(sparse.eye(300), Z, metric="precomputed"),
    "sample must be 'auto', None or a whole number, got 'all'": lambda X, Z, y: evaluate(X, Z, sample="all"),
    "sample must be a whole number": lambda X, Z, y: evaluate(X, Z, sample=0),
    "n_jobs must be": lambda X, Z, y: evaluate(X, Z, n_jobs=0),
    "random_state must be a whole number": lambda X, Z, y: evaluate(X, Z, random_state="now"),
}


def _with_nan(A):
    A = A.copy()
    A[3, 1] = np.nan
    return A


def _with_a_constant_row(A):
    A = A.copy()
    A[7] = 1.0
    return A


@pytest.mark.parametrize("message", BAD)
def test_errors_name_the_parameter_the_value_and_the_remedy(data, message):
    with pytest.raises(ValueError, match=message):
        BAD[message](*data)


def test_errors_come_before_long_work(monkeypatch, data):
    monkeypatch.setattr(metrics, "_fill_distances", partial(pytest.fail, "work started"))
    X, Z, y = data
    for kwargs in ({"n_neighbors": 200}, {"sample": 0}, {"n_jobs": 0}, {"y": y[1:]}):
        with pytest.raises(ValueError, match="y has" if "y" in kwargs else next(iter(kwargs))):
            evaluate(X, Z, **kwargs)


def test_real_numbers_are_no_classes(data):
    X, Z, _ = data
    with pytest.raises(
        InputError, match=r"y has \d+ different real numbers for \d+ points, which are not classes; pass"
    ):
        evaluate(X, Z, np.random.default_rng(0).normal(size=len(Z)))
    assert "silhouette" in evaluate(X, Z, np.arange(len(Z)) % 4 / 2)  # classes may be called 0.5 and 1.5


def test_masked_labels_are_refused(data):
    X, Z, _ = data
    with pytest.raises(InputError, match=r"^y has 3 masked values, the first at row 0"):
        evaluate(X, Z, np.ma.masked_less(np.arange(len(Z)), 3))
