"""Layouts are read back as written, and files are written completely or not at all."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from snekhorn.io import InputError, Layouts, check_output, read_layouts, replacing, write_layouts

Z = np.random.default_rng(0).normal(size=(20, 2))
METADATA = pa.table({"name": [f"p{i}" for i in range(20)], "x": np.arange(20), "kind": ["u", None] * 10})


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".tsv", ".arrow", ".feather"])
@pytest.mark.parametrize("keys", [("",), ("10", "30")])
def test_layouts_are_read_back(suffix, keys, tmp_path):
    path = tmp_path / f"t{suffix}"
    layouts = {key: Z + i for i, key in enumerate(keys)}
    write_layouts(Layouts(layouts, METADATA), path)
    found = read_layouts(path)
    assert list(found.layouts) == list(keys)
    for key in keys:
        np.testing.assert_allclose(found.layouts[key], layouts[key], rtol=1e-15)
    assert found.metadata.column("name").to_pylist() == METADATA.column("name").to_pylist()
    assert found.metadata.column("kind").to_pylist() == METADATA.column("kind").to_pylist()
    assert found.metadata.column("input_x").to_pylist() == list(range(20))  # renamed, because x is a coordinate


@pytest.mark.parametrize("d", [1, 2, 3])
def test_npy_holds_the_coordinates(d, tmp_path):
    coordinates = np.random.default_rng(0).normal(size=(5, d))
    write_layouts(Layouts({"": coordinates}, METADATA.slice(0, 5)), tmp_path / "t.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "t.npy"), coordinates)
    np.testing.assert_array_equal(read_layouts(tmp_path / "t.npy").only, coordinates)


@pytest.mark.parametrize("names", [("y", "a"), ("z", "a"), ("x_input", "z_30"), ("y_30", "x")])
@pytest.mark.parametrize("keys", [("",), ("10", "30")])
def test_metadata_that_look_like_coordinates(names, keys, tmp_path):
    metadata = pa.table({name: [f"{name}{i}" for i in range(20)] for name in names})
    write_layouts(Layouts(dict.fromkeys(keys, Z), metadata), tmp_path / "t.csv")
    found = read_layouts(tmp_path / "t.csv")
    assert list(found.layouts) == list(keys)
    assert all(np.array_equal(layout, Z) for layout in found.layouts.values())
    assert [column.to_pylist() for column in found.metadata.columns] == [
        column.to_pylist() for column in metadata.columns
    ]


def test_tables_from_elsewhere(tmp_path):
    (tmp_path / "t.csv").write_text("x,y,z_score,kind\n1,2,3,u\n4,5,6,v\n")
    found = read_layouts(tmp_path / "t.csv")
    assert list(found.layouts) == [""]
    assert found.only.shape == (2, 2)


@pytest.mark.parametrize("name", ["t.NPY", "t.CSV", "t.Parquet"])
def test_suffixes_in_capitals(name, tmp_path):
    with replacing(tmp_path / name) as file:
        write_layouts(Layouts({"": Z}, METADATA), file)
    np.testing.assert_allclose(read_layouts(tmp_path / name).only, Z)
    assert os.listdir(tmp_path) == [name]


def test_other_coordinates(tmp_path):
    (tmp_path / "t.csv").write_text("name,umap1,umap2\na,1,2\nb,3,4\n")
    with pytest.raises(InputError, match="does not start with columns x and y; name the coordinates"):
        read_layouts(tmp_path / "t.csv")
    found = read_layouts(tmp_path / "t.csv", columns=["umap1", "umap2"])
    np.testing.assert_array_equal(found.only, [[1, 2], [3, 4]])


def test_a_table_that_is_no_layout(tmp_path):
    np.save(tmp_path / "t.npy", np.zeros((4, 5)))
    with pytest.raises(InputError, match="5 coordinate columns"):
        read_layouts(tmp_path / "t.npy")


def _give_up(path):
    with replacing(path) as file:
        file.write_text("half")
        raise KeyboardInterrupt


def test_an_interrupted_write_leaves_no_file_behind(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        _give_up(path)
    assert path.read_text() == "old"
    with replacing(path) as file:
        file.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["t.txt"]


def test_permissions_are_those_of_any_new_file(tmp_path):
    with replacing(tmp_path / "t.txt") as file:
        file.write_text("")
    (tmp_path / "other").write_text("")
    assert (tmp_path / "t.txt").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_outputs_are_checked_before_any_work(tmp_path):
    (tmp_path / "there.csv").write_text("")
    check_output(tmp_path / "there.csv", (".csv",), force=True)
    with pytest.raises(InputError, match="already exists; pass --force"):
        check_output(tmp_path / "there.csv", (".csv",), force=False)
    with pytest.raises(InputError, match=r"must end in \.csv or \.npy"):
        check_output(tmp_path / "t.xls", (".csv", ".npy"), force=False)
    with pytest.raises(InputError, match=r"the folder .* does not exist"):
        check_output(tmp_path / "no" / "t.csv", (".csv",), force=False)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        check_output(tmp_path / "folder.csv", (".csv",), force=False)
    assert sorted(os.listdir(tmp_path)) == ["folder.csv", "there.csv"]


def test_a_folder_that_cannot_be_written_to():
    with pytest.raises(InputError, match="cannot be written"):
        check_output(Path("/proc/t.csv"), (".csv",), force=False)


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".npy"])
def test_a_full_disk(suffix, tmp_path):
    """A limit on the size of files acts like a full disk."""
    code = f"""
