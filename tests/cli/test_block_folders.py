"""Folders of blocks on the command line."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from sklearn.datasets import load_digits

from snekhorn.io import read_table

N = 400
DIGITS, LABELS = (array[:N] for array in load_digits(return_X_y=True))
SHORT = ("--max-iter", 30, "--no-scores")


@pytest.fixture
def blocks(folder):
    """A folder of Parquet blocks with a label, and a file with all rows."""
    (folder / "blocks").mkdir()
    for number, rows in enumerate((slice(0, 150), slice(150, 160), slice(160, N))):
        columns = {f"p{j}": DIGITS[rows, j] for j in range(64)}
        parquet.write_table(pa.table({**columns, "digit": LABELS[rows]}), folder / f"blocks/part-{8 + number}.parquet")
    parquet.write_table(
        pa.table({**{f"p{j}": DIGITS[:, j] for j in range(64)}, "digit": LABELS}), folder / "all.parquet"
    )
    return folder / "blocks"


def layout_of(path):
    return read_table(path, columns=["x", "y"]).X


def test_a_folder_is_laid_out_like_a_file(blocks, as_json):
    facts = as_json("embed", "blocks", "--label", "digit", *SHORT, "--save-model", "m.npz", "--out", "Z.parquet")
    assert (facts["n_points"], facts["n_columns"], facts["n_principal_components"]) == (N, 64, 50)
    table = read_table("Z.parquet", columns=["x", "y"])
    assert table.values("digit").tolist() == LABELS.tolist()
    as_json("transform", "m.npz", "blocks", "--label", "digit", "--out", "placed.parquet")
    np.testing.assert_array_equal(layout_of("placed.parquet"), table.X)
    as_json("transform", "m.npz", "all.parquet", "--label", "digit", "--out", "again.parquet")
    np.testing.assert_array_equal(layout_of("again.parquet"), table.X)


@pytest.mark.parametrize("options", [("--pca", 0), ("--columns", "p20,p21,p22")])
def test_columns_themselves_give_the_same_bits_as_a_file(blocks, options, as_json):
    for given, out in (("blocks", "a.parquet"), ("all.parquet", "b.parquet")):
        as_json("embed", given, "--label", "digit", *options, *SHORT, "--out", out)
    np.testing.assert_array_equal(layout_of("a.parquet"), layout_of("b.parquet"))


def test_standardized_columns(blocks, as_json):
    facts = as_json("embed", "blocks", "--label", "digit", "--standardize", *SHORT, "--out", "Z.parquet")
    assert facts["n_principal_components"] == 50


def test_colour_by_a_feature_and_default_names(blocks, snekhorn, files):
    result = snekhorn("embed", "blocks", "--columns", "p20,p21,p22", "--color", "p21", *SHORT)
    assert "reading the folder blocks ...\n" in result.stderr
    assert {"blocks.tsnekhorn.parquet", "blocks.tsnekhorn.png", "blocks.tsnekhorn.html"} <= files()
    table = read_table("blocks.tsnekhorn.parquet", columns=["x", "y"])
    np.testing.assert_array_equal(table.values("p21"), DIGITS[:, 21])


def test_scores_and_affinity_of_a_folder(blocks, as_json):
    as_json("embed", "blocks", "--label", "digit", "--max-iter", 30, "--out", "Z.parquet")
    scores = as_json("evaluate", "blocks", "Z.parquet", "--label", "digit")["scores"]
    assert scores == as_json("evaluate", "all.parquet", "Z.parquet", "--label", "digit")["scores"]
    assert as_json("affinity", "blocks", "--label", "digit", "--out", "P.npz")["n_points"] == N


def test_npy_blocks(folder, as_json):
    (folder / "arrays").mkdir()
    np.save("arrays/0.npy", DIGITS[:200].astype(np.float32))
    np.save("arrays/1.npy", DIGITS[200:].astype(np.float32))
    facts = as_json("embed", "arrays/", *SHORT, "--save-model", "m.npz", "--out", "Z.npy")
    assert (facts["n_points"], facts["n_columns"]) == (N, 64)
    as_json("transform", "m.npz", "arrays", "--out", "placed.npy")
    np.testing.assert_array_equal(np.load("placed.npy"), np.load("Z.npy"))


def test_a_model_of_lists_takes_a_folder(folder, snekhorn):
    table = pa.table({"v": pa.array(list(DIGITS[:90].astype(np.float32)))})
    parquet.write_table(table, "all.parquet")
    (folder / "lists").mkdir()
    for number, start in enumerate((0, 40)):
        parquet.write_table(table.slice(start, 40 + 10 * number), folder / f"lists/{number}.parquet")
    snekhorn("embed", "all.parquet", "--vector", "v", *SHORT, "-p", 9, "--save-model", "m.npz", "--out", "Z.npy")
    snekhorn("transform", "m.npz", "lists", "--out", "placed.npy")
    np.testing.assert_array_equal(np.load("placed.npy"), np.load("Z.npy"))


def test_results_are_not_written_among_the_blocks(blocks, snekhorn, monkeypatch):
    found = snekhorn("embed", "blocks", "--out", "blocks/Z.parquet", code=2)
    assert "among the blocks of the input" in found.stderr
    monkeypatch.chdir(blocks)
    assert "among the blocks of the input" in snekhorn("embed", ".", code=2).stderr


def test_memory_is_checked_before_points_are_read(blocks, snekhorn, monkeypatch):
    monkeypatch.setattr("snekhorn.geometry.point_blocks.PointBlocks.read", lambda *_: pytest.fail("read"))
    monkeypatch.setattr("snekhorn.runtime.memory.available_bytes", lambda root=None: 10**5)
    assert "not enough memory" in snekhorn("embed", "blocks", "--label", "digit", "--out", "Z.csv", code=2).stderr


def test_faults_are_named(blocks, snekhorn):
    part = pa.table({**{f"p{j}": DIGITS[:3, j] for j in range(64)}, "digit": LABELS[:3]})
    parquet.write_table(part.set_column(5, "p5", pa.array([1.0, np.nan, 2.0])), blocks / "part-11.parquet")
    found = snekhorn("embed", "blocks", "--label", "digit", "--out", "Z.csv", code=2).stderr
    assert "part-11.parquet: the value in row 2, column 'p5' is nan" in found
    parquet.write_table(part.drop_columns(["p5"]), blocks / "part-11.parquet")
    found = snekhorn("embed", "blocks", "--label", "digit", "--out", "Z.csv", code=2).stderr
    assert "part-11.parquet has no column 'p5'" in found
    (blocks.parent / "empty").mkdir()
    assert "is a folder without blocks" in snekhorn("embed", "empty", "--out", "Z.csv", code=2).stderr
