"""Data sets are prepared and reduced to 50 components; missing data are requested only once."""

import numpy as np
import pytest

from harness import data_sets
from harness.data_sets import check_folder, load_points, prepare_rows, title
from snekhorn.datasets import MissingData


@pytest.fixture(autouse=True)
def _no_data(monkeypatch, tmp_path):
    monkeypatch.setenv("SNEKHORN_DATA", str(tmp_path))


def test_points_are_reduced_to_50_components():
    X, y = load_points("digits", dtype=np.float32)
    assert X.shape == (1797, 50)
    assert X.dtype == np.float32
    assert y.shape == (1797,)
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=1e-4)
    variances = X.var(axis=0)
    assert (variances[:-1] >= variances[1:] - 1e-3).all()


def test_the_first_points_or_a_sample():
    y = load_points("digits")[1]
    np.testing.assert_array_equal(load_points("digits", n=20)[1], y[:20])
    sample = load_points("digits", sample=20)[1]
    assert len(sample) == 20
    assert not np.array_equal(sample, y[:20])


def test_rows_are_prepared_as_the_name_says():
    X = np.array([[3.0, 4.0], [0.0, 0.0]])
    np.testing.assert_allclose(prepare_rows(X, "unit rows"), [[0.6, 0.8], [0.0, 0.0]])
    np.testing.assert_allclose(prepare_rows(X, "shares"), [[3 / 7, 4 / 7], [0.0, 0.0]])
    np.testing.assert_allclose(prepare_rows(X, "log"), np.log1p(X))
    np.testing.assert_allclose(prepare_rows(X, "centred log-ratios").sum(axis=1), 0.0, atol=1e-12)
    assert prepare_rows(X, "standardised").std() == pytest.approx(1.0)
    with pytest.raises(ValueError, match="unknown preparation"):
        prepare_rows(X, "no such way")
    assert title("snareseq, unit rows") == "SNAREseq, unit rows"


def test_a_server_that_does_not_answer_is_asked_once(monkeypatch):
    calls = []

    def load(*args, **kwargs):
        calls.append(args)
        raise MissingData("nobody answers")

    monkeypatch.setattr(data_sets.datasets, "load", load)
    for _ in range(2):
        with pytest.raises(MissingData, match="nobody answers"):
            load_points("umist", n=7)
    assert len(calls) == 1


def test_a_folder_that_does_not_exist_is_an_error(tmp_path):
    check_folder(tmp_path)
    with pytest.raises(MissingData, match="nowhere"):
        check_folder(tmp_path / "nowhere")
