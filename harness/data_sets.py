"""Load data sets for experiments: prepare the rows, then reduce to 50 principal components."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from snekhorn import datasets
from snekhorn.datasets import MissingData
from snekhorn.geometry.preprocessing import principal_components

from .package_data import PACKAGE_SETS

Points: TypeAlias = tuple[NDArray[Any], NDArray[Any]]  # X, class codes

N_COMPONENTS = 50  # as in the paper; data with fewer features are left unchanged


def title(name: str) -> str:
    """Return the title of a data set; the part of the name after a comma is the preparation of its rows."""
    data, _, preparation = name.partition(", ")
    known = PACKAGE_SETS[data] if data in PACKAGE_SETS else datasets.SETS[data]
    return known.title + (f", {preparation}" if preparation else "")


def check_folder(folder: Path | None) -> None:
    """Raise an error if the data folder does not exist."""
    datasets.load("digits", folder)  # needs no file


def class_names(name: str, folder: Path | None = None, *, download: bool = True) -> list[str]:
    """Return the names of the classes."""
    return datasets.load(name, folder, download=download).label_names


def load_points(
    name: str,
    folder: Path | None = None,
    *,
    n: int | None = None,
    sample: int | None = None,
    download: bool = True,
    dtype: type = np.float64,
) -> Points:
    """Return the points, reduced to 50 principal components if there are more features, and their classes.

    Parameters
    ----------
    name : str
        Name in `snekhorn.datasets` or `package_data`; "snareseq, unit rows" prepares the rows of "snareseq" first.
    folder : Path or None
        Folder of the data sets; None for the folder in SNEKHORN_DATA.
    n : int or None
        Number of points to take from the start; None for all.
    sample : int or None
        Size of a random sample to take; None for all points.
    download : bool
        Whether to download missing data.
    dtype : type
        Precision of the points returned.
    """
    found = _load_points(name, folder, os.environ.get("SNEKHORN_DATA"), n, sample, download, dtype)
    if isinstance(found, MissingData):
        raise found
    return found


@lru_cache(maxsize=8)
def _load_points(
    name: str,
    folder: Path | None,
    default_folder: str | None,
    n: int | None,
    sample: int | None,
    download: bool,  # noqa: FBT001
    dtype: type,
) -> Points | MissingData:
    """Load the points; errors are cached as well, so that an unreachable server is tried only once."""
    data, _, preparation = name.partition(", ")
    try:
        X, y = load_labeled(data, folder, download=download)
    except MissingData as error:
        return error
    X, y = X[:n], y[:n]
    if sample is not None and sample < len(X):
        chosen = np.random.default_rng(0).permutation(len(X))[:sample]
        X, y = X[chosen], y[chosen]
    X = reduce_dimension(prepare_rows(X, preparation or "raw"))
    return np.ascontiguousarray(X, dtype=dtype), y


def load_labeled(data: str, folder: Path | None, *, download: bool) -> Points:
    """Return the points as published, and their classes."""
    if data in PACKAGE_SETS:
        return PACKAGE_SETS[data].load()
    found = datasets.load(data, folder, download=download)
    return found.X, found.y


def prepare_rows(X: NDArray[Any], how: str) -> NDArray[Any]:
    """Prepare rows, such as counts, in one of several ways; "raw" leaves them unchanged."""
    if how == "raw":
        return X if X.dtype.kind in "biu" else X.astype(float)  # integers are converted later, because MNIST is large
    X = X.astype(float)
    if how == "standardised":  # by a single mean and standard deviation, as in the authors' code
        return (X - X.mean()) / X.std()
    if how == "standardised columns":
        return (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), np.finfo(float).tiny)
    if how == "unit rows":
        return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), np.finfo(float).tiny)
    if how == "shares":
        return X / np.maximum(np.abs(X).sum(axis=1, keepdims=True), np.finfo(float).tiny)
    logs = np.log1p(np.maximum(X, 0.0))
    if how == "log":
        return logs
    if how == "centred log-ratios":
        return logs - logs.mean(axis=1, keepdims=True)
    raise ValueError(f"unknown preparation of rows: {how!r}.")


def reduce_dimension(X: NDArray[Any]) -> NDArray[Any]:
    """Return the first 50 principal components, or X itself if it has no more than 50 features."""
    return principal_components(X, N_COMPONENTS, 0) if X.shape[1] > N_COMPONENTS else X
