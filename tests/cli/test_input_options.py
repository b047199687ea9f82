"""What the program says and does about the columns, files and values that it reads."""

import csv

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from snekhorn.io import read_layouts, read_table

from ..page.reading import Page

FAST = ("--max-iter", 50, "-p", 10)
LABELS = ("--label", "digit", "--id", "name")
RNG = np.random.default_rng(0)


def _write(path, columns):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


@pytest.mark.parametrize("standardize", [(), ("--standardize",)])
def test_scores_compare_with_the_input(folder, as_json, standardize):
    np.save("t.npy", RNG.normal(size=(150, 200)) * np.linspace(1, 3, 200))
    facts = as_json("embed", "t.npy", "--out", "z.parquet", *FAST, *standardize)
    assert facts["n_principal_components"] == 50
    assert 0.3 < facts["variance_kept"] < 0.95
    again = as_json("evaluate", "t.npy", "z.parquet", *standardize)
    assert facts["layouts"][0]["scores"] == again["scores"]
    commands = [text for text in facts["warnings"] if "snekhorn evaluate t.npy z.parquet --standardize" in text]
    assert len(commands) == len(standardize)


def test_the_summary_names_features_variance_and_balance(folder, snekhorn):
    result = snekhorn("embed", "digits.csv", *LABELS, "--out", "t.csv", "--pca", 10, "--standardize", *FAST)
    text = result.stdout
    assert "features: p0, p1, p2, p3, ..., p63\n" in text
    assert "reduced to 10 principal components, which keep 67.7% of the variance" in text
    assert "TSNEkhorn, perplexity 10, balance 0.5" in text
    assert "points, compared with the standardised columns)" in text
    command = "snekhorn evaluate digits.csv t.csv --label digit --id name --standardize"
    assert f"to compute these scores again: {command}" in result.stderr
    snekhorn(*command.split()[1:])


def test_blocks_are_scored_by_their_components_and_this_is_said(folder, snekhorn):
    (folder / "blocks").mkdir()
    np.save("blocks/part-1.npy", RNG.normal(size=(100, 80)))
    text = snekhorn("embed", "blocks", "--out", "t.csv", *FAST).stdout
    assert "points, compared with the principal components)" in text


def test_columns_by_pattern(folder, as_json):
    facts = as_json(
        "embed", "digits.csv", *LABELS, "--columns", "p1*", "--exclude", "p1,p1[5-9]", "--out", "t.csv", *FAST
    )
    assert facts["columns"] == ["p10", "p11", "p12", "p13", "p14"]


def test_few_features_stay_in_the_table(folder, snekhorn):
    snekhorn("embed", "digits.csv", *LABELS, "--columns", "p10,p20", "--out", "t.parquet", "--html", "t.html", *FAST)
    table, read = parquet.read_table("t.parquet"), read_table("digits.csv", label="digit", id="name")
    assert table.column_names[:2] == ["x", "y"]
    assert {"p10", "p20", "digit", "name"} <= set(table.column_names)
    np.testing.assert_array_equal(table["p20"].to_numpy(), read.X[:, read.columns.index("p20")])
    assert '"name":"p20"' in (folder / "t.html").read_text()


def test_of_many_features_only_those_to_colour_by_stay(folder, snekhorn):
    snekhorn("embed", "digits.csv", *LABELS, "--color", "p20,p30", "--out", "t.parquet", "--plot", "t.png", *FAST)
    assert read_layouts(folder / "t.parquet").metadata.column_names == ["name", "digit", "p20", "p30"]
    error = snekhorn("embed", "digits.csv", *LABELS, "--color", "p20,p99", "--out", "u.csv", code=2).stderr
    assert "there is no column 'p99'" in error


