"""Layouts of AnnData objects."""

import matplotlib
import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from snekhorn import SNEkhorn, TSNEkhorn
from snekhorn.affinities import SymmetricEntropicAffinity
from snekhorn.errors import InputError
from snekhorn.io import read_table

anndata = pytest.importorskip("anndata")
from snekhorn.anndata import tsnekhorn  # noqa: E402

pytestmark = pytest.mark.filterwarnings(  # of scanpy
    "ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::PendingDeprecationWarning"
)
matplotlib.use("Agg")


@pytest.fixture
def adata():
    X, y = load_digits(return_X_y=True)
    found = anndata.AnnData(X[:300].astype(np.float32))
    found.obs["digit"] = [str(label) for label in y[:300]]
    found.obsm["X_pca"] = PCA(10, random_state=0).fit_transform(X[:300])
    return found


def test_the_layout_is_the_estimators(adata):
    assert tsnekhorn(adata) is None
    np.testing.assert_array_equal(adata.obsm["X_tsnekhorn"], TSNEkhorn().fit_transform(adata.obsm["X_pca"]))
    assert adata.uns["tsnekhorn"]["params"] == {"method": "TSNEkhorn", "perplexity": 30.0, "use_rep": "X_pca"}


def test_another_representation_method_and_name(adata):
    found = tsnekhorn(adata, use_rep="X", model=SNEkhorn(), perplexity=10, key_added="other", copy=True)
    assert "X_other" not in adata.obsm
    expected = SNEkhorn(perplexity=10).fit_transform(adata.X)
    np.testing.assert_array_equal(found.obsm["X_other"], expected)
    assert found.uns["other"]["params"]["method"] == "SNEkhorn"


def test_a_sparse_representation(adata):
    adata.obsm["sparse"] = sparse.csr_matrix(adata.X)
    found = tsnekhorn(adata, use_rep="sparse", copy=True)
    np.testing.assert_array_equal(found.obsm["X_tsnekhorn"], TSNEkhorn().fit_transform(sparse.csr_matrix(adata.X)))


def test_it_goes_through_a_file(adata, tmp_path):
    tsnekhorn(adata)
    adata.write_h5ad(tmp_path / "t.h5ad")
    back = anndata.read_h5ad(tmp_path / "t.h5ad")
    np.testing.assert_array_equal(back.obsm["X_tsnekhorn"], adata.obsm["X_tsnekhorn"])
    assert back.uns["tsnekhorn"]["n_iter"] == adata.uns["tsnekhorn"]["n_iter"]


@pytest.mark.slow
def test_scanpy_finds_the_neighbours_and_draws_the_layout(adata):
    scanpy = pytest.importorskip("scanpy")
    scanpy.pp.neighbors(adata, n_neighbors=31, use_rep="X_pca")
    tsnekhorn(adata, obsp="distances")
    assert adata.uns["tsnekhorn"]["params"]["perplexity"] == 20.0
    D = adata.obsp["distances"].toarray()
    P = TSNEkhorn(perplexity=20, metric="precomputed", n_neighbors=None)
    from scipy import sparse

    P.fit(sparse.csr_matrix(D**2))
    own = TSNEkhorn(perplexity=20, n_neighbors=30).fit(adata.obsm["X_pca"]).affinity_
    assert abs(P.affinity_ - own).max() < 1e-3  # the same graph, found by another
    axes = scanpy.pl.embedding(adata, basis="tsnekhorn", color="digit", show=False)
    drawn = np.concatenate([part.get_offsets() for part in axes.collections if len(part.get_offsets()) == 300])
    np.testing.assert_allclose(np.sort(drawn[:, 0]), np.sort(adata.obsm["X_tsnekhorn"][:, 0]))
    matplotlib.pyplot.close("all")


def test_unknown_names_are_errors(adata):
    with pytest.raises(InputError, match=r"use_rep='X_pc' is neither 'X' nor an entry of obsm; did you mean 'X_pca'\?"):
        tsnekhorn(adata, use_rep="X_pc")
    with pytest.raises(InputError, match=r"obsp='distances' is not an entry of adata.obsp; available: none"):
        tsnekhorn(adata, obsp="distances")


def test_weights_are_no_distances(adata):
    n = adata.n_obs
    adata.obsp["connectivities"] = adata.obsp["weights"] = sparse.random(n, n, 0.1, format="csr", random_state=0)
    adata.uns["neighbors"] = {"connectivities_key": "weights", "distances_key": "distances"}
    for name in ("connectivities", "weights"):
        with pytest.raises(InputError, match=f"obsp='{name}' holds weights"):
            tsnekhorn(adata, obsp=name)


def test_an_affinity_has_no_perplexity_to_tell(adata):
    X = adata.obsm["X_pca"]
    adata.obsp["P"] = sparse.csr_matrix(SymmetricEntropicAffinity(10).fit_transform(X))
    tsnekhorn(adata, obsp="P", model=TSNEkhorn(affinity="precomputed", max_iter=300, tol=1.0))
    assert "perplexity" not in adata.uns["tsnekhorn"]["params"]


def test_arrays_are_for_the_estimators(adata):
    with pytest.raises(TypeError, match="must be an AnnData object, got ndarray"):
        tsnekhorn(adata.obsm["X_pca"])


def test_files_of_cells(adata, tmp_path):
    adata.write_h5ad(tmp_path / "t.h5ad")
    table = read_table(tmp_path / "t.h5ad", label="digit")
    np.testing.assert_array_equal(table.X, adata.obsm["X_pca"])
    assert table.id == "cell"
    assert list(table.values("digit")) == list(adata.obs["digit"])
    np.testing.assert_array_equal(read_table(tmp_path / "t.h5ad", rep="X").X, adata.X)
    with pytest.raises(InputError, match=r"no obsm\['X_pc'\]; did you mean 'X_pca'\?"):
        read_table(tmp_path / "t.h5ad", rep="X_pc")
    with pytest.raises(InputError, match=r"no obs column 'digits'; did you mean 'digit'\?"):
        read_table(tmp_path / "t.h5ad", label="digits")
