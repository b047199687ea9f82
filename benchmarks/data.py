"""The data sets that the benchmarks measure on, from the folder that SNEKHORN_DATA names or their homes."""

from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA

from snekhorn import datasets
from snekhorn.datasets.loading import data_folder

NAMES = {
    "COIL-20": "coil20",
    "Olivetti": "olivetti",
    "UMIST": "umist",
    "SNAREseq": "snareseq",
    "scGEM": "scgem",
    "CIFAR": "cifar_resnet56",
    "lung (gordon)": "gordon",
    "tumours (su)": "su",
    "blue cell (khan)": "khan",
    "leukaemia (ALL)": "all",
    "MNIST": "mnist",
}
N_COMPONENTS = 50  # as in the paper, where there are more features


def folder() -> Path | None:
    """The data folder, or None where SNEKHORN_DATA names none."""
    try:
        return data_folder()
    except datasets.MissingData:
        return None


def load(name: str, n: int | None = None, *, unit_rows: bool = False, dtype: type = np.float64) -> np.ndarray:
    """The first n points, reduced to 50 principal components; rows scaled to unit norm before, if asked."""
    return load_labelled(name, n, unit_rows=unit_rows, dtype=dtype)[0]


def load_labelled(
    name: str, n: int | None = None, *, unit_rows: bool = False, dtype: type = np.float64
) -> tuple[np.ndarray, np.ndarray]:
    """The same, and the classes."""
    try:
        found = datasets.load(NAMES[name])
    except datasets.MissingData as error:
        raise SystemExit(str(error)) from error
    X, y = found.X[:n].astype(dtype), found.y[:n]
    if unit_rows:
        X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), np.finfo(dtype).tiny)
    if X.shape[1] > N_COMPONENTS:
        X = PCA(N_COMPONENTS, svd_solver="covariance_eigh" if X.shape[0] > 5000 else "full").fit_transform(X)
    return np.ascontiguousarray(X), y
