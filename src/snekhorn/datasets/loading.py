"""Load a data set by name, from a local folder or from its publisher."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..runtime.checks import check_choice, check_path
from .catalogue import SETS, Original, Source, names
from .readers import DamagedData, LabeledPoints, read_npz

FOLDER_VARIABLE = "SNEKHORN_DATA"
UNREADABLE = (
    *(ValueError, KeyError, IndexError, TypeError, EOFError, OSError, NotImplementedError),
    *(zipfile.BadZipFile, zlib.error),
)


class MissingData(FileNotFoundError, InputError):
    """Data set not found; the message says where to get it and how to name the file."""


@dataclass(frozen=True)
class Dataset:
    """Points with class labels.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        The points, as published.
    y : ndarray of shape (n,)
        Class of each point, an index into `label_names`.
    label_names : list of str
        Names of the classes.
    title : str
        Title of the data set.
    """

    X: NDArray[Any]
    y: NDArray[Any]
    label_names: list[str]
    title: str


def load(name: str, folder: str | os.PathLike[str] | None = None, *, download: bool = True) -> Dataset:
    """Load a data set.

    Parameters
    ----------
    name : str
        One of `snekhorn.datasets.names()`.
    folder : path or None, default=None
        Folder to search first. None uses the environment variable SNEKHORN_DATA. The folder may contain an NPZ file
        (X, y, label_names) or the files that the authors publish.
    download : bool, default=True
        Whether to download a data set that is not in the folder. Only files with a known checksum are downloaded. They
        are kept in the user's cache.

    Returns
    -------
    dataset : Dataset

    Raises
    ------
    MissingData
        If the data set is not found and cannot be downloaded. The message says where to get it.
    DamagedData
        If a file is unreadable, or its checksum does not match the original.
    """
    check_choice(name, "name", tuple(names()))
    source = SETS[name]
    found = _from_folder(source, data_folder(folder))
    if found is None and source.fetch is not None and (download or source.bundled):
        found = _fetched(source)
    if found is None and download and source.originals and all(original.sha256 for original in source.originals):
        found = _read_originals(source, [_downloaded(source, original) for original in source.originals])
    if found is None:
        raise MissingData(_where_to_get(source, "was not found"))
    return Dataset(*found, source.title)


def data_folder(folder: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the given folder, or the one in SNEKHORN_DATA, or None."""
    if folder is not None:
        check_path(folder, "folder", remedy="pass the name of a folder")
    path = os.environ.get(FOLDER_VARIABLE, "") if folder is None else os.fspath(folder)
    if not path:
        return None
    if not Path(path).is_dir():
        problem = "is not a folder" if Path(path).exists() else "does not exist"
        raise MissingData(
            f"the data folder {path} {problem}; set {FOLDER_VARIABLE} to an existing folder, or pass one."
        )
    return Path(path)


def _from_folder(source: Source, folder: Path | None) -> LabeledPoints | None:
    if folder is None:
        return None
    packed = folder / f"{source.stem}.npz"
    if packed.exists():
        return _read_checked(packed, lambda: read_npz(packed))
    paths = [folder / original.name for original in source.originals]
    if not paths or not all(path.exists() for path in paths):
        return None
    for path, original in zip(paths, source.originals, strict=True):
        if original.sha256 and path.is_file():
            _check_sha256(path, original.sha256)
    return _read_originals(source, paths)


def _read_originals(source: Source, paths: list[Path]) -> LabeledPoints:
    if source.read is None:
        raise AssertionError(f"{source.title} has originals but no reader")
    read = source.read
    return _read_checked(" and ".join(map(str, paths)), lambda: read(*paths))


def _read_checked(path: Path | str, read: Callable[[], LabeledPoints]) -> LabeledPoints:
    """Call a reader and check its result; every error names the file."""
    try:
        return _check_consistency(path, *read())
    except DamagedData:
        raise
    except UNREADABLE as error:
        raise DamagedData(f"{path} cannot be read ({type(error).__name__}: {error}); download it again.") from error


def _check_consistency(path: Path | str, X: Any, y: Any, labels: list[str]) -> LabeledPoints:
    """Check that points, classes and class names are consistent."""
    X, y = np.asarray(X), np.asarray(y)
    if X.ndim != 2 or not X.size or X.dtype.kind not in "biuf":
        raise DamagedData(
            f"{path}: X has shape {X.shape} and type {X.dtype}; it should be a two-dimensional array of numbers."
        )
    if y.shape != X.shape[:1]:
        raise DamagedData(f"{path} has {len(X)} points but labels of shape {y.shape}; use files of the same data set.")
    if not np.isfinite(X).all():
        row, column = np.argwhere(~np.isfinite(X))[0] + 1
        raise DamagedData(f"{path}: the value in row {row}, column {column} of X is missing or infinite; replace it.")
    if y.min() < 0 or y.max() >= len(labels):
        raise DamagedData(
            f"{path}: y has values from {y.min()} to {y.max()}, but there are {len(labels)} class names; "
            "y must contain indices into label_names."
        )
    return X, y, labels


def _check_sha256(path: Path, expected: str) -> None:
    """Raise an error if a file differs from the original."""
    import pooch

    found = pooch.file_hash(str(path), alg="sha256")
    if found != expected:
        raise DamagedData(
            f"{path} differs from the original: its SHA-256 is {found} instead of {expected}; delete it and download "
            "it again."
        )


def _fetched(source: Source) -> LabeledPoints:
    """Call the function of a data set that obtains it."""
    if source.fetch is None:
        raise AssertionError(f"{source.title} cannot be fetched")
    try:
        return _check_consistency(source.title, *source.fetch())
    except OSError as error:
        if "checksum" in str(error):
            raise DamagedData(f"the download of {source.title} differs from the original: {error}") from error
        raise MissingData(_where_to_get(source, f"could not be downloaded ({type(error).__name__})")) from error


def _downloaded(source: Source, original: Original) -> Path:
    """Return the file in the cache, downloading it first if necessary."""
    import pooch

    try:
        kept = pooch.retrieve(
            original.url, f"sha256:{original.sha256}", fname=original.name, path=pooch.os_cache("snekhorn")
        )
    except ValueError as error:  # the checksum differs
        raise DamagedData(
            f"the file at {original.url} differs from the original: {error} Get {original.name} from {source.home}."
        ) from error
    except OSError as error:
        raise MissingData(_where_to_get(source, f"could not be downloaded ({type(error).__name__})")) from error
    return Path(kept)


def _where_to_get(source: Source, problem: str) -> str:
    return (
        f"{source.title} {problem}; get it from {source.home}, save it in a folder as {source.expected}, and set "
        f"{FOLDER_VARIABLE} to that folder."
    )
