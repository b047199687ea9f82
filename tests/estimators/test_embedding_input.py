"""Estimators fitted to points that are read by blocks."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import snekhorn
from snekhorn import TSNEkhorn
from snekhorn.errors import InputError
from snekhorn.geometry import point_blocks
from snekhorn.geometry.point_blocks import MANY_COLUMNS, PointBlocks
from snekhorn.geometry.preprocessing import Preprocessing

from ..helpers import clusters, refused
from .cases import stops_early

pytestmark = stops_early

FEW = clusters(300, p=5)
MANY = np.random.default_rng(0).normal(size=(300, 5)) @ np.random.default_rng(1).normal(size=(5, 70))
MODEL = TSNEkhorn(perplexity=10, max_iter=60, random_state=0)


def blocks_of(X, size=64):
    starts = range(0, len(X), size)
    return PointBlocks(
        [min(size, len(X) - start) for start in starts], X.shape[1], X.dtype, lambda i: X[starts[i] : starts[i] + size]
    )


def fitted(X, **parameters):
    return clone(MODEL).set_params(**parameters).fit(X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_few_columns_give_the_layout_of_the_array(dtype):
    X = FEW.astype(dtype)
    model = fitted(blocks_of(X))
    np.testing.assert_array_equal(model.embedding_, fitted(X).embedding_)
    assert model.embedding_.dtype == dtype
    assert model.n_features_in_ == 5
    np.testing.assert_array_equal(model.transform(blocks_of(X[:9])), model.embedding_[:9])


def test_many_columns_are_reduced():
    model = fitted(blocks_of(MANY))
    reduced = Preprocessing(n_components=MANY_COLUMNS).fit_transform(blocks_of(MANY))
    assert reduced.shape == (300, MANY_COLUMNS)
    np.testing.assert_array_equal(model.embedding_, fitted(reduced).embedding_)
    assert model.n_features_in_ == 70
    for again in (blocks_of(MANY[:9]), MANY[:9]):
        np.testing.assert_array_equal(model.transform(again), model.embedding_[:9])
    pipeline = make_pipeline(Preprocessing(n_components=MANY_COLUMNS), clone(MODEL)).fit(blocks_of(MANY))
    np.testing.assert_array_equal(pipeline[-1].embedding_, model.embedding_)


def test_other_metrics_keep_their_columns():
    model = fitted(blocks_of(MANY), metric="cosine")
    np.testing.assert_array_equal(model.embedding_, fitted(MANY, metric="cosine").embedding_)
    assert not hasattr(model, "reduction_")


def test_a_reduced_model_can_be_saved(tmp_path):
    model = fitted(blocks_of(MANY))
    model.save(tmp_path / "model.npz")
    loaded = snekhorn.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.transform(MANY), model.transform(MANY))
    assert loaded.n_features_in_ == 70


def test_an_array_after_blocks():
    model = fitted(blocks_of(MANY)).fit(FEW)
    assert not hasattr(model, "reduction_")
    np.testing.assert_array_equal(model.embedding_, fitted(FEW).embedding_)


def test_a_large_mapped_array_is_reduced(tmp_path, monkeypatch):
    np.save(tmp_path / "X.npy", MANY)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    np.testing.assert_array_equal(fitted(mapped).embedding_, fitted(MANY).embedding_)
    monkeypatch.setattr(point_blocks, "LARGE", MANY.size - 1)
    np.testing.assert_array_equal(fitted(mapped).embedding_, fitted(blocks_of(MANY)).embedding_)


@pytest.mark.parametrize("X", [FEW, MANY], ids=["few", "many"])
def test_dask_arrays(X):
    da = pytest.importorskip("dask.array")
    model = fitted(da.from_array(X, chunks=(71, 3)))
    np.testing.assert_array_equal(model.embedding_, fitted(blocks_of(X)).embedding_)
    np.testing.assert_array_equal(model.transform(da.from_array(X[:8], chunks=3)), model.embedding_[:8])


@pytest.mark.parametrize("as_sparse", [False, True])
def test_backed_anndata(as_sparse, tmp_path):
    anndata = pytest.importorskip("anndata")
    from scipy import sparse

    from snekhorn.anndata import tsnekhorn

    anndata.AnnData(sparse.csr_matrix(MANY) if as_sparse else MANY).write_h5ad(tmp_path / "cells.h5ad")
    adata = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    tsnekhorn(adata, perplexity=10, model=MODEL)
    np.testing.assert_array_equal(adata.obsm["X_tsnekhorn"], fitted(blocks_of(MANY)).embedding_)
    adata.file.close()


def unreadable(n, p):
    """Blocks that fail the test if they are read."""
    return PointBlocks([n], p, np.float32, lambda i: pytest.fail("points were read before the checks"))


def test_memory_and_parameters_are_checked_before_points_are_read(monkeypatch):
    monkeypatch.setattr("snekhorn.runtime.memory.available_bytes", lambda root=None: 10**9)
    refused(MODEL, unreadable(10**7, 784), "not enough memory", "10,000,000 points")
    refused(clone(MODEL).set_params(n_neighbors=None), unreadable(20_000, 3), "not enough memory", "20,000 points")
    refused(clone(MODEL).set_params(perplexity=-1.0), unreadable(100, 3), "perplexity")


def test_bad_blocks():
    da = pytest.importorskip("dask.array")
    X = MANY.copy()
    X[280, 11] = np.nan
    refused(MODEL, blocks_of(X), "nan at row 280, column 11")
    refused(MODEL, da.from_array(X, chunks=(100, 70)), "nan at row 280, column 11")
    refused(MODEL, da.from_array(X, chunks=100)[:0], "shape 0 x 70", "at least 2 points")
    whole = da.from_array(MANY, chunks=100)
    refused(MODEL, whole[whole[:, 0] > 0], "unknown size")
    model = fitted(blocks_of(MANY))
    with pytest.raises(InputError, match="X has 5 features, but TSNEkhorn is expecting 70"):
        model.transform(blocks_of(FEW))
