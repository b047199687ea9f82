"""H5AD files."""

import h5py
import numpy as np
import pytest
from scipy import sparse

from snekhorn.errors import InputError
from snekhorn.io import h5ad_files, read_table

anndata = pytest.importorskip("anndata")

X = np.random.default_rng(0).normal(size=(6, 5))


@pytest.mark.parametrize("kind", [np.asarray, "csr_matrix", "csc_matrix"])
@pytest.mark.parametrize("limit", [10**8, 3])
def test_a_gene_of_a_matrix_that_is_large_or_not(kind, limit, tmp_path, monkeypatch):
    stored = getattr(sparse, kind)(X) if isinstance(kind, str) else X
    cells = anndata.AnnData(stored, obsm={"X_pca": X[:, :2]})
    cells.var_names = list("abcde")
    cells.raw = cells
    cells.X = 2 * stored
    cells.write_h5ad(tmp_path / "t.h5ad")
    monkeypatch.setattr(h5ad_files, "LARGE", limit)
    np.testing.assert_array_equal(read_table(tmp_path / "t.h5ad", colors=["d"]).values("d"), X[:, 3])
    del cells.raw
    cells.write_h5ad(tmp_path / "t.h5ad")
    np.testing.assert_array_equal(read_table(tmp_path / "t.h5ad", colors=["d"]).values("d"), 2 * X[:, 3])


def test_a_gene_of_a_matrix_stored_by_columns_is_read_alone(tmp_path, monkeypatch):
    cells = anndata.AnnData(sparse.csc_matrix(X), obsm={"X_pca": X[:, :2]})
    cells.var_names = list("abcde")
    cells.write_h5ad(tmp_path / "t.h5ad")
    monkeypatch.setattr(h5ad_files, "_matrix", lambda *_: pytest.fail("the whole matrix was read"))
    for place, name in enumerate("abcde"):
        np.testing.assert_array_equal(read_table(tmp_path / "t.h5ad", colors=[name]).values(name), X[:, place])


@pytest.mark.parametrize(
    ("where", "value", "gene"), [("X/indices", 99, "a"), ("X/indices", -1, "a"), ("X/indptr", 1 << 20, "e")]
)
def test_a_corrupt_column_is_refused(tmp_path, where, value, gene):
    cells = anndata.AnnData(sparse.csc_matrix(X), obsm={"X_pca": X[:, :2]})
    cells.var_names = list("abcde")
    cells.write_h5ad(tmp_path / "t.h5ad")
    with h5py.File(tmp_path / "t.h5ad", "r+") as file:
        file[where][4] = value
    with pytest.raises(InputError, match=r"corrupt|damaged"):
        read_table(tmp_path / "t.h5ad", colors=[gene])
