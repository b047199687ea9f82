"""Data sets are read from a folder or downloaded; missing and damaged files are reported."""

import gzip
import hashlib
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from scipy.io import savemat

from snekhorn import datasets
from snekhorn.datasets import CUMIDA, SETS, DamagedData, MissingData, catalogue, load, readers
from snekhorn.errors import InputError

from ..helpers import DATA, needs_data

POINTS = np.array([[1.0, 2.0], [3.0, 4.5], [5.0, 0.0]])


def _write_snareseq(folder):
    np.savetxt(folder / "SNAREseq_1.txt", POINTS, delimiter="\t")
    (folder / "SNAREseq_label.txt").write_text("1\n2\n4\n")


def _with_checksums_of(monkeypatch, name, folder):
    """Make the files in the folder count as originals."""
    source = SETS[name]
    originals = tuple(
        catalogue.Original(o.name, o.url, hashlib.sha256((folder / o.name).read_bytes()).hexdigest())
        for o in source.originals
    )
    changed = catalogue.Source(source.title, source.home, source.stem, originals, source.read)
    monkeypatch.setitem(SETS, name, changed)


def test_npz(tmp_path):
    np.savez(tmp_path / "umist.npz", X=POINTS, y=[0, 1, 1], label_names=["a", "b"])
    found = load("umist", tmp_path)
    np.testing.assert_array_equal(found.X, POINTS)
    assert found.label_names == ["a", "b"]
    assert found.title == "UMIST faces"


def test_the_folder_of_the_environment(tmp_path, monkeypatch):
    np.savez(tmp_path / "microarray_su.npz", X=POINTS, y=[0, 1, 1])
    monkeypatch.setenv("SNEKHORN_DATA", str(tmp_path))
    assert load("su").label_names == ["0", "1"]


def test_snareseq_and_scgem(tmp_path, monkeypatch):
    _write_snareseq(tmp_path)
    _with_checksums_of(monkeypatch, "snareseq", tmp_path)
    found = load("snareseq", tmp_path)
    np.testing.assert_allclose(found.X, POINTS)
    assert [found.label_names[code] for code in found.y] == ["H1", "GM", "K562"]
    np.savetxt(tmp_path / "x.csv", POINTS, delimiter=",")
    (tmp_path / "t.txt").write_text("1.000e+00\n5.000e+00\n2.000e+00\n")
    X, y, names = readers.read_scgem(tmp_path / "x.csv", tmp_path / "t.txt")
    np.testing.assert_allclose(X, POINTS)
    assert [names[code] for code in y] == ["BJ", "iPS", "d8"]


def test_coil20_is_a_folder_of_images(tmp_path):
    folder = tmp_path / "coil-20-proc"
    folder.mkdir()
    images = {
        (kind, view): np.full((4, 4), 20 * kind + view, dtype=np.uint8) for kind in (2, 10) for view in (0, 10, 9)
    }
    for (kind, view), image in images.items():
        Image.fromarray(image).save(folder / f"obj{kind}__{view}.png")
    found = load("coil20", tmp_path)
    assert found.X.shape == (6, 16)
    assert found.X[:, 0].tolist() == [40, 49, 50, 200, 209, 210]  # sorted by object and view as numbers
    assert found.label_names == ["obj2", "obj10"]
    assert found.y.tolist() == [0, 0, 0, 1, 1, 1]


def test_umist_has_one_stack_of_images_per_person(tmp_path):
    people = np.empty((1, 2), dtype=object)
    people[0, 0], people[0, 1] = np.zeros((3, 2, 4), dtype=np.uint8), np.ones((3, 2, 5), dtype=np.uint8)
    savemat(tmp_path / "umist_cropped.mat", {"facedat": people})
    found = load("umist", tmp_path)
    assert found.X.shape == (9, 6)
    assert found.y.tolist() == [0] * 4 + [1] * 5
    assert found.X[:, 0].tolist() == [0] * 4 + [1] * 5


@pytest.mark.parametrize("name", CUMIDA)
def test_cumida_is_a_table(tmp_path, name):
    rows = "samples,type,1007_s_at,117_at\nGSM1,normal,1.5,2\nGSM2,HCC,3,4.25\n"
    (tmp_path / SETS[name].originals[0].name).write_text(rows)
    found = load(name, tmp_path)
    np.testing.assert_allclose(found.X, [[1.5, 2.0], [3.0, 4.25]])
    assert [found.label_names[code] for code in found.y] == ["normal", "HCC"]


