"""Missing features are counted by column, and refused, dropped or left to be filled in."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy import sparse

from snekhorn.io import InputError, read_table

TEXT = "name,a,b,c\nu,1,2,3\nv,,2,4\nw,NA,5,\nx,4,5,6\n"


@pytest.fixture
def path(tmp_path):
    (tmp_path / "t.csv").write_text(TEXT)
    return tmp_path / "t.csv"


def test_they_are_counted(path):
    message = (
        r"3 missing values \(2 in 'a', 1 in 'c'\), the first in line 3; pass --missing drop to leave out 2 of 4 rows, "
        r"--missing median"
    )
    with pytest.raises(InputError, match=message):
        read_table(path)
    with pytest.raises(InputError, match="fill them in or drop the rows"):
        read_table(path, columns=["a", "c"], of_model=True)
    np.testing.assert_array_equal(read_table(path, columns=["b"]).X, [[2], [2], [5], [5]])


def test_rows_are_dropped(path):
    table = read_table(path, missing="drop", id="name")
    np.testing.assert_array_equal(table.X, [[1, 2, 3], [4, 5, 6]])
    assert table.metadata.to_pydict() == {"name": ["u", "x"]}
    assert table.missing.columns == {"a": 2, "c": 1}
    assert table.missing.n_rows == 2
    assert "2 of 4 rows left out: 3 missing values (2 in 'a', 1 in 'c')" in table.notes


def test_they_are_left_to_the_preprocessing(path):
    table = read_table(path, missing="median")
    np.testing.assert_array_equal(table.X, [[1, 2, 3], [np.nan, 2, 4], [np.nan, 5, np.nan], [4, 5, 6]])
    assert table.missing.rule == "median"
    assert any("3 missing values" in note and "filled in" in note for note in table.notes)


@pytest.mark.parametrize("missing", ["drop", "median"])
def test_complete_points_are_not_affected(tmp_path, missing):
    np.save(tmp_path / "t.npy", np.eye(5))
    table = read_table(tmp_path / "t.npy", missing=missing)
    assert table.missing is None
    assert table.X.shape == (5, 5)


def test_arrays_and_sparse_matrices(tmp_path):
    X = np.eye(6)
    X[2, 3] = X[4, 4] = np.nan
    np.save(tmp_path / "t.npy", X)
    sparse.save_npz(tmp_path / "s.npz", sparse.csr_matrix(X))
    for name in ("t.npy", "s.npz"):
        found = read_table(tmp_path / name, missing="drop").X
        found = found.toarray() if sparse.issparse(found) else found
        np.testing.assert_array_equal(found, np.eye(6)[[0, 1, 3, 5]])
        with pytest.raises(InputError, match=r"2 missing values \(1 in 'column_4', 1 in 'column_5'\)"):
            read_table(tmp_path / name)
    with pytest.raises(InputError, match="--missing median does not apply to sparse points"):
        read_table(tmp_path / "s.npz", missing="median")


@pytest.mark.parametrize("missing", ["error", "drop", "median"])
def test_infinite_values_are_not_missing(tmp_path, missing):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n,4\n3,-inf\n")
    with pytest.raises(InputError, match="line 4, column 'b' is infinite"):
        read_table(tmp_path / "t.csv", missing=missing)


def test_no_row_would_be_left(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,\n,2\n")
    with pytest.raises(InputError, match=r"every row of .* has missing values.*--missing median"):
        read_table(tmp_path / "t.csv", missing="drop")


def test_blocks_are_not_changed(tmp_path):
    parquet.write_table(pa.table({"a": [1.0, None], "b": [1.0, 2.0]}), tmp_path / "part-1.parquet")
    with pytest.raises(InputError, match=r"--missing drop does not apply to .*, because it is read by blocks"):
        read_table(tmp_path, missing="drop")


def test_many_columns_are_not_all_listed(tmp_path):
    X = np.full((3, 20), np.nan)
    X[0] = 1.0
    np.save(tmp_path / "t.npy", X)
    with pytest.raises(InputError, match=r"40 missing values \(2 in 'column_1', .* and 14 more columns\)"):
        read_table(tmp_path / "t.npy")
