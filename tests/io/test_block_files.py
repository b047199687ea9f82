"""Folders of points that are read by blocks, and what can be wrong with them."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from snekhorn.errors import InputError
from snekhorn.geometry import point_blocks
from snekhorn.geometry.point_blocks import PointBlocks
from snekhorn.io import block_files, h5ad_files, read_table

X = np.random.default_rng(0).normal(size=(90, 4)).astype(np.float32)
KIND = [f"k{i % 3}" for i in range(90)]
ROWS = {1: slice(0, 20), 2: slice(20, 60), 10: slice(60, 90)}  # part-10 comes last, not after part-1


def npy_folder(folder, points=X):
    for number, rows in ROWS.items():
        np.save(folder / f"part-{number}.npy", points[rows])


def parquet_folder(folder, points=X, **how):
    for number, rows in ROWS.items():
        columns = {name: points[rows, j] for j, name in enumerate("abcd")}
        parquet.write_table(pa.table({**columns, "kind": KIND[rows]}), folder / f"part-{number}.parquet", **how)


@pytest.fixture
def small_pieces(monkeypatch):
    """Divide files into pieces of seven rows of float64."""
    monkeypatch.setattr(point_blocks, "PIECE_BYTES", 7 * 4 * 8)


@pytest.mark.usefixtures("small_pieces")
def test_npy_blocks_in_the_order_of_their_numbers(tmp_path):
    npy_folder(tmp_path)
    (tmp_path / "README.txt").write_text("not a block")
    (tmp_path / "._part-3.npy").write_text("not a block")
    table = read_table(tmp_path)
    assert isinstance(table.X, PointBlocks)
    assert table.X.dtype == np.float32
    np.testing.assert_array_equal(table.X.to_array(), X)
    np.testing.assert_array_equal(table.X.read(15, 65), X[15:65])
    assert table.columns == ["column_1", "column_2", "column_3", "column_4"]
    assert table.metadata.num_rows == 90
    np.testing.assert_array_equal(read_table(tmp_path, columns=["column_3"]).X.to_array(), X[:, [2]])
    np.testing.assert_array_equal(table.with_features(["column_2"])["column_2"].to_numpy(), X[:, 1])


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("how", [{}, {"row_group_size": 9}], ids=["one group", "row groups"])
def test_parquet_blocks_keep_their_labels(how, tmp_path):
    parquet_folder(tmp_path, **how)
    table = read_table(tmp_path, label="kind")
    assert table.X.dtype == np.float32
    np.testing.assert_array_equal(table.X.to_array(), X)
    np.testing.assert_array_equal(table.X.read(70, 80), X[70:80])  # after rows that are not read
    np.testing.assert_array_equal(table.X.read(15, 65), X[15:65])
    assert table.columns == list("abcd")
    assert table.label == "kind"
    assert table.values("kind").tolist() == KIND
    some = read_table(tmp_path, columns=["d", "a"])
    np.testing.assert_array_equal(some.X.to_array(), X[:, [3, 0]])
    assert some.metadata.column_names == ["b", "c", "kind"]


def test_parquet_types(tmp_path):
    parquet_folder(tmp_path, X.astype(np.float64))
    assert read_table(tmp_path).X.dtype == np.float64


def test_a_large_npy_file_is_read_by_blocks(tmp_path, monkeypatch, small_pieces):
    np.save(tmp_path / "X.npy", X)
    assert isinstance(read_table(tmp_path / "X.npy").X, np.memmap)
    monkeypatch.setattr(block_files, "LARGE", X.size - 1)
    table = read_table(tmp_path / "X.npy", columns=["column_4", "column_1"])
    assert isinstance(table.X, PointBlocks)
    np.testing.assert_array_equal(table.X.to_array(), X[:, [3, 0]])


@pytest.mark.parametrize("kind", ["dense", "csr", "csc"])
def test_the_x_of_a_large_h5ad_file_is_read_by_blocks(kind, tmp_path, monkeypatch):
    anndata = pytest.importorskip("anndata")
    from scipy import sparse

    given = X if kind == "dense" else sparse.csr_matrix(X) if kind == "csr" else sparse.csc_matrix(X)
    anndata.AnnData(given).write_h5ad(tmp_path / "X.h5ad")
    monkeypatch.setattr(h5ad_files, "LARGE", X.size - 1)
    table = read_table(tmp_path / "X.h5ad", rep="X")
    assert isinstance(table.X, PointBlocks) == (kind != "csc")  # its rows cannot be read alone
    found = table.X.toarray() if kind == "csc" else table.X.to_array()
    np.testing.assert_array_equal(found, X)
    assert table.metadata.num_rows == 90


@pytest.mark.parametrize("within", [False, True])
def test_zarr(within, tmp_path):
    zarr = pytest.importorskip("zarr")
    folder = tmp_path / "X.zarr"
    if within:
        zarr.open_group(str(folder), mode="w").create_array("X", data=X, chunks=(17, 2))
    else:
        zarr.save(str(folder), X)
    table = read_table(folder)
    np.testing.assert_array_equal(table.X.to_array(), X)
    assert table.X.dtype == np.float32


def test_zarr_without_points(tmp_path):
    zarr = pytest.importorskip("zarr")
    zarr.open_group(str(tmp_path / "X.zarr"), mode="w").create_array("Y", data=X)
    with pytest.raises(InputError, match="without an array X"):
        read_table(tmp_path / "X.zarr")
    zarr.save(str(tmp_path / "y.zarr"), X[0])
    with pytest.raises(InputError, match="pass a 2-D array of numbers"):
        read_table(tmp_path / "y.zarr")


def _wider(folder):
    np.save(folder / "part-2.npy", np.ones((5, 5), np.float32))


def _another_type(folder):
    np.save(folder / "part-2.npy", np.ones((5, 4)))


def _one_dimension(folder):
    np.save(folder / "part-2.npy", np.ones(5, np.float32))


def _text(folder):
    (folder / "part-2.npy").write_text("1,2,3,4")


def _cut_short(folder):
    file = folder / "part-2.npy"
    file.write_bytes(file.read_bytes()[:-3])


def _cut_in_the_header(folder):
    file = folder / "part-2.npy"
    file.write_bytes(file.read_bytes()[:40])


def _too_long(folder):
    file = folder / "part-2.npy"
    file.write_bytes(file.read_bytes() + b"abc")


def _pickle(folder):
    np.save(folder / "part-2.npy", np.array([{}]), allow_pickle=True)


def _two_kinds(folder):
    (folder / "part-2.parquet").write_text("")


NPY_FAULTS = {
    _wider: r"part-2\.npy has 5 columns, but part-1\.npy has 4",
    _another_type: r"part-2\.npy has numbers of type float64, but part-1\.npy has float32",
    _one_dimension: r"part-2\.npy has float32 of shape \(5,\); every block must be a 2-D array",
    _text: r"part-2\.npy cannot be read as NPY",
    _cut_short: r"part-2\.npy is truncated; write it again\.",
    _cut_in_the_header: r"part-2\.npy is truncated; write it again\.",
    _too_long: r"part-2\.npy cannot be read as NPY.*640 bytes of data, but has 643",
    _pickle: r"part-2\.npy cannot be read as NPY",
    _two_kinds: r"blocks of two kinds, part-1\.npy and part-2\.parquet",
}


@pytest.mark.parametrize("fault", NPY_FAULTS, ids=lambda fault: fault.__name__)
def test_a_faulty_npy_block_is_named_before_points_are_read(fault, tmp_path):
    npy_folder(tmp_path)
    fault(tmp_path)
    with pytest.raises(InputError, match=NPY_FAULTS[fault]):
        read_table(tmp_path)


def _replaced(folder, **columns):
    names = {"a": [1.0], "b": [1.0], "c": [1.0], "d": [1.0]}
    single = {name: pa.array(values, pa.float32()) for name, values in names.items()}
    table = pa.table(
        {name: value for name, value in ({**single, "kind": ["x"]} | columns).items() if value is not None}
    )
    parquet.write_table(table, folder / "part-2.parquet")


PARQUET_FAULTS = {
    "missing": ({"c": None}, r"part-2\.parquet has no column 'c', but part-1\.parquet has"),
    "more": ({"e": [1.0]}, r"part-2\.parquet has a column 'e', but part-1\.parquet has not"),
    "type": (
        {"b": [1.0]},
        r"column 'b' of .*part-2\.parquet has the type double, but that of part-1\.parquet has float",
    ),
    "label": ({"kind": [3]}, r"column 'kind' of .*part-2\.parquet has the type int64"),
}


@pytest.mark.parametrize("fault", PARQUET_FAULTS)
def test_a_faulty_parquet_block_is_named_before_points_are_read(fault, tmp_path):
    parquet_folder(tmp_path)
    columns, message = PARQUET_FAULTS[fault]
    _replaced(tmp_path, **columns)
    with pytest.raises(InputError, match=message):
        read_table(tmp_path)


def test_a_damaged_parquet_block_is_named(tmp_path):
    parquet_folder(tmp_path, write_page_checksum=True, compression="none", use_dictionary=False)
    file = tmp_path / "part-2.parquet"
    content = bytearray(file.read_bytes())
    at = content.index(X[30, 0].tobytes())
    content[at] ^= 1
    file.write_bytes(content)
    blocks = read_table(tmp_path).X
    with pytest.raises(InputError, match=r"part-2\.parquet cannot be read as Parquet"):
        blocks.to_array()
    file.write_bytes(content[:-30])
    with pytest.raises(InputError, match=r"part-2\.parquet cannot be read as Parquet"):
        read_table(tmp_path)


@pytest.mark.parametrize("write", [npy_folder, parquet_folder])
def test_nan_in_a_far_block_is_named_by_file_and_row(write, tmp_path):
    points = X.copy()
    points[83, 2] = np.nan
    write(tmp_path, points)
    blocks = read_table(tmp_path).X
    with pytest.raises(InputError, match=r"part-10\.\w+: the value in row 24, column '(column_3|c)' is nan"):
        blocks.to_array()


def test_a_missing_value_in_a_parquet_block(tmp_path):
    parquet_folder(tmp_path)
    _replaced(tmp_path, b=pa.array([None], pa.float32()))
    with pytest.raises(InputError, match=r"part-2\.parquet: the value in row 1, column 'b' is nan"):
        read_table(tmp_path).X.to_array()


def test_folders_without_blocks(tmp_path):
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(InputError, match="is a folder without blocks"):
        read_table(tmp_path)
    parquet.write_table(pa.table({"a": pa.array([], pa.float32())}), tmp_path / "empty.parquet")
    with pytest.raises(InputError, match="has 0 rows"):
        read_table(tmp_path)


def test_a_label_that_blocks_do_not_have(tmp_path):
    npy_folder(tmp_path)
    with pytest.raises(InputError, match="no named columns, so none is 'kind'"):
        read_table(tmp_path, label="kind")
