"""A data set by its name: from a folder, else from its home."""

from __future__ import annotations

import hashlib
import os
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..runtime.checks import check_choice
from .catalogue import SETS, Found, Original, Source, names
from .errors import DamagedData, MissingData
from .readers import read_npz

FOLDER = "SNEKHORN_DATA"  # environment variable
UNREADABLE = (
    *(ValueError, KeyError, IndexError, TypeError, EOFError, OSError, NotImplementedError),
    *(zipfile.BadZipFile, zlib.error),
)


@dataclass(frozen=True)
class Dataset:
    """Points with classes.

    Attributes
    ----------
    X : ndarray of shape (n, p)
        As its authors give it.
    y : ndarray of shape (n,)
        Codes of the classes, from 0.
    label_names : list of str
        Names of the classes.
    title : str
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
        Where to look first, by default the folder that the environment variable SNEKHORN_DATA names. Both the .npz
        files of this project (X, y, label_names) and the originals' own formats are read.
    download : bool, default=True
        Whether to fetch what is not in the folder and has a known checksum; it is kept in the user's cache.

    Raises
    ------
    MissingData
        If it is neither there nor to be downloaded; the message says where to get it, and under which name.
    DamagedData
        If a file is unreadable or has another checksum than the original.
    """
    check_choice(name, "name", tuple(names()))
    source = SETS[name]
    found = _from_folder(source, data_folder(folder))
    if found is None and source.fetch is not None and (download or source.bundled):
        found = _fetched(source)
    if found is None and download and source.originals and all(original.sha256 for original in source.originals):
        found = _read(source, [_downloaded(source, original) for original in source.originals])
    if found is None:
        raise MissingData(_where(source, "is not there"))
    return Dataset(*found, source.title)


def data_folder(folder: str | os.PathLike[str] | None = None) -> Path | None:
    """The folder given, else the one that SNEKHORN_DATA names, else None."""
    path = os.environ.get(FOLDER, "") if folder is None else os.fspath(folder)
    if not path:
        return None
    if not Path(path).is_dir():
        what = "is no folder; name one" if Path(path).exists() else "does not exist; make it, or name another"
        raise MissingData(f"the data folder {path} {what}.")
    return Path(path)


def _from_folder(source: Source, folder: Path | None) -> Found | None:
    if folder is None:
        return None
    packed = folder / f"{source.stem}.npz"
    if packed.exists():
        return _readable(packed, lambda: read_npz(packed))
    paths = [folder / original.name for original in source.originals]
    if not paths or not all(path.exists() for path in paths):
        return None
    for path, original in zip(paths, source.originals, strict=True):
        if original.sha256 and path.is_file():
            check_sha256(path, original.sha256)
    return _read(source, paths)


def _read(source: Source, paths: list[Path]) -> Found:
    if source.read is None:
        raise AssertionError(f"{source.title} has originals and no reader")
    read = source.read
    return _readable(" and ".join(map(str, paths)), lambda: read(*paths))


def _readable(path: Path | str, read: Any) -> Found:
    """What is read, or an error that names the file."""
    try:
        return _checked(path, *read())
    except DamagedData:
        raise
    except UNREADABLE as error:
        raise DamagedData(
            f"{path} cannot be read ({type(error).__name__}: {error}); it is damaged or something else: replace it."
        ) from error


def _checked(path: Path | str, X: Any, y: Any, labels: list[str]) -> Found:
    """Points and codes of classes that fit each other, and have no gaps."""
    X, y = np.asarray(X), np.asarray(y)
    if X.ndim != 2 or not X.size or X.dtype.kind not in "biuf":
        raise DamagedData(f"{path}: X should be a table of numbers, and is of shape {X.shape} and type {X.dtype}.")
    if y.shape != X.shape[:1]:
        raise DamagedData(f"{path} has {len(X)} points and labels of shape {y.shape}; one of its files is another's.")
    if not np.isfinite(X).all():
        row, column = np.argwhere(~np.isfinite(X))[0] + 1
        raise DamagedData(f"{path}: row {row}, column {column} of X is missing or infinite.")
    if y.min() < 0 or y.max() >= len(labels):
        raise DamagedData(
            f"{path}: codes of classes go from {y.min()} to {y.max()}, with {len(labels)} names for them."
        )
    return X, y, labels


def check_sha256(path: Path, expected: str) -> None:
    """Raise where a file is not, byte by byte, the original."""
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != expected:
        raise DamagedData(
            f"{path} is not the original: its sha256 is {found}, that of the original {expected}; delete it and get "
            "it again."
        )


def _fetched(source: Source) -> Found:
    """By a function that downloads by itself."""
    if source.fetch is None:
        raise AssertionError(f"{source.title} cannot be fetched")
    try:
        return _checked(source.title, *source.fetch())
    except OSError as error:
        if "checksum" in str(error):
            raise DamagedData(f"what was downloaded for {source.title} is not the original: {error}") from error
        raise MissingData(_where(source, f"could not be downloaded ({type(error).__name__})")) from error


def _downloaded(source: Source, original: Original) -> Path:
    """The file in the cache, downloaded if it is not there yet."""
    import pooch

    try:
        kept = pooch.retrieve(
            original.url, f"sha256:{original.sha256}", fname=original.name, path=pooch.os_cache("snekhorn")
        )
    except ValueError as error:  # of the checksum
        raise DamagedData(
            f"what {original.url} sends is not the original: {error} Get {original.name} from {source.home}."
        ) from error
    except OSError as error:
        raise MissingData(_where(source, f"could not be downloaded ({type(error).__name__})")) from error
    return Path(kept)


def _where(source: Source, why: str) -> str:
    return (
        f"{source.title} {why}: get it from {source.home} and put {source.expected} into a folder that {FOLDER} names."
    )
