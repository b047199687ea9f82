"""Call other packages, such as openTSNE and umap-learn, with their own defaults.

All calls to other packages are here, so that every comparison uses the same settings. The packages are imported only
when they are used, and none of them is required.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from joblib import cpu_count
from numpy.typing import NDArray
from scipy import sparse

from .experiment import NotAvailable

Array = NDArray[Any]
MODULES = {"umap-learn": "umap", "scikit-learn": "sklearn", "TorchDR": "torchdr"}  # names that differ
SEEDLESS = ("scikit-learn",)  # starts from PCA by default, so every seed gives the same layout
TORCHDR_GRADIENT = 1e-12  # the default, 1e-4, is more than the gradient of its initial layout, which is tiny
EARLY_ITERATIONS, MAIN_ITERATIONS = 250, 500  # openTSNE's defaults


def is_installed(package: str) -> bool:
    return find_spec(MODULES.get(package, package)) is not None


def require(package: str) -> None:
    """Raise `NotAvailable` if a package is not installed."""
    if not is_installed(package):
        raise NotAvailable(f"{package} is not installed; install it with: pip install {package.lower()}.")


# Layouts: X, perplexity, seed, number of threads -> Z


def _opentsne(X: Array, perplexity: float, seed: int | None, n_jobs: int) -> Any:
    from openTSNE import TSNE

    return TSNE(perplexity=perplexity, random_state=seed, n_jobs=n_jobs).fit(X)


def _umap(X: Array, perplexity: float, seed: int | None, n_jobs: int) -> Any:
    return umap_layout(X, n_neighbors=int(perplexity), random_state=seed)  # with a seed, it runs on one thread


def _sklearn(X: Array, perplexity: float, seed: int | None, n_jobs: int) -> Any:
    from sklearn.manifold import TSNE

    return TSNE(perplexity=perplexity, random_state=seed).fit_transform(X)


LAYOUTS: dict[str, Callable[[Array, float, int | None, int], Any]] = {
    "openTSNE": _opentsne,
    "umap-learn": _umap,
    "scikit-learn": _sklearn,
}


def largest_perplexity(package: str, n_points: int) -> float:
    """Return the largest perplexity that a package uses; it lowers larger values."""
    return (n_points - 1) / 3 if package == "openTSNE" else np.inf


def peer_layout(package: str, X: Array, perplexity: float, seed: int, n_jobs: int | None = None) -> Array:
    """Return the layout of a package with its defaults; perplexities that it would lower are not available."""
    require(package)
    if perplexity > largest_perplexity(package, len(X)):
        raise NotAvailable(
            f"{package} lowers perplexities above a third of the number of points, so it is not run at those "
            "perplexities."
        )
    try:
        return np.asarray(LAYOUTS[package](X, perplexity, seed, n_jobs or cpu_count()))
    except (ValueError, TypeError, RuntimeError) as error:
        raise NotAvailable(f"{package} failed: {error}") from error


def umap_layout(X: Array, **parameters: Any) -> Array:
    from umap import UMAP

    return np.asarray(UMAP(**parameters).fit_transform(X))


# Layouts with a number of neighbours in place of a perplexity


def pacmap_layout(X: Array, n_neighbors: int, seed: int | None, *, kind: str) -> Array:
    """Return the layout of PaCMAP or LocalMAP, both of which are in the package pacmap."""
    import pacmap

    logging.getLogger("pacmap").setLevel(logging.ERROR)  # it warns that a seed is set
    return np.asarray(getattr(pacmap, kind)(n_neighbors=n_neighbors, random_state=seed).fit_transform(X))


def trimap_layout(X: Array, n_inliers: int) -> Array:
    """Return the layout of TriMap, which takes no seed."""
    import trimap

    return np.asarray(trimap.TRIMAP(n_inliers=n_inliers).fit_transform(X.astype(np.float32)))


def phate_layout(X: Array, knn: int, seed: int | None, n_jobs: int) -> Array:
    import phate

    return np.asarray(phate.PHATE(knn=knn, random_state=seed, n_jobs=n_jobs, verbose=0).fit_transform(X))


def torchdr_layout(X: Array, perplexity: float, seed: int | None, n_jobs: int) -> Array:
    """Return the layout of TorchDR's t-SNEkhorn; with its default `min_grad_norm`, it would stop at once."""
    import torch
    import torchdr

    torch.set_num_threads(n_jobs)
    model = torchdr.TSNEkhorn(perplexity=perplexity, random_state=seed, min_grad_norm=TORCHDR_GRADIENT)
    return np.asarray(model.fit_transform(X))


