"""Points in one column of lists, or in one of several arrays."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet
from scipy import sparse

from snekhorn.geometry.point_blocks import PointBlocks
from snekhorn.io import InputError, read_table

X = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
COLUMNS = {
    "list": pa.array(list(X)),
    "large": pa.array(list(X), pa.large_list(pa.float32())),
    "fixed": pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), 3),
    "whole": pa.array(list(np.round(10 * X).astype(int))),
}


def _table(**columns):
    return pa.table({"title": [f"t{i}" for i in range(20)], "year": list(range(20)), **columns})


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
@pytest.mark.parametrize("kind", COLUMNS)
def test_lists(kind, suffix, tmp_path):
    path = tmp_path / f"t.{suffix}"
    if suffix == "parquet":
        parquet.write_table(_table(v=COLUMNS[kind]), path, row_group_size=7)
    else:
        feather.write_feather(_table(v=COLUMNS[kind]), path)
    table = read_table(path, vector="v")
    np.testing.assert_array_equal(table.X, np.round(10 * X) if kind == "whole" else X)
    assert table.columns == ["v_1", "v_2", "v_3"]
    assert table.metadata.column_names == ["title", "year"]


def test_a_folder_of_lists(tmp_path):
    for i in range(2):
        parquet.write_table(_table(v=COLUMNS["list"]).slice(10 * i, 10), tmp_path / f"part-{i}.parquet")
    table = read_table(tmp_path, vector="v")
    assert isinstance(table.X, PointBlocks)
    assert table.X.dtype == np.float32
    np.testing.assert_array_equal(table.X.to_array(), X)
    assert table.columns == ["v_1", "v_2", "v_3"]
    assert table.metadata.num_rows == 20


def test_missing_lists_and_numbers_are_missing_values(tmp_path):
    lists = [None if i == 4 else [1.0, None, 3.0] if i == 6 else x for i, x in enumerate(X.tolist())]
    for kind in (pa.list_(pa.float64()), pa.list_(pa.float64(), 3)):
        parquet.write_table(_table(v=pa.array(lists, kind)), tmp_path / "t.parquet")
        table = read_table(tmp_path / "t.parquet", vector="v", missing="drop")
        np.testing.assert_array_equal(table.X, np.delete(X, [4, 6], axis=0))
        assert table.metadata.num_rows == 18


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"v": pa.array([[1.0, 2.0]] * 19 + [[1.0]])}, {}, "row 20 of column 'v' has 1 numbers, but the first has 2"),
        ({"v": pa.array([[]] * 20, pa.list_(pa.float64()))}, {}, "the first list in column 'v' of .* is empty"),
        ({"v": pa.array([None] * 20, pa.list_(pa.float64()))}, {}, "20 rows without a list in 'v'"),
        ({"v": pa.array([["a"]] * 20)}, {}, "column 'v' of .* does not hold lists of numbers; no column does"),
        ({"v": COLUMNS["list"], "w": COLUMNS["list"]}, {"vector": "year"}, "the columns that do are 'v', 'w'"),
        ({"v": COLUMNS["list"]}, {"vector": "vv"}, r"no column 'vv'; did you mean 'v'\?"),
        ({"v": COLUMNS["list"]}, {"columns": ["year"]}, "omit --columns and --exclude"),
        ({"v": COLUMNS["list"]}, {"exclude": ["year"]}, "omit --columns and --exclude"),
        ({"v": COLUMNS["list"]}, {"label": "v"}, "column 'v' is the vector, but it is also the label or the id"),
    ],
)
def test_lists_that_are_no_points(columns, options, message, tmp_path):
    parquet.write_table(_table(**columns), tmp_path / "t.parquet")
    with pytest.raises(InputError, match=message):
        read_table(tmp_path / "t.parquet", **{"vector": "v", **options})


def test_lists_are_pointed_out(tmp_path):
    parquet.write_table(_table(v=COLUMNS["list"], age=pa.array(X[:, 0])), tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")
    assert table.columns == ["year", "age"]
    assert any("--vector v" in note for note in table.notes)
    parquet.write_table(_table(v=COLUMNS["list"]).drop(["year"]), tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"no numeric columns .* pass --vector v"):
        read_table(tmp_path / "t.parquet")


def test_text_files_have_no_lists(tmp_path):
    (tmp_path / "t.csv").write_text('a,v\n1,"[1, 2]"\n')
    with pytest.raises(InputError, match=r"--vector applies only to \.parquet.*save the lists in a Parquet file"):
        read_table(tmp_path / "t.csv", vector="v")


def test_one_of_several_arrays(tmp_path):
    arrays = {"train": X, "test": X[:5], "y_train": np.arange(20), "y_test": np.arange(5), "names": X[:, :1]}
    np.savez(tmp_path / "t.npz", **arrays)
    with pytest.raises(InputError, match=r"'train' \(20 x 3\), 'test' \(5 x 3\), .*; choose one with --vector"):
        read_table(tmp_path / "t.npz")
    table = read_table(tmp_path / "t.npz", vector="train", label="y_train")
    np.testing.assert_array_equal(table.X, X)
    assert table.metadata.column_names == ["y_train", "names"]
    assert any("ignored 'test', 'y_test'" in note for note in table.notes)
    with pytest.raises(InputError, match=r"no array 'trains'; did you mean 'train'\?"):
        read_table(tmp_path / "t.npz", vector="trains")
    with pytest.raises(InputError, match=r"'y_train' of .* is an array of int64 with shape \(20,\)"):
        read_table(tmp_path / "t.npz", vector="y_train")


def test_images_become_rows(tmp_path):
    images = np.random.default_rng(0).integers(0, 9, size=(6, 4, 5))
    np.savez(tmp_path / "t.npz", images=images, digit=np.arange(6))
    table = read_table(tmp_path / "t.npz", label="digit")
    np.testing.assert_array_equal(table.X, images.reshape(6, 20))
    assert any("4 x 5; it becomes 20 columns" in note for note in table.notes)


def test_a_sparse_matrix_has_no_arrays_to_choose_from(tmp_path):
    sparse.save_npz(tmp_path / "t.npz", sparse.csr_matrix(X))
    with pytest.raises(InputError, match=r"t\.npz is one sparse matrix, so --vector nosuch does not apply; omit"):
        read_table(tmp_path / "t.npz", vector="nosuch")