def test_genes_colour_cells_whatever_is_laid_out(folder, snekhorn):
    anndata = pytest.importorskip("anndata")
    from scipy import sparse

    X = RNG.poisson(1.0, size=(60, 5)).astype(np.float32)
    cells = anndata.AnnData(sparse.csr_matrix(X))
    cells.var_names = ["CD3", "CD4", "CD8", "LYZ", "NKG7"]
    cells.obsm["X_pca"] = RNG.normal(size=(60, 60))
    cells.write_h5ad("cells.h5ad")
    snekhorn("embed", "cells.h5ad", "--color", "CD8,LYZ", "--out", "t.parquet", "--plot", "t.png", *FAST)
    found = parquet.read_table("t.parquet")
    assert found.column_names == ["x", "y", "cell", "CD8", "LYZ"]
    np.testing.assert_array_equal(found["LYZ"].to_numpy(), X[:, 3])
    cells.raw = anndata.AnnData(10.0 * X, var=cells.var)
    cells.write_h5ad("raw.h5ad")
    result = snekhorn("embed", "raw.h5ad", "--color", "CD8", "--out", "u.parquet", *FAST)
    np.testing.assert_array_equal(parquet.read_table("u.parquet")["CD8"].to_numpy(), 10.0 * X[:, 2])
    assert "the values of gene 'CD8' are those of raw.X" in result.stderr
    error = snekhorn("embed", "cells.h5ad", "--color", "CD9", "--out", "v.csv", code=2).stderr
    assert "cells.h5ad has neither a column nor a gene 'CD9'; did you mean 'CD8'?" in error


def test_dates_are_a_colour_scale(folder, snekhorn, monkeypatch):
    import snekhorn as package

    drawn = []
    scatter = package.plots.scatter
    monkeypatch.setattr("snekhorn.plots.scatter", lambda *args, **kw: drawn.append(scatter(*args, **kw)) or drawn[-1])
    days = [f"2024-{i % 12 + 1:02d}-{i % 28 + 1:02d}" for i in range(60)]
    _write("t.csv", {"a": RNG.normal(size=60), "b": RNG.normal(size=60), "day": days})
    snekhorn("embed", "t.csv", "--color", "day", "--plot", "t.png", "--html", "t.html", *FAST)
    limits = drawn[0].figure.axes[-1].get_ylim()  # of the colour bar, in days since 1970
    np.testing.assert_array_equal(limits, np.array([min(days), max(days)], dtype="datetime64[D]").astype(float))
    assert '"name":"day","kind":"time"' in (folder / "t.html").read_text()


@pytest.mark.parametrize(
    ("until", "missing"),
    [
        (["2024-01-01"] * 50 + ["9999-12-31"] * 10, False),
        (["0001-01-01"] * 60, False),
        (["9999-12-31"] * 60, False),
        (["0000-01-01"] * 60, True),
        (["2024-01-01"] * 59 + ["0000-01-01"], True),
    ],
)
def test_any_date_can_be_drawn(folder, snekhorn, until, missing):
    dates = np.array(until, dtype="datetime64[s]")
    table = {"a": RNG.normal(size=60), "b": RNG.normal(size=60), "until": pa.array(dates, pa.timestamp("s"))}
    parquet.write_table(pa.table(table), "t.parquet")
    result = snekhorn("embed", "t.parquet", "--color", "until", "--plot", "t.png", "--html", "t.html", *FAST)
    assert (
        "dates are before year 1 or after year 9999, such as 0000-01-01; they are drawn as missing" in result.stderr
    ) is missing
    assert (folder / "t.png").exists()


def test_medians_are_part_of_the_model(folder, snekhorn, as_json):
    X = RNG.normal(size=(80, 3))
    columns = {name: [f"{x:.6f}" for x in values] for name, values in zip("abc", X.T, strict=True)}
    columns["b"][5] = columns["c"][7] = ""
    _write("t.csv", columns)
    args = ("--missing", "median", "--standardize", "--out", "z.npy", "--save-model", "m.npz")
    facts = as_json("embed", "t.csv", *args, *FAST)
    assert facts["missing"] == {"rule": "median", "n_rows": 2, "columns": {"b": 1, "c": 1}}
    assert any("2 missing values (1 in 'b', 1 in 'c') filled in" in text for text in facts["warnings"])
    result = snekhorn("transform", "m.npz", "t.csv", "--out", "placed.npy")
    np.testing.assert_allclose(np.load("placed.npy"), np.load("z.npy"), atol=1e-6)
    assert "2 missing values" in result.stderr
    scores = as_json("evaluate", "t.csv", "z.npy", "--missing", "median", "--standardize")["scores"]
    assert scores == facts["layouts"][0]["scores"]


