"""New points join a fitted layout: everything settles, and nothing loses its place."""

import copy
import gc

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import NearestNeighbors

from snekhorn import SNE, TSNE, SNEkhorn, TSNEkhorn, load
from snekhorn.affinities import EntropicAffinity
from snekhorn.affinities.affinity import Affinity
from snekhorn.embedding.charge_grid import GridSums
from snekhorn.embedding.objective import Objective
from snekhorn.errors import InputError, MissingMemoryError
from snekhorn.geometry.point_search import PointSearch
from snekhorn.metrics import knn_accuracy, neighbor_recall

from ..helpers import changed, clusters, needs_data, real_data, without_some_entries
from .cases import each_estimator, quick, stops_early

X = clusters(90)
OLD, NEW = X[:70], X[70:]


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X, y, TSNEkhorn().fit(X[:1500])


def _copy_of(model):
    return copy.deepcopy(model)


def _movement(model, Z):
    return np.linalg.norm(model.embedding_[: len(Z)] - Z, axis=1) / np.ptp(Z, axis=0).max()


def test_old_points_stay_and_new_ones_join_their_classes(digits):
    X, y, model = digits
    Z = model.embedding_
    extended = _copy_of(model).extend(X[1500:])
    fresh = TSNEkhorn().fit_transform(X)
    assert np.median(_movement(extended, Z)) < 0.01
    assert neighbor_recall(X, extended.embedding_) > neighbor_recall(X, fresh) - 0.01
    assert knn_accuracy(extended.embedding_, y) > knn_accuracy(fresh, y) - 0.01
    assert extended.report_.reason.startswith("took all steps of extend")


@needs_data
@pytest.mark.parametrize("seed", [0, 1])
def test_old_faces_stay_when_half_as_many_join(seed):
    X = real_data("olivetti")
    X = X[np.random.default_rng(seed).permutation(len(X))]
    model = TSNEkhorn().fit(X[:267])
    Z = model.embedding_
    extended = model.extend(X[267:])
    assert np.median(_movement(extended, Z)) < 0.02
    assert neighbor_recall(X, extended.embedding_) > neighbor_recall(X, TSNEkhorn().fit_transform(X)) - 0.02


def test_no_new_point_is_stranded_between_groups(digits):
    X, _, _ = digits  # ordered by writer, so many neighbours of new points are new
    Z = TSNEkhorn().fit(X[:1200]).extend(X[1200:]).embedding_
    gaps = NearestNeighbors(n_neighbors=1).fit(Z).kneighbors()[0][1200:, 0] / np.ptp(Z, axis=0).max()
    assert gaps.max() < 0.05


def test_the_pull_holds_old_points(digits):
    X, _, model = digits
    movements = [np.median(_movement(_copy_of(model).extend(X[1500:], pull=pull), model.embedding_)) for pull in (0, 1)]
    assert movements[1] < 0.001 < 0.01 < movements[0]


def test_a_new_group_finds_a_place_of_its_own(digits):
    X, y, _ = digits
    known = y != 3
    model = TSNEkhorn().fit(X[known]).extend(X[~known])
    labels = np.concatenate([y[known], y[~known]])
    assert knn_accuracy(model.embedding_, labels) > 0.97


@stops_early
@each_estimator
def test_the_estimator_is_fitted_to_all_points(kind):
    model = quick(kind).fit(OLD)
    assert model.extend(NEW, max_iter=20) is model
    assert model.embedding_.shape == (90, 2)
    np.testing.assert_allclose(
        np.asarray(model.affinity_), np.asarray(quick(kind).fit(X).affinity_), atol=1e-12
    )  # P is that of all points
    assert model.n_iter_ == 20
    assert np.isfinite(model.kl_divergence_)
    np.testing.assert_array_equal(model.transform(X), model.embedding_)
    assert clone(model).get_params() == quick(kind).get_params()


@stops_early
def test_the_report_does_not_claim_what_was_not_measured():
    model = quick(TSNEkhorn).fit(OLD).extend(NEW, max_iter=1)
    assert not model.report_.converged
    assert str(model.report_).startswith("took all steps of extend, as intended; pass a larger max_iter to let points")


