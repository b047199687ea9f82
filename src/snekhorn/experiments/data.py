"""Points of the experiments: PCA to 50 dimensions, and fewer of them in quick runs."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..datasets import SETS, MissingData, load
from ..datasets.loading import data_folder
from ..geometry.preprocessing import principal_components
from .experiment import NotAvailable, Settings

N_COMPONENTS = 50  # as in the paper, where there are more features
QUICK_POINTS = 150
LARGE_POINTS = 5000  # or any other number above 300
FEW_POINTS = {  # sets of fewer than 300, whose grid ends earlier
    **{"khan": 63, "su": 102, "all": 128, "gordon": 181, "scgem": 177, "throat_42743": 103, "prostate_6919": 124},
    **{"renal_53757": 143, "colorectal_21510": 147, "breast_45827": 151, "liver_76427": 165},
    **{"colorectal_44076": 194, "leukemia_28497": 281, "breast_70947": 289},
}
IMAGES = ("coil20", "olivetti", "umist", "cifar")
MICROARRAYS = ("khan", "su", "all", "gordon")  # which stand in for those of CuMiDa where they are not to be had
QUICK_SETS = ("digits", "scgem", "liver_14520")  # one that is always there, one that may be, one that rarely is


def chosen(sets: tuple[str, ...], settings: Settings) -> tuple[str, ...]:
    """The data sets of a run."""
    return QUICK_SETS if settings.quick else sets


def title(name: str) -> str:
    """What a data set is called; after a comma, how its rows are prepared."""
    data, _, how = name.partition(", ")
    return SETS[data].title + (f", {how}" if how else "")


def points(name: str, settings: Settings) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Points, on 50 principal components if they have more features, and classes; names are as in `title`."""
    data, _, how = name.partition(", ")
    found = _points(data, data_folder(settings.data), settings.quick)
    if isinstance(found, MissingData):
        raise found
    X, y = found
    return prepared(X, how), y


def class_names(name: str, settings: Settings) -> list[str]:
    """What the classes are called."""
    return load(name, settings.data, download=not settings.quick).label_names


def points_for(name: str, perplexity: float, settings: Settings) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """The same, where there are enough: a perplexity lowered without a word would not be the one that a cell says."""
    X, y = points(name, settings)
    if perplexity >= len(X):
        raise NotAvailable(f"{title(name)} has {len(X)} points only.")
    return X, y


def prepared(X: NDArray[np.float64], how: str) -> NDArray[np.float64]:
    """Rows of counts as they are ("raw" or nothing said), or in one of these ways."""
    if how == "standardised":  # by one mean and one deviation, as the authors' code has it
        return (X - X.mean()) / X.std()
    if how == "unit rows":
        return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), np.finfo(float).tiny)
    if how == "shares":
        return X / np.maximum(np.abs(X).sum(axis=1, keepdims=True), np.finfo(float).tiny)
    logs = np.log1p(np.maximum(X, 0.0))
    return logs if how == "log" else logs - logs.mean(axis=1, keepdims=True) if how == "centred log-ratios" else X


def raw_points(name: str, settings: Settings) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """The same before the components are taken."""
    found = load(name, settings.data, download=not settings.quick)
    X, y = found.X.astype(float), found.y
    if settings.quick and len(X) > QUICK_POINTS:
        some = np.random.default_rng(0).permutation(len(X))[:QUICK_POINTS]
        X, y = X[some], y[some]
    return X, y


@lru_cache(maxsize=8)
def _points(name: str, folder: Path | None, quick: bool) -> tuple[NDArray[np.float64], NDArray[Any]] | MissingData:  # noqa: FBT001
    """An error is kept like points are: a home that does not answer is asked once a process, not for every cell."""
    try:
        X, y = raw_points(name, Settings(quick, folder))
    except MissingData as error:
        return error
    if X.shape[1] > N_COMPONENTS:
        X = principal_components(X, N_COMPONENTS, 0)
    return np.ascontiguousarray(X), y


def grid(n: int, *, quick: bool = False) -> list[int]:
    """The paper's perplexities: the multiples of ten up to 300, below the number of points."""
    full = list(range(10, min(n - 1, 300) + 1, 10))
    return full[1:4:2] if quick else full