def test_a_model_drops_rows_of_new_points_if_it_did_so_before(folder, snekhorn, as_json):
    X = RNG.normal(size=(80, 3))
    columns = {name: [f"{x:.6f}" for x in values] for name, values in zip("abc", X.T, strict=True)}
    columns["b"][5] = ""
    columns["row"] = [f"r{i}" for i in range(80)]
    _write("t.csv", columns)
    facts = as_json("embed", "t.csv", "--missing", "drop", "--out", "z.csv", "--save-model", "m.npz", *FAST)
    assert facts["n_points"] == 79
    snekhorn("transform", "m.npz", "t.csv", "--out", "placed.csv")
    rows = read_layouts(folder / "placed.csv").metadata["row"].to_pylist()
    assert rows == [f"r{i}" for i in range(80) if i != 5]
    assert as_json("evaluate", "t.csv", "z.csv", "--missing", "drop")["n_points"] == 79


def test_vectors_with_metadata_in_another_file(folder, snekhorn, as_json):
    X = RNG.normal(size=(60, 8)).astype(np.float32)
    ids = [f"d{i}" for i in range(60)]
    parquet.write_table(pa.table({"id": ids, "v": pa.array(list(X))}), "t.parquet")
    _write("meta.csv", {"id": ids[::-1], "kind": ["u", "v"] * 30})
    args = ("--vector", "v", "--metadata", "meta.csv", "--label", "kind")
    facts = as_json("embed", "t.parquet", *args, "--out", "z.csv", "--save-model", "m.npz", *FAST)
    assert facts["n_columns"] == 8
    assert read_layouts(folder / "z.csv").metadata["kind"].to_pylist() == ["v", "u"] * 30
    assert as_json("evaluate", "t.parquet", "z.csv", *args)["scores"] == facts["layouts"][0]["scores"]
    snekhorn("transform", "m.npz", "t.parquet", "--out", "placed.csv")
    np.testing.assert_allclose(read_layouts(folder / "placed.csv").only, read_layouts(folder / "z.csv").only, atol=1e-5)
    np.save("v.npy", X)
    snekhorn("transform", "m.npz", "v.npy", "--out", "array.npy")
    np.testing.assert_allclose(np.load("array.npy"), read_layouts(folder / "z.csv").only, atol=1e-5)


def test_new_points_in_columns(folder, snekhorn):
    X = RNG.normal(size=(12, 40))
    columns = {"gene": [f"g{i}" for i in range(12)], **{f"c{j}": X[:, j] for j in range(40)}}
    _write("t.csv", columns)
    _write("u.csv", {name: list(values)[::-1] for name, values in columns.items()})  # genes in another order
    snekhorn("embed", "t.csv", "--transpose", "--out", "z.npy", "--save-model", "m.npz", *FAST)
    snekhorn("transform", "m.npz", "u.csv", "--transpose", "--out", "placed.npy")
    np.testing.assert_allclose(np.load("placed.npy"), np.load("z.npy"), atol=1e-6)
    assert "which the model needs" in snekhorn("transform", "m.npz", "u.csv", "--out", "w.npy", code=2).stderr


def test_odd_scales_are_named(folder, as_json):
    _write("t.csv", {"age": RNG.normal(size=50), "income": 1e4 * RNG.normal(size=50), "c": RNG.normal(size=50)})
    (note,) = (text for text in as_json("embed", "t.csv", "--out", "z.csv", *FAST)["warnings"] if "deviations" in text)
    assert "depend mostly on 'income', and hardly on" in note


@pytest.mark.parametrize(
    ("extra", "caution"),
    [
        ({"plz": lambda i: 10000 + 997 * i * i % 80000}, "these scores depend mostly on column 'plz'; see the notes"),
        ({"gruppe": lambda i: i % 4}, "these scores depend on column 'gruppe', probably not meant as a feature; see"),
        ({"nr": lambda i: i % 3, "art": lambda i: i % 4}, "depend on columns 'nr', 'art', probably not"),
        ({}, None),
    ],
)
def test_a_caution_stands_below_the_scores(folder, snekhorn, extra, caution):
    columns = {
        **{name: RNG.normal(size=60) for name in "abc"},
        **{n: [f(i) for i in range(60)] for n, f in extra.items()},
    }
    _write("t.csv", columns)
    below = snekhorn("embed", "t.csv", "--out", "z.csv", *FAST).stdout.split("(measured on")[1]
    assert ("note:" in below) is (caution is not None)
    assert caution is None or caution in below
    assert "note:" not in snekhorn("embed", "t.csv", "--out", "y.csv", *FAST, "--no-scores").stdout


