"""snekhorn transform, with models saved by `embed`: new points get the same preprocessing as the training points."""

import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv as arrow_csv
from scipy import sparse
from sklearn.pipeline import Pipeline

import snekhorn as package
from snekhorn.cli.transform_command import _write_page
from snekhorn.geometry.preprocessing import Preprocessing
from snekhorn.io import Layouts, read_layouts, read_table

from ..page.reading import Page
from .conftest import N

FAST = ("--max-iter", 100, "--no-scores", "--quiet")
LABELS = ("--label", "digit", "--id", "name")
COLUMNS = ",".join(f"p{j}" for j in range(44, 9, -1))  # enough for all rows to differ
PREPROCESSING = {
    "nothing": ("--pca", 0),
    "standardised": ("--standardize", "--pca", 0),
    "components": ("--pca", 5),
    "standardised components": ("--standardize", "--pca", 5),
    "columns": ("--columns", COLUMNS),
    "all": ("--columns", COLUMNS, "--standardize", "--pca", 5),
}


@pytest.mark.parametrize("case", PREPROCESSING)
def test_a_loaded_model_places_raw_rows(folder, snekhorn, case):
    options = PREPROCESSING[case]
    snekhorn("embed", "digits.csv", *LABELS, *options, "--out", "t.npy", "--save-model", "m.npz", *FAST)
    model, Z = package.load("m.npz"), np.load("t.npy")
    assert isinstance(model, Pipeline)
    names = options[1].split(",") if "--columns" in options else [f"p{j}" for j in range(64)]
    assert list(model.feature_names_in_) == names
    raw = pd.read_csv("digits.csv")
    np.testing.assert_array_equal(model.transform(raw[names].to_numpy()), Z)
    np.testing.assert_array_equal(model.transform(raw), Z)  # by name: other columns are ignored
    np.testing.assert_array_equal(model.transform(raw[raw.columns[::-1]]), Z)
    np.testing.assert_array_equal(model.transform(pl.read_csv("digits.csv")), Z)
    with pytest.raises(package.errors.InputError, match="no column 'p10', which the model needs"):
        model.transform(raw.drop(columns="p10"))
    with pytest.raises(package.errors.InputError, match=f"X has 3 features, .* expecting {len(names)} features"):
        model.transform(raw[names[:3]].to_numpy())


def test_a_model_is_not_taken_for_a_table(folder, snekhorn, layout, files):
    snekhorn("embed", "digits.csv", *LABELS, "--save-model", "m.npz", *FAST)
    before = files()
    for command in (
        ("embed", "m.npz"),
        ("view", "m.npz", "--no-open"),
        ("plot", "m.npz", "--out", "t.png"),
        ("evaluate", "digits.csv", "m.npz"),
        ("transform", "m.npz", "m.npz", "--out", "t.csv"),
    ):
        assert "m.npz is a saved model, which only 'snekhorn transform'" in snekhorn(*command, code=2).stderr
    for given in (("layout.csv", "digits.csv"), ("digits.csv", "m.npz")):
        error = snekhorn("transform", *given, "--out", "t.csv", code=2).stderr
        assert f"{given[0]} is a table of points or of a layout, not a model" in error
    assert files() == before


@pytest.mark.parametrize("case", PREPROCESSING)
def test_new_files_get_the_same_preprocessing(folder, snekhorn, case):
    arguments = (*LABELS, *PREPROCESSING[case], "--out", "t.npy", "--save-model", "m.npz", *FAST)
    snekhorn("embed", "digits.csv", *arguments)
    table = arrow_csv.read_csv("digits.csv")
    arrow_csv.write_csv(table.select(table.column_names[::-1]), "new.csv")
    snekhorn("transform", "m.npz", "new.csv", *LABELS, "--out", "placed.npy")
    np.testing.assert_array_equal(np.load("placed.npy"), np.load("t.npy"))
    arrow_csv.write_csv(table.slice(0, 7), "few.csv")
    snekhorn("transform", "m.npz", "few.csv", *LABELS, "--out", "few.npy")
    expected = package.load("m.npz").transform(pd.read_csv("few.csv"))
    np.testing.assert_array_equal(np.load("few.npy"), expected)


