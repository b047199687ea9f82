"""Layouts of AnnData objects."""

import warnings

import matplotlib
import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import cosine_distances
from sklearn.neighbors import kneighbors_graph

from snekhorn import SNEkhorn, TSNEkhorn, __version__
from snekhorn.affinities import SymmetricEntropicAffinity, row_perplexities
from snekhorn.cli.output_files import draw
from snekhorn.colors import palette_of
from snekhorn.errors import InputError
from snekhorn.io import Layouts, read_layouts, read_table, write_layouts
from snekhorn.metrics import knn_accuracy
from snekhorn.page import write_page

from .page.reading import Page

anndata = pytest.importorskip("anndata")
from snekhorn.anndata import neighbors, tsnekhorn  # noqa: E402

pytestmark = pytest.mark.filterwarnings(  # of scanpy
    *("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::PendingDeprecationWarning"),
    "ignore:X holds whole numbers",  # the pixels of digits
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
    described = adata.uns["tsnekhorn"]
    expected = {"method": "TSNEkhorn", "perplexity": 30.0, "use_rep": "X_pca", "exaggeration": 1.0, "init": "pca"}
    assert expected.items() <= described["params"].items()
    assert not {"n_pcs", "obsp"} & set(described["params"])
    assert described["version"] == __version__


def test_another_representation_method_and_name(adata, tmp_path):
    found = tsnekhorn(adata, use_rep="X", model=SNEkhorn(), perplexity=10, key_added="other", copy=True)
    assert "X_other" not in adata.obsm
    expected = SNEkhorn(perplexity=10).fit_transform(adata.X)
    np.testing.assert_array_equal(found.obsm["X_other"], expected)
    assert found.uns["other"]["params"]["method"] == "SNEkhorn"
    start = adata.obsm["X_pca"][:, :2]
    tsnekhorn(found, model=TSNEkhorn(affinity=SymmetricEntropicAffinity(7), init=start), n_pcs=4)
    expected = {"affinity": "SymmetricEntropicAffinity(perplexity=7)", "init": "ndarray", "n_pcs": 4, "perplexity": 7}
    assert expected.items() <= found.uns["tsnekhorn"]["params"].items()
    found.write_h5ad(tmp_path / "t.h5ad")


def test_a_sparse_representation(adata):
    adata.obsm["sparse"] = sparse.csr_matrix(adata.X)
    found = tsnekhorn(adata, use_rep="sparse", copy=True)
    np.testing.assert_array_equal(found.obsm["X_tsnekhorn"], TSNEkhorn().fit_transform(sparse.csr_matrix(adata.X)))


def test_it_goes_through_a_file(adata, tmp_path):
    tsnekhorn(adata)
    adata.write_h5ad(tmp_path / "t.h5ad")
    back = anndata.read_h5ad(tmp_path / "t.h5ad")
    np.testing.assert_array_equal(back.obsm["X_tsnekhorn"], adata.obsm["X_tsnekhorn"])
    assert back.uns["tsnekhorn"] == adata.uns["tsnekhorn"]


def test_a_graph_of_an_old_file_that_does_not_name_its_distances(adata):
    adata.obsp["distances"] = kneighbors_graph(adata.obsm["X_pca"], 20, mode="distance")
    want = tsnekhorn(adata, obsp="distances", perplexity=10, copy=True)
    adata.uns["neighbors"] = {"params": {"n_neighbors": 15, "method": "umap"}}
    found = tsnekhorn(adata, neighbors_key="neighbors", perplexity=10, copy=True)
    np.testing.assert_array_equal(found.obsm["X_tsnekhorn"], want.obsm["X_tsnekhorn"])


@pytest.mark.slow
def test_scanpy_finds_the_neighbours_and_draws_the_layout(adata):
    scanpy = pytest.importorskip("scanpy")
    scanpy.pp.neighbors(adata, n_neighbors=31, use_rep="X_pca")
    with pytest.warns(UserWarning, match="has 30 neighbours per cell, which allows a perplexity of 20 only"):
        tsnekhorn(adata, neighbors_key="neighbors")
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


def test_the_arguments_of_scanpys_tsne(adata):
    pca = adata.obsm["X_pca"]
    for arguments, model, X in (
        ({"n_pcs": 4}, TSNEkhorn(), pca[:, :4]),
        ({"n_pcs": 0}, TSNEkhorn(), adata.X),
        ({"n_pcs": 4, "use_rep": "X_pca", "metric": "euclidean"}, TSNEkhorn(), pca[:, :4]),
        ({"metric": "cosine"}, TSNEkhorn(metric="cosine"), pca),
    ):
        tsnekhorn(adata, **arguments)
        np.testing.assert_array_equal(adata.obsm["X_tsnekhorn"], model.fit_transform(X))


@pytest.mark.parametrize("key_added", [None, "sea"])
def test_a_graph_of_the_symmetric_entropic_affinity(adata, key_added):
    assert neighbors(adata, key_added=key_added) is None
    uns = adata.uns[key_added or "neighbors"]
    P, D = adata.obsp[uns["connectivities_key"]], adata.obsp[uns["distances_key"]]
    assert uns["connectivities_key"] == ("connectivities" if key_added is None else "sea_connectivities")
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-5)
    assert np.median(row_perplexities(P)) == pytest.approx(15.0, rel=1e-5)
    assert row_perplexities(P).min() > 15.0 - 1e-4  # a few rows at the floor are above
    X = adata.obsm["X_pca"]
    affinity = SymmetricEntropicAffinity(15.0, n_neighbors="auto", self_loops=False, tol=1e-6)
    assert abs(P - affinity.fit_transform(X)).max() == 0.0
    true = np.sort(np.linalg.norm(X[:, None] - X, axis=2), axis=1)[:, 1:24]
    np.testing.assert_allclose(np.sort(D.data.reshape(300, 23), axis=1), true)
    assert uns["params"]["n_neighbors"] == 24
    tsnekhorn(adata, neighbors_key=key_added or "neighbors", perplexity=15)  # which reads the same graph
    assert adata.uns["tsnekhorn"]["params"]["obsp"] == uns["distances_key"]