@stops_early
@pytest.mark.parametrize("metric", ["sqeuclidean", "seuclidean"])
def test_the_search_among_old_points_takes_no_memory_while_the_affinity_is_computed(monkeypatch, metric):
    model, alive = quick(TSNEkhorn, metric=metric).fit(OLD), []
    original = Affinity.fit_transform

    def watched(self, X, y=None):
        alive.extend(each for each in gc.get_objects() if isinstance(each, PointSearch))
        return original(self, X, y)

    monkeypatch.setattr(Affinity, "fit_transform", watched)
    assert len(model.transform(NEW)) == len(NEW)
    assert any(isinstance(each, PointSearch) for each in gc.get_objects())
    model.extend(NEW, max_iter=5)
    assert not alive


@stops_early
def test_points_can_join_again_and_again():
    model = quick(TSNEkhorn).fit(OLD)
    for row in range(70, 74):
        model.extend(X[row : row + 1], max_iter=5)
    assert model.embedding_.shape == (74, 2)
    np.testing.assert_array_equal(model.transform(X[:74]), model.embedding_)


@stops_early
@pytest.mark.parametrize("kind", [TSNEkhorn, SNEkhorn, SNE])
def test_the_bits_do_not_depend_on_threads(kind, many):
    extended = [
        quick(kind, n_neighbors=20, method="fft", n_jobs=jobs).fit(many[:500]).extend(many[500:], max_iter=20)
        for jobs in (1, 3)
    ]
    np.testing.assert_array_equal(*(model.embedding_ for model in extended))


@stops_early
def test_a_small_tolerance_needs_the_fine_grid_at_the_end_only(monkeypatch):
    seen, refined, gradient = [], GridSums.refined, Objective.gradient
    monkeypatch.setattr(GridSums, "refined", lambda self: (seen.append("refined"), refined(self))[1])
    monkeypatch.setattr(Objective, "gradient", lambda *args: (seen.append("gradient"), gradient(*args))[1])
    model = quick(TSNEkhorn, method="fft", marginal_tol=1e-6).fit(OLD)
    seen.clear()
    model.extend(NEW, max_iter=8)
    assert seen == ["gradient"] * 8 + ["refined"]
    assert model.report_.marginal_gap <= 1e-6


@stops_early
def test_graphs_appear_when_there_are_many_points(monkeypatch):
    monkeypatch.setattr("snekhorn.estimators.layout_parts.DENSE_LIMIT", 80)
    model = quick(TSNEkhorn).fit(OLD)
    assert not sparse.issparse(model.affinity_)
    assert sparse.issparse(model.extend(NEW, max_iter=10).affinity_)


@stops_early
@pytest.mark.parametrize(("old", "new"), [("sparse", "sparse"), ("sparse", "dense"), ("dense", "sparse")])
def test_sparse_points(old, new):
    points = without_some_entries(X)
    forms = {"dense": np.asarray, "sparse": sparse.csr_matrix}
    model = quick(TSNEkhorn, init="random", random_state=0).fit(forms[old](points[:70]))
    model.extend(forms[new](points[70:]), max_iter=10)
    assert model.embedding_.shape == (90, 2)
    np.testing.assert_array_equal(model.transform(points), model.embedding_)


@stops_early
def test_the_precision_is_that_of_the_old_points():
    model = quick(TSNEkhorn).fit(OLD.astype(np.float32)).extend(NEW, max_iter=10)
    assert model.embedding_.dtype == np.float32
    np.testing.assert_array_equal(model.transform(X.astype(np.float32)), model.embedding_)


@stops_early
def test_an_affinity_object_and_other_metrics():
    affinity = EntropicAffinity(8.0, metric="cosine", symmetrize=True)
    model = TSNE(affinity=affinity, max_iter=60).fit(OLD).extend(NEW, max_iter=10)
    np.testing.assert_allclose(model.affinity_, clone(affinity).fit_transform(X))


