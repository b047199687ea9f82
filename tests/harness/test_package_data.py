"""Data sets inside packages have finite points and classes; a missing package is an error that says what to install."""

import importlib.util

import numpy as np
import pytest

from harness.data_sets import load_points, prepare_rows, title
from harness.package_data import MODULES, PACKAGE_SETS, PackageSet, scipy_texts
from snekhorn.datasets import MissingData


@pytest.mark.parametrize("name", PACKAGE_SETS)
def test_points_and_classes(name):
    package = PACKAGE_SETS[name].package
    if importlib.util.find_spec(MODULES.get(package, package)) is None:
        pytest.skip(f"{package} is not installed")
    X, y = load_points(name)
    assert X.shape[0] == y.shape[0] >= 150
    assert X.shape[1] <= 50
    assert np.isfinite(X).all()
    assert np.array_equal(np.unique(y), np.arange(y.max() + 1))
    assert y.max() > 0


def test_texts_are_different_and_belong_to_one_part():
    texts, parts = scipy_texts()
    assert len(texts) == len(set(texts)) == len(parts)
    assert min(parts.count(part) for part in set(parts)) >= 10
    assert parts[next(i for i, text in enumerate(texts) if "singular value decomposition" in text.lower())] in (
        "linalg",
        "sparse",
    )


def test_a_missing_package_is_named():
    with pytest.raises(MissingData, match="pip install no-such-package"):
        PackageSet("set", "no-such-package", lambda: (np.eye(2), np.arange(2))).load()


def test_columns_are_standardised():
    X = prepare_rows(np.array([[1.0, 5.0], [3.0, 5.0]]), "standardised columns")
    np.testing.assert_allclose(X, [[-1.0, 0.0], [1.0, 0.0]])
    assert title("wine, standardised columns") == "wine, standardised columns"
