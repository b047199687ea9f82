"""Points and their metadata in two files."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy import io as scipy_io
from scipy import sparse

from snekhorn.io import InputError, read_table

X = np.random.default_rng(0).normal(size=(4, 3))
POINTS = "cell,a,b\nu,1,2\nv,3,5\nw,4,4\nx,9,1\n"


@pytest.fixture
def folder(tmp_path):
    np.save(tmp_path / "t.npy", X)
    (tmp_path / "t.csv").write_text(POINTS)
    return tmp_path


def _meta(folder, text):
    (folder / "meta.csv").write_text(text)
    return folder / "meta.csv"


def test_by_row(folder):
    meta = _meta(folder, "cell,kind\nu,K\nv,L\nw,K\nx,L\n")
    table = read_table(folder / "t.npy", metadata=meta, label="kind", id="cell")
    np.testing.assert_array_equal(table.X, X)
    assert table.metadata.to_pydict() == {"cell": ["u", "v", "w", "x"], "kind": ["K", "L", "K", "L"]}
    assert (table.id, table.label) == ("cell", "kind")
    assert any("matched by row" in note for note in table.notes)


def test_one_column_is_enough(folder):
    table = read_table(folder / "t.npy", metadata=_meta(folder, "kind\nK\nL\nK\nL\n"), label="kind")
    assert table.values("kind").tolist() == ["K", "L", "K", "L"]


def test_by_id(folder):
    meta = _meta(folder, "kind,cell\nL,x\nM,z\nK,w\nK,u\nL,v\n")
    table = read_table(folder / "t.csv", metadata=meta, label="kind", id="cell")
    assert table.metadata.to_pydict() == {"cell": ["u", "v", "w", "x"], "kind": ["K", "L", "K", "L"]}
    assert any("matched by 'cell'" in note for note in table.notes)
    assert any("1 of 5 rows of " in note for note in table.notes)


def test_ids_may_be_numbers_in_one_file_and_text_in_the_other(folder):
    (folder / "t.csv").write_text("id,a,b\n1,1,2\n2,3,5\n3,4,4\n")
    meta = _meta(folder, "id,kind\n3,L\n1,K\n2,K\nx,M\n")
    assert read_table(folder / "t.csv", metadata=meta).values("kind").tolist() == ["K", "K", "L"]


def test_names_of_cells_are_matched_whatever_the_column_is_called(folder):
    anndata = pytest.importorskip("anndata")
    cells = anndata.AnnData(X)
    cells.obs_names = ["u", "v", "w", "x"]
    cells.write_h5ad(folder / "t.h5ad")
    scipy_io.mmwrite(folder / "t.mtx", sparse.csr_matrix(X))
    (folder / "barcodes.tsv").write_text("u\nv\nw\nx\n")
    meta = _meta(folder, "name,kind\nx,4\nw,3\nv,2\nu,1\n")
    for file in ("t.h5ad", "t.mtx"):
        table = read_table(folder / file, metadata=meta, id="name")
        assert table.values("kind").tolist() == [1, 2, 3, 4]


def test_a_column_in_both_files_comes_from_the_metadata(folder):
    (folder / "t.csv").write_text("cell,a,b,kind\nu,1,2,K\nv,3,5,L\n")
    table = read_table(folder / "t.csv", metadata=_meta(folder, "cell,kind\nv,Q\nu,P\n"), id="cell", label="kind")
    assert table.values("kind").tolist() == ["P", "Q"]
    assert any("both files have 'kind'" in note for note in table.notes)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("kind\nK\nL\n", {}, r"t\.npy has 4 points, but .*meta\.csv has 2 rows; .*--id"),
        ("kind\nK\nL\nK\nL\n", {"label": "kid"}, "no column 'kid'"),
        ("kind\nK\nL\nK\nL\n", {"id": "cell"}, "no column 'cell'"),
        ("cell,kind\nu,K\nu,L\nw,K\nx,L\n", {"id": "cell"}, "has the id 'u' in lines 2 and 3"),
    ],
)
def test_rows_that_do_not_match(folder, text, options, message):
    with pytest.raises(InputError, match=message):
        read_table(folder / "t.npy", metadata=_meta(folder, text), **options)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cell,kind\nu,K\nv,L\nw,K\n", r"1 of 4 points of .* have no row in .* with the same 'cell': 'x'"),
        ("cell,kind\nu,K\nv,L\nw,K\nx,L\nu,K\n", "has the id 'u' more than once in column 'cell'"),
        ("name,kind\nu,K\nv,L\nw,K\nx,L\n", "has no column 'cell' to match the rows by"),
    ],
)
def test_ids_that_do_not_match(folder, text, message):
    with pytest.raises(InputError, match=message):
        read_table(folder / "t.csv", metadata=_meta(folder, text), id="cell")


def test_files_that_are_no_metadata(folder):
    with pytest.raises(InputError, match=r"--metadata must end in one of \.csv"):
        read_table(folder / "t.csv", metadata=folder / "t.npy")
    with pytest.raises(InputError, match=r"none.csv does not exist"):
        read_table(folder / "t.csv", metadata=folder / "none.csv")
    with pytest.raises(InputError, match="is a folder; pass a file to --metadata"):
        read_table(folder / "t.csv", metadata=folder)


def test_rows_are_matched_before_they_are_dropped(folder):
    (folder / "t.csv").write_text("a,b\n1,2\n,5\n4,4\n")
    meta = _meta(folder, "kind\nK\nL\nM\n")
    table = read_table(folder / "t.csv", metadata=meta, missing="drop", label="kind")
    assert table.values("kind").tolist() == ["K", "M"]


def test_ids_may_be_categories_in_both_files(folder):
    def write(name, ids, **columns):
        parquet.write_table(pa.table({"cell": pa.array(ids).dictionary_encode(), **columns}), folder / name)

    write("t.parquet", ["u", "v", "w"], a=[1.0, 2.0, 3.0], b=[2.0, 1.0, 4.0])
    write("meta.parquet", ["w", "u", "v", "x"], kind=["W", "U", "V", "X"])
    table = read_table(folder / "t.parquet", metadata=folder / "meta.parquet", id="cell")
    assert table.values("kind").tolist() == ["U", "V", "W"]
    write("t.parquet", ["u", "v", "u"], a=[1.0, 2.0, 3.0], b=[2.0, 1.0, 4.0])
    with pytest.raises(InputError, match=r"t\.parquet has the id 'u' in rows 1 and 3"):
        read_table(folder / "t.parquet", metadata=folder / "meta.parquet", id="cell")


def test_only_the_requested_id_must_be_unique(folder):
    meta = _meta(folder, "id,cell,kind\n1,u,K\n1,v,L\n2,w,K\n2,x,L\n")
    for file in ("t.csv", "t.npy"):
        table = read_table(folder / file, metadata=meta, id="cell")
        assert table.id == "cell"
        assert table.values("id").tolist() == [1, 1, 2, 2]
    table = read_table(folder / "t.npy", metadata=meta)
    assert table.id is None
    assert any(
        "meta.csv has the id 1 in lines 2 and 3 of column 'id', so the column is not" in note for note in table.notes
    )
    with pytest.raises(InputError, match=r"meta\.csv has the id 1 in lines 2 and 3 of column 'id'; .*another --id"):
        read_table(folder / "t.npy", metadata=meta, id="id")


def test_an_id_that_matches_rows_must_be_unique_even_if_it_was_not_requested(folder):
    (folder / "t.csv").write_text("id,a,b\nu,1,2\nu,3,4\n")
    with pytest.raises(InputError, match=r"t\.csv has the id 'u' in lines 2 and 3 of column 'id'; make the ids"):
        read_table(folder / "t.csv", metadata=_meta(folder, "id,kind\nu,K\nv,L\n"))


def test_metadata_with_the_name_of_a_feature(folder):
    meta = _meta(folder, "cell,a,metadata_a\nx,4,K\nw,3,L\nv,2,K\nu,1,L\n")
    table = read_table(folder / "t.csv", metadata=meta, id="cell")
    assert table.columns == ["a", "b"]
    assert table.metadata.column_names == ["cell", "metadata_metadata_a", "metadata_a"]
    assert table.values("metadata_metadata_a").tolist() == [1, 2, 3, 4]
    assert table.with_features(["a"])["a"].to_pylist() == [1, 3, 4, 9]
    assert any("'a' of " in note and "get the prefix 'metadata_'" in note for note in table.notes)


def test_a_label_with_the_name_of_a_feature(folder):
    meta = _meta(folder, "column_1\nK\nL\nK\nL\n")
    table = read_table(folder / "t.npy", metadata=meta, label="column_1")
    np.testing.assert_array_equal(table.X, X)
    assert table.values(table.label).tolist() == ["K", "L", "K", "L"]
