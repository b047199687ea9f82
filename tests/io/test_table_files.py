"""Every supported file format gives the same table."""

import gzip
from io import BytesIO

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv as arrow_csv
from pyarrow import feather, ipc, parquet
from scipy import io as scipy_io
from scipy import sparse

from snekhorn.colors import PALETTE, palette_of
from snekhorn.io import InputError, read_table
from snekhorn.io.csv_files import BLOCK_BYTES
from snekhorn.io.table import column_values

from ..helpers import dense

X = np.random.default_rng(0).normal(size=(40, 3))
NAMES = ["a", "b", "c"]
KIND = ["u", "v"] * 20


def _table():
    return pa.table({"a": X[:, 0], "kind": KIND, "b": X[:, 1], "c": X[:, 2]})


def _write_csv(path):
    arrow_csv.write_csv(_table(), path)


def _write_gz(path):
    _write_csv(path.with_suffix(""))
    path.write_bytes(gzip.compress(path.with_suffix("").read_bytes()))


def _write_tsv(path):
    arrow_csv.write_csv(_table(), path, arrow_csv.WriteOptions(delimiter="\t"))


def _write_stream(path):
    with ipc.new_stream(str(path), _table().schema) as sink:
        sink.write_table(_table())


WRITERS = {
    "t.csv": _write_csv,
    "t.csv.gz": _write_gz,
    "t.tsv": _write_tsv,
    "t.parquet": lambda path: parquet.write_table(_table(), path, row_group_size=7),
    "t.arrow": _write_stream,
    "t.feather": lambda path: feather.write_feather(_table(), path),
}


@pytest.mark.parametrize("name", WRITERS)
def test_tables(name, tmp_path):
    WRITERS[name](tmp_path / name)
    table = read_table(tmp_path / name)
    np.testing.assert_array_equal(table.X, X)
    assert table.columns == NAMES
    assert table.metadata.to_pydict() == {"kind": KIND}
    assert table.id is None


@pytest.mark.parametrize("name", WRITERS)
def test_columns_keep_the_requested_order(name, tmp_path):
    WRITERS[name](tmp_path / name)
    table = read_table(tmp_path / name, columns=["c", "a"], label="kind")
    np.testing.assert_array_equal(table.X, X[:, [2, 0]])
    assert set(table.metadata.column_names) == {"kind", "b"}
    np.testing.assert_array_equal(table.values("kind"), KIND)
    np.testing.assert_array_equal(np.asarray(table.values("b"), dtype=float), X[:, 1])


def test_npy_is_memory_mapped(tmp_path):
    np.save(tmp_path / "t.npy", X.astype(np.float32))
    table = read_table(tmp_path / "t.npy")
    assert isinstance(table.X, np.memmap)
    assert table.X.dtype == np.float32
    assert table.columns == ["column_1", "column_2", "column_3"]
    assert table.metadata.num_rows == 40


def test_npz_with_labels(tmp_path):
    np.savez(tmp_path / "t.npz", X=X, y=np.arange(40) % 2, other=np.zeros(3))
    table = read_table(tmp_path / "t.npz", label="y")
    np.testing.assert_array_equal(table.X, X)
    assert table.metadata.column_names == ["y"]


def test_sparse_npz(tmp_path):
    S = sparse.random(30, 8, 0.3, format="csr", random_state=0)
    sparse.save_npz(tmp_path / "t.npz", S)
    assert (read_table(tmp_path / "t.npz").X != S).nnz == 0


@pytest.mark.parametrize("transposed", [False, True])
def test_matrix_market_beside_barcodes(tmp_path, transposed):
    S = sparse.random(30, 8, 0.3, format="csr", random_state=0)
    scipy_io.mmwrite(tmp_path / "matrix.mtx", S.T if transposed else S)
    (tmp_path / "barcodes.tsv").write_text("".join(f"cell{i}\n" for i in range(30)))
    table = read_table(tmp_path / "matrix.mtx")
    np.testing.assert_allclose(table.X.toarray(), S.toarray())
    assert table.id == "barcode"
    assert table.values("barcode")[3] == "cell3"


