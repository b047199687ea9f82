"""Preprocessing: standardisation, principal components, columns by name; as a scikit-learn transformer."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.utils.estimator_checks import parametrize_with_checks

from snekhorn.errors import InputError
from snekhorn.geometry.column_statistics import ROWS_PER_BLOCK, spreads
from snekhorn.geometry.preprocessing import (
    FEW_COLUMNS,
    Preprocessing,
    principal_components,
)

RNG = np.random.default_rng(0)
NAMES = ["a", "b", "c", "d", "e"]


@parametrize_with_checks(
    [
        Preprocessing(),
        Preprocessing(standardize=True),
        Preprocessing(standardize=True, n_components=1),
        Preprocessing(missing="median", n_components=1),
    ],
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("p", [12, FEW_COLUMNS + 1])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_components_are_those_of_scikit_learn(p, as_sparse):
    low = RNG.normal(size=(60, 3)) * [9.0, 5.0, 3.0]
    X = low @ RNG.normal(size=(3, p)) + 0.01 * RNG.normal(size=(60, p)) + 5.0
    given = sparse.csr_matrix(X) if as_sparse else X
    found = Preprocessing(n_components=3).fit_transform(given)
    expected = PCA(3, svd_solver="full").fit_transform(X)
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-4 * np.abs(expected).max())
    np.testing.assert_array_equal(found, principal_components(given, 3))


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sparse.csr_matrix])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize(("p", "n_components"), [(1, None), (12, 4), (64, 7), (300, 30), (784, 50)])
def test_a_point_alone_and_in_a_batch(form, standardize, p, n_components):
    X = form(np.random.default_rng(0).normal(size=(1000, p)))
    preprocessing = Preprocessing(standardize=standardize, n_components=n_components).fit(X)
    together = preprocessing.transform(X)
    together = together.toarray() if sparse.issparse(together) else together
    for rows in (slice(7, 8), slice(0, 7), slice(500, 999)):
        some = preprocessing.transform(X[rows])
        np.testing.assert_array_equal(some.toarray() if sparse.issparse(some) else some, together[rows])


@pytest.mark.parametrize("as_sparse", [False, True])
def test_standardized_columns(as_sparse):
    X = RNG.normal(size=(60, 5)) * [1.0, 1e3, 1e-3, 0.0, 7.0] + 3.0
    given = sparse.csr_matrix(X) if as_sparse else X
    found = Preprocessing(standardize=True).fit_transform(given)
    np.testing.assert_allclose(found.std(axis=0), [1.0, 1.0, 1.0, 0.0, 1.0], rtol=1e-4)
    np.testing.assert_allclose(found.mean(axis=0), 0.0, atol=1e-6)
    np.testing.assert_allclose(spreads(given), X.std(axis=0), rtol=1e-6, atol=1e-4)
    components = Preprocessing(standardize=True, n_components=3).fit_transform(given)
    expected = PCA(3, svd_solver="full").fit_transform(found)
    np.testing.assert_allclose(np.abs(components), np.abs(expected), atol=1e-8)


def test_without_work_the_points_pass_through():
    X = RNG.normal(size=(60, 5)).astype(np.float32)
    assert Preprocessing().fit_transform(X) is X
    assert Preprocessing(n_components=5).fit_transform(X) is X
    assert Preprocessing(n_components=50).fit_transform(X[:4]).shape == (4, 5)


def test_principal_components_are_as_many_as_there_are():
    assert principal_components(RNG.normal(size=(5, 12)), 50).shape == (5, 4)
    assert principal_components(np.arange(24).reshape(6, 4) ** 2, 50).shape == (6, 4)


def test_a_mapped_file_is_read_in_blocks(tmp_path):
    X = RNG.integers(0, 255, size=(3 * ROWS_PER_BLOCK + 5, 12)).astype(np.uint8)
    np.save(tmp_path / "t.npy", X)
    mapped = np.load(tmp_path / "t.npy", mmap_mode="r")
    preprocessing = Preprocessing(n_components=4).fit(mapped)
    found = preprocessing.transform(mapped)
    np.testing.assert_allclose(np.abs(found), np.abs(PCA(4, svd_solver="full").fit_transform(X)), atol=1e-6)
    axes = preprocessing.components_
    assert np.all(axes.max(axis=1) == np.abs(axes).max(axis=1))  # the sign of an axis is fixed


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("parameters", [{}, {"standardize": True}, {"n_components": 2}])
def test_data_frames_are_taken_by_name(frame, parameters):
    X = RNG.normal(size=(60, 5)) * [1.0, 3.0, 5.0, 7.0, 9.0]
    preprocessing = Preprocessing(**parameters).fit(frame(dict(zip(NAMES, X.T, strict=True))))
    assert list(preprocessing.feature_names_in_) == NAMES
    expected = preprocessing.transform(X)
    shuffled = frame({"kind": ["u", "v"] * 30, **dict(zip(NAMES[::-1], X.T[::-1], strict=True))})
    np.testing.assert_allclose(preprocessing.transform(shuffled), expected, atol=1e-12)
    with pytest.raises(InputError, match="no columns 'b', 'd', which the model needs; available: 'a', 'B', 'c', 'e'"):
        preprocessing.transform(frame(dict.fromkeys(["a", "B", "c", "e"], X[:, 0])))


def test_names_can_be_given_beside_an_array():
    X = RNG.normal(size=(60, 5))
    preprocessing = Preprocessing(standardize=True).fit(X, feature_names=NAMES)
    assert list(preprocessing.get_feature_names_out()) == NAMES
    frame = pd.DataFrame(X[:, ::-1], columns=NAMES[::-1])
    np.testing.assert_array_equal(preprocessing.transform(frame), preprocessing.transform(X))
    with pytest.raises(InputError, match="feature_names has 2 names for the 5 columns"):
        preprocessing.fit(X, feature_names=NAMES[:2])
    assert not hasattr(preprocessing.fit(X), "feature_names_in_")


def test_an_array_must_have_as_many_columns():
    X = RNG.normal(size=(60, 5))
    with pytest.raises(InputError, match=r"X has 4 features, but Preprocessing is expecting 5 .* \('a', 'b', 'c', "):
        Preprocessing().fit(X, feature_names=NAMES).transform(X[:, :4])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components must be"),
        ({"standardize": "yes"}, "standardize must be"),
        ({"random_state": "a"}, "random_state must be .*got 'a'"),
        ({"random_state": -1}, "random_state must be .*got -1"),
    ],
)
def test_wrong_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        Preprocessing(**parameters).fit(RNG.normal(size=(60, 5)))


@pytest.mark.parametrize("shape", [(60, 5), (10, 50), (10, FEW_COLUMNS + 1)])
@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("parameters", [{"n_components": 2}, {"standardize": True}])
def test_values_whose_squares_overflow(shape, as_sparse, parameters):
    X = 1e200 * RNG.uniform(-1.0, 1.0, size=shape)
    with pytest.raises(InputError, match=r"X has entries as large as .*e\+\d+ in .* squares overflow; scale X down\.$"):
        Preprocessing(**parameters).fit(sparse.csr_matrix(X) if as_sparse else X)


@pytest.mark.parametrize("shape", [(60, 5), (10, 50), (10, FEW_COLUMNS + 1)])
def test_large_float32_values_do_not_overflow(shape):
    rng = np.random.default_rng(0)
    plane = rng.uniform(-1.0, 1.0, size=(shape[0], 2)) @ rng.uniform(-1.0, 1.0, size=(2, shape[1]))
    X, scale = plane.astype(np.float32), np.float32(2.0**125)
    np.testing.assert_allclose(principal_components(X * scale, 2) / float(scale), principal_components(X, 2), atol=1e-4)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite(value):
    X = RNG.normal(size=(60, 5))
    preprocessing = Preprocessing(standardize=True).fit(X)
    X[3, 2] = value
    for act in (preprocessing.fit, preprocessing.transform):
        with pytest.raises(ValueError, match=f"X contains {value} at row 3, column 2"):
            act(X)


def test_names_of_components_and_output_frames():
    frame = pd.DataFrame(RNG.normal(size=(60, 5)), columns=NAMES)
    preprocessing = Preprocessing(n_components=2).set_output(transform="pandas")
    assert list(preprocessing.fit_transform(frame).columns) == ["pca0", "pca1"]
    again = pickle.loads(pickle.dumps(preprocessing))
    pd.testing.assert_frame_equal(again.transform(frame), preprocessing.transform(frame))
    defaults = {"missing": "error", "n_jobs": None, "random_state": 0, "standardize": False}
    assert clone(preprocessing).get_params() == {"n_components": 2, **defaults}


def _with_holes():
    X = RNG.normal(size=(60, 5)) * [1.0, 2.0, 3.0, 4.0, 5.0]
    X[RNG.random(X.shape) < 0.2] = np.nan
    return X


@pytest.mark.parametrize("parameters", [{}, {"standardize": True}, {"standardize": True, "n_components": 2}])
def test_medians_fill_in_missing_values_before_the_rest(parameters):
    X = _with_holes()
    complete = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
    found = Preprocessing(missing="median", **parameters).fit(X)
    expected = Preprocessing(**parameters).fit(complete)
    np.testing.assert_array_equal(found.transform(X), expected.transform(complete))
    new = np.full((1, 5), np.nan)  # new points get the medians of the points of fit
    np.testing.assert_array_equal(found.transform(new), expected.transform(np.nanmedian(X, axis=0)[None]))


def test_float32_stays_float32_where_values_are_filled_in():
    X = _with_holes().astype(np.float32)
    assert Preprocessing(missing="median").fit_transform(X).dtype == np.float32


def test_missing_values_are_errors_by_default():
    with pytest.raises(InputError, match="X contains nan"):
        Preprocessing().fit(_with_holes())


def test_what_medians_cannot_fill_in():
    X = _with_holes()
    X[:, 2] = np.nan
    with pytest.raises(InputError, match="column 'c' has no values, so it has no median"):
        Preprocessing(missing="median").fit(X, feature_names=NAMES)
    X[:, 2] = 1.0
    X[3, 2] = np.inf
    with pytest.raises(InputError, match="X contains inf at row 3, column 2; infinity is not a missing value"):
        Preprocessing(missing="median").fit(X)
    with pytest.raises(InputError, match="missing must be one of 'error', 'median'; got 'mean'"):
        Preprocessing(missing="mean").fit(X)
    X[3, 2] = np.nan
    with pytest.raises(InputError, match="X contains nan"):
        Preprocessing(missing="median").fit(sparse.csr_matrix(X))


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("shape", [(80, 30), (20, 60), (40, FEW_COLUMNS + 10)])
def test_the_share_of_the_variance(shape, standardize):
    X = RNG.normal(size=shape) * np.linspace(1.0, 9.0, shape[1])
    scaled = X / X.std(axis=0) if standardize else X
    expected = PCA(5, svd_solver="full").fit(scaled).explained_variance_ratio_.sum()
    found = Preprocessing(standardize=standardize, n_components=5).fit(X).variance_kept_
    assert found == pytest.approx(expected, rel=0.05 if shape[1] > FEW_COLUMNS else 1e-9)
    if not standardize:
        of_sparse = Preprocessing(n_components=5).fit(sparse.csr_matrix(X)).variance_kept_
        assert of_sparse == pytest.approx(expected, rel=1e-9)


def test_all_of_no_variance_is_kept():
    assert Preprocessing(n_components=2).fit(np.ones((10, 5))).variance_kept_ == 1.0
    assert Preprocessing().fit(np.ones((10, 5))).variance_kept_ is None
