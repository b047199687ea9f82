"""Errors about bad files are one line and name the file, the place and the remedy."""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from snekhorn.io import InputError, h5_scan, read_table, table_files
from snekhorn.io.h5_scan import check_h5

GOOD = "a,b,kind\n1,2,u\n3,4,v\n"

TEXTS = {
    "empty": ("", {}, r"is empty"),
    "blank": ("\n\n", {}, r"is empty"),
    "header only": ("a,b\n", {}, r"0 rows"),
    "one column": ("a\n1\n2\n", {}, r"only one column, 'a'"),
    "text only": ("a,b\nx,y\nz,w\n", {}, r"no numeric columns.*'a', 'b'"),
    "an empty value": ("a,b\n1,2\n3,\n5,6\n", {}, r"the value in line 3, column 'b' is empty"),
    "nan": ("a,b\n1,2\nnan,4\n", {}, r"line 3, column 'a' is empty or not a number"),
    "infinite": ("a,b\n1,2\n3,4\n5,inf\n", {}, r"line 4, column 'b' is infinite"),
    "duplicate ids": (
        "name,a,b\nu,1,2\nv,3,4\nu,5,6\n",
        {"id": "name"},
        r"the id 'u' in lines 2 and 4 of column",
    ),
    "no id": ("name,a,b\nu,1,2\n,3,4\n", {"id": "name"}, r"has no id in line 3 of column 'name'"),
    "wrong column": (GOOD, {"columns": ["a", "bb"]}, r"no column 'bb'; did you mean 'b'\?"),
    "wrong label": (GOOD, {"label": "kin"}, r"no column 'kin'; did you mean 'kind'\?"),
    "text among columns": (GOOD, {"columns": ["a", "kind"]}, r"'kind' .* does not contain numbers"),
    "label among columns": (
        GOOD,
        {"columns": ["a", "b"], "label": "b"},
        r"'b' is in --columns, but it is also the label",
    ),
    "two names": ("a,a\n1,2\n3,4\n", {}, r"more than one column called 'a'; rename the duplicates"),
    "text among numbers": (
        "a,b\n" + "1,2\n" * 20 + "1,?\n",
        {},
        r"line 22, column 'b' is '\?', which is not a number",
    ),
    "two decimal marks": (
        "a;b;c\n1,5;2,5;1.5\n3,5;4,5;2.5\n",
        {},
        r"decimal points in column 'c', such as 1.5; use the same decimal mark in all columns.*--exclude",
    ),
    "mostly decimal points": ("a;b;c\n1.5;2.5;1,5\n3.5;4.5;2,5\n", {}, r"decimal commas in column 'c', such as 1,5"),
    "ragged": ("a,b\n1,2\n3,4,5\n", {}, r"line 3 has 3 values, but the first line has 2"),
    "thousands and decimal commas": (
        "a;b\n1.000,5;2\n3.000,5;4\n",
        {},
        r"thousands separators in column 'a', such as 1.000,5; remove them, or .*--exclude",
    ),
    "thousands": ('a,b,c\n"1,000",2,3\n"3,000,000",4,4\n', {}, r"thousands separators in column 'a', such as 1,000"),
    "thousands everywhere": ('a,b\n"1,000","2,500"\n"3,000","4,000"\n', {}, r"thousands separators in column 'a'"),
    "spaces": ("a,b,c\n1 000,2,3\n3 000,4,4\n", {}, r"thousands separators in column 'a', such as 1 000"),
    "a text among decimal commas": ("a;b\n" + "1,5;2,5\n" * 20 + "1,5;?\n", {}, r"line 22, column 'b' is '\?'"),
    "ragged below blank lines": ("a,b\n1,2\n\n\n3,4,5\n", {}, r"line 5 has 3 values"),
    "an empty value below blank lines and a value of two lines": (
        '\n\nname,a,b\n\n"u\nv",1,2\nw,3,4\n\nx,5,\n',
        {},
        r"line 9, column 'b' is empty",
    ),
    "an empty value without a header": ("1.5,2\n3,\n5,6\n", {}, r"line 2, column 'column_2' is empty"),
    "an open quote": (
        'name,a,b\nu,1,2\n"v,3,4\nw,5,6\n',
        {},
        r"line 3 has 1 value, but the first line has 3; fix the line, which may have an opening double quote without",
    ),
    "an open quote in the last line": ('name,a,b\nu,1,2\n"v,3,4', {}, r"line 3 has 1 value.*may have an opening"),
    "an open quote in a long file": (
        'name,a,b\nu,1,2\n"v,3,4\n' + "w,5,6\n" * 30_000,
        {},
        r"line 3 cannot be read \(field larger .*may have an opening double quote without a closing one",
    ),
    "a comment": ("# made by X\na,b\n1,2\n", {}, r"comment, '# made by X', but the first line must hold the column"),
    "comments with commas": ("# X, 2024\n# Y\na,b,c\n1,2,3\n", {}, r"starts with a comment, '# X, 2024'"),
    "a title": ("Flowers\na,b\n1,2\n", {}, r"only one column, 'Flowers'.* also in the first line, which must hold the"),
    "one column of numbers": ("a,kind\n1,u\n2,v\n", {}, r"only one numeric column, 'a'.*--columns"),
}