def test_the_page_is_coloured_like_the_picture(folder, snekhorn):
    _write("t.csv", {**{name: RNG.normal(size=60) for name in "ab"}, "gruppe": [i % 4 for i in range(60)]})
    for options, color in (((), None), (("--color", "gruppe"), "gruppe"), (("--label", "gruppe"), "gruppe")):
        snekhorn("embed", "t.csv", "--html", "t.html", "--out", "t.csv.parquet", "--force", *FAST, *options)
        header = Page((folder / "t.html").read_bytes()).header
        found = header["color"]
        assert (None if found is None else header["columns"][found]["name"]) == color
    snekhorn("view", "t.csv.parquet", "--no-open", "--out", "view.html")
    assert Page((folder / "view.html").read_bytes()).header["color"] is None


BAD = {
    "missing": (["--missing", "mean"], "invalid value for '--missing'"),
    "vector": (["--vector", "p1"], "--vector applies only to"),
    "exclude": (["--exclude", "q*"], "no column of digits.csv matches 'q*'"),
    "all excluded": (["--exclude", "p*,digit"], "--exclude leaves out all 65 features of digits.csv"),
    "nothing to exclude": (["--exclude", ","], "--exclude is ',', which has no values"),
    "metadata": (["--metadata", "none.csv"], "none.csv does not exist"),
    "metadata of other points": (["--metadata", "few.csv"], "digits.csv has 300 points, but few.csv has 2 rows"),
    "metadata without the id": (["--metadata", "few.csv", "--id", "name"], "few.csv has no column 'name'"),
    "metadata as an output": (["--metadata", "few.csv", "--out", "few.csv", "--force"], "few.csv is given twice"),
    "transpose": (["--transpose", "--label", "digit"], "--label digit cannot be a column of digits.csv"),
    "no color": (["--color", ","], "--color is ',', which has no values"),
}


@pytest.mark.parametrize("case", BAD)
def test_wrong_values(folder, snekhorn, files, case):
    (folder / "few.csv").write_text("kind\nu\nv\n")
    before = files()
    args, message = BAD[case]
    error = " ".join(snekhorn("embed", "digits.csv", *args, code=2).stderr.split())
    assert message in error
    assert files() == before


UNEQUAL = "the standard deviations of the columns differ by a factor of up to"


@pytest.mark.parametrize(
    ("metric", "noted"),
    [
        *((metric, True) for metric in ("sqeuclidean", "cosine", "manhattan")),
        *((metric, False) for metric in ("seuclidean", "mahalanobis", "hamming", "canberra")),
    ],
)
def test_unequal_columns_are_noted_if_the_metric_depends_on_units(folder, snekhorn, metric, noted):
    _write("t.csv", {"a": 1000.0 * RNG.normal(size=40), "b": RNG.normal(size=40)})
    args = ("embed", "t.csv", "--out", "t.npy", "--metric", metric, "--max-iter", 5, "-p", 5, "--no-scores", "--force")
    result = snekhorn(*args)
    assert (UNEQUAL in result.stderr) is noted
    assert ("depend mostly on 'a', and hardly on 'b'" in result.stderr) is noted
    assert UNEQUAL not in snekhorn(*args, "--standardize").stderr
    assert (UNEQUAL in snekhorn("evaluate", "t.csv", "t.npy", "--metric", metric).stderr) is noted


def test_blocks_are_read_once_and_unequal_columns_noted(folder, snekhorn, monkeypatch):
    from snekhorn.geometry.point_blocks import PointBlocks

    (folder / "blocks").mkdir()
    np.save("blocks/part-1.npy", RNG.normal(size=(40, 3)) * [1.0, 500.0, 2.0])
    read, passes = PointBlocks.read, []
    monkeypatch.setattr(PointBlocks, "read", lambda blocks, *rows: passes.append(rows) or read(blocks, *rows))
    result = snekhorn("embed", "blocks", "--out", "t.npy", "--max-iter", 5, "-p", 5, "--no-scores")
    assert "depend mostly on 'column_2', and hardly on 'column_1'" in result.stderr
    assert passes == [(0, 40)]
