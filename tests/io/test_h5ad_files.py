"""H5AD files."""

import numpy as np
import pytest
from scipy import sparse

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