def test_a_graph_of_squared_distances_is_that_of_distances(adata):
    found = [neighbors(adata, metric=metric, perplexity=10, copy=True) for metric in ("euclidean", "sqeuclidean")]
    layouts = []
    for graph in found:
        assert graph.uns["neighbors"]["params"]["metric"] == "euclidean"  # that of the stored distances
        tsnekhorn(graph, neighbors_key="neighbors", perplexity=10)
        layouts.append(graph.obsm["X_tsnekhorn"])
    np.testing.assert_array_equal(*layouts)


def test_a_graph_of_another_metric(adata):
    found = neighbors(adata, metric="cosine", perplexity=10, n_pcs=5, copy=True)
    assert "neighbors" not in adata.uns
    D = found.obsp["distances"].toarray()
    true = cosine_distances(adata.obsm["X_pca"][:, :5])
    np.testing.assert_allclose(D[D > 0], true[D > 0], atol=1e-12)


@pytest.mark.slow
def test_scanpys_tools_read_the_graph(adata):
    scanpy = pytest.importorskip("scanpy")
    labels = adata.obs["digit"].to_numpy()
    for key in (None, "sea"):
        neighbors(adata, key_added=key)
        scanpy.tl.diffmap(adata, neighbors_key=key)
        assert adata.obsm["X_diffmap"].shape == (300, 15)
        assert knn_accuracy(adata.obsm["X_diffmap"][:, 1:], labels) > 0.85
        scanpy.tl.umap(adata, neighbors_key=key)
        assert knn_accuracy(adata.obsm["X_umap"], labels) > 0.85


@pytest.mark.slow
def test_paga_reads_the_graph(adata):
    for package in ("scanpy", "igraph"):
        pytest.importorskip(package, reason=f"{package}, which paga needs, is not installed")
    import scanpy

    adata.obs["digit"] = adata.obs["digit"].astype("category")
    neighbors(adata)
    scanpy.tl.paga(adata, groups="digit")
    assert adata.uns["paga"]["connectivities"].shape == (10, 10)


@pytest.mark.slow
def test_leiden_finds_groups_as_in_scanpys_graph(adata):
    for package in ("scanpy", "igraph", "leidenalg"):
        pytest.importorskip(package, reason=f"{package}, which leiden needs, is not installed")
    import scanpy

    scanpy.pp.neighbors(adata, use_rep="X_pca", key_added="theirs")
    neighbors(adata, key_added="ours")
    scores = {}
    for key in ("ours", "theirs"):
        scanpy.tl.leiden(adata, neighbors_key=key, key_added=key, flavor="igraph", n_iterations=2)
        scores[key] = adjusted_rand_score(adata.obs["digit"], adata.obs[key])
    assert scores["ours"] > scores["theirs"] - 0.15