# Stages of openTSNE, to be timed one by one


def opentsne_affinity(X: Array, perplexity: float, n_jobs: int) -> Any:
    from openTSNE.affinity import PerplexityBasedNN

    return PerplexityBasedNN(X, perplexity=perplexity, n_jobs=n_jobs, random_state=0)


def opentsne_initial_layout(X: Array) -> Array:
    from openTSNE import initialization

    return initialization.pca(X, random_state=0)


def opentsne_descent(initial: Array, affinity: Any, n_jobs: int) -> Array:
    """Return the layout of openTSNE's default schedule."""
    layout = _opentsne_embedding(initial, affinity, n_jobs)
    layout.optimize(EARLY_ITERATIONS, exaggeration=12, momentum=0.8, inplace=True)
    return np.asarray(layout.optimize(MAIN_ITERATIONS, momentum=0.8, inplace=True))


def opentsne_iterations(P: Any, Z: Array, n_jobs: int) -> Callable[[int], Any]:
    """Return a function that runs some iterations of openTSNE from a layout with negligible steps."""
    from openTSNE.affinity import PrecomputedAffinities

    layout = _opentsne_embedding(np.asarray(Z, dtype=float), PrecomputedAffinities(P.astype(float)), n_jobs)
    return lambda n_iter: layout.optimize(n_iter, learning_rate=1e-6, inplace=True)


def _opentsne_embedding(initial: Array, affinity: Any, n_jobs: int) -> Any:
    from openTSNE import TSNEEmbedding

    return TSNEEmbedding(initial, affinity, negative_gradient_method="fft", n_jobs=n_jobs, random_state=0)


# Entropic affinities of t-SNE on given neighbours, and the neighbour search before them


def opentsne_neighbors(X: Array, k: int, n_jobs: int) -> tuple[Array, Array]:
    """Return indices and distances found in the same way as by PerplexityBasedNN."""
    from openTSNE.affinity import get_knn_index

    return get_knn_index(X, "auto", k, "euclidean", n_jobs=n_jobs, random_state=0).build()


def opentsne_joint(indices: Array, distances: Array, perplexity: float, n_jobs: int) -> Any:
    from openTSNE.affinity import joint_probabilities_nn

    return joint_probabilities_nn(indices, distances, [perplexity], n_jobs=n_jobs)


def opentsne_rows(distances: Array, perplexity: float, n_jobs: int) -> Array:
    from openTSNE import _tsne

    rows = _tsne.compute_gaussian_perplexity(distances, np.array([perplexity], dtype=float), num_threads=n_jobs)
    return np.asarray(rows)


def sklearn_neighbors(X: Array, k: int, n_jobs: int) -> tuple[Array, Array]:
    """Return indices and distances found in the same way as by scikit-learn's TSNE."""
    from sklearn.neighbors import NearestNeighbors

    distances, indices = NearestNeighbors(n_neighbors=k, n_jobs=n_jobs).fit(X).kneighbors()
    return indices, distances


def sklearn_joint(indices: Array, distances: Array, perplexity: float) -> Any:
    from sklearn.manifold._t_sne import _joint_probabilities_nn

    n, k = indices.shape
    parts = ((distances**2).ravel(), indices.ravel(), np.arange(0, n * k + 1, k))
    return _joint_probabilities_nn(sparse.csr_array(parts, shape=(n, n)), perplexity, 0)


def sklearn_rows(distances: Array, perplexity: float) -> Array:
    from sklearn.manifold._utils import _binary_search_perplexity

    squared = np.ascontiguousarray(distances**2, dtype=np.float32)
    return np.asarray(_binary_search_perplexity(squared, perplexity, 0))


# Symmetric entropic affinity of TorchDR


def torchdr_affinity(X: Array, perplexity: float, n_jobs: int, *, self_loops: bool, **settings: Any) -> tuple[Any, Any]:
    """Return TorchDR's affinity object, and P with rows that sum to 1."""
    import torch
    import torchdr

    torch.set_num_threads(n_jobs)
    affinity = torchdr.SymmetricEntropicAffinity(perplexity, zero_diag=not self_loops, **settings)
    return affinity, affinity(X).detach().numpy() * len(X)  # TorchDR divides by n