import resource
from pathlib import Path
import numpy as np, pyarrow as pa
from snekhorn.io import InputError, Layouts, replacing, write_layouts
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
Z = np.random.default_rng(0).normal(size=(100_000, 2))
try:
    with replacing(Path({str(tmp_path / f"t{suffix}")!r})) as file:
        write_layouts(Layouts({{"": Z}}, pa.table({{"i": np.arange(100_000)}})), file)
except InputError as error:
    print(error)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "could not be written" in found.stdout, found.stderr
    assert os.listdir(tmp_path) == []


FORMULAS = ["=1+1", "+cmd", "-cmd", "@sum", "\t=1", "\r=1"]
HARMLESS = ["a", "1=2", "-1.5e3", "+3", "", None, "'=1"]


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
@pytest.mark.parametrize("form", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_formulas_can_be_escaped(suffix, form, tmp_path):
    texts = FORMULAS + HARMLESS
    found = Layouts({"": Z[: len(texts)]}, pa.table({"=name": pa.array(texts).cast(form), "n": -np.arange(len(texts))}))
    write_layouts(found, tmp_path / f"plain{suffix}")
    write_layouts(found, tmp_path / f"safe{suffix}", escape_formulas=True)
    plain, safe = (pd.read_csv(tmp_path / f"{name}{suffix}", sep=None, engine="python") for name in ("plain", "safe"))
    assert list(plain.columns) == ["x", "y", "=name", "n"]
    assert list(safe.columns) == ["x", "y", "'=name", "n"]
    assert plain["=name"].iloc[: len(FORMULAS)].tolist() == FORMULAS
    assert safe["'=name"].iloc[: len(FORMULAS)].tolist() == [f"'{text}" for text in FORMULAS]
    pd.testing.assert_series_equal(
        safe["'=name"].iloc[len(FORMULAS) :], plain["=name"].iloc[len(FORMULAS) :], check_names=False
    )
    pd.testing.assert_frame_equal(safe[["x", "y", "n"]], plain[["x", "y", "n"]])


def test_only_text_files_are_escaped(tmp_path):
    found = Layouts({"": Z[:2]}, pa.table({"name": ["=1", "a"]}))
    write_layouts(found, tmp_path / "t.parquet", escape_formulas=True)
    assert read_layouts(tmp_path / "t.parquet").metadata["name"].to_pylist() == ["=1", "a"]