def test_matrix_market_alone(tmp_path):
    S = sparse.random(30, 8, 0.3, format="csr", random_state=0)
    scipy_io.mmwrite(tmp_path / "t.mtx", S)
    np.testing.assert_allclose(read_table(tmp_path / "t.mtx").X.toarray(), S.toarray())


@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric"])
@pytest.mark.parametrize("form", [np.asarray, sparse.coo_matrix])
@pytest.mark.parametrize("suffix", ["mtx", "mtx.gz"])
def test_matrix_market_of_short_numbers(symmetry, form, suffix, tmp_path):
    """Such a file has two bytes per entry, and half of the entries if it is symmetric."""
    Y = np.tril(np.random.default_rng(0).integers(0, 10, (100, 100)), -1)
    Y = Y + (Y.T if symmetry == "symmetric" else -Y.T if symmetry == "skew-symmetric" else 1)
    stream = BytesIO()
    scipy_io.mmwrite(stream, form(Y), symmetry=symmetry)
    content = stream.getvalue()
    (tmp_path / f"t.{suffix}").write_bytes(gzip.compress(content) if suffix == "mtx.gz" else content)
    found = read_table(tmp_path / f"t.{suffix}").X
    np.testing.assert_array_equal(dense(found), Y)


def test_semicolons_and_a_byte_order_mark(tmp_path):
    (tmp_path / "t.csv").write_text("\ufeffa;b\n1;2\n3;4.5\n", encoding="utf-8")
    table = read_table(tmp_path / "t.csv")
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4.5]])
    assert table.columns == ["a", "b"]


def test_no_header(tmp_path):
    (tmp_path / "t.csv").write_text("1,2\n3,4\n5,6\n")
    table = read_table(tmp_path / "t.csv")
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4], [5, 6]])
    assert any("not a header" in note for note in table.notes)


@pytest.mark.parametrize(
    ("first", "header"),
    [
        ("14.2,1000,red", False),
        ("length,width,colour", True),
        ("2001,2002,country", True),  # whole numbers may be names
        ("0.5,0.9,colour", False),
        ("q0.5,q0.9,colour", True),
    ],
)
def test_a_first_line_with_text_may_be_a_point(first, header, tmp_path):
    (tmp_path / "t.csv").write_text(f"{first}\n13.2,1050,red\n12.1,900,white\n")
    assert len(read_table(tmp_path / "t.csv").X) == 2 + (not header)


def test_an_index_without_a_name_names_the_rows(tmp_path):
    (tmp_path / "t.csv").write_text(",a,b\n0,1,2\n1,3,4\n")
    table = read_table(tmp_path / "t.csv")
    assert table.columns == ["a", "b"]
    assert table.id == "index"


def test_a_separator_at_the_end_of_every_line(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,k,\n1,2,u,\n3,4,v,\n")
    table = read_table(tmp_path / "t.csv")
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4]])
    assert table.metadata.to_pydict() == {"k": ["u", "v"]}
    assert table.id is None


def test_types_may_change_after_the_first_block(tmp_path):
    n = BLOCK_BYTES // 4
    rows = [f"{i},{i}" for i in range(n)]
    (tmp_path / "t.csv").write_text("a,b\n" + "\n".join(rows) + "\n0.5,1e3\n")
    table = read_table(tmp_path / "t.csv")
    assert table.X.shape == (n + 1, 2)
    np.testing.assert_array_equal(table.X[-1], [0.5, 1000.0])
    np.testing.assert_array_equal(table.X[:-1, 0], np.arange(n))