@stops_early
def test_an_extended_model_can_be_saved(tmp_path):
    model = quick(TSNEkhorn).fit(OLD).extend(NEW, max_iter=10)
    model.save(tmp_path / "model.npz")
    back = load(tmp_path / "model.npz")
    np.testing.assert_array_equal(back.embedding_, model.embedding_)
    np.testing.assert_array_equal(back.transform(X + 0.1), model.transform(X + 0.1))
    extended = [each.extend(X[:5] + 0.1, max_iter=5).embedding_ for each in (model, back)]
    np.testing.assert_array_equal(*extended)


@stops_early
def test_callbacks_see_all_points():
    seen = []
    model = quick(TSNEkhorn).fit(OLD).set_params(callbacks=lambda i, loss, Z: seen.append((i, Z.shape)))
    model.extend(NEW, max_iter=60)
    assert seen == [(50, (90, 2))]


@pytest.fixture
def fitted():
    with pytest.warns(match="stopped at max_iter"):
        return quick(TSNEkhorn).fit(OLD)


@pytest.mark.parametrize(
    ("new", "how", "message"),
    [
        (NEW[:, :2], {}, "X has 2 features, but TSNEkhorn is expecting 3"),
        (NEW[:0], {}, "0 sample"),
        (changed(NEW, (3, 1), np.nan), {}, "X contains nan at row 3, column 1"),
        (NEW, {"pull": -1.0}, "pull must be a finite number of at least 0, got -1.0"),
        (NEW, {"pull": np.inf}, "pull must be a finite number of at least 0, got inf"),
        (NEW, {"pull": "strong"}, "pull must be a finite number of at least 0, got 'strong'"),
        (NEW, {"max_iter": 0}, "max_iter must be a whole number of at least 1, got 0"),
    ],
)
def test_bad_input_leaves_the_model_as_it_was(fitted, new, how, message):
    before = dict(vars(fitted))
    with pytest.raises(InputError, match=message):
        fitted.extend(new, **how)
    assert all(vars(fitted)[name] is value for name, value in before.items())


def test_parameters_that_do_not_go_with_the_layout(fitted):
    with pytest.raises(InputError, match="the layout has 2 dimensions, but n_components=3; set it back"):
        fitted.set_params(n_components=3).extend(NEW)
    with pytest.raises(InputError, match="perplexity must be a finite number above 1, got 0"):
        fitted.set_params(n_components=2, perplexity=0).extend(NEW)


def test_an_error_in_the_descent_leaves_the_model_as_it_was(fitted):
    def fail(*args):
        raise RuntimeError("no more")

    Z, P = fitted.embedding_, fitted.affinity_
    with pytest.raises(RuntimeError, match="no more"):
        fitted.set_params(callbacks=fail).extend(NEW)
    assert fitted.embedding_ is Z
    assert fitted.affinity_ is P


def test_too_little_memory_is_noticed_before_the_work(fitted, monkeypatch):
    monkeypatch.setattr("snekhorn.runtime.memory.used_bytes", lambda: 0)
    with pytest.raises(MissingMemoryError, match=r"not enough memory for the layout of 90 points"):
        fitted.set_params(max_memory=1000).extend(NEW)


@stops_early
def test_the_memory_of_sparse_points_is_that_of_all_of_them(monkeypatch):
    monkeypatch.setattr("snekhorn.runtime.memory.used_bytes", lambda: 0)
    points = sparse.csr_matrix(without_some_entries(X))
    model = quick(TSNEkhorn).fit(points[:20]).set_params(max_memory=1000)
    with pytest.raises(MissingMemoryError, match=r"not enough memory for the layout of 90 points"):
        model.extend(points[20:])


def test_before_a_fit():
    with pytest.raises(NotFittedError):
        TSNEkhorn().extend(NEW)


@stops_early
def test_precomputed_input_cannot_be_extended():
    C = ((OLD[:, None] - OLD) ** 2).sum(axis=2)
    for parameters, P in (({"metric": "precomputed"}, C), ({"affinity": "precomputed"}, np.exp(-C))):
        (name,) = parameters
        model = quick(TSNEkhorn, **parameters).fit(P)
        with pytest.raises(InputError, match=f"extend needs features, but {name}='precomputed' .* align="):
            model.extend(C[:5])