@pytest.mark.parametrize("case", TEXTS)
def test_text(case, tmp_path):
    text, options, message = TEXTS[case]
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as error:
        read_table(path, **options)
    assert "t.csv" in str(error.value) or "column" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("third", "problem"), [("u", "has the id 'u' in lines 2 and 4"), ("", "has no id in line 4")])
def test_a_bad_id_that_was_not_requested_is_not_used(tmp_path, third, problem):
    (tmp_path / "t.csv").write_text(f"id,a,b\nu,1,2\nv,3,4\n{third},5,6\n")
    table = read_table(tmp_path / "t.csv")
    assert table.id is None
    assert table.columns == ["a", "b"]
    assert table.metadata.column_names == ["id"]
    (note,) = table.notes
    assert f"{problem} of column 'id', so the column is not used as the row names; rows are numbered" in note
    with pytest.raises(InputError, match=f"{problem} of column 'id'; make the ids complete and unique, or choose"):
        read_table(tmp_path / "t.csv", id="id")


def test_text_among_numbers_far_down(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "1,2\n" * 400_000 + "1,oops\n")
    with pytest.raises(InputError, match=r"line 400002, column 'b' is 'oops', which is not a number"):
        read_table(path)


def test_missing(tmp_path):
    with pytest.raises(InputError, match=r"nothing\.csv does not exist"):
        read_table(tmp_path / "nothing.csv")


def test_a_folder(tmp_path):
    (tmp_path / "t.csv").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        read_table(tmp_path / "t.csv")


def test_parquet_with_the_suffix_of_csv(tmp_path):
    parquet.write_table(pa.table({"a": [1.0]}), tmp_path / "t.csv")
    with pytest.raises(InputError, match="contains Parquet data, not text as its suffix suggests; rename it"):
        read_table(tmp_path / "t.csv")


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".npy", ".npz", ".mtx", ".h5ad"])
def test_text_with_another_suffix(suffix, tmp_path):
    path = tmp_path / f"t{suffix}"
    path.write_text(GOOD)
    with pytest.raises(InputError, match=r"cannot be read as .*, the format that its suffix suggests"):
        read_table(path)


@pytest.mark.parametrize(("actual", "called"), [("npy", "npz"), ("npz", "npy"), ("parquet", "arrow"), ("npy", "h5ad")])
def test_one_format_with_the_suffix_of_another(actual, called, tmp_path):
    path = tmp_path / f"t.{called}"
    with open(path, "wb") as file:
        if actual == "parquet":
            parquet.write_table(pa.table({"a": [1.0]}), file)
        else:
            {"npy": np.save, "npz": np.savez}[actual](file, np.zeros((3, 2)))
    with pytest.raises(
        InputError,
        match=r"t\.\w+ (cannot be read as|is an NP[YZ] file, not an NP[YZ] file as its suffix suggests; "
        r"rename it to end in \.np[yz])",
    ):
        read_table(path)


def test_damaged_archives(tmp_path):
    np.savez_compressed(tmp_path / "good.npz", X=np.random.default_rng(0).normal(size=(300, 20)))
    content = bytearray((tmp_path / "good.npz").read_bytes())
    content[500:900] = b"?" * 400
    (tmp_path / "t.npz").write_bytes(content)
    with pytest.raises(InputError, match="cannot be read as NPZ"):
        read_table(tmp_path / "t.npz")
    whole = gzip.compress(b"a,b\n" + b"1,2\n" * 100_000)
    for damaged in (whole[:-200], whole[:40] + b"?" * 50 + whole[90:], b"?" * 99):
        (tmp_path / "t.csv.gz").write_bytes(damaged)
        with pytest.raises(InputError, match=r"t\.csv\.gz cannot be read"):
            read_table(tmp_path / "t.csv.gz")