def test_labels_keep_their_text(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,zip,digit,flag\n1,2,007,3,true\n3,4,010,4,false\n")
    table = read_table(tmp_path / "t.csv", label="digit", id="zip")
    assert table.metadata.to_pydict() == {"zip": ["007", "010"], "digit": [3, 4], "flag": ["true", "false"]}
    assert table.columns == ["a", "b"]


def test_ids_that_are_whole_numbers_stay_numbers(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,bottle\n1,2,1000\n3,4,1001\n")
    assert read_table(tmp_path / "t.csv", id="bottle").metadata.to_pydict() == {"bottle": [1000, 1001]}


def test_text_stays_text_if_numbers_would_lose_something(tmp_path):
    rows = ["1,2,12345678901234567890,1E2,1.10,0.5,1e-05", "3,4,12345678901234567891,1E3,1.1,2,3"]
    (tmp_path / "t.csv").write_text("a,b,id,well,version,share,p\n" + "\n".join(rows) + "\n")
    found = read_table(tmp_path / "t.csv", columns=["a", "b"]).metadata.to_pydict()
    assert found["id"] == ["12345678901234567890", "12345678901234567891"]
    assert found["well"] == ["1E2", "1E3"]
    assert found["version"] == ["1.10", "1.1"]
    assert found["share"] == [0.5, 2.0]
    assert found["p"] == [1e-05, 3.0]


def test_text_of_a_typed_file_stays_text(tmp_path):
    parquet.write_table(pa.table({"a": [1.0, 2.0], "b": [3.0, 4.0], "code": ["1", "2"]}), tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").metadata.to_pydict() == {"code": ["1", "2"]}


def test_columns_that_pandas_numbered(tmp_path):
    (tmp_path / "t.csv").write_text("0,1,2\n5,6,7\n7,8,9\n")
    table = read_table(tmp_path / "t.csv")
    np.testing.assert_array_equal(table.X, [[5, 6, 7], [7, 8, 9]])
    assert table.columns == ["0", "1", "2"]


def test_blank_lines_above_the_header(tmp_path):
    (tmp_path / "t.csv").write_text("\n\na,b\n1,2\n3,4\n")
    table = read_table(tmp_path / "t.csv")
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4]])
    assert table.columns == ["a", "b"]


@pytest.mark.slow
def test_rows_longer_than_a_block(tmp_path):
    p = BLOCK_BYTES // 16
    row = ",".join(["0.12345678901234567"] * p)
    (tmp_path / "t.csv").write_text(",".join(f"c{j}" for j in range(p)) + f"\n{row}\n{row}\n")
    assert read_table(tmp_path / "t.csv").X.shape == (2, p)


