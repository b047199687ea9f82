"""What snekhorn embed writes: several layouts, pictures, pages and cells."""

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from pyarrow import parquet
from sklearn.datasets import load_digits

import snekhorn as package
from snekhorn.geometry.preprocessing import principal_components
from snekhorn.io import read_layouts, read_table

from ..page.reading import Page
from .conftest import N

FAST = ("--max-iter", 100)
LABELS = ("--label", "digit", "--id", "name")


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


def test_images_of_a_metadata_file_are_next_to_it(folder, snekhorn):
    (folder / "photos").mkdir()
    Image.new("L", (9, 9), 80).save(folder / "photos" / "a.png")
    (folder / "t.csv").write_text("u,v,own\n" + "\n".join(f"{i % 7},{i * i % 11},photos/a.png" for i in range(40)))
    (folder / "photos" / "meta.csv").write_text("photo\n" + "a.png\n" * 40)
    args = ("embed", "t.csv", "--metadata", "photos/meta.csv", "-p", 5, "--max-iter", 5, "--no-scores")
    for column in ("photo", "own"):
        snekhorn(*args, "--image", column, "--html", f"{column}.html")
        assert Page((folder / f"{column}.html").read_bytes()).header["images"] == 1


def test_bad_images_are_refused_before_any_work(folder, snekhorn, files):
    before = files()
    for column, message in (("names", "there is no column 'names'; did you mean 'name'"), ("name", "'d0' in row 1")):
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
    from snekhorn.anndata import tsnekhorn

    fast = ("--max-iter", 60, "--no-scores", "--quiet")
    snekhorn("embed", "cells.h5ad", "--label", "digit", "--out", "out.h5ad", *fast)
    snekhorn("embed", "cells.h5ad", "--label", "digit", "--out", "out.npy", *fast)
    found, before = read("out.h5ad"), read("cells.h5ad")
    np.testing.assert_array_equal(found.obsm["X_tsnekhorn"], np.load("out.npy"))
    np.testing.assert_array_equal(found.X, before.X)
    assert found.uns["kept"] == "yes"
    assert "X_tsnekhorn" not in before.obsm
    described = found.uns["tsnekhorn"]
    expected = {"method": "TSNEkhorn", "perplexity": 30.0, "use_rep": "X", "n_pcs": 50, "max_iter": 60}
    assert expected.items() <= described["params"].items()
    assert described["version"] == package.__version__
    with pytest.warns(UserWarning, match="like raw counts"):  # the pixels of digits
        tsnekhorn(before)
    assert set(described) == set(before.uns["tsnekhorn"])
    assert set(described["params"]) - set(before.uns["tsnekhorn"]["params"]) == {"n_pcs"}
    snekhorn("embed", "out.h5ad", "-p", "5,9", "--rep", "X", "--standardize", "--out", "again.h5ad", *fast)
    again = read("again.h5ad")
    assert {"X_tsnekhorn", "X_tsnekhorn_5", "X_tsnekhorn_9"} <= set(again.obsm)
    assert again.uns["tsnekhorn"] == described
    assert again.uns["tsnekhorn_9"]["params"]["perplexity"] == 9.0
    assert again.uns["tsnekhorn_9"]["params"]["standardize"]
    snekhorn("embed", "out.h5ad", "--rep", "X", "-p", 9, "--out", "replaced.h5ad", *fast)
    assert not np.array_equal(read("replaced.h5ad").obsm["X_tsnekhorn"], found.obsm["X_tsnekhorn"])
    assert read("replaced.h5ad").uns["tsnekhorn"]["params"]["perplexity"] == 9.0


def test_a_table_becomes_cells_with_a_layout(folder, snekhorn):
    read = _cells("cells.h5ad")
    snekhorn("embed", "digits.csv", "--label", "digit", "--out", "out.h5ad", "--max-iter", 60, "--no-scores", "--quiet")
    found = read("out.h5ad")
    assert found.obsm["X_tsnekhorn"].shape == (N, 2)
    assert list(found.obs["name"][:2]) == ["d0", "d1"]
    assert found.uns["tsnekhorn"]["params"]["method"] == "TSNEkhorn"
    assert "use_rep" not in found.uns["tsnekhorn"]["params"]
    assert "digit" in found.obs


def test_a_copy_of_the_cells_needs_all_of_them(folder, snekhorn, files):
    anndata = pytest.importorskip("anndata")
    X = np.random.default_rng(0).normal(size=(60, 5))
    X[3, 1] = np.nan
    anndata.AnnData(X).write_h5ad("nan.h5ad")
    before = files()
    result = snekhorn("embed", "nan.h5ad", "--missing", "drop", "--out", "o.h5ad", "--max-iter", 5, code=2)
    assert "--missing drop leaves out cells, but o.h5ad is to be a copy of nan.h5ad" in result.stderr
    assert "computing" not in result.stderr
    assert files() == before
    snekhorn("embed", "nan.h5ad", "--missing", "drop", "--out", "o.csv", "--max-iter", 5, "--no-scores", "--quiet")
    assert len(read_layouts(folder / "o.csv").only) == 59


@pytest.mark.parametrize("input", ["digits.csv", "cells.h5ad"])
def test_other_commands_read_the_layout_of_cells(folder, snekhorn, as_json, input):
    _cells("cells.h5ad")
    args = ("--label", "digit", "--standardize", "-p", "5,20", "--max-iter", 60)
    result = snekhorn("embed", input, *args, "--out", "t.h5ad")
    (command,) = (line for line in result.stderr.splitlines() if "to compute these scores again: " in line)
    again = as_json(*command.partition("snekhorn ")[2].split())
    measured = as_json("embed", input, *args, "--out", "t.parquet")
    assert list(again["scores"]) == ["5", "20"]
    for scores, layout in zip(again["scores"].values(), measured["layouts"], strict=True):
        assert scores == pytest.approx(layout["scores"])
    snekhorn("plot", "t.h5ad", "--color", "digit", "--out", "t.png")
    snekhorn("view", "t.h5ad", "--color", "digit", "--no-open")
    names = [layout["name"] for layout in Page((folder / "t.html").read_bytes()).header["layouts"]]
    assert names == ["perplexity 5", "perplexity 20"]