@pytest.mark.parametrize(("options", "kind"), [((), package.TSNEkhorn), (("--standardize",), Pipeline)])
def test_arrays_have_no_names(folder, snekhorn, options, kind):
    X = read_table("digits.csv", label="digit", id="name").X[:, 20:40]
    np.save("t.npy", X)
    snekhorn("embed", "t.npy", *options, "--out", "z.npy", "--save-model", "m.npz", *FAST)
    model = package.load("m.npz")
    assert type(model) is kind
    assert not hasattr(model, "feature_names_in_")
    np.testing.assert_array_equal(model.transform(X), np.load("z.npy"))
    snekhorn("transform", "m.npz", "t.npy", "--out", "placed.npy")
    np.testing.assert_array_equal(np.load("placed.npy"), np.load("z.npy"))
    np.save("narrow.npy", X[:, :3])
    error = snekhorn("transform", "m.npz", "narrow.npy", "--out", "no.npy", code=2).stderr
    assert "the model was fitted to 20 columns, but narrow.npy has 3" in error


def test_columns_of_arrays_are_chosen_by_number(folder, snekhorn):
    X = read_table("digits.csv", label="digit", id="name").X
    np.save("t.npy", X)
    columns = ("--columns", ",".join(f"column_{j + 1}" for j in range(44, 9, -1)))
    snekhorn("embed", "t.npy", *columns, "--out", "z.npy", "--save-model", "m.npz", *FAST)
    snekhorn("transform", "m.npz", "t.npy", "--out", "placed.npy")
    np.testing.assert_array_equal(np.load("placed.npy"), np.load("z.npy"))
    np.testing.assert_array_equal(package.load("m.npz").transform(X[:, 44:9:-1]), np.load("z.npy"))


def test_a_file_with_names_for_a_model_without(folder, snekhorn, as_json):
    table = read_table("digits.csv", label="digit", id="name")
    np.save("t.npy", table.X)
    snekhorn("embed", "t.npy", "--out", "z.npy", "--save-model", "m.npz", *FAST)
    facts = as_json("transform", "m.npz", "digits.csv", *LABELS, "--out", "placed.npy")
    assert any("the model has no column names" in text for text in facts["warnings"])
    np.testing.assert_array_equal(np.load("placed.npy"), np.load("z.npy"))


def test_a_model_saved_in_python(folder, as_json):
    raw = pd.read_csv("digits.csv")
    frame = raw[COLUMNS.split(",")]
    model = package.TSNEkhorn(max_iter=5000, tol=1e-3).set_output(transform="pandas").fit(frame)
    package.save(model, "m.npz")
    facts = as_json("transform", "m.npz", "digits.csv", *LABELS, "--out", "placed.npy")
    assert facts["warnings"] == []
    np.testing.assert_array_equal(np.load("placed.npy"), model.embedding_)


def test_sparse_points(folder, snekhorn):
    X = sparse.random(120, 80, 0.2, format="csr", random_state=0)
    sparse.save_npz("t.npz", X)
    snekhorn("embed", "t.npz", "--pca", 10, "--out", "z.npy", "--save-model", "m.npz", *FAST)
    assert isinstance(package.load("m.npz")[0], Preprocessing)
    np.testing.assert_array_equal(package.load("m.npz").transform(X), np.load("z.npy"))


def test_new_points_go_into_a_saved_layout(folder, snekhorn, as_json):
    snekhorn("embed", "digits.csv", *LABELS, "--out", "t.parquet", "--save-model", "m.npz", *FAST)
    facts = as_json("transform", "m.npz", "digits.csv", "--label", "digit", "--id", "name", "--out", "placed.csv")
    assert facts["n_points"] == N
    placed, trained = read_layouts(folder / "placed.csv"), read_layouts(folder / "t.parquet")
    np.testing.assert_allclose(placed.only, trained.only, atol=1e-4)
    assert placed.metadata.column("name").to_pylist() == trained.metadata.column("name").to_pylist()


