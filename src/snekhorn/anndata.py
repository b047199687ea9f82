"""Compute layouts of AnnData objects, with an interface like that of scanpy's tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from .embedding.initial_layout import pca_layout
from .errors import InputError, InputTypeError, did_you_mean
from .estimators import NeighborEmbedding, TSNEkhorn
from .geometry.costs import NEIGHBORS_PER_PERPLEXITY
from .geometry.inputs import check_points
from .io.h5ad_files import DEFAULT_REP
from .runtime.checks import check_choice
from .runtime.execution import choose_execution
from .runtime.sparse_format import check_sparse

if TYPE_CHECKING:
    from anndata import AnnData

DEFAULT_PERPLEXITY = 30.0


def tsnekhorn(
    adata: AnnData,
    *,
    use_rep: str | None = None,
    obsp: str | None = None,
    perplexity: float | None = None,
    n_components: int = 2,
    model: NeighborEmbedding | None = None,
    key_added: str = "tsnekhorn",
    n_jobs: int | None = None,
    random_state: Any = 0,
    copy: bool = False,
) -> AnnData | None:
    """Compute a layout of the cells of an AnnData object; write the layout to `obsm` and its description to `uns`.

    Parameters
    ----------
    adata : AnnData
        Annotated data, one row per cell.
    use_rep : str or None, default=None
        Entry of `obsm` to use, or "X". None uses "X_pca" if it exists, otherwise "X".
    obsp : str or None, default=None
        Entry of `obsp` with the distances to the nearest neighbours, such as "distances" from `scanpy.pp.neighbors`.
        No new neighbour search is run.
    perplexity : float or None, default=None
        Effective number of neighbours per cell. None means 30 or, with `obsp`, two thirds of the median number
        of neighbours, but at least 2 and at most 30.
    n_components : int, default=2
        Dimension of the layout.
    model : estimator or None, default=None
        Estimator to use instead of `TSNEkhorn` with its defaults. Its `perplexity`, `n_components`, `n_jobs` and
        `random_state` are replaced by the arguments of this function.
    key_added : str, default="tsnekhorn"
        The layout is written to `obsm["X_" + key_added]`, its description to `uns[key_added]`.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.
    random_state : int, RandomState or None, default=0
        Random seed.
    copy : bool, default=False
        Whether to return a copy with the layout and leave `adata` unchanged.

    Returns
    -------
    AnnData or None
        The copy if `copy` is True, otherwise None.

    Examples
    --------
    >>> import numpy as np
    >>> from anndata import AnnData
    >>> from snekhorn.anndata import tsnekhorn
    >>> adata = AnnData(np.random.default_rng(0).normal(size=(60, 5)))
    >>> tsnekhorn(adata, perplexity=10)
    >>> adata.obsm["X_tsnekhorn"].shape
    (60, 2)
    """
    check_choice(copy, "copy", (True, False))
    if not hasattr(adata, "obsm"):
        raise InputTypeError(f"adata must be an AnnData object, got {type(adata).__name__}; for arrays, use TSNEkhorn.")
    adata = adata.copy() if copy else adata
    estimator = clone(TSNEkhorn() if model is None else model)
    estimator.set_params(n_components=n_components, n_jobs=n_jobs, random_state=random_state)
    if obsp is None:
        use_rep, X = _representation(adata, use_rep)
        default = DEFAULT_PERPLEXITY
    else:
        X = _squared_distances(adata, obsp)
        default = _perplexity_of_graph(X)
        use_rep = use_rep or (DEFAULT_REP if DEFAULT_REP in adata.obsm else None)
        estimator.set_params(metric="precomputed", n_neighbors=None)
        if use_rep is not None and isinstance(estimator.init, str) and estimator.init == "pca":
            name, points = _representation(adata, use_rep)
            points = check_points(points, name=f"use_rep={name!r}")
            estimator.set_params(init=pca_layout(points, n_components, execution=choose_execution(n_jobs)))
    estimator.set_params(perplexity=default if perplexity is None else perplexity)
    estimator.fit(X)
    adata.obsm[f"X_{key_added}"] = np.asarray(estimator.embedding_)
    adata.uns[key_added] = _description(estimator, use_rep, obsp)
    return adata if copy else None


def _representation(adata: AnnData, use_rep: str | None) -> tuple[str, Any]:
    """Return the name of the entry to lay out, and the entry."""
    if use_rep is None:
        use_rep = DEFAULT_REP if DEFAULT_REP in adata.obsm else "X"
    if use_rep == "X":
        return use_rep, adata.X
    if use_rep not in adata.obsm:
        remedy = did_you_mean(use_rep, ["X", *adata.obsm])
        raise InputError(f"use_rep={use_rep!r} is neither 'X' nor an entry of obsm; {remedy}")
    found = adata.obsm[use_rep]
    return use_rep, found if sparse.issparse(found) else np.asarray(found)


def _squared_distances(adata: AnnData, obsp: str) -> sparse.csr_matrix:
    """Return the graph of distances; Euclidean distances are squared, as the methods expect."""
    if obsp not in adata.obsp:
        raise InputError(f"obsp={obsp!r} is not an entry of adata.obsp; {did_you_mean(obsp, adata.obsp)}")
    described = [found for found in adata.uns.values() if isinstance(found, dict)]
    if obsp == "connectivities" or any(found.get("connectivities_key") == obsp for found in described):
        raise InputError(f"obsp={obsp!r} holds weights, not distances; pass the entry with the distances.")
    found = adata.obsp[obsp]
    check_sparse(found, f"obsp={obsp!r}")
    graph = sparse.csr_matrix(found)
    metrics = [found.get("params", {}).get("metric") for found in described if found.get("distances_key") == obsp]
    if metrics and metrics[0] not in ("euclidean", None):
        return graph
    return graph.power(2)


def _perplexity_of_graph(graph: sparse.csr_matrix) -> float:
    """Return the default perplexity, or a smaller one if cells have too few neighbours for it."""
    n_neighbors = float(np.median(np.diff(graph.indptr)))
    return max(min(DEFAULT_PERPLEXITY, n_neighbors / NEIGHBORS_PER_PERPLEXITY), 2.0)


def _description(estimator: NeighborEmbedding, use_rep: str | None, obsp: str | None) -> dict[str, Any]:
    """Describe how the layout was made, in types that an H5AD file can store."""
    perplexity = getattr(estimator, "perplexity_", None)  # absent if P was precomputed
    named = {"perplexity": perplexity, "use_rep": use_rep, "obsp": obsp}
    params: dict[str, Any] = {"method": type(estimator).__name__}
    params |= {name: value for name, value in named.items() if value is not None}
    report = estimator.report_
    return {
        "params": params,
        "converged": report.converged,
        "reason": report.reason,
        "n_iter": report.n_iter,
        "kl_divergence": float(estimator.kl_divergence_),
    }