def test_a_short_graph_lowers_the_perplexity_with_a_warning(adata):
    graph = kneighbors_graph(adata.obsm["X_pca"], 14, mode="distance")
    adata.obsp["distances"] = graph
    with pytest.warns(UserWarning, match="14 neighbours per cell, .* perplexity of 9.33 only; .* n_neighbors=46"):
        tsnekhorn(adata, obsp="distances")
    tsnekhorn(adata, obsp="distances", perplexity=9.33)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_raw_counts_are_pointed_out(form):
    counts = np.random.default_rng(0).poisson(np.geomspace(0.1, 60.0, 20), size=(100, 20)).astype(np.float32)
    adata = anndata.AnnData(form(counts))
    for function in (tsnekhorn, neighbors):
        with pytest.warns(UserWarning, match=r"whole numbers up to \d+, like raw counts, .* run scanpy.pp.normalize"):
            function(adata, perplexity=10)
    adata.X = form(np.log1p(counts))
    neighbors(adata, perplexity=10)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_small_counts_are_pointed_out_and_binary_data_are_not(form):
    rng = np.random.default_rng(0)
    with pytest.warns(UserWarning, match="whole numbers up to [23], like raw counts"):
        neighbors(anndata.AnnData(form(rng.poisson(0.3, size=(60, 9)).clip(0, 3).astype(np.float32))), perplexity=5)
    binary = rng.integers(0, 2, size=(60, 30))
    for values in (binary, 5 * binary, binary - 0.5, rng.integers(-3, 3, size=(60, 9))):
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message="X holds")
            neighbors(anndata.AnnData(form(values.astype(np.float32))), perplexity=5)


def test_a_missing_value_is_placed_in_its_entry(adata):
    adata.obsm["X_pca"][2, 3] = np.nan
    adata.obsp["distances"] = kneighbors_graph(adata.X, 30, mode="distance")
    for call in (tsnekhorn, neighbors, lambda adata: tsnekhorn(adata, obsp="distances", perplexity=10)):
        with pytest.raises(InputError, match=r"obsm\['X_pca'\] contains nan at row 2, column 3"):
            call(adata)


def test_the_prefix_of_a_key_is_added_once(adata):
    tsnekhorn(adata, key_added="X_mine")
    assert "X_mine" in adata.obsm
    assert "mine" in adata.uns
    assert "X_X_mine" not in adata.obsm


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"key_added": ""}, "key_added='' is not a name"),
        ({"key_added": "X_"}, "key_added='X_' is not a name"),
        ({"key_added": None}, "key_added must be text, got None"),
        ({"key_added": "pca"}, r"key_added='pca' would write the layout to obsm\['X_pca'\]"),
        ({"key_added": "X_pca", "use_rep": "X"}, r"would write the layout to obsm\['X_pca'\]"),
        ({"key_added": "harmony", "use_rep": "X_harmony"}, r"would write the layout to obsm\['X_harmony'\]"),
        ({"key_added": "graph"}, r"key_added='graph' would replace uns\['graph'\], a neighbour graph"),
        ({"model": "tsne"}, r"model must be an estimator of snekhorn, got 'tsne'; pass one, as in model=SNEkhorn\(\)"),
        ({"model": SNEkhorn}, r"model is the class SNEkhorn; pass an object of it, SNEkhorn\(\)"),
        ({"use_rep": np.eye(3)}, r"use_rep must be text, got ndarray of shape \(3, 3\)"),
        ({"use_rep": 5}, "use_rep must be text, got 5"),
        ({"neighbors_key": True}, "neighbors_key must be text, got True"),
        ({"obsp": np.eye(3)}, "obsp must be text, got ndarray"),
        ({"metric": np.eye(3)}, "metric must be the name of a metric, .* got ndarray"),
    ],
)
def test_names_that_cannot_be_used(adata, arguments, message):
    adata.obsm["X_harmony"] = adata.obsm["X_pca"]
    adata.uns["graph"] = {"distances_key": "graph_distances"}
    before = set(adata.obsm), set(adata.uns)
    with pytest.raises(InputError, match=message):
        tsnekhorn(adata, **arguments)
    assert (set(adata.obsm), set(adata.uns)) == before