def test_latin_1_far_down(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"a,b,name\n" + b"1,2,x\n" * 400_000 + "1,2,größe\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"t\.csv cannot be read.*line 400002: byte 0xf6 is not UTF-8"):
        read_table(tmp_path / "t.csv")


def test_latin_1(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("größe,b,name\n1,2,x\n3,4,y\n".encode("latin-1"))
    with pytest.raises(InputError, match="UTF-8"):
        read_table(path)


def test_latin_1_in_the_middle(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("a,b,name\n1,2,x\n3,4,größe\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"line 3: byte 0xf6 is not UTF-8"):
        read_table(path)


def test_ragged_far_down(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n" + "1,2\n" * 400_000 + "1\n")
    with pytest.raises(InputError, match=r"line 400002 has 1 value, but the first line has 2"):
        read_table(tmp_path / "t.csv")


def test_quoted_commas_are_text_if_commas_separate_columns(tmp_path):
    (tmp_path / "t.csv").write_text('a,b,place\n1,2,"3,4"\n3,4,"5,6"\n')
    assert read_table(tmp_path / "t.csv").metadata.column_names == ["place"]


def test_a_column_with_few_decimal_commas_is_text(tmp_path):
    (tmp_path / "t.csv").write_text("a;b;place\n1;2;3,4\n3;4;here\n5;6;there\n")
    assert read_table(tmp_path / "t.csv").metadata.column_names == ["place"]
    (tmp_path / "t.csv").write_text("id;a;b\n1,2;3;4\n1,3;5;6\n")
    assert read_table(tmp_path / "t.csv").id == "id"


def test_one_column_of_numbers_can_be_requested(tmp_path):
    (tmp_path / "t.csv").write_text("a,kind\n1,u\n2,v\n")
    assert read_table(tmp_path / "t.csv", columns=["a"]).X.shape == (2, 1)


def test_parquet_with_nan(tmp_path):
    parquet.write_table(pa.table({"a": [1.0, None], "b": [1.0, 2.0]}), tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"row 2, column 'a' is empty or not a number"):
        read_table(tmp_path / "t.parquet")


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(3), r"shape \(3,\)"),
        (np.array([["a", "b"]]), "array of <U1"),
        (np.zeros((0, 3)), "0 rows"),
        (np.array([[1.0, np.nan]]), r"row 1, column 'column_2' is empty or not a number"),
    ],
)
def test_arrays(array, message, tmp_path):
    np.save(tmp_path / "t.npy", array)
    with pytest.raises(InputError, match=message):
        read_table(tmp_path / "t.npy")


def test_npz_with_two_tables(tmp_path):
    np.savez(tmp_path / "t.npz", a=np.zeros((3, 2)), b=np.zeros((3, 2)))
    with pytest.raises(
        InputError, match=r"2 arrays that could be the points: 'a' \(3 x 2\), 'b' \(3 x 2\); .*--vector a"
    ):
        read_table(tmp_path / "t.npz")


def test_pickles_are_not_opened(tmp_path):
    np.save(tmp_path / "t.npy", np.array([[{}, 1]], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="cannot be read as NPY"):
        read_table(tmp_path / "t.npy")


def test_rep_is_for_anndata(tmp_path):
    (tmp_path / "t.csv").write_text(GOOD)
    with pytest.raises(InputError, match="--rep applies only to H5AD"):
        read_table(tmp_path / "t.csv", rep="X")


@pytest.fixture
def cells(tmp_path):
    """An H5AD file whose entries of obsm are no matrices of numbers, and one like it without X."""
    anndata = pytest.importorskip("anndata")
    names = [f"c{i}" for i in range(6)]
    for file, X in (("t.h5ad", np.ones((6, 2))), ("without.h5ad", None)):
        written = anndata.AnnData(X, obs=pd.DataFrame(index=names))
        written.obsm["words"] = pd.DataFrame({"a": list("uvwuvw"), "b": np.arange(6.0)}, index=names)
        written.obsm["flags"] = pd.DataFrame({"a": [True, False] * 3, "b": np.arange(6)}, index=names)
        written.obsm["cube"] = np.zeros((6, 2, 2))
        written.obsm["complex"] = np.zeros((6, 2), dtype=complex)
        written.write_h5ad(tmp_path / file)
    return tmp_path


@pytest.mark.parametrize(
    ("file", "rep", "message"),
    [
        ("t.h5ad", "words", r"obsm\['words'\] of .*t.h5ad does not contain only numbers .*'u'\); choose .* with --rep"),
        ("t.h5ad", "cube", r"obsm\['cube'\] of .* is an array of float64 with shape \(6, 2, 2\); choose a 2-D array"),
        ("t.h5ad", "complex", r"obsm\['complex'\] of .* is an array of complex128"),
        ("without.h5ad", "X", r"without.h5ad has no X; choose an entry of obsm with --rep \(available: .*'flags'"),
        ("without.h5ad", None, r"without.h5ad has no X"),
    ],
)
def test_anndata_without_numbers(cells, file, rep, message):
    with pytest.raises(InputError, match=message):
        read_table(cells / file, rep=rep)


def test_an_anndata_frame_of_flags_and_numbers(cells):
    np.testing.assert_array_equal(read_table(cells / "without.h5ad", rep="flags").X[:3], [[1, 0], [0, 1], [1, 2]])


ODD_COLUMNS = {
    "complex128": np.zeros(3, dtype=complex),
    "V3": np.zeros(3, dtype="V3"),
    "'a', '<i8'": np.zeros(3, dtype=[("a", int)]),
    "S1": np.array([b"a", b"\xff", b"c"]),
}


@pytest.mark.parametrize("kind", ODD_COLUMNS)
def test_npz_columns_of_a_type_that_a_table_cannot_hold(kind, tmp_path):
    np.savez(tmp_path / "t.npz", X=np.ones((3, 2)), odd=ODD_COLUMNS[kind], y=np.arange(3))
    table = read_table(tmp_path / "t.npz", label="y")
    assert table.metadata.column_names == ["y"]
    assert len(table.notes) == 1
    assert table.notes[0].startswith("ignored 'odd': values of type ")
    assert kind in table.notes[0]
    with pytest.raises(InputError, match=r"column 'odd' of .*t.npz has the type .*, which is not supported; convert"):
        read_table(tmp_path / "t.npz", label="odd")


@pytest.mark.parametrize("suffix", [".arrow", ".feather", ".parquet", ".h5ad", ".npz", ".mtx"])
def test_whatever_a_library_raises_names_the_file(suffix, tmp_path, monkeypatch):
    """Damaged bytes make libraries raise almost anything; the reader of every format stands for them here."""

    def fails(*args):
        raise NotImplementedError("no such\ncodec")

    kind, _ = table_files.READERS[suffix]
    monkeypatch.setitem(table_files.READERS, suffix, (kind, fails))
    monkeypatch.setattr(table_files, "read_h5ad", fails)
    (tmp_path / f"t{suffix}").write_bytes(b"x")
    with pytest.raises(
        InputError, match=rf"t{suffix} cannot be read as {kind}.*NotImplementedError: no such\); create"
    ):
        read_table(tmp_path / f"t{suffix}")


def test_a_file_that_hangs_the_library_is_refused(tmp_path, monkeypatch):
    """A process that loops is stopped by its limit of processor time; here the limit is reached at once."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "t.h5ad", "w") as file:
        file["X"] = np.zeros((3, 2))
    check_h5(tmp_path / "t.h5ad")
    looping = tmp_path / "looping.py"
    source = Path(h5_scan.__file__).read_text()
    for before, after in (("    import h5py\n\n    def", "    while True: pass\n\n    def"), ("BYTE = 4", "BYTE = 1")):
        assert source.count(before) == 1
        source = source.replace(before, after)
    looping.write_text(source)
    monkeypatch.setattr(h5_scan, "__file__", str(looping))
    with pytest.raises(ValueError, match="does not come to an end"):
        check_h5(tmp_path / "t.h5ad")


def test_a_sound_file_of_many_chunks(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "t.h5ad", "w") as file:
        file.create_dataset("X", data=np.zeros((20_000, 2)), chunks=(1, 2))
    check_h5(tmp_path / "t.h5ad")
