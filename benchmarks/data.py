"""The data sets that the benchmarks measure on, from the folder that SNEKHORN_DATA names."""

import os
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA

NAMES = {
    "COIL-20": "coil20",
    "Olivetti": "olivetti",
    "UMIST": "umist",
    "SNAREseq": "snareseq_chromatin",
    "scGEM": "scgem_expression",
    "CIFAR": "cifar10_resnet56_test10k",
    "lung (gordon)": "microarray_gordon",
    "tumours (su)": "microarray_su",
    "blue cell (khan)": "microarray_khan",
    "leukaemia (ALL)": "microarray_ALL_chiaretti",
    "MNIST": "mnist70k",
}
N_COMPONENTS = 50  # as in the paper, where there are more features


def folder() -> Path | None:
    """The data folder, or None where SNEKHORN_DATA names none."""
    path = os.environ.get("SNEKHORN_DATA", "")
    return Path(path) if path and Path(path).is_dir() else None


def load(name: str, n: int | None = None, *, unit_rows: bool = False, dtype: type = np.float64) -> np.ndarray:
    """The first n points, reduced to 50 principal components; rows scaled to unit norm before, if asked."""
    return load_labelled(name, n, unit_rows=unit_rows, dtype=dtype)[0]


def load_labelled(
    name: str, n: int | None = None, *, unit_rows: bool = False, dtype: type = np.float64
) -> tuple[np.ndarray, np.ndarray]:
    """The same, and the classes."""
    root = folder()
    if root is None:
        raise SystemExit("Set SNEKHORN_DATA to the folder that holds the data sets (coil20.npz, ...).")
    with np.load(root / f"{NAMES[name]}.npz") as file:
        X, y = file["X"][:n].astype(dtype), file["y"][:n]
    if unit_rows:
        X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), np.finfo(dtype).tiny)
    if X.shape[1] > N_COMPONENTS:
        X = PCA(N_COMPONENTS, svd_solver="covariance_eigh" if X.shape[0] > 5000 else "full").fit_transform(X)
    return np.ascontiguousarray(X), y
