"""The page gets the true neighbours in the data, and the recall that the scores report."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from snekhorn.errors import InputError
from snekhorn.metrics import neighbor_recall
from snekhorn.page.page_neighbors import nearest_in_layout

from .reading import Page
from .test_html_page import written

N, K = 200, 15


@pytest.fixture
def X(rng):
    return rng.normal(size=(N, 6))


@pytest.fixture
def Z(X):
    return (X[:, :2] + 0.3 * X[:, 2:4]).astype(np.float32)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan", "seuclidean"])
def test_neighbours_are_those_of_the_metric(X, Z, metric):
    page = Page(written(Z, data=X, metric=metric))
    found = page.numbers("neighbors", page.header["neighbors"]["type"]).reshape(N, K)
    options = {"metric_params": {"V": X.var(axis=0, ddof=1)}} if metric == "seuclidean" else {}
    expected = NearestNeighbors(n_neighbors=K, metric=metric, algorithm="brute", **options).fit(X)
    np.testing.assert_array_equal(found, expected.kneighbors(return_distance=False))


def test_the_mean_recall_is_the_score(X, Z):
    layouts = {"a": Z, "b": np.ascontiguousarray(X[:, 4:])}
    page = Page(written(layouts, data=sparse.csr_matrix(X)))
    for number, each in enumerate(layouts.values()):
        preserved = page.numbers(f"preserved-{number}", "u1")
        assert preserved.mean() / K == pytest.approx(neighbor_recall(X, each, n_neighbors=K))
    assert page.header["columns"] == [
        {"name": "neighbour recall", "kind": "recall", "type": "f4", "scale": [0, 0, 1, 1]}
    ]
    assert page.header["color"] is None


def test_points_in_one_place_have_other_points_as_neighbours():
    near = nearest_in_layout(np.zeros((40, 2)), 5)
    assert near.shape == (40, 5)
    assert (near != np.arange(40)[:, None]).all()


def test_few_points_have_fewer_neighbours(X, Z):
    assert Page(written(Z[:4], data=X[:4])).header["neighbors"] == {"k": 3, "type": "u1"}


def test_a_sample_has_neighbours_within_it(X, Z):
    page = Page(written(Z, data=X, max_points=50))
    rows = np.array(page.column("row")[1], dtype=int)
    found = page.numbers("neighbors", "u1").reshape(50, K)
    expected = NearestNeighbors(n_neighbors=K).fit(X[rows]).kneighbors(return_distance=False)
    np.testing.assert_array_equal(found, expected)


def test_bad_data_are_refused(X, Z):
    with pytest.raises(InputError, match="data has 199 rows for the 200 points of Z; pass the points that were laid"):
        written(Z, data=X[1:])
    with pytest.raises(InputError, match="metric"):
        written(Z, data=X, metric="nonsense")
    with pytest.raises(InputError, match="metric='precomputed' has no data"):
        written(Z, data=X @ X.T, metric="precomputed")
    X[3, 2] = np.nan
    with pytest.raises(InputError, match="data contains nan at row 3, column 2"):
        written(Z, data=X)
