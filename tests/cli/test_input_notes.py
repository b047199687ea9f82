"""Notes and errors about the input: each names the file, the column and the remedy."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from .conftest import N

RNG = np.random.default_rng(0)
FAST = ("--max-iter", "20", "--no-scores")
LABEL_HINT = "has 3 distinct values; pass --label kind to colour by it"
KINDS = ["a", "b", "c"] * 20


@pytest.fixture
def points(folder):
    """Sixty points, in several formats, with the column kind."""
    X = RNG.normal(size=(60, 4))
    np.save("points.npy", X)
    np.savez("points.npz", X=X, kind=np.array(KINDS))
    (folder / "kinds.csv").write_text("kind\n" + "\n".join(KINDS) + "\n")
    parquet.write_table(pa.table({"vector": X.tolist(), "kind": KINDS, "size": X[:, 0]}), "lists.parquet")
    return X


@pytest.mark.parametrize(
    "args", [("points.npy", "--metadata", "kinds.csv"), ("points.npz",), ("lists.parquet", "--vector", "vector")]
)
def test_a_label_that_was_not_declared_is_pointed_out_in_any_format(points, snekhorn, args):
    assert LABEL_HINT in snekhorn("embed", *args, "--out", "t.csv", *FAST).stderr
    assert LABEL_HINT not in snekhorn("embed", *args, "--label", "kind", "--out", "u.csv", *FAST).stderr
    colored = snekhorn("embed", *args, "--color", "kind", "--out", "v.csv", *FAST).stderr
    assert "has 3 distinct values; pass --label kind to score how well its groups are separated" in colored


@pytest.mark.parametrize(
    "args",
    [
        ("wide.csv", "--transpose", "--metadata", "kinds.csv"),
        ("cells.h5ad", "--rep", "X"),
        ("table.csv", "--columns", "type,b,c"),
    ],
)
def test_only_metadata_are_offered_as_labels_where_features_cannot_be(points, folder, snekhorn, args):
    anndata = pytest.importorskip("anndata")
    names = ["type", "b", "c", "d"]
    rows = [",".join(map(str, row)) for row in points]
    table = [",".join([*names, "kind"]), *(f"{row},{kind}" for row, kind in zip(rows, KINDS, strict=True))]
    (folder / "table.csv").write_text("\n".join(table) + "\n")
    wide = [f"{name}," + ",".join(map(str, column)) for name, column in zip(names, points.T, strict=True)]
    (folder / "wide.csv").write_text("\n".join(["gene," + ",".join(f"p{i}" for i in range(60)), *wide]) + "\n")
    cells = anndata.AnnData(points)
    cells.var_names, cells.obs["kind"] = names, KINDS
    cells.write_h5ad("cells.h5ad")
    said = snekhorn("embed", *args, "--out", "t.csv", *FAST).stderr
    assert LABEL_HINT in said
    assert "--label type" not in said


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            ("points.npy", "--metadata", "kinds.csv", "--label", "kin"),
            "points.npy and its metadata have no column 'kin'",
        ),
        (("points.npy", "--metadata", "kinds.csv", "--label", "kin"), "did you mean 'kind'?"),
        (("points.npy", "--metadata", "points.npy"), "--metadata must end in one of .csv, "),
        (("lists.parquet",), "has only one numeric column, 'size', but"),
        (("lists.parquet",), "pass it to --columns. To lay out lists of numbers, pass --vector vector."),
        (("points.npy", "--balance", "2"), "--balance must be a number from 0 to 1, or 'auto'; got 2.0."),
        (("points.npy", "--method", "tsne", "--balance", "1"), "TSNE has no balance"),
        (("points.npy", "--metric", "cosin"), "--metric must be one of"),
        (("points.npy", "--metric", "cosin"), "Did you mean 'cosine'?"),
    ],
)
def test_wrong_values_say_what_to_do(points, snekhorn, files, args, message):
    before = files()
    assert message in snekhorn("embed", *args, "--out", "t.csv", code=2).stderr
    assert files() == before


@pytest.mark.parametrize("option", ["--image", "--color"])
def test_columns_to_show_are_checked_before_long_work(folder, snekhorn, option):
    error = snekhorn("embed", "digits.csv", option, "nme", "--html", "t.html", code=2).stderr
    assert "there is no column 'nme'; did you mean 'name'?" in error
    assert "principal components" not in error


def test_scores_of_other_rows_or_columns_say_so(folder, snekhorn):
    rows = (folder / "digits.csv").read_text().splitlines()
    rows[3] = rows[3].replace(",0.0,", ",,", 1)
    (folder / "holes.csv").write_text("\n".join(rows) + "\n")
    snekhorn("embed", "holes.csv", "--label", "digit", "--missing", "drop", "--out", "t.csv", *FAST)
    said = snekhorn("evaluate", "holes.csv", "t.csv", "--label", "digit", "--missing", "drop").stderr
    left_out = f"note: 1 of {N} rows left out: 1 missing value (1 in 'p0')"
    assert left_out in said
    snekhorn("embed", "digits.csv", "--label", "digit", "--out", "u.csv", *FAST)
    said = snekhorn("evaluate", "holes.csv", "u.csv", "--label", "digit", "--missing", "drop", code=2).stderr
    assert said.index(left_out) < said.index(f"error: holes.csv has {N - 1} rows, but u.csv has {N}")


def test_medians_of_a_model_are_called_that(folder, snekhorn):
    (folder / "t.csv").write_text("a,b\n" + "\n".join(f"{x},{y}" for x, y in RNG.normal(size=(40, 2))) + "\n,1\n,2\n")
    said = snekhorn("embed", "t.csv", "--missing", "median", "--save-model", "m.npz", *FAST).stderr
    assert "2 missing values (2 in 'a') filled in with the median of their column" in said
    said = snekhorn("transform", "m.npz", "t.csv", "--out", "u.csv", "--plot", "u.svg").stderr
    assert "2 missing values (2 in 'a') filled in with the medians of the model" in said
    assert "TSNEkhorn, perplexity 30" in (folder / "u.svg").read_text()


def test_raw_counts_of_cells_are_pointed_out(folder, snekhorn):
    anndata = pytest.importorskip("anndata")
    counts = RNG.poisson(np.geomspace(0.1, 60.0, 20), size=(60, 20)).astype(np.float32)
    anndata.AnnData(counts).write_h5ad("raw.h5ad")
    anndata.AnnData(np.log1p(counts)).write_h5ad("log.h5ad")
    hint = "like raw counts, in which a few genes dominate all distances; run scanpy.pp.normalize_total"
    assert hint in snekhorn("embed", "raw.h5ad", "--out", "t.csv", *FAST).stderr
    assert hint not in snekhorn("embed", "log.h5ad", "--out", "u.csv", *FAST).stderr
    counts[3, 5] = np.nan
    anndata.AnnData(counts).write_h5ad("holes.h5ad")
    assert hint in snekhorn("embed", "holes.h5ad", "--missing", "median", "--out", "v.csv", *FAST).stderr


def test_pictures_of_a_layout_are_coloured_by_genes(folder, snekhorn, files):
    anndata = pytest.importorskip("anndata")
    cells = anndata.AnnData(RNG.normal(size=(60, 3)), obsm={"X_tsnekhorn": RNG.normal(size=(60, 2))})
    cells.var_names = ["CD3", "CD4", "CD8"]
    cells.write_h5ad("cells.h5ad")
    for place in ("X", "raw.X"):
        note = f"note: the values of gene 'CD8' are those of {place}\n"
        assert note in snekhorn("plot", "cells.h5ad", "--color", "CD8", "--out", "t.png", "--force").stderr
        shown = snekhorn("view", "cells.h5ad", "--color", "CD8", "--out", "t.html", "--no-open", "--force")
        assert note in shown.stderr
        assert '"name":"CD8"' in (folder / "t.html").read_text()
        cells.raw = cells
        cells.write_h5ad("cells.h5ad")
    before = files()
    for command in (["plot", "--out", "u.png"], ["view", "--out", "u.html", "--no-open"]):
        error = snekhorn(command[0], "cells.h5ad", "--color", "CD9", *command[1:], code=2).stderr
        assert "cells.h5ad has neither a column nor a gene 'CD9'; did you mean" in error
    assert files() == before


def test_long_ids_are_exact_in_the_table(points, folder, snekhorn):
    ids = [2**60 + i for i in range(60)]
    rows = [",".join(map(str, [*row, i])) for row, i in zip(points, ids, strict=True)]
    (folder / "t.csv").write_text("a,b,c,d,barcode\n" + "\n".join(rows) + "\n")
    result = snekhorn("embed", "t.csv", "--out", "u.csv", *FAST)
    assert "column 'barcode' looks like an id (whole numbers beyond 2**53)" in result.stderr
    assert "features: a, b, c, d\n" in result.stdout
    assert [int(line.split(",")[2].strip('"')) for line in (folder / "u.csv").read_text().splitlines()[1:]] == ids


@pytest.mark.parametrize("value", [0.1, 0.3, 7.7e-05, 1e30, 1.0])
@pytest.mark.parametrize("gap", [False, True])
def test_constant_columns_do_not_count_as_unequal(folder, snekhorn, value, gap):
    X = np.column_stack([RNG.normal(size=(60, 2)), np.full(60, value)])
    if gap:
        X[3, 0] = np.nan
    np.save("t.npy", X)
    args = ("embed", "t.npy", "--missing", "median" if gap else "error", "--out", "u.csv", *FAST)
    assert "standard deviations" not in snekhorn(*args).stderr


def _labelled(folder, labels):
    """Write points with labels to t.csv, and a layout of them to layout.csv."""
    X = RNG.normal(size=(len(labels), 3))
    rows = [",".join(map(str, [*row, label])) for row, label in zip(X, labels, strict=True)]
    (folder / "t.csv").write_text("a,b,c,kind\n" + "\n".join(rows) + "\n")
    (folder / "layout.csv").write_text("x,y\n" + "\n".join(f"{u},{v}" for u, v in X[:, :2]) + "\n")


@pytest.mark.parametrize("command", [("embed", "t.csv", "--out", "u.csv", *FAST), ("evaluate", "t.csv", "layout.csv")])
def test_labels_that_are_measurements_are_pointed_out(folder, snekhorn, command):
    hint = "so it does not define groups; for measurements, pass --color kind instead of --label"
    _labelled(folder, [i % 25 / 4 for i in range(60)])
    found = snekhorn(*command, "--label", "kind").stderr
    assert f"label column 'kind' has 25 distinct numbers, {hint}" in found
    for labels in ([i % 25 for i in range(60)], [i % 4 / 4 for i in range(60)]):
        _labelled(folder, labels)
        assert hint not in snekhorn(*command, "--label", "kind", *["--force"][: command[0] == "embed"]).stderr


@pytest.mark.parametrize(
    ("labels", "problem"),
    [
        (["A"] * 60, "one class"),
        (["A"] * 50 + [""] * 10, "one class"),
        (range(60), "a different value for every point"),
        ([""] * 60, "no values"),
    ],
)
def test_labels_without_classes_have_no_scores(folder, snekhorn, as_json, labels, problem):
    _labelled(folder, labels)
    found = as_json("evaluate", "t.csv", "layout.csv", "--label", "kind")
    assert f"the label column 'kind' has {problem}, so scores that need labels are left out" in found["warnings"]
    assert "trustworthiness" in found["scores"]
    assert not {"knn_accuracy", "silhouette"} & set(found["scores"])


def test_one_column_is_singular(points, snekhorn):
    args = ("embed", "lists.parquet", "--columns", "size", "--out", "t.csv", *FAST)
    assert "lists.parquet: 60 points, 1 column\n" in snekhorn(*args).stdout
