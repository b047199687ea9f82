"""New points in a finished layout: each is placed independently and plausibly, and the layout does not move."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from snekhorn import SNE, TSNEkhorn
from snekhorn.affinities import MultiscaleSymmetricEntropicAffinity, SelfTuningAffinity, SymmetricEntropicAffinity
from snekhorn.errors import InputError
from snekhorn.estimators import point_placement

from ..helpers import clusters, squared_distances, without_some_entries
from .cases import each_estimator, each_method, quick, stops_early

pytestmark = stops_early

METRICS = ("sqeuclidean", "euclidean", "cosine", "manhattan", "correlation", "seuclidean", "mahalanobis")

each_form = pytest.mark.parametrize(
    ("method", "n_components"), [("exact", 1), ("exact", 2), ("exact", 3), ("fft", 1), ("fft", 2)]
)


@pytest.fixture(scope="module")
def points():
    return clusters(300, p=5)


@each_estimator
@each_method
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_training_rows_are_where_they_were(points, kind, method, dtype):
    X = points.astype(dtype)
    estimator = quick(kind, method=method).fit(X)
    np.testing.assert_array_equal(estimator.transform(X), estimator.embedding_)
    np.testing.assert_array_equal(estimator.transform(X[7:8]), estimator.embedding_[7:8])


@each_method
@pytest.mark.parametrize("metric", METRICS)
def test_training_rows_under_any_metric(points, method, metric):
    estimator = quick(TSNEkhorn, metric=metric, method=method).fit(points)
    np.testing.assert_array_equal(estimator.transform(points), estimator.embedding_)


def test_training_rows_of_groups_too_far_apart_for_float32(points):
    """The groups are larger than the number of neighbours, so that not all of a group are found anyway."""
    X = points + 1e9 * (np.arange(300) % 2)[:, None]
    estimator = quick(TSNEkhorn).fit(X)
    np.testing.assert_array_equal(estimator.transform(X), estimator.embedding_)
    np.testing.assert_array_equal(estimator.transform(X[7:8]), estimator.embedding_[7:8])


def _one_by_one(estimator, X):
    return np.vstack([estimator.transform(X[i : i + 1]) for i in range(X.shape[0])])


@each_method
@pytest.mark.parametrize("metric", METRICS)
def test_every_point_by_itself(points, method, metric):
    new = clusters(25, p=5, seed=1)
    estimator = quick(TSNEkhorn, metric=metric, method=method).fit(points)
    alone = _one_by_one(estimator, new)
    for held in (new, np.asfortranarray(new), np.vstack([new, points])):
        np.testing.assert_array_equal(estimator.transform(held)[:25], alone)
    np.testing.assert_array_equal(estimator.transform(new[::-1])[::-1], alone)


@each_estimator
@each_form
def test_every_point_by_itself_in_any_method(points, kind, method, n_components):
    new = clusters(20, p=5, seed=1)
    estimator = quick(kind, n_components=n_components, method=method).fit(points)
    np.testing.assert_array_equal(estimator.transform(new), _one_by_one(estimator, new))


@each_method
@pytest.mark.parametrize("metric", METRICS)
def test_batches_change_nothing(points, method, metric, monkeypatch):
    new = clusters(25, p=5, seed=1)
    estimator = quick(TSNEkhorn, metric=metric, method=method).fit(points)
    want = estimator.transform(new)
    sizes, frozen = [], []
    index, freeze = estimator._reference, point_placement.frozen_field
    query = index.query
    monkeypatch.setattr(index, "query", lambda X, *args: (sizes.append(len(X)), query(X, *args))[1])
    monkeypatch.setattr(point_placement, "frozen_field", lambda *args: (frozen.append(args), freeze(*args))[1])
    monkeypatch.setattr(point_placement, "NEW_POINTS_AT_ONCE", 10)
    np.testing.assert_array_equal(estimator.transform(new), want)
    assert sizes == [10, 10, 5]
    assert len(frozen) == 1


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_errors_count_rows_from_the_first_batch(points, form, monkeypatch):
    monkeypatch.setattr(point_placement, "NEW_POINTS_AT_ONCE", 4)
    new = points[:10].copy()
    new[6] = 0.0
    with pytest.raises(ValueError, match="row 6 of X is zero"):
        quick(TSNEkhorn, metric="cosine").fit(points).transform(form(new))


@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine"])
def test_every_point_by_itself_of_a_sparse_matrix(points, metric):
    thin = sparse.csr_matrix(without_some_entries(points))
    new = sparse.csr_matrix(without_some_entries(clusters(20, p=5, seed=1)))
    estimator = quick(TSNEkhorn, metric=metric).fit(thin)
    np.testing.assert_array_equal(estimator.transform(thin), estimator.embedding_)
    np.testing.assert_allclose(estimator.transform(new), _one_by_one(estimator, new), atol=1e-6)


@each_method
def test_memory_layout_of_the_training_data(method):
    X = np.random.default_rng(0).normal(size=(300, 40))
    for metric in ("sqeuclidean", "cosine"):
        estimator = quick(TSNEkhorn, metric=metric, method=method, max_iter=20).fit(np.asfortranarray(X))
        np.testing.assert_array_equal(estimator.transform(X), estimator.embedding_)


@each_estimator
@each_form
def test_new_points_are_near_their_neighbours(points, kind, method, n_components):
    estimator = quick(kind, n_components=n_components, method=method, max_iter=150).fit(points)
    new = points + 1e-3 * np.random.default_rng(0).normal(size=points.shape)
    away = np.linalg.norm(estimator.transform(new) - estimator.embedding_, axis=1)
    extent = np.linalg.norm(np.ptp(estimator.embedding_, axis=0))
    assert np.median(away) < 0.03 * extent


@each_estimator
def test_costs_to_the_training_points(X, kind):
    start = X[:, :2]
    new = X[:9] + 0.1
    costs = ((new[:, None] - X) ** 2).sum(axis=2)
    by_points = quick(kind, init=start).fit(X)
    by_costs = quick(kind, init=start, metric="precomputed").fit(squared_distances(X))
    np.testing.assert_allclose(by_costs.transform(costs), by_points.transform(new), atol=1e-3)
    np.testing.assert_array_equal(by_costs.transform(squared_distances(X)), by_costs.embedding_)
    np.testing.assert_array_equal(by_costs.transform(costs), _one_by_one(by_costs, costs))


def test_costs_after_neighbour_lists(X):
    C = squared_distances(X)
    indices = np.argsort(C, axis=1)[:, 1:26]
    estimator = quick(TSNEkhorn, metric="precomputed").fit((indices, np.take_along_axis(C, indices, axis=1)))
    np.testing.assert_array_equal(estimator.transform(C), estimator.embedding_)


@pytest.mark.parametrize("affinity", [SymmetricEntropicAffinity(8.0, metric="euclidean"), SelfTuningAffinity()])
def test_after_an_affinity_object(X, affinity):
    estimator = quick(TSNEkhorn, affinity=affinity).fit(X)
    np.testing.assert_array_equal(estimator.transform(X), estimator.embedding_)
    assert np.isfinite(estimator.transform(X + 0.1)).all()


@pytest.mark.parametrize(
    ("affinity", "perplexity"),
    [
        (None, 8.0),
        (SymmetricEntropicAffinity(5.0), 5.0),
        (MultiscaleSymmetricEntropicAffinity((3.0, 20.0, 6.0)), 20.0),
        (MultiscaleSymmetricEntropicAffinity("auto"), 100.0),
        (SelfTuningAffinity(), 8.0),
    ],
    ids=lambda value: f"{value}".split("(")[0],
)
def test_new_points_have_the_perplexity_of_the_affinity(points, affinity, perplexity, monkeypatch):
    asked = []
    weights = point_placement.entropic_weights

    def noted(costs, perplexity, execution):
        asked.append(perplexity)
        return weights(costs, perplexity, execution)

    monkeypatch.setattr(point_placement, "entropic_weights", noted)
    estimator = quick(SNE, affinity=affinity).fit(points)
    estimator.transform(points[:3] + 0.1)
    assert asked == [estimator.perplexity_] == [perplexity]


def test_parameters_changed_after_the_fit_do_not_count(points):
    new = points[:9] + 0.1
    estimator = quick(TSNEkhorn, method="exact").fit(points)
    want = estimator.transform(new)
    estimator.set_params(perplexity=40.0, method="fft", n_components=3)
    np.testing.assert_array_equal(estimator.transform(new), want)
    assert len(estimator.get_feature_names_out()) == 2
    estimator.set_params(affinity=SymmetricEntropicAffinity(20.0))
    np.testing.assert_array_equal(estimator.transform(new), want)


def test_a_precomputed_affinity_leaves_no_perplexity(points):
    estimator = quick(TSNEkhorn).fit(points)
    assert not hasattr(estimator.set_params(affinity="precomputed").fit(estimator.affinity_), "perplexity_")


@pytest.mark.parametrize(
    ("form", "dtype", "largest"),
    [(np.asarray, float, 1e200), (sparse.csr_matrix, float, 1e200), (sparse.csr_matrix, np.float32, 1e25)],
)
@pytest.mark.parametrize("metric", ["sqeuclidean", "euclidean"])
def test_points_whose_costs_overflow_are_named(points, form, dtype, largest, metric):
    estimator = quick(TSNEkhorn, metric=metric, max_iter=5).fit(form(points.astype(dtype)))
    far = np.vstack([points[:2] + 1.0, points[:2] - largest]).astype(dtype)
    with pytest.raises(InputError, match=r"row 2 of X has entries up to 1e\+\d+, whose costs .* overflow"):
        estimator.transform(form(far))


@each_estimator
@each_method
@pytest.mark.parametrize(("dtype", "largest"), [(np.float64, 1e100), (np.float32, 1e15)])
def test_points_far_from_all_others(points, kind, method, dtype, largest):
    estimator = quick(kind, method=method).fit(points.astype(dtype))
    far = np.vstack([points[:2] + 1e6, points[:2] - largest]).astype(dtype)
    placed = estimator.transform(far)
    assert np.isfinite(placed).all()
    assert np.abs(placed).max() < 5.0 * np.abs(estimator.embedding_).max()


@each_estimator
@each_method
def test_nothing_is_changed(points, kind, method):
    estimator = quick(kind, method=method).fit(points)
    new = clusters(20, p=5, seed=1)
    before = {name: np.copy(value) for name, value in vars(estimator).items() if isinstance(value, np.ndarray)}
    first = estimator.transform(new)
    np.testing.assert_array_equal(new, clusters(20, p=5, seed=1))
    np.testing.assert_array_equal(estimator.transform(new), first)
    assert {"embedding_", "affinity_"} <= set(before)
    for name, value in before.items():
        np.testing.assert_array_equal(getattr(estimator, name), value)
    placed = estimator.transform(points)
    placed[:] = np.nan
    assert np.isfinite(estimator.embedding_).all()


@each_method
def test_digits(method):
    X, y = load_digits(return_X_y=True)
    estimator = TSNEkhorn(max_iter=300, method=method).fit(X[:1200])
    placed = estimator.transform(X[1200:])
    classifier = KNeighborsClassifier(15).fit(estimator.embedding_, y[:1200])
    assert classifier.score(placed, y[1200:]) > 0.94


CHANGED = {
    "a short potential": (
        {"potential_": np.zeros(3)},
        r"have one value for each of the \d+ points",
    ),
    "a potential with NaN": ({"potential_": np.full(len(clusters(200)), np.nan)}, "values that are not finite"),
    "a layout with NaN": ({"embedding_": np.full((200, 2), np.nan)}, "embedding_ must be finite"),
    "a wide layout": ({"embedding_": np.zeros((200, 4))}, r"embedding_ must be .* but has shape \(200, 4\)"),
    "a flat layout": ({"embedding_": np.zeros(200)}, "embedding_ must be"),
    "a short layout": ({"embedding_": np.zeros((20, 2)), "potential_": np.zeros(20)}, "the layout has 20 points, but"),
}


@each_method
@pytest.mark.parametrize("case", CHANGED)
def test_a_layout_that_was_changed_does_not_reach_a_compiled_loop(method, case):
    attributes, message = CHANGED[case]
    X = clusters(200)
    model = quick(TSNEkhorn, method=method, max_iter=5).fit(X)
    for name, value in attributes.items():
        setattr(model, name, value)
    with pytest.raises(InputError, match=message):
        model.transform(X[:5] + 0.1)
