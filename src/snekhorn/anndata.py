"""Layouts of AnnData objects, as scanpy's tools make them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from .embedding.initial_layout import pca_layout
from .errors import did_you_mean
from .estimators import NeighborEmbedding, TSNEkhorn
from .runtime.checks import check_choice

if TYPE_CHECKING:
    from anndata import AnnData

DEFAULT_REP = "X_pca"
PERPLEXITY, NEIGHBORS_PER_PERPLEXITY = 30.0, 3


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
    """Lay out the cells; the layout goes to `obsm`, how it was made to `uns`.

    Parameters
    ----------
    adata : AnnData
    use_rep : str or None, default=None
        Entry of `obsm` that the layout is made of, or "X". None takes "X_pca" where it is there, else "X".
    obsp : str or None, default=None
        Entry of `obsp` with the distances to neighbours, such as the "distances" that `scanpy.pp.neighbors` writes,
        to use them rather than to search again.
    perplexity : float or None, default=None
        None is 30, or with `obsp` a third of the neighbours there are, if that is less.
    n_components : int, default=2
    model : estimator or None, default=None
        Another method, or other parameters: its `perplexity`, `n_components`, `n_jobs` and `random_state` are set by
        the arguments of this function.
    key_added : str, default="tsnekhorn"
        The layout is `obsm["X_" + key_added]`, its description `uns[key_added]`.
    n_jobs, random_state : as for the estimators
    copy : bool, default=False
        Return a copy with the layout rather than write to `adata`.

    Returns
    -------
    AnnData if `copy`, else None

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
        raise TypeError(f"adata must be an AnnData object, got {type(adata).__name__}; TSNEkhorn takes arrays.")
    adata = adata.copy() if copy else adata
    estimator = clone(TSNEkhorn() if model is None else model)
    estimator.set_params(n_components=n_components, n_jobs=n_jobs, random_state=random_state)
    if obsp is None:
        estimator.set_params(perplexity=PERPLEXITY if perplexity is None else perplexity)
        use_rep, X = _representation(adata, use_rep)
    else:
        X = _squared_distances(adata, obsp)
        k = np.median(np.diff(X.indptr))
        estimator.set_params(
            metric="precomputed",
            n_neighbors=None,
            perplexity=max(min(PERPLEXITY, k / NEIGHBORS_PER_PERPLEXITY), 2.0) if perplexity is None else perplexity,
        )
        use_rep = use_rep or (DEFAULT_REP if DEFAULT_REP in adata.obsm else None)
        if use_rep is not None and isinstance(estimator.init, str) and estimator.init == "pca":
            estimator.set_params(init=pca_layout(_representation(adata, use_rep)[1], n_components))
    estimator.fit(X)
    adata.obsm[f"X_{key_added}"] = np.asarray(estimator.embedding_)
    adata.uns[key_added] = _description(estimator, use_rep, obsp)
    return adata if copy else None


def _representation(adata: AnnData, use_rep: str | None) -> tuple[str, Any]:
    """The entry asked for, and its name."""
    if use_rep is None:
        use_rep = DEFAULT_REP if DEFAULT_REP in adata.obsm else "X"
    if use_rep == "X":
        return use_rep, adata.X
    if use_rep not in adata.obsm:
        raise ValueError(f"use_rep={use_rep!r} is not in obsm; {did_you_mean(use_rep, ['X', *adata.obsm])}")
    return use_rep, np.asarray(adata.obsm[use_rep])


def _squared_distances(adata: AnnData, obsp: str) -> sparse.csr_matrix:
    """The graph of distances, squared where they are Euclidean: the cost of the method."""
    if obsp not in adata.obsp:
        raise ValueError(f"obsp={obsp!r} is not in obsp; {did_you_mean(obsp, adata.obsp)}")
    described = [found for found in adata.uns.values() if isinstance(found, dict)]
    if obsp == "connectivities" or any(found.get("connectivities_key") == obsp for found in described):
        raise ValueError(f"obsp={obsp!r} holds weights, which are large where cells are near; pass the distances.")
    graph = sparse.csr_matrix(adata.obsp[obsp])
    metrics = [found.get("params", {}).get("metric") for found in described if found.get("distances_key") == obsp]
    if metrics and metrics[0] not in ("euclidean", None):
        return graph
    return graph.power(2)


def _description(estimator: NeighborEmbedding, use_rep: str | None, obsp: str | None) -> dict[str, Any]:
    """What was done, in types that a file can hold."""
    perplexity = getattr(estimator, "perplexity_", None)  # a model of a precomputed P has none
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
