"""Bad input raises an error that names the parameter, the value and the remedy, before any long computation."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from snekhorn import SNE, TSNE, SNEkhorn, SymmetricSNE, TSNEkhorn
from snekhorn.affinities import EntropicAffinity
from snekhorn.errors import InputError, shown

from ..helpers import AFFINITIES, changed, refused, squared_distances
from .cases import each_estimator, quick, stops_early

pytestmark = stops_early

POINTS = np.random.default_rng(0).normal(size=(12, 3))
AFFINITY = np.exp(-squared_distances(POINTS))


def _refused(estimator, X, *parts):
    refused(estimator, X, *parts)
    assert not [name for name in vars(estimator) if name.endswith("_")]


@pytest.fixture
def no_work(monkeypatch):
    """Solving an affinity, searching neighbours, or any step of the descent is a failure."""

    def work(*args):
        pytest.fail("work was started")

    monkeypatch.setattr("snekhorn.estimators.neighbor_embedding.minimize", work)
    monkeypatch.setattr("snekhorn.geometry.costs.find_neighbors", work)
    for kind in AFFINITIES:
        monkeypatch.setattr(kind, "compute", work)


@each_estimator
def test_an_unknown_parameter_is_one_of_the_class_that_was_called(kind):
    message = f"^{kind.__name__} has no parameter 'perplexty'; did you mean 'perplexity'"
    with pytest.raises(TypeError, match=message) as raised:
        kind(perplexty=3)
    assert isinstance(raised.value, InputError)


def test_a_class_of_the_user_is_named_too():
    class Mine(TSNEkhorn):
        def __init__(self, speed=1, **parameters):
            super().__init__(**parameters)
            self.speed = speed

    assert Mine(speed=2, perplexity=5).perplexity == 5
    with pytest.raises(TypeError, match=r"^Mine has no parameter 'colour'; available: 'n_components', 'perplexity'"):
        Mine(colour=3)


@each_estimator
@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("n_components", 0, "from 1 to 3"),
        ("n_components", 4, "from 1 to 3"),
        ("n_components", "2", "from 1 to 3"),
        ("n_components", 2.0, "whole number"),
        ("n_components", True, "whole number"),
        ("n_components", None, "whole number"),
        ("perplexity", 1.0, "above 1"),
        ("perplexity", 0, "above 1"),
        ("perplexity", -3.0, "above 1"),
        ("perplexity", np.nan, "30 is a good start"),
        ("perplexity", np.inf, "30 is a good start"),
        ("perplexity", "a", "30 is a good start"),
        ("perplexity", None, "30 is a good start"),
        ("metric", "nonsense", "euclidean"),
        ("metric", None, "euclidean"),
        ("metric", np.array(["euclidean", "cosine"]), "euclidean"),
        ("n_neighbors", 0, "at least 1"),
        ("n_neighbors", "all", "None, 'auto' or a whole number"),
        ("n_neighbors", np.array([5, 6]), "whole number"),
        ("affinity", "entropic", "'precomputed'"),
        ("affinity", EntropicAffinity, "an object from snekhorn.affinities"),
        ("affinity", AFFINITY, "'precomputed'"),
        ("balance", 2, "from 0 to 1, or 'auto'"),
        ("self_loops", "yes", "True, False"),
        ("latent_self_loops", None, "True, False"),
        ("init", "umap", "'pca', 'spectral', 'random'"),
        ("init", None, "(12, 2)"),
        ("init", np.zeros((11, 2)), "(12, 2)"),
        ("init", np.zeros((12, 3)), "(12, 2)"),
        ("init", [[1.0, 2.0], [3.0]], "(12, 2)"),
        ("init", [["a", "b"]] * 12, "(12, 2)"),
        ("init", np.full((12, 2), np.nan), "must be finite"),
        ("init", np.full((12, 2), np.inf), "must be finite"),
        ("init", np.zeros((12, 2)), "at the same position"),
        ("early_exaggeration", 0, "positive"),
        ("exaggeration", -1.0, "positive"),
        ("learning_rate", 0.0, "positive"),
        ("learning_rate", "fast", "positive"),
        ("learning_rate", np.nan, "positive"),
        ("learning_rate", np.array([1.0, 2.0]), "positive"),
        ("optimizer", "sgd", "'momentum', 'adam'"),
        ("max_iter", 0, "at least 1"),
        ("max_iter", 2.5, "whole number"),
        ("max_iter", "10", "whole number"),
        ("tol", 0, "positive"),
        ("tol", -1e-3, "positive"),
        ("tol", np.nan, "positive"),
        ("marginal_tol", 0.0, "positive"),
        ("method", "barnes_hut", "'auto', 'exact', 'fft'"),
        ("callbacks", 5, "callable"),
        ("callbacks", "print", "callable"),
        ("callbacks", [print, None], "callable"),
        ("n_jobs", 0, "-1 for all cores"),
        ("n_jobs", 1.5, "-1 for all cores"),
        ("max_memory", "8 gigs", "such as '8GB'"),
        ("max_memory", -1, "a fraction"),
        ("random_state", "now", "a whole number"),
        ("random_state", -1, "from 0"),
        ("random_state", 0.5, "RandomState or None"),
        ("random_state", np.random.default_rng(0), "RandomState or None"),
        ("verbose", "yes", "whole number"),
        ("verbose", None, "whole number"),
        ("verbose", -1, "at least 0"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_parameters(kind, name, value, remedy, no_work):
    received = [] if name == "init" and not isinstance(value, str) else [shown(value)]
    _refused(kind(**{"perplexity": 4.0, name: value}), POINTS, name, remedy, *received)


@each_estimator
@pytest.mark.parametrize("n_neighbors", [None, 5])
@pytest.mark.parametrize("init", ["pca", "random"])
def test_a_bad_seed_is_found_first(kind, n_neighbors, init, no_work):
    estimator = kind(perplexity=4.0, n_neighbors=n_neighbors, init=init, random_state="now")
    _refused(estimator, POINTS, "random_state", "'now'", "a whole number")


@pytest.mark.parametrize("affinity", AFFINITIES, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("metric", "euclid", "Did you mean 'euclidean'"),
        ("n_neighbors", 0, "whole number"),
        ("n_neighbors", "all", "'auto'"),
        ("self_loops", "yes", "True, False"),
        ("n_jobs", 0, "number of threads"),
    ],
)
def test_parameters_of_an_affinity_object(affinity, name, value, remedy, tmp_path, no_work):
    folder = tmp_path / "state"
    estimator = TSNEkhorn(affinity=affinity(**{"n_neighbors": 9, name: value}), checkpoint=folder)
    _refused(estimator, POINTS, name, remedy, repr(value))
    assert not folder.exists()


@pytest.mark.parametrize("n_neighbors", [None, 5])
@pytest.mark.parametrize("affinity", [None, EntropicAffinity(4.0)])
def test_the_work_that_must_not_be_started_is_seen(n_neighbors, affinity, no_work):
    if affinity is not None:
        affinity.set_params(n_neighbors=n_neighbors)
    with pytest.raises(pytest.fail.Exception, match="work was started"):
        TSNEkhorn(perplexity=4.0, n_neighbors=n_neighbors, affinity=affinity).fit(POINTS)


@each_estimator
@pytest.mark.parametrize(("name", "value"), [("random_state", np.random.RandomState(0)), ("verbose", 0)])
def test_good_parameters(kind, name, value):
    assert quick(kind, perplexity=4.0, init="random", **{name: value}).fit(POINTS).embedding_.shape == (12, 2)


@each_estimator
@pytest.mark.parametrize(
    ("X", "parts"),
    [
        pytest.param(changed(POINTS, (4, 1), np.nan), ["X", "nan at row 4, column 1", "drop"], id="nan"),
        pytest.param(changed(POINTS, (4, 1), np.inf), ["X", "inf at row 4, column 1", "drop"], id="infinite"),
        pytest.param(POINTS[:1], ["1 sample", "minimum of 2"], id="one point"),
        pytest.param(POINTS[:0], ["0 sample", "minimum of 2"], id="no point"),
        pytest.param(POINTS[:, :0], ["0 feature", "minimum of 1"], id="no feature"),
        pytest.param(POINTS[:, 0], ["shape (12,)", "reshape(-1, 1)"], id="one dimension"),
        pytest.param(np.zeros((3, 2, 2)), ["shape (3, 2, 2)", "reshape(len(X), -1)"], id="three dimensions"),
        pytest.param(POINTS * 1j, ["Complex data not supported"], id="complex"),
        pytest.param([["a", "b"], ["c", "d"]], ["columns 0, 1 of X", "text, such as 'a'"], id="strings"),
        pytest.param((POINTS, POINTS), ["tuple", "metric='precomputed'", "sqeuclidean"], id="tuple"),
    ],
)
def test_points(kind, X, parts, no_work):
    _refused(kind(perplexity=4.0), X, *parts)


@each_estimator
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize(
    ("P", "parts"),
    [
        pytest.param(changed(AFFINITY, (4, 1), -0.5), ["affinity X", "negative", "-0.5", ">= 0"], id="negative"),
        pytest.param(changed(AFFINITY, (4, 1), np.nan), ["affinity X", "nan", "impute"], id="nan"),
        pytest.param(changed(AFFINITY, (4, 1), np.inf), ["affinity X", "inf", "drop"], id="infinite"),
        pytest.param(
            AFFINITY[:, :9],
            ["affinity='precomputed'", "square", "(12, 9)", "pass the affinity matrix as X"],
            id="not square",
        ),
        pytest.param(changed(AFFINITY, 4, 0.0), ["row 4", "zero", "remove points"], id="zero row"),
        pytest.param(AFFINITY[:1, :1], ["affinity X", "1 x 1", "at least 2 points"], id="one point"),
    ],
)
def test_affinities(kind, form, P, parts, no_work):
    _refused(kind(affinity="precomputed"), form(P), *parts)


@pytest.mark.parametrize("kind", [TSNEkhorn, SNEkhorn, TSNE, SymmetricSNE])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_asymmetric_affinities(kind, form, no_work):
    P = form(changed(AFFINITY, (4, 1), 5.0))
    _refused(kind(affinity="precomputed"), P, "affinity X", "not symmetric", "(X + X.T) / 2")


def test_sne_takes_an_asymmetric_affinity():
    assert quick(SNE, affinity="precomputed").fit(changed(AFFINITY, (4, 1), 5.0)).embedding_.shape == (12, 2)


@each_estimator
@pytest.mark.parametrize(
    ("C", "parts"),
    [
        pytest.param(POINTS, ["metric='precomputed'", "square", "(12, 3)"], id="not square"),
        pytest.param(-squared_distances(POINTS), ["cost matrix X", "negative", "not similarities"], id="negative"),
        pytest.param(AFFINITY, ["cost matrix X", "diagonal", "fill_diagonal"], id="similarities"),
        pytest.param(changed(squared_distances(POINTS), (0, 1), 99.0), ["cost matrix X", "symmetric"], id="asymmetric"),
        pytest.param(sparse.csr_matrix((12, 12)), ["isolated points (12 in total", "leave these"], id="empty graph"),
        pytest.param(([[1], [2]], [[1.0], [1.0]]), ["indices", "between 0 and 1", "2"], id="index beyond"),
        pytest.param((), ["X is a tuple", "(indices, distances)", "()", "(n, k)"], id="empty tuple"),
        pytest.param((1, 2), ["X is a tuple", "(indices, distances)", "(int, int)", "(n, k)"], id="numbers"),
        pytest.param(([[1]], [[1.0]], 3), ["X is a tuple", "(list, list, int)", "(n, k)"], id="three"),
        pytest.param(([[1], [0]], [[1.0]]), ["X is a tuple", "2 and 1 rows", "(n, k)"], id="rows differ"),
    ],
)
def test_costs(kind, C, parts, no_work):
    _refused(kind(metric="precomputed", perplexity=4.0), C, *parts)


@each_estimator
def test_transform_before_fit(kind):
    with pytest.raises(NotFittedError, match=f"{kind.__name__} instance is not fitted yet"):
        kind().transform(POINTS)


@each_estimator
@pytest.mark.parametrize(
    ("X", "message"),
    [
        pytest.param(POINTS[:, :2], "X has 2 features, but .* is expecting 3", id="features"),
        pytest.param(changed(POINTS, (4, 1), np.nan), "NaN", id="nan"),
        pytest.param(POINTS[0], "Reshape", id="one dimension"),
        pytest.param(POINTS[:0], "0 sample", id="no point"),
    ],
)
def test_new_points(kind, X, message):
    estimator = quick(kind, perplexity=4.0).fit(POINTS)
    with pytest.raises(ValueError, match=message):
        estimator.transform(X)
    np.testing.assert_array_equal(estimator.transform(POINTS), estimator.embedding_)


@each_estimator
def test_new_points_after_a_precomputed_affinity(kind):
    estimator = quick(kind, affinity="precomputed").fit(AFFINITY)
    for X in (AFFINITY, POINTS):
        with pytest.raises(
            ValueError, match="affinity='precomputed' has no information about new points; fit to features"
        ):
            estimator.transform(X)


each_form = pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])


@each_form
@pytest.mark.parametrize("n_neighbors", [None, 6])
def test_points_of_zero_norm(form, n_neighbors):
    zero = form(changed(POINTS, 1, 0.0))
    estimator = quick(TSNEkhorn, metric="cosine", perplexity=4.0, n_neighbors=n_neighbors)
    with pytest.raises(InputError, match="row 1 of X is zero, so metric='cosine' is undefined for it; drop it"):
        estimator.fit(zero)
    estimator.fit(form(POINTS))
    for new in (zero, changed(POINTS, 1, 0.0)):
        with pytest.raises(InputError, match="row 1 of X is zero, so metric='cosine' is undefined for it; drop it"):
            estimator.transform(new)


@pytest.mark.parametrize("n_neighbors", [None, 6])
def test_points_whose_distances_are_undefined(n_neighbors, monkeypatch):
    """A constant row has no correlation with any other."""
    constant = changed(POINTS, 7, 1.0)
    estimator = quick(TSNEkhorn, metric="correlation", perplexity=4.0, n_neighbors=n_neighbors)
    with pytest.raises(InputError, match="metric='correlation' is undefined for row 7 of X; drop it"):
        estimator.fit(constant)
    estimator.fit(POINTS)
    for at_once in (100, 5):
        monkeypatch.setattr("snekhorn.estimators.point_placement.NEW_POINTS_AT_ONCE", at_once)
        with pytest.raises(InputError, match="metric='correlation' is undefined for row 7 of X; drop it"):
            estimator.transform(constant)


@each_estimator
@pytest.mark.parametrize(
    ("C", "message"),
    [
        pytest.param(POINTS, "X has 3 features, but .* is expecting 12", id="columns"),
        pytest.param(
            sparse.csr_matrix(np.ones((2, 12))),
            r"pass a dense array of shape \(new points, points of the layout\)",
            id="graph",
        ),
        pytest.param(-np.ones((2, 12)), "negative", id="negative"),
    ],
)
def test_new_costs(kind, C, message):
    estimator = quick(kind, metric="precomputed", perplexity=4.0).fit(squared_distances(POINTS))
    with pytest.raises(ValueError, match=message):
        estimator.transform(C)


def test_a_refused_fit_keeps_what_was_fitted():
    estimator = quick(TSNEkhorn, perplexity=4.0).fit(POINTS)
    with pytest.raises(ValueError, match="init has shape"):
        estimator.set_params(init=np.zeros((3, 3))).fit(np.ones((12, 5)))
    assert estimator.n_features_in_ == 3
    np.testing.assert_array_equal(estimator.transform(POINTS), estimator.embedding_)


@pytest.mark.parametrize("n_neighbors", [None, 4])
def test_a_metric_that_does_not_fit_the_features_is_named(n_neighbors):
    model = TSNEkhorn(perplexity=4.0, metric="haversine", n_neighbors=n_neighbors)
    _refused(model, np.eye(12, 3), "metric='haversine'", "3 features", "choose another metric")


def test_a_function_as_metric_is_refused_with_what_works():
    def cost(a, b):
        return 0.0

    _refused(TSNEkhorn(perplexity=4.0, metric=cost), POINTS, "the function 'cost'", "set metric='precomputed'")
