"""snekhorn embed: from a file to a layout."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from pyarrow import csv as arrow_csv
from pyarrow import parquet
from scipy import sparse
from sklearn.datasets import load_digits

import snekhorn as package
from snekhorn.geometry.preprocessing import principal_components
from snekhorn.io import read_layouts, read_table

from ..page.reading import Page
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


@pytest.mark.parametrize(
    ("options", "title", "subtitle"),
    [
        ([], "digits.csv", "TSNEkhorn, perplexity 30"),
        (["-p", 1000], "digits.csv", "TSNEkhorn, perplexity 298 (1000 requested)"),
        (["--exaggeration", 2, "--method", "sne", "--title", "Mine"], "Mine", "SNE, perplexity 30, exaggeration 2"),
    ],
)
def test_a_picture_says_how_it_was_computed(folder, snekhorn, monkeypatch, options, title, subtitle):
    drawn = []
    save = package.plots.save
    monkeypatch.setattr(
        "snekhorn.plots.save", lambda figure, *args, **kw: drawn.append(figure) or save(figure, *args, **kw)
    )
    snekhorn("embed", "digits.csv", *LABELS, *FAST, *options, "--no-scores", "--plot", "t.png")
    (axes,) = drawn[0].axes
    assert axes.get_title(loc="left") == title
    assert subtitle in [text.get_text() for text in axes.texts]


def test_a_sheet_names_the_method(folder, snekhorn, monkeypatch):
    drawn = []
    save = package.plots.save
    monkeypatch.setattr(
        "snekhorn.plots.save", lambda figure, *args, **kw: drawn.append(figure) or save(figure, *args, **kw)
    )
    snekhorn("embed", "digits.csv", *LABELS, *FAST, "-p", "5,10", "--no-scores", "--plot", "t.png")
    assert drawn[0].get_suptitle() == "digits.csv: TSNEkhorn"
    assert [axes.get_title(loc="left") for axes in drawn[0].axes] == ["perplexity 5", "perplexity 10"]


def test_several_perplexities(folder, as_json):
    facts = as_json("embed", "digits.csv", *LABELS, "-p", "5,30", "-p", 10, "--out", "t.csv", "--plot", "t.png", *FAST)
    found = read_layouts(folder / "t.csv")
    assert list(found.layouts) == ["5", "10", "30"]
    assert [layout["perplexity"] for layout in facts["layouts"]] == [5, 10, 30]
    assert all(layout["scores"]["neighbor_recall"] > 0.3 for layout in facts["layouts"])
    assert facts["files"]["plot"] == "t.png"


def test_several_exaggerations(folder, as_json, snekhorn, monkeypatch):
    sheets = []
    sheet = package.plots.sheet
    monkeypatch.setattr("snekhorn.plots.sheet", lambda *args, **kw: sheets.append((args, kw)) or sheet(*args, **kw))
    facts = as_json("embed", "digits.csv", *LABELS, "--exaggeration", "2,1", "--exaggeration", 1.5)
    found = read_layouts(folder / "digits.tsnekhorn.parquet")
    assert list(found.layouts) == ["e1", "e1.5", "e2"]
    assert [layout["exaggeration"] for layout in facts["layouts"]] == [1, 1.5, 2]
    X = read_table("digits.csv", label="digit", id="name").X
    components = principal_components(X, 50)
    for (key, Z), layout in zip(found.layouts.items(), facts["layouts"], strict=True):
        np.testing.assert_array_equal(Z, package.TSNEkhorn(exaggeration=float(key[1:])).fit_transform(components))
        assert layout["scores"] == pytest.approx(package.metrics.evaluate(X, Z, found.metadata["digit"].to_numpy()))
    (((layouts, _), how),) = sheets
    assert list(layouts) == ["exaggeration 1", "exaggeration 1.5", "exaggeration 2"]
    recall, silhouette = (facts["layouts"][1]["scores"][name] for name in ("neighbor_recall", "silhouette"))
    assert how["subtitles"]["exaggeration 1.5"] == f"neighbour recall {recall:.2f}, silhouette {silhouette:.2f}"
    page = Page((folder / "digits.tsnekhorn.html").read_bytes())
    assert page.title == "digits.csv"
    assert [layout["name"] for layout in page.header["layouts"]] == list(layouts)
    for number, ((key, Z), layout) in enumerate(zip(found.layouts.items(), facts["layouts"], strict=True)):
        np.testing.assert_array_equal(page.numbers(f"x-{number}", "f4"), Z[:, 0].astype(np.float32))
        assert ["exaggeration", key[1:]] in page.header["layouts"][number]["summary"]
        recall = page.numbers(f"preserved-{number}", "u1").mean() / 15
        assert recall == pytest.approx(layout["scores"]["neighbor_recall"])
    text = snekhorn("evaluate", "digits.csv", "digits.tsnekhorn.parquet", *LABELS).stdout
    assert text.splitlines()[0].split() == ["exaggeration", "1", "1.5", "2"]


def test_perplexities_and_exaggerations(folder, snekhorn, monkeypatch):
    sheets = []
    sheet = package.plots.sheet
    monkeypatch.setattr("snekhorn.plots.sheet", lambda *args, **kw: sheets.append(kw) or sheet(*args, **kw))
    values = ("-p", "5,10,30", "--exaggeration", "1,2,1")
    result = snekhorn("embed", "digits.csv", *LABELS, *values, "--out", "t.csv", "--plot", "t.png", *FAST)
    found = read_layouts(folder / "t.csv")
    assert list(found.layouts) == ["5_e1", "5_e2", "10_e1", "10_e2", "30_e1", "30_e2"]
    assert found.metadata.column_names == ["name", "digit"]
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["perplexity", "5", "5", "10", "10", "30", "30"] in lines
    assert ["exaggeration", "1", "2", "1", "2", "1", "2"] in lines
    assert "TSNEkhorn, perplexity 10, exaggeration 2, balance 0.5: " in result.stdout
    assert "--exaggeration lists 1 more than once; it is used once." in result.stderr
    assert "computing 6 layouts of 300 points, perplexity 5, 10, 30; exaggeration 1, 2" in result.stderr
    assert sheets[0]["columns"] == 2


def test_one_exaggeration_gives_a_layout_that_can_be_saved(folder, snekhorn):
    result = snekhorn("embed", "digits.csv", *LABELS, "--exaggeration", 2, "--save-model", "m.npz", "--out", "t.npy")
    assert "TSNEkhorn, perplexity 30, exaggeration 2, balance 0.5: converged" in result.stdout
    snekhorn("transform", "m.npz", "digits.csv", "--out", "placed.npy", "--quiet")
    np.testing.assert_allclose(np.load("placed.npy"), np.load("t.npy"), atol=1e-6)


def test_an_interrupt_keeps_the_layouts_that_are_complete(folder, snekhorn, monkeypatch):
    fit, fitted = package.TSNEkhorn.fit, []

    def interrupted(model, X, y=None):
        if len(fitted) == 2:
            raise KeyboardInterrupt
        fitted.append(model)
        return fit(model, X, y)

    monkeypatch.setattr(package.TSNEkhorn, "fit", interrupted)
    args = ("--exaggeration", "1,1.5,2", "--out", "t.csv", *FAST, "--no-scores")
    result = snekhorn("embed", "digits.csv", *LABELS, *args, code=130)
    assert "interrupted; the layouts finished so far are kept" in result.stderr
    assert list(read_layouts(folder / "t.csv").layouts) == ["e1", "e1.5"]


@pytest.mark.parametrize("d", [1, 3])
def test_other_dimensions(folder, snekhorn, d):
    snekhorn("embed", "digits.csv", *LABELS, "--dimensions", d, "--out", "t.parquet", "--plot", "t.pdf", *FAST)
    assert read_layouts(folder / "t.parquet").only.shape == (N, d)


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
    assert sum("perplexity=400 exceeds" in text for text in facts["warnings"]) == 1
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
    assert "n_jobs.csv: the value in row 2, column 'max_iter' is empty" in error


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


def test_dates_and_titles_with_dollars(folder, snekhorn, files):
    import pyarrow as pa

    days = np.datetime64("2024-01-01") + np.arange(N)
    X = read_table("digits.csv", label="digit", id="name").X
    parquet.write_table(pa.table({"day": pa.array(days), **{f"p{j}": X[:, j] for j in range(10, 20)}}), "t.parquet")
    snekhorn("embed", "t.parquet", "--color", "day", "--title", "cost $5_$6", *FAST, "--no-scores")
    assert {"t.tsnekhorn.png", "t.tsnekhorn.html", "t.tsnekhorn.parquet"} <= files()


def test_names_of_outputs_keep_their_dots(folder, snekhorn, files):
    (folder / "run.1.csv").write_bytes((folder / "digits.csv").read_bytes())
    snekhorn("embed", "run.1.csv", *LABELS, *FAST, "--no-scores", "--quiet")
    assert "run.1.tsnekhorn.parquet" in files()


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


def test_formulas_are_escaped_on_request(folder, snekhorn):
    table = read_table("digits.csv")
    columns = {
        "name": [f"={name}" for name in table.metadata["name"].to_pylist()],
        "a": table.X[:, 20],
        "b": table.X[:, 21],
    }
    parquet.write_table(pa.table(columns), "t.parquet")
    args = ("embed", "t.parquet", "--no-scores", "--max-iter", 5, "--quiet")
    snekhorn(*args, "--out", "safe.csv", "--escape-formulas", "--save-model", "m.npz")
    snekhorn(*args, "--out", "plain.csv")
    snekhorn("transform", "m.npz", "t.parquet", "--out", "new.csv", "--escape-formulas", "--quiet")
    for file, start in (("safe.csv", "'=d0"), ("new.csv", "'=d0"), ("plain.csv", "=d0")):
        assert read_layouts(folder / file).metadata["name"][0].as_py() == start


def test_an_empty_title_is_no_title(folder, snekhorn):
    args = ("embed", "digits.csv", "--no-scores", "--max-iter", 5, "--quiet")
    snekhorn(*args, "--html", "a.html", "--title", "")
    assert "digits.csv" not in (folder / "a.html").read_text()


def test_thumbnails_and_neighbours_are_on_the_page(folder, snekhorn, monkeypatch):
    (folder / "in").mkdir()
    for name in ("a", "b"):
        Image.new("L", (9, 9), ord(name)).save(folder / "in" / f"{name}.png")
    rows = "\n".join(f"{i % 7},{i * i % 11},{'ab'[i % 2]}.png" for i in range(40))
    (folder / "in" / "t.csv").write_text(f"u,v,photo\n{rows}\n")
    snekhorn("embed", "in/t.csv", "-p", 5, "--image", "photo", "--html", "t.html", "--out", "in/t.parquet")
    page = Page((folder / "t.html").read_bytes())
    assert page.header["images"] == 2
    assert page.numbers("image-codes", "u4").tolist() == [0, 1] * 20
    assert page.header["neighbors"]["k"] == 15
    snekhorn("view", "in/t.parquet", "--image", "photo", "--no-open")
    viewed = Page((folder / "in" / "t.html").read_bytes())
    assert (viewed.header["images"], viewed.header["neighbors"]) == (2, None)
    monkeypatch.setattr("snekhorn.cli.embed_command.MAX_COMPARED", 30)
    monkeypatch.setattr("snekhorn.cli.output_files.MAX_COMPARED", 30)
    result = snekhorn("embed", "in/t.csv", "-p", 5, "--html", "many.html")
    assert "the page shows no neighbours in the data, because there are more than 30 points" in result.stderr
    assert Page((folder / "many.html").read_bytes()).header["neighbors"] is None


def test_bad_images_are_refused_before_any_work(folder, snekhorn, files):
    before = files()
    for column, message in (("names", "there is no column 'names'; did you mean 'name'"), ("name", "'d0' in row 0")):
        result = snekhorn("embed", "digits.csv", "--image", column, code=2)
        assert message in result.stderr
        assert "computing" not in result.stderr
    assert files() == before


def test_a_page_of_many_points_is_a_sample(folder, snekhorn, monkeypatch):
    monkeypatch.setattr("snekhorn.page.html_page.MAX_POINTS", 100)
    np.savetxt("Z.csv", np.random.default_rng(0).normal(size=(150, 2)), delimiter=",", header="x,y", comments="")
    assert "a random sample of 100 of the 150 points" in snekhorn("view", "Z.csv", "--no-open").stderr


def _cells(path):
    anndata = pytest.importorskip("anndata")
    X, y = load_digits(return_X_y=True)
    adata = anndata.AnnData(X[:120].astype(np.float32), uns={"kept": "yes"})
    adata.obs["digit"] = [str(digit) for digit in y[:120]]
    adata.write_h5ad(path)
    return anndata.read_h5ad


def test_a_layout_is_added_to_a_copy_of_the_cells(folder, snekhorn):
    read = _cells("cells.h5ad")
    fast = ("--max-iter", 60, "--no-scores", "--quiet")
    snekhorn("embed", "cells.h5ad", "--label", "digit", "--out", "out.h5ad", *fast)
    snekhorn("embed", "cells.h5ad", "--label", "digit", "--out", "out.npy", *fast)
    found, before = read("out.h5ad"), read("cells.h5ad")
    np.testing.assert_array_equal(found.obsm["X_tsnekhorn"], np.load("out.npy"))
    np.testing.assert_array_equal(found.X, before.X)
    assert found.uns["kept"] == "yes"
    assert "X_tsnekhorn" not in before.obsm
    snekhorn("embed", "out.h5ad", "-p", "5,9", "--rep", "X", "--out", "again.h5ad", *fast)
    assert {"X_tsnekhorn", "X_tsnekhorn_5", "X_tsnekhorn_9"} <= set(read("again.h5ad").obsm)
    snekhorn("embed", "out.h5ad", "--rep", "X", "-p", 9, "--out", "replaced.h5ad", *fast)
    assert not np.array_equal(read("replaced.h5ad").obsm["X_tsnekhorn"], found.obsm["X_tsnekhorn"])


def test_a_table_becomes_cells_with_a_layout(folder, snekhorn):
    read = _cells("cells.h5ad")
    snekhorn("embed", "digits.csv", "--label", "digit", "--out", "out.h5ad", "--max-iter", 60, "--no-scores", "--quiet")
    found = read("out.h5ad")
    assert found.obsm["X_tsnekhorn"].shape == (N, 2)
    assert list(found.obs["name"][:2]) == ["d0", "d1"]
    assert "digit" in found.obs
