"""snekhorn embed: from a file to a layout."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv as arrow_csv
from pyarrow import parquet
from scipy import sparse

import snekhorn as package
from snekhorn.geometry.preprocessing import principal_components
from snekhorn.io import read_layouts, read_table

from .conftest import N

FAST = ("--max-iter", 100)
LABELS = ("--label", "digit", "--id", "name")


def test_a_table_a_picture_and_a_page(folder, snekhorn, files):
    result = snekhorn("embed", "digits.csv", *LABELS)
    assert files() == {"digits.csv", "digits.tsnekhorn.parquet", "digits.tsnekhorn.png", "digits.tsnekhorn.html"}
    table = parquet.read_table("digits.tsnekhorn.parquet")
    assert table.column_names == ["x", "y", "name", "digit"]
    assert table.num_rows == N
    assert (folder / "digits.tsnekhorn.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "digits.tsnekhorn.html").read_text().lstrip().lower().startswith("<!doctype html>")
    for text in (
        "300 points, 64 columns",
        "perplexity 30, balance 0.5: converged",
        "kNN accuracy",
        "how well the labels separate in the layout: 1 = tight groups far apart, 0 = mixed groups",
        "digits.tsnekhorn.png",
    ):
        assert text in result.stdout
    assert "reading digits.csv" in result.stderr


def test_the_layout_is_the_librarys(folder, as_json):
    facts = as_json("embed", "digits.csv", *LABELS, "--out", "t.npy", "--seed", 3)
    X = read_table("digits.csv", label="digit", id="name").X
    model = package.TSNEkhorn(random_state=3)
    Z = model.fit_transform(principal_components(X, 50, 3))
    np.testing.assert_array_equal(np.load("t.npy"), Z)
    layout = facts["layouts"][0]
    assert layout["divergence"] == model.kl_divergence_
    assert layout["n_iter"] == model.n_iter_
    assert layout["scores"]["knn_accuracy"] > 0.9
    assert facts["n_points"] == N
    assert facts["n_principal_components"] == 50
    assert facts["files"] == {"table": "t.npy"}


@pytest.mark.parametrize("method", ["snekhorn", "tsne", "symmetric-sne", "sne"])
def test_methods(folder, as_json, method):
    facts = as_json("embed", "digits.csv", "--method", method, "--out", "t.csv", *LABELS, *FAST, "--no-scores")
    assert facts["method"] == method
    assert facts["layouts"][0]["scores"] == {}
    assert np.isfinite(read_layouts(folder / "t.csv").only).all()


def test_a_column_whose_name_has_a_comma_is_quoted(folder, as_json):
    table = arrow_csv.read_csv("digits.csv").rename_columns({"p10": "p10, raw"})
    arrow_csv.write_csv(table, "named.csv")
    facts = as_json("embed", "named.csv", "--columns", 'p20,"p10, raw", p30', "--out", "t.csv", *FAST)
    assert facts["n_columns"] == 3


@pytest.mark.parametrize("d", [1, 3])
def test_other_dimensions(folder, snekhorn, d):
    snekhorn("embed", "digits.csv", *LABELS, "--dimensions", d, "--out", "t.parquet", "--plot", "t.pdf", *FAST)
    assert read_layouts(folder / "t.parquet").only.shape == (N, d)


@pytest.mark.parametrize("d", [1, 3])
def test_without_names_of_files_other_dimensions_have_no_page(folder, snekhorn, files, d):
    before = files()
    result = snekhorn("embed", "digits.csv", *LABELS, "--dimensions", d, *FAST, "--no-scores")
    assert "note: no page: pages show only two-dimensional layouts\n" in result.stderr
    assert files() - before == {"digits.tsnekhorn.parquet", "digits.tsnekhorn.png"}


def test_columns_metric_and_no_pca(folder, as_json):
    facts = as_json(
        "embed", "digits.csv", "--columns", "p10,p20,p30", "--metric", "manhattan", "--out", "t.csv", *FAST, *LABELS
    )
    assert facts["n_columns"] == 3
    assert facts["n_principal_components"] is None
    assert "p11" in arrow_csv.read_csv("t.csv").column_names


def test_quiet_says_nothing(folder, snekhorn):
    result = snekhorn("embed", "digits.csv", *LABELS, "--out", "t.csv", "--quiet")
    assert result.stdout == ""
    assert result.stderr == ""


def test_warnings_are_told_once_and_kept(folder, as_json):
    facts = as_json("embed", "digits.csv", *LABELS, "--out", "t.csv", *FAST, "--perplexity", 400)
    told = "perplexity=400 is too large for 300 points; using 298, but above a third of the points"
    assert sum(told in text for text in facts["warnings"]) == 1
    assert any("stopped at --max-iter" in text for text in facts["warnings"])
    assert facts["layouts"][0]["perplexity"] == 400
    assert facts["layouts"][0]["perplexity_used"] == N - 2


def test_the_perplexity_that_was_used_is_told(folder, snekhorn):
    text = snekhorn("embed", "digits.csv", *LABELS, "--out", "t.csv", *FAST, "--perplexity", 400).stdout
    assert f"perplexity {N - 2} (400 requested)" in text


def test_points_without_a_label_do_not_count_as_a_class(folder, as_json):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3)) + 20.0 * (np.arange(120) % 2)[:, None]
    with open("half.csv", "w") as file:
        print("a,b,c,kind", file=file)
        for i, row in enumerate(X):
            print(*row, ["", "", "u", "v"][i % 4], sep=",", file=file)
    facts = as_json("embed", "half.csv", "--label", "kind", "--out", "half.parquet", "-p", 10)
    scores = facts["layouts"][0]["scores"]
    assert any("the label column 'kind' has a value for 60 of 120 points" in text for text in facts["warnings"])
    assert scores["knn_accuracy"] == 1.0
    assert scores["silhouette"] > 0.5
    assert scores["n_sampled"] == 120
    again = as_json("evaluate", "half.csv", "half.parquet", "--label", "kind")
    assert again["scores"] == scores


@pytest.mark.parametrize("kind", ["dictionary", "int", "bool"])
def test_labels_of_any_type_may_be_missing(folder, as_json, kind):
    X = np.random.default_rng(0).normal(size=(60, 3)) + 20.0 * (np.arange(60) % 2)[:, None]
    values = pa.array([None if i % 3 == 0 else i % 2 for i in range(60)])
    kinds = {"dictionary": values.cast(pa.string()).dictionary_encode(), "int": values, "bool": values.cast(pa.bool_())}
    parquet.write_table(pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "kind": kinds[kind]}), "t.parquet")
    facts = as_json("embed", "t.parquet", "--label", "kind", "--out", "z.csv", "-p", 10)
    assert any("the label column 'kind' has a value for 40 of 60 points" in text for text in facts["warnings"])
    assert facts["layouts"][0]["scores"]["knn_accuracy"] == 1.0


def test_scores_of_few_labels_do_not_depend_on_the_metric(folder, as_json):
    X = np.random.default_rng(0).normal(size=(60, 10))
    columns = {f"c{j}": X[:, j] for j in range(10)} | {"kind": pa.array(["u", "v"] * 3 + [None] * 54)}
    parquet.write_table(pa.table(columns), "t.parquet")
    facts = as_json("embed", "t.parquet", "--label", "kind", "--out", "z.csv", "--metric", "mahalanobis", *FAST)
    assert {"silhouette", "trustworthiness"} <= facts["layouts"][0]["scores"].keys()


def test_names_of_files_and_columns_are_no_options(folder, snekhorn):
    (folder / "n_jobs.csv").write_text("max_iter,b\n1,2\n,3\n")
    error = snekhorn("embed", "n_jobs.csv", code=2).stderr
    assert "n_jobs.csv: the value in line 3, column 'max_iter' is empty" in error


def test_a_label_that_nobody_has_gives_no_scores(folder, as_json):
    with open("none.csv", "w") as file:
        print("a,b,kind", file=file)
        print(*(f"{i * i},{7 * i % 30}," for i in range(30)), sep="\n", file=file)
    facts = as_json("embed", "none.csv", "--label", "kind", "--out", "t.csv", *FAST)
    assert "knn_accuracy" not in facts["layouts"][0]["scores"]
    assert "trustworthiness" in facts["layouts"][0]["scores"]


def test_self_loops(folder, as_json):
    losses = {
        loops: as_json("embed", "digits.csv", *LABELS, "--out", f"t{len(loops)}.csv", *FAST, *loops)["layouts"][0]
        for loops in ((), ("--self-loops",))
    }
    assert losses[()]["divergence"] > losses["--self-loops",]["divergence"]


def test_balance(folder, as_json):
    def affinity(*options):
        facts = as_json("embed", "digits.csv", *LABELS, "--out", f"t{len(options)}{options[1:]}.csv", *FAST, *options)
        return facts["layouts"][0]["affinity"]

    assert affinity("--balance", 0.25)["balance"] == 0.25
    assert affinity("--balance", 1)["inequality"] is None
    auto = affinity()
    assert affinity("--balance", "auto") == auto
    assert 0.0 < auto["inequality"] < 1.0


@pytest.mark.parametrize("balance", ["half", "1.5", "nan"])
def test_other_balances_are_refused(folder, snekhorn, balance):
    result = snekhorn("embed", "digits.csv", "--balance", balance, code=2)
    assert "balance must be" in result.output


def test_sparse_input(folder, as_json):
    from scipy import sparse

    sparse.save_npz("t.npz", sparse.random(120, 80, 0.2, format="csr", random_state=0))
    facts = as_json("embed", "t.npz", "--out", "t.csv", *FAST)
    assert facts["n_principal_components"] == 50
    assert as_json("embed", "t.npz", "--out", "u.csv", "--pca", 0, *FAST)["n_principal_components"] is None


def test_what_fails_at_the_end_does_not_cost_the_layout(folder, snekhorn, monkeypatch, files):
    def interrupted(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("snekhorn.metrics.evaluate", interrupted)
    snekhorn("embed", "digits.csv", *LABELS, "--out", "t.npy", *FAST, code=130)
    assert np.load("t.npy").shape == (N, 2)

    monkeypatch.setattr("snekhorn.plots.scatter", interrupted)
    result = snekhorn(
        "embed", "digits.csv", *LABELS, "--out", "u.npy", "--plot", "u.png", *FAST, "--no-scores", code=130
    )
    assert "u.png was not written because of the interrupt" in result.stderr
    assert "Written: u.npy." in result.stderr
    assert files() == {"digits.csv", "t.npy", "u.npy"}


@pytest.mark.parametrize("metric", ["mahalanobis", "seuclidean"])
def test_metrics_with_scales_of_their_own_are_scored_too(folder, as_json, metric):
    columns = ("--columns", "p10,p20,p27,p34")
    facts = as_json("embed", "digits.csv", *columns, *LABELS, "--metric", metric, "--out", "t.npy", *FAST)
    assert facts["layouts"][0]["scores"]["trustworthiness"] > 0.7


def test_columns_of_different_units(folder, as_json):
    rng = np.random.default_rng(0)
    np.save("t.npy", rng.normal(size=(80, 3)) * [1.0, 1e4, 1.0])
    plain = as_json("embed", "t.npy", "--out", "a.npy", *FAST)
    assert any("--standardize" in text for text in plain["warnings"])
    scaled = as_json("embed", "t.npy", "--out", "b.npy", "--standardize", *FAST)
    assert not any("standard deviations" in text for text in scaled["warnings"])
    assert scaled["n_principal_components"] is None


@pytest.mark.parametrize("name", ["digits.csv", "digits.npz"])
def test_a_column_that_is_laid_out_may_colour_the_points(folder, as_json, name):
    table = read_table("digits.csv", label="digit")
    sparse.save_npz("digits.npz", sparse.csr_matrix(table.X))
    color = "p20" if name == "digits.csv" else "column_21"
    args = (name, "--color", color, "--out", "t.parquet", "--plot", "t.png", "--max-iter", 5, "--no-scores")
    facts = as_json("embed", *args)
    assert facts["n_columns"] == (65 if name == "digits.csv" else 64)
    kept = read_layouts(Path("t.parquet")).metadata.column(color)
    np.testing.assert_array_equal(kept.to_numpy(), table.X[:, 20])


def test_a_label_that_names_the_rows_is_pointed_out(folder, as_json):
    args = ("--out", "t.npy", "--max-iter", 5, "--no-scores")
    assert any("--id name" in note for note in as_json("embed", "digits.csv", "--label", "name", *args)["warnings"])
    assert not any(
        "--id" in note for note in as_json("embed", "digits.csv", "--label", "digit", *args, "--force")["warnings"]
    )
