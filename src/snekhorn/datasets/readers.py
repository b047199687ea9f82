"""Read data sets in their published formats; every reader returns points, class codes and class names."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any, TypeAlias
from zipfile import is_zipfile

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError

SNARESEQ_TYPES = ["H1", "GM", "BJ", "K562"]
SCGEM_TYPES = ["BJ", "d8", "d16T+", "d24T+", "iPS"]
COIL_NAME = re.compile(r"obj(\d+)__(\d+)\.png")

LabeledPoints: TypeAlias = tuple[NDArray[Any], NDArray[Any], list[str]]


class DamagedData(InputError):
    """Corrupt or unexpected file of a data set."""


def read_npz(path: Path) -> LabeledPoints:
    """Read X, y and, if present, label_names."""
    if not is_zipfile(path):
        raise DamagedData(f"{path} is corrupt, or not an NPZ file; download it again.")
    with path.open("rb") as handle, np.load(handle, allow_pickle=False) as file:
        X, y = file["X"], file["y"]
        names = file["label_names"].astype(str) if "label_names" in file.files else None
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise DamagedData(f"{path}: y is missing for some points; remove these points.")
    kinds, codes = np.unique(y, return_inverse=True)
    if names is None:
        return X, codes.reshape(y.shape), kinds.astype(str).tolist()
    if names.ndim != 1:
        raise DamagedData(f"{path}: label_names has shape {names.shape}; save it as a one-dimensional array.")
    if y.dtype.kind in "US":  # y contains names instead of codes
        places = {name: place for place, name in enumerate(names.tolist())}
        if not places.keys() >= set(kinds.tolist()):
            raise DamagedData(f"{path}: y contains classes that are not in label_names; add them.")
        return X, np.array([places[kind] for kind in kinds.tolist()])[codes].reshape(y.shape), names.tolist()
    if not np.array_equal(kinds, kinds.astype(int)):
        raise DamagedData(f"{path}: y does not contain integers; save it as indices into label_names.")
    return X, y.astype(int), names.tolist()


def read_snareseq(points: Path, labels: Path) -> LabeledPoints:
    """Read tab-separated topic counts, and one label per line, starting at 1."""
    return np.loadtxt(points, delimiter="\t", ndmin=2), _labels_from_one(labels), SNARESEQ_TYPES


def read_scgem(points: Path, labels: Path) -> LabeledPoints:
    """Read comma-separated expression values, and one label per line, starting at 1."""
    return np.loadtxt(points, delimiter=",", ndmin=2), _labels_from_one(labels), SCGEM_TYPES


def read_coil20(folder: Path) -> LabeledPoints:
    """Read images obj1__0.png to obj20__71.png; the numbers are the object and the view."""
    found = [(match, path) for path in folder.iterdir() if (match := COIL_NAME.fullmatch(path.name))]
    if not found:
        raise DamagedData(f"{folder} contains no images called obj1__0.png, ...; unpack the archive there.")
    found.sort(key=lambda pair: tuple(map(int, pair[0].groups())))
    images = [_read_image(path) for _, path in found]
    X = np.stack([np.round(255.0 * (image if image.ndim == 2 else image[..., 0])).ravel() for image in images])
    objects = np.array([int(match[1]) for match, _ in found])
    kinds, codes = np.unique(objects, return_inverse=True)
    return X.astype(np.uint8), codes, [f"obj{kind}" for kind in kinds]


def read_umist(path: Path) -> LabeledPoints:
    """Read the MATLAB cell array `facedat`: one stack of images of 112 x 92 pixels per person."""
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    try:
        people = loadmat(path)["facedat"].ravel()
    except MatReadError as error:
        raise DamagedData(f"{path} cannot be read as a MATLAB file ({error}); download it again.") from error
    X = np.concatenate([np.moveaxis(faces, 2, 0).reshape(faces.shape[2], -1) for faces in people])
    codes = np.repeat(np.arange(len(people)), [faces.shape[2] for faces in people])
    return X, codes, [f"p{person + 1}" for person in range(len(people))]


def read_cumida(path: Path) -> LabeledPoints:
    """Read a table with columns `samples` and `type`, and one column per gene."""
    from pyarrow import csv

    table = csv.read_csv(path, read_options=csv.ReadOptions(block_size=2**26))
    genes = [name for name in table.column_names if name not in ("samples", "type")]
    if "type" not in table.column_names or not genes:
        raise DamagedData(f"{path} has no column 'type', or no genes, so it is not a CuMiDa table; download it again.")
    types = table.column("type").to_pylist()
    gaps = [sample for sample, kind in enumerate(types, 1) if kind in (None, "")]
    if gaps:
        raise DamagedData(f"{path}: sample {gaps[0]} has no type; download it again.")
    kinds, codes = np.unique(np.asarray(types, dtype=str), return_inverse=True)
    X = np.stack([table.column(name).to_numpy().astype(float) for name in genes], axis=1)
    return X, codes, kinds.tolist()


def read_mnist(*paths: Path) -> LabeledPoints:
    """Read the images and labels of the training set, followed by those of the test set."""
    images, labels, more_images, more_labels = (_read_idx(path) for path in paths)
    X = np.concatenate([images.reshape(len(images), -1), more_images.reshape(len(more_images), -1)])
    return X, np.concatenate([labels, more_labels]), [str(digit) for digit in range(10)]


def fetch_olivetti() -> LabeledPoints:
    """Download the faces with scikit-learn, which verifies the checksum."""
    from sklearn.datasets import fetch_olivetti_faces

    faces = fetch_olivetti_faces()
    return faces.data, faces.target, [f"s{person + 1}" for person in range(40)]


def fetch_digits() -> LabeledPoints:
    """Load the digits that come with scikit-learn."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X, y, [str(digit) for digit in range(10)]


def _read_image(path: Path) -> NDArray[Any]:
    from matplotlib.image import imread

    try:
        return np.asarray(imread(path))
    except (SyntaxError, ValueError, OSError) as error:  # Pillow raises SyntaxError for broken PNG files
        raise DamagedData(f"{path} cannot be read as an image ({error}); download it again.") from error


def _labels_from_one(path: Path) -> NDArray[np.int64]:
    return np.loadtxt(path, ndmin=1).astype(np.int64) - 1


def _read_idx(path: Path) -> NDArray[np.uint8]:
    """Read an IDX file: two zero bytes, a type (8 for bytes), the number of axes, their lengths, and the data."""
    data = gzip.decompress(path.read_bytes())
    if data[:3] != b"\x00\x00\x08":
        raise DamagedData(f"{path} is not an IDX file of bytes; download it again.")
    n_axes = data[3]
    shape = np.frombuffer(data, ">u4", n_axes, offset=4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * n_axes).reshape(shape)
