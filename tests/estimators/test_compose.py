"""The estimators inside scikit-learn's own constructions."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.model_selection import ParameterGrid
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from snekhorn import TSNEkhorn
from snekhorn.affinities import SymmetricEntropicAffinity

from .cases import each_estimator, each_method, quick, stops_early

pytestmark = stops_early


@each_estimator
def test_names_of_components(X, kind):
    estimator = quick(kind, n_components=3, max_iter=5).fit(X)
    name = kind.__name__.lower()
    assert list(estimator.get_feature_names_out()) == [f"{name}0", f"{name}1", f"{name}2"]


@pytest.mark.parametrize(("library", "frame"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_output_in_data_frames(X, library, frame):
    estimator = quick(TSNEkhorn).set_output(transform=library)
    fitted = estimator.fit_transform(frame(X, **{"columns" if library == "pandas" else "schema": ["a", "b", "c"]}))
    assert isinstance(fitted, frame)
    assert list(fitted.columns) == ["tsnekhorn0", "tsnekhorn1"]
    assert isinstance(estimator.embedding_, np.ndarray)
    np.testing.assert_array_equal(fitted.to_numpy(), estimator.embedding_)


def test_index_of_a_data_frame(X):
    points = pd.DataFrame(X, columns=["a", "b", "c"], index=[f"cell {i}" for i in range(60)])
    Z = quick(TSNEkhorn).set_output(transform="pandas").fit_transform(points)
    assert list(Z.index) == list(points.index)


@each_estimator
def test_in_a_pipeline(X, kind):
    line = make_pipeline(StandardScaler(), PCA(2), quick(kind))
    Z = line.fit_transform(X)
    np.testing.assert_array_equal(line.transform(X), Z)
    assert line.transform(X[:3] + 0.1).shape == (3, 2)
    assert line.get_feature_names_out()[0] == f"{kind.__name__.lower()}0"


def test_after_a_neighbors_transformer(X):
    line = make_pipeline(KNeighborsTransformer(n_neighbors=25), quick(TSNEkhorn, metric="precomputed"))
    assert line.fit_transform(X).shape == (60, 2)
    with pytest.raises(ValueError, match="pass a dense array of shape"):
        line.transform(X)


@each_estimator
def test_clones(X, kind):
    estimator = quick(kind, affinity=SymmetricEntropicAffinity(8.0), init=X[:, :2], callbacks=[print]).set_params(
        callbacks=None
    )
    twin = clone(estimator.fit(X))
    assert not hasattr(twin, "embedding_")
    assert twin.affinity is not estimator.affinity
    np.testing.assert_array_equal(twin.fit_transform(X), estimator.embedding_)


@each_estimator
@each_method
def test_survives_a_pickle(X, kind, method):
    estimator = quick(kind, method=method).fit(X)
    new = X[:7] + 0.1
    want = estimator.transform(new)
    again = pickle.loads(pickle.dumps(estimator))
    np.testing.assert_array_equal(again.transform(new), want)
    np.testing.assert_array_equal(again.transform(X), estimator.embedding_)
    assert str(again.report_) == str(estimator.report_)


def test_values_of_a_grid(X):
    for parameters in ParameterGrid({"n_components": np.array([1, 2]), "perplexity": np.array([5, 8.0])}):
        assert quick(TSNEkhorn, max_iter=5).set_params(**parameters).fit_transform(X).shape[0] == 60


@each_estimator
def test_representation(kind):
    assert repr(kind(perplexity=8.0)) == f"{kind.__name__}(perplexity=8.0)"