@pytest.mark.parametrize("limit", [10**8, 0])
def test_new_cells_are_matched_by_the_names_of_genes(folder, snekhorn, limit, monkeypatch):
    anndata = pytest.importorskip("anndata")
    X = read_table("digits.csv", label="digit", id="name").X[:, 10:20].astype(np.float32)
    genes = [f"g{j}" for j in range(10)]
    for name, order in (("a.h5ad", range(10)), ("b.h5ad", range(9, -1, -1)), ("c.h5ad", [*range(10), 3])):
        cells = anndata.AnnData(X[:, list(order)])
        cells.var_names = [genes[j] for j in order[:10]] + ["other"] * (len(order) - 10)
        cells.write_h5ad(name)
    snekhorn("embed", "a.h5ad", "--rep", "X", "--save-model", "m.npz", "--out", "a.npy", *FAST)
    monkeypatch.setattr("snekhorn.io.h5ad_files.LARGE", limit)  # a larger file is read by blocks
    for name in ("b", "c"):
        snekhorn("transform", "m.npz", f"{name}.h5ad", "--out", f"{name}.npy")
        np.testing.assert_array_equal(np.load("a.npy"), np.load(f"{name}.npy"))


def test_the_representation_of_cells_is_remembered(folder, snekhorn):
    anndata = pytest.importorskip("anndata")
    X = read_table("digits.csv", label="digit", id="name").X
    cells = anndata.AnnData(X[:, :30].astype(np.float32))
    cells.obsm["X_pca"], cells.obsm["X_other"] = X[:, 30:40], X[:, 20:40]
    cells.write_h5ad("a.h5ad")
    snekhorn("embed", "a.h5ad", "--rep", "X_other", "--save-model", "m.npz", "--out", "a.npy", *FAST)
    snekhorn("transform", "m.npz", "a.h5ad", "--out", "b.npy")
    np.testing.assert_array_equal(np.load("a.npy"), np.load("b.npy"))
    error = snekhorn("transform", "m.npz", "a.h5ad", "--rep", "X_pca", "--out", "c.npy", code=2).stderr
    assert "no columns 'X_other_1', 'X_other_2'" in error


def test_metadata_of_new_points_is_kept(folder, snekhorn):
    snekhorn("embed", "digits.csv", *LABELS, "--save-model", "m.npz", *FAST)
    table = arrow_csv.read_csv("digits.csv").append_column("run", pa.array(["second"] * N))
    arrow_csv.write_csv(table, "new.csv")
    snekhorn("transform", "m.npz", "new.csv", *LABELS, "--out", "placed.parquet")
    assert read_layouts(folder / "placed.parquet").metadata.column_names == ["name", "digit", "run"]


def test_genes_in_rows_of_new_points(folder, snekhorn):
    X = np.random.default_rng(0).normal(size=(6, 40))
    text = [",".join(["GeneID", "Length", *(f"s{j}" for j in range(40))])]
    text += [",".join(map(str, [100 + i, 900 - i, *x])) for i, x in enumerate(X)]
    (folder / "t.csv").write_text("\n".join(text) + "\n")
    options = ("--transpose", "--id", "GeneID", "--exclude", "Length")
    snekhorn("embed", "t.csv", *options, "--out", "a.npy", "--save-model", "m.npz", "-p", 5, *FAST)
    result = snekhorn("transform", "m.npz", "t.csv", *options, "--out", "b.npy")
    np.testing.assert_array_equal(np.load("a.npy"), np.load("b.npy"))
    assert "note: transposed: 40 columns of t.csv are the points" in result.stderr


def test_an_empty_entry_of_obsm_is_not_the_default(folder, snekhorn):
    cells = pytest.importorskip("anndata").AnnData(np.random.default_rng(0).normal(size=(30, 4)))
    cells.obsm["X_pca"] = cells.X[:, :2]
    cells.write_h5ad("cells.h5ad")
    snekhorn("embed", "cells.h5ad", "--save-model", "m.npz", "--no-scores", "--max-iter", 5, "--quiet")
    result = snekhorn("transform", "m.npz", "cells.h5ad", "--rep", "", "--out", "t.csv", "--quiet", code=2)
    assert "cells.h5ad has no obsm['']" in result.stderr