def test_mnist_is_four_files(tmp_path):
    def idx(array):
        head = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
        return gzip.compress(head + array.astype(np.uint8).tobytes())

    parts = [np.arange(24).reshape(2, 3, 4), np.array([7, 1]), np.arange(12).reshape(1, 3, 4), np.array([3])]
    paths = [tmp_path / f"{i}.gz" for i in range(4)]
    for path, part in zip(paths, parts, strict=True):
        path.write_bytes(idx(part))
    X, y, names = readers.read_mnist(*paths)
    assert X.shape == (3, 12)
    assert y.tolist() == [7, 1, 3]
    assert len(names) == 10
    paths[0].write_bytes(gzip.compress(b"something else"))
    with pytest.raises(DamagedData, match="IDX"):
        readers.read_mnist(*paths)


def test_digits_need_no_download():
    assert load("digits", download=False).X.shape == (1797, 64)


@pytest.mark.parametrize("name", [name for name in datasets.names() if name != "digits"])
def test_the_error_for_a_missing_set_says_where_to_get_it(tmp_path, name):
    with pytest.raises(MissingData) as error:
        load(name, tmp_path, download=False)
    assert SETS[name].home in str(error.value)
    assert f"{SETS[name].stem}.npz" in str(error.value)
    assert all(original.name in str(error.value) for original in SETS[name].originals)


def test_errors_of_data_sets_are_input_errors():
    assert issubclass(MissingData, InputError)
    assert issubclass(MissingData, FileNotFoundError)
    assert issubclass(DamagedData, InputError)


def test_a_missing_folder_and_an_unknown_name_are_errors(tmp_path):
    with pytest.raises(MissingData, match="does not exist"):
        load("coil20", tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(MissingData, match="is not a folder"):
        load("coil20", tmp_path / "file")
    with pytest.raises(ValueError, match="name must be one of"):
        load("iris")


@pytest.mark.parametrize("content", [b"", b"not a zip file", b"PK\x03\x04 cut off"])
def test_a_damaged_npz_is_named(tmp_path, content):
    (tmp_path / "coil20.npz").write_bytes(content)
    with pytest.raises(DamagedData, match=r"coil20\.npz is corrupt, or not an NPZ file; download it again"):
        load("coil20", tmp_path)


def test_a_damaged_table_is_named(tmp_path):
    path = tmp_path / "Renal_GSE53757.csv"
    path.write_text("samples,gene\nGSM1,2\n")
    with pytest.raises(DamagedData, match="no column 'type'"):
        load("renal_53757", tmp_path)
    path.write_text("samples,type,gene\nGSM1,a,2\nGSM2,b,three\n")
    with pytest.raises(DamagedData, match="cannot be read"):
        load("renal_53757", tmp_path)


def test_a_wrong_checksum_is_an_error(tmp_path):
    _write_snareseq(tmp_path)
    with pytest.raises(DamagedData, match=r"SNAREseq_1\.txt differs from the original: its SHA-256 is [0-9a-f]{64}"):
        load("snareseq", tmp_path)


def test_a_wrong_number_of_labels_is_an_error(tmp_path):
    np.savez(tmp_path / "coil20.npz", X=POINTS, y=[0, 1])
    with pytest.raises(DamagedData, match=r"3 points but labels of shape \(2,\)"):
        load("coil20", tmp_path)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([1.0, 2.0], [0, 1], r"X has shape \(2,\) and type float64"),
        (np.zeros((0, 3)), [], "X has shape .* should be a two-dimensional array of numbers"),
        ([["a"], ["b"]], [0, 1], "X has shape .* and type <U1"),
        (POINTS, np.zeros((3, 1), int), r"labels of shape \(3, 1\)"),
        (POINTS, ["a", "b", "c"], "not in label_names"),
        (POINTS, [0.0, 0.5, 1.0], "y does not contain integers"),
        (POINTS, [0.0, np.nan, 1.0], "y is missing for some points"),
        (POINTS, [0, 1, 5], "from 0 to 5, but there are 2 class names"),
        ([[1.0, 2.0], [3.0, np.nan], [5.0, 6.0]], [0, 1, 1], "row 2, column 2 of X is missing"),
    ],
)
def test_the_content_of_an_npz_file_is_checked(tmp_path, X, y, message):
    np.savez(tmp_path / "umist.npz", X=X, y=y, label_names=["a", "b"])
    with pytest.raises(DamagedData, match=message) as error:
        load("umist", tmp_path)
    assert "umist.npz" in str(error.value)