def test_a_numeric_column_called_label_is_used_and_noted(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,label\n1,2,0\n3,4,1\n")
    table = read_table(tmp_path / "t.csv")
    assert "label" in table.columns
    assert any("--label label" in note for note in table.notes)


def test_columns_of_lists_are_ignored_and_noted(tmp_path):
    parquet.write_table(pa.table({"a": [1.0, 2.0], "b": [1.0, 3.0], "c": [[1], [2]]}), tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")
    assert table.columns == ["a", "b"]
    assert table.metadata.num_columns == 0
    assert any("'c'" in note for note in table.notes)


def test_unknown_suffix(tmp_path):
    (tmp_path / "t.xls").write_text("a,b")
    with pytest.raises(InputError, match=r"t\.xls must end in one of \.csv"):
        read_table(tmp_path / "t.xls")


def test_the_data_are_in_memory_only_once(tmp_path):
    import subprocess
    import sys

    n, p = 200_000, 40
    table = pa.table({f"c{j}": np.random.default_rng(j).normal(size=n).astype(np.float32) for j in range(p)})
    arrow_csv.write_csv(table, tmp_path / "t.csv")
    code = (
        "import resource, sys; from snekhorn.io import read_table;"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss;"
        "X = read_table(sys.argv[1]).X;"
        "print(1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / X.nbytes)"
    )
    found = subprocess.run([sys.executable, "-c", code, str(tmp_path / "t.csv")], capture_output=True, check=True)
    assert float(found.stdout) < 1.9  # the numbers, and about forty blocks of text


@pytest.mark.parametrize(
    ("name", "values", "noted"),
    [
        ("n", np.arange(7, 47), True),
        ("patient_id", np.arange(40) ** 2, True),
        ("patient_id", np.arange(40) // 2, False),
        ("age", np.arange(40) ** 2, False),
        ("n", np.arange(40) / 2, False),
    ],
)
def test_numbers_that_may_name_the_rows(name, values, noted, tmp_path):
    path = tmp_path / "t.csv"
    arrow_csv.write_csv(pa.table({"a": X[:, 0], name: values, "b": X[:, 1]}), path)
    assert any(f"--id {name}" in note for note in read_table(path).notes) is noted
    assert not read_table(path, columns=[name, "a"]).notes
    assert read_table(path).columns == ["a", name, "b"]


@pytest.mark.parametrize("encoded", [False, True])
def test_text_of_many_rows_is_shared(encoded):
    """Equal values are one object, and missing ones are None."""
    parts = [["a", None, "b"], [], ["b", "a", None]]
    chunks = [pa.array(part, pa.string()) for part in parts]
    column = pa.chunked_array([chunk.dictionary_encode() for chunk in chunks] if encoded else chunks)
    found = column_values(pa.table({"kind": column}), "kind")
    assert found.tolist() == [value for part in parts for value in part]
    assert found[0] is found[4]


@pytest.mark.parametrize("name", ["G.CSV.GZ", "g.Csv.Gz", "G.TSV", "G.TSV.GZ", "g.tsv.GZ"])
def test_suffixes_in_upper_case(name, tmp_path):
    separator = "\t" if "tsv" in name.lower() else ","
    text = separator.join(("a,1", "b")) if separator == "\t" else "a,b"  # a comma in a name does not separate
    rows = "\n".join(separator.join(map(repr, row)) for row in X[:, :2].tolist())
    content = f"{text}\n{rows}\n".encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.lower().endswith("gz") else content)
    table = read_table(tmp_path / name)
    assert len(table.columns) == 2
    np.testing.assert_array_equal(table.X, X[:, :2])


@pytest.mark.parametrize("stored", [b"viridis", b"[1]", b'{"u": 1}', b'{"u": "no colour"}', b"\xff", b"[" * 100_000])
def test_what_is_no_palette_is_ignored(stored, tmp_path):
    for key in (b"palette", PALETTE):
        field = pa.field("kind", pa.string(), metadata={key: stored})
        schema = pa.schema([("a", pa.float64()), ("b", pa.float64()), field])
        parquet.write_table(pa.table([X[:, 0], X[:, 1], KIND], schema=schema), tmp_path / "t.parquet")
        metadata = read_table(tmp_path / "t.parquet").metadata
        assert key in metadata.schema.field("kind").metadata
        assert palette_of(metadata, "kind") is None


@pytest.mark.parametrize("separator", [",", ";", "|", "\t"])
@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_the_separator_does_not_depend_on_the_suffix(tmp_path, separator, suffix):
    rows = [["#a", "b", "kind"], ["1", "2", "u"], ["3", "4.5", "v"]]
    (tmp_path / f"t.{suffix}").write_text("".join(separator.join(row) + "\n" for row in rows))
    table = read_table(tmp_path / f"t.{suffix}")
    assert table.columns == ["#a", "b"]
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4.5]])


def test_commas_in_the_text_of_tsv_files_do_not_separate(tmp_path):
    (tmp_path / "t.tsv").write_text("a\tb\tsize, in cm, of X\n1\t2\tu, v, w\n3\t4\tx\n")
    assert read_table(tmp_path / "t.tsv").metadata.column_names == ["size, in cm, of X"]