def test_new_points_are_drawn_above_the_others(folder, as_json, snekhorn, monkeypatch):
    as_json("embed", "digits.csv", *LABELS, "--out", "t.npy", "--save-model", "m.npz", *FAST[:-1])
    table = arrow_csv.read_csv("digits.csv")
    arrow_csv.write_csv(table.slice(0, 20), "new.csv")
    files = {"table": "placed.csv", "plot": "placed.png", "html": "placed.html"}
    options = [part for kind, file in files.items() for part in ("--out" if kind == "table" else f"--{kind}", file)]
    found = as_json("transform", "m.npz", "new.csv", *LABELS, *options)
    assert found["files"] == files
    assert (folder / "placed.png").read_bytes().startswith(b"\x89PNG")
    page = Page((folder / "placed.html").read_bytes())
    assert page.column("points")[1] == ["training points"] * N + ["new points"] * 20
    assert page.column("digit")[1] == [None] * N + table["digit"].to_pylist()[:20]
    names = [column["name"] for column in page.header["columns"]]
    assert page.header["background"] == {"column": names.index("points"), "value": "training points"}
    assert page.column(names[page.header["ids"]])[1][N - 1 :: 20] == [f"training {N - 1}", "d19"]
    monkeypatch.setattr("snekhorn.page.html_page.MAX_POINTS", 100)
    notes = snekhorn("transform", "m.npz", "new.csv", *LABELS, "--out", "again.csv", "--html", "again.html").stderr
    assert f"a random sample of 100 of the {N + 20} points, with all 20 new points" in notes


def test_a_page_of_many_training_points_needs_no_python_object_for_each(monkeypatch):
    shown = {}
    monkeypatch.setattr("snekhorn.page.write_page", lambda _, Z, metadata, **options: shown.update(Z=Z, table=metadata))
    old, placed = np.zeros((100_000, 2)), Layouts({"": np.ones((2, 2))}, pa.table({"digit": [3, 4]}))
    tracemalloc.start()
    _write_page(placed, old, Path("page.html"), label=None, id=None, title="")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert shown["table"]["name"].to_pylist()[99_999:] == ["training 99999", "new 0", "new 1"]
    assert peak < 2 * old.nbytes  # a text takes 64 bytes per point


def test_only_flat_layouts_are_drawn(folder, snekhorn, files):
    snekhorn("embed", "digits.csv", *LABELS, "--dimensions", 1, "--out", "t.npy", "--save-model", "m.npz", *FAST)
    before = files()
    error = snekhorn("transform", "m.npz", "digits.csv", *LABELS, "--out", "p.csv", "--plot", "p.png", code=2).stderr
    assert "the layout of the model has 1 dimension, but --plot and --html show new points only in two" in error
    assert files() == before


@pytest.mark.parametrize(
    ("affinity", "heading"),
    [
        (None, "TSNEkhorn, perplexity 5"),
        (package.affinities.EntropicAffinity(perplexity=7), "TSNEkhorn, perplexity 7"),
        (package.affinities.DoublyStochasticAffinity(perplexity=8), "TSNEkhorn, perplexity 8"),
        (package.affinities.DoublyStochasticAffinity(bandwidth=1.0), "TSNEkhorn"),
        (package.affinities.GaussianAffinity(bandwidth=1.0), "TSNEkhorn"),
        (package.affinities.SelfTuningAffinity(), "TSNEkhorn"),
        (package.affinities.MultiscaleSymmetricEntropicAffinity(perplexities=[5, 10]), "TSNEkhorn"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_a_picture_names_the_perplexity_if_there_is_one(folder, snekhorn, monkeypatch, affinity, heading):
    X, drawn = np.random.default_rng(0).normal(size=(40, 3)), {}
    np.save("new.npy", X)
    package.TSNEkhorn(perplexity=5, affinity=affinity, max_iter=5).fit(X).save("m.npz")
    monkeypatch.setattr("snekhorn.cli.transform_command.draw", lambda *_, **options: drawn.update(options))
    snekhorn("transform", "m.npz", "new.npy", "--out", "z.npy", "--plot", "z.png")
    assert drawn["heading"] == f"{heading}; training points in grey"