def test_labels_are_encoded_as_integers(tmp_path):
    np.savez(tmp_path / "umist.npz", X=POINTS, y=["old", "new", "old"])
    found = load("umist", tmp_path)
    assert (found.y.tolist(), found.label_names) == ([1, 0, 1], ["new", "old"])
    np.savez(tmp_path / "umist.npz", X=POINTS, y=["old", "new", "old"], label_names=["old", "new"])
    found = load("umist", tmp_path)
    assert (found.y.tolist(), found.label_names) == ([0, 1, 0], ["old", "new"])
    np.savez(tmp_path / "umist.npz", X=POINTS, y=[0.0, 2.0, 2.0], label_names=["a", "b", "c"])
    assert load("umist", tmp_path).y.tolist() == [0, 2, 2]
    np.savez(tmp_path / "umist.npz", X=POINTS, y=[1, 2, 1])
    found = load("umist", tmp_path)
    assert (found.y.tolist(), found.label_names) == ([0, 1, 0], ["1", "2"])


@pytest.mark.parametrize("content", [b"", b"not a MATLAB file"])
def test_a_damaged_matlab_file_is_named(tmp_path, content):
    (tmp_path / "umist_cropped.mat").write_bytes(content)
    with pytest.raises(DamagedData, match=r"umist_cropped\.mat"):
        load("umist", tmp_path)


@pytest.mark.parametrize("content", [b"", b"\x89PNG\r\n\x1a\n cut off"])
def test_a_damaged_image_is_named(tmp_path, content):
    (tmp_path / "coil-20-proc").mkdir()
    (tmp_path / "coil-20-proc" / "obj1__0.png").write_bytes(content)
    with pytest.raises(DamagedData, match=r"obj1__0\.png cannot be read as an image"):
        load("coil20", tmp_path)


@pytest.mark.parametrize(
    ("row", "message"), [("GSM2,,2", "sample 2 has no type"), ("GSM2,b,", "row 2, column 1 of X is missing")]
)
def test_gaps_in_a_table_are_named(tmp_path, row, message):
    (tmp_path / "Renal_GSE53757.csv").write_text(f"samples,type,gene\nGSM1,a,2\n{row}\nGSM3,b,4\n")
    with pytest.raises(DamagedData, match=message):
        load("renal_53757", tmp_path)


def test_a_wrong_checksum_of_the_faces_is_an_error(tmp_path, monkeypatch):
    def fetch():
        raise OSError("faces.mat has an SHA256 checksum (0) differing from expected (1), file may be corrupted.")

    monkeypatch.setitem(SETS, "olivetti", catalogue.Source("Olivetti faces", "home", "olivetti", fetch=fetch))
    with pytest.raises(DamagedData, match="differs from the original"):
        load("olivetti", tmp_path)


def test_downloads_are_verified(tmp_path, monkeypatch):
    _write_snareseq(tmp_path)
    _with_checksums_of(monkeypatch, "snareseq", tmp_path)
    asked = []

    def retrieve(url, known_hash, fname, path):
        asked.append((url, known_hash))
        return str(tmp_path / fname)

    monkeypatch.setitem(sys.modules, "pooch", SimpleNamespace(retrieve=retrieve, os_cache=lambda name: name))
    empty = tmp_path / "empty"
    empty.mkdir()
    np.testing.assert_allclose(load("snareseq", empty).X, POINTS)
    assert [known for _, known in asked] == [f"sha256:{o.sha256}" for o in SETS["snareseq"].originals]
    assert all(url.startswith("https://") for url, _ in asked)


@pytest.mark.parametrize(
    ("raised", "expected"), [(ValueError("SHA256 hash differs"), DamagedData), (OSError("no network"), MissingData)]
)
def test_a_download_that_fails_says_where_to_get_it(tmp_path, monkeypatch, raised, expected):
    def retrieve(*args, **kwargs):
        raise raised

    monkeypatch.setitem(sys.modules, "pooch", SimpleNamespace(retrieve=retrieve, os_cache=lambda name: name))
    with pytest.raises(expected, match=r"https://github\.com/rsinghlab/SCOT"):
        load("scgem", tmp_path)


@needs_data
@pytest.mark.parametrize("name", ["snareseq", "scgem"])
def test_originals_have_the_checksums_of_the_catalogue(tmp_path, name):
    for original in SETS[name].originals:
        (tmp_path / original.name).write_bytes((DATA / original.name).read_bytes())
    one, other = load(name, tmp_path), load(name, DATA)
    np.testing.assert_allclose(one.X, other.X, rtol=1e-6)
    np.testing.assert_array_equal(one.y, other.y)
    assert one.label_names == other.label_names