def test_names_of_graphs(adata):
    for arguments in ({"key_added": ""}, {"key_added": 5}, {"use_rep": ""}, {"metric": np.eye(3)}):
        with pytest.raises(InputError, match=r"is empty|must be"):
            neighbors(adata, **arguments)
    assert not adata.obsp


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_pcs": 11}, "n_pcs=11, but X_pca has 10 columns"),
        ({"n_pcs": -1}, "n_pcs must be a whole number of at least 0, got -1"),
        ({"n_pcs": 5, "use_rep": "X"}, "n_pcs=5 applies to entries of obsm, not to X; leave out n_pcs"),
        ({"neighbors_key": "neighbor"}, "'neighbor' is not a neighbour graph of adata.uns; did you mean 'neighbors'"),
        ({"neighbors_key": "neighbors", "obsp": "distances"}, "both name a graph; pass one of them"),
        ({"obsp": "distances", "metric": "cosine"}, "metric='cosine' has no effect on given distances"),
    ],
)
def test_arguments_that_do_not_go_together(adata, arguments, message):
    adata.obsp["distances"] = kneighbors_graph(adata.obsm["X_pca"], 30, mode="distance")
    adata.uns["neighbors"] = {"distances_key": "distances", "connectivities_key": "connectivities"}
    with pytest.raises(InputError, match=message):
        tsnekhorn(adata, **arguments)


@pytest.mark.parametrize("compute", [tsnekhorn, neighbors])
def test_data_without_x(adata, compute):
    empty = anndata.AnnData(obs=adata.obs)
    with pytest.raises(InputError, match="adata has no X; add the data as X, or as an entry of obsm"):
        compute(empty)
    empty.obsm["X_umap"] = adata.obsm["X_pca"]
    with pytest.raises(InputError, match=r"adata has no X; pass an entry of obsm as use_rep \(available: 'X_umap'\)"):
        compute(empty)


def test_a_graph_needs_a_valid_perplexity(adata):
    with pytest.raises(InputError, match="perplexity must be a finite number above 1, got 0"):
        neighbors(adata, perplexity=0)
    with pytest.raises(TypeError, match="must be an AnnData object, got ndarray"):
        neighbors(adata.X)


def test_the_colours_of_scanpy_are_those_of_pictures_and_pages(adata, tmp_path):
    adata.obs["digit"] = adata.obs["digit"].astype("category")
    adata.obs["other"] = adata.obs["digit"]
    colors = [f"#{i}0{i}0{i}0" for i in "123456789a"]
    adata.uns |= {"digit_colors": [f"{color}ff" for color in colors], "other_colors": ["no colour"] * 10}
    adata.write_h5ad(tmp_path / "t.h5ad")
    metadata = read_table(tmp_path / "t.h5ad", label="digit").metadata
    assert palette_of(metadata, "digit") == dict(zip("0123456789", colors, strict=True))
    assert palette_of(metadata, "other") is None
    assert palette_of(metadata, "cell") is None
    found = Layouts({"": adata.obsm["X_pca"][:, :2]}, metadata)
    draw(found, tmp_path / "t.svg", color="digit", title="")
    drawn = (tmp_path / "t.svg").read_text()
    assert all(color in drawn for color in colors)
    write_layouts(found, tmp_path / "t.parquet")
    for shown in (metadata, adata, read_layouts(tmp_path / "t.parquet").metadata):
        write_page(tmp_path / "t.html", found.only, shown)
        page = Page((tmp_path / "t.html").read_bytes())
        column = page.column("digit")[0]
        values = page.values("digit")
        assert dict(zip(map(str, values), column["colors"], strict=True)) == palette_of(metadata, "digit")
        assert "colors" not in page.column("other")[0]


@pytest.mark.parametrize("model", [TSNEkhorn(), SymmetricEntropicAffinity()], ids=["estimator", "affinity"])
def test_an_estimator_refuses_the_object_itself_at_once(adata, model):
    with pytest.raises(TypeError, match=r"X is an AnnData object.*pass one of them, such as adata.obsm\['X_pca'\]"):
        model.fit(adata)
