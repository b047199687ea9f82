"""Compute layouts and neighbour graphs of AnnData objects, with an interface like that of scanpy's tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from .affinities.symmetric_entropic import SymmetricEntropicAffinity
from .embedding.initial_layout import pca_layout
from .errors import InputError, InputTypeError, did_you_mean, first_few
from .estimators import NeighborEmbedding, TSNEkhorn
from .estimators.parameters import check_estimator
from .geometry.costs import NEIGHBORS_PER_PERPLEXITY, NeighborGraph, build_cost
from .geometry.distance_metrics import check_metric
from .geometry.inputs import check_points
from .io.column_hints import counts_note
from .io.h5ad_files import DEFAULT_REP
from .io.h5ad_layouts import RESERVED, describe_layout
from .runtime.checks import check_choice, check_count, check_text
from .runtime.execution import choose_execution, one_blas_thread
from .runtime.settings import offering
from .runtime.sparse_format import check_sparse
from .runtime.user_warnings import warn

if TYPE_CHECKING:
    from anndata import AnnData

PREFIX = "X_"  # of the names of layouts in obsm
DEFAULT_PERPLEXITY = 30.0
GRAPH_PERPLEXITY = 15.0  # of `neighbors`, like the number of neighbours of scanpy; larger ones give larger clusters
GRAPH_TOL = 1e-6  # tolerance of its weights, whose sums users may read; a larger one takes fewer passes


def tsnekhorn(  # noqa: PLR0913
    adata: AnnData,
    *,
    n_pcs: int | None = None,
    use_rep: str | None = None,
    metric: str | None = None,
    neighbors_key: str | None = None,
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
    n_pcs : int or None, default=None
        Number of columns of the entry of `obsm` to use, such as principal components; None uses all of them. Without
        `use_rep`, 0 means "X", as in scanpy.
    use_rep : str or None, default=None
        Entry of `obsm` to use, or "X". None uses "X_pca" if it exists, otherwise "X".
    metric : str or None, default=None
        Metric of the estimator; "euclidean" means squared Euclidean distances, as in t-SNE. None keeps the metric of
        `model`, which is "sqeuclidean" by default.
    neighbors_key : str or None, default=None
        Entry of `uns` that describes a neighbour graph, such as "neighbors" from `scanpy.pp.neighbors`. Its distances
        are used, and no new neighbour search is run.
    obsp : str or None, default=None
        The same, by the name of the entry of `obsp` with the distances, such as "distances".
    perplexity : float or None, default=None
        Effective number of neighbours per cell. None means 30 or, with a neighbour graph, two thirds of the median
        number of neighbours, but at least 2 and at most 30.
    n_components : int, default=2
        Dimension of the layout.
    model : estimator or None, default=None
        Estimator to use instead of `TSNEkhorn` with its defaults. Its `perplexity`, `n_components`, `n_jobs` and
        `random_state` are replaced by the arguments of this function.
    key_added : str, default="tsnekhorn"
        The layout is written to `obsm["X_" + key_added]`, its description to `uns[key_added]`. A leading "X_" of the
        key is ignored. The entry that the layout is computed from, and `obsm["X_pca"]`, cannot be replaced.
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
    adata = _checked(adata, metric, copy=copy, use_rep=use_rep, neighbors_key=neighbors_key, obsp=obsp)
    key = _layout_key(adata, key_added, use_rep)
    model = TSNEkhorn() if model is None else model
    check_estimator(model, "model=SNEkhorn()")
    estimator = clone(model)
    estimator.set_params(n_components=n_components, n_jobs=n_jobs, random_state=random_state)
    if neighbors_key is not None:
        obsp = _distances_key(adata, neighbors_key, obsp)
    if obsp is None:
        use_rep, X = _representation(adata, use_rep, n_pcs)
        default = DEFAULT_PERPLEXITY
        if metric is not None:
            estimator.set_params(metric="sqeuclidean" if metric == "euclidean" else metric)
    else:
        if metric is not None:
            raise InputError(f"metric={metric!r} has no effect on given distances; leave it out.")
        X = _squared_distances(adata, obsp)
        use_rep = use_rep or (DEFAULT_REP if DEFAULT_REP in adata.obsm else None)
        estimator.set_params(metric="precomputed", n_neighbors=None)
        if use_rep is not None and isinstance(estimator.init, str) and estimator.init == "pca":
            name, points = _representation(adata, use_rep, n_pcs)
            points = check_points(points, name=_place(name))
            estimator.set_params(init=pca_layout(points, n_components, execution=choose_execution(n_jobs)))
        default = _perplexity_of_graph(X, obsp, warned=perplexity is None and not estimator.takes_affinity)
    estimator.set_params(perplexity=default if perplexity is None else perplexity)
    estimator.fit(X)
    adata.obsm[f"{PREFIX}{key}"] = np.asarray(estimator.embedding_)
    adata.uns[key] = describe_layout(estimator, use_rep=use_rep, n_pcs=n_pcs or None, obsp=obsp)
    return adata if copy else None


def neighbors(
    adata: AnnData,
    *,
    perplexity: float = GRAPH_PERPLEXITY,
    n_pcs: int | None = None,
    use_rep: str | None = None,
    metric: str = "euclidean",
    key_added: str | None = None,
    n_jobs: int | None = None,
    copy: bool = False,
) -> AnnData | None:
    """Compute a neighbour graph with the symmetric entropic affinity as its weights, for the tools of scanpy.

    Cells have the same effective number of neighbours in this graph, and the weights of each cell sum to 1. The tools
    `scanpy.tl.leiden`, `paga`, `diffmap` and `umap` read it like the graph of `scanpy.pp.neighbors`. It is an
    alternative to that graph; do not expect better clusters.

    Parameters
    ----------
    adata : AnnData
        Annotated data, one row per cell.
    perplexity : float, default=15.0
        Effective number of neighbours per cell. The graph has one and a half times as many.
    n_pcs, use_rep
        See `tsnekhorn`.
    metric : str, default="euclidean"
        Distance between cells: any metric that scikit-learn supports. Euclidean distances are squared in the affinity.
    key_added : str or None, default=None
        With None, the graph is written to `obsp["distances"]`, `obsp["connectivities"]` and `uns["neighbors"]`, as in
        scanpy; otherwise to `obsp[key_added + "_distances"]`, `obsp[key_added + "_connectivities"]` and
        `uns[key_added]`.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.
    copy : bool, default=False
        Whether to return a copy with the graph and leave `adata` unchanged.

    Returns
    -------
    AnnData or None
        The copy if `copy` is True, otherwise None.

    Examples
    --------
    >>> import numpy as np
    >>> from anndata import AnnData
    >>> from snekhorn.anndata import neighbors
    >>> adata = AnnData(np.random.default_rng(0).normal(size=(60, 5)))
    >>> neighbors(adata, perplexity=10)
    >>> adata.obsp["connectivities"].shape
    (60, 60)
    """
    adata = _checked(adata, metric, copy=copy, use_rep=use_rep, key_added=key_added)
    name, X = _representation(adata, use_rep, n_pcs)
    euclidean = metric in ("euclidean", "sqeuclidean")
    used, execution = "sqeuclidean" if euclidean else metric, choose_execution(n_jobs)
    affinity = SymmetricEntropicAffinity(perplexity, metric=used, n_neighbors="auto", self_loops=False, tol=GRAPH_TOL)
    affinity.set_params(n_jobs=n_jobs).check_parameters()
    with one_blas_thread(), offering({"perplexity"}):
        graph = build_cost(X, metric=used, n_neighbors="auto", perplexity=perplexity, execution=execution)
        assert isinstance(graph, NeighborGraph)  # n_neighbors is not None
        n = graph.n_points
        costs = np.sqrt(graph.costs) if euclidean else graph.costs
        distances = sparse.csr_matrix((costs, graph.indices, graph.indptr), shape=(n, n))
        P = affinity.fit_costs(graph).affinity_
    prefix = "" if key_added is None else f"{key_added}_"
    keys = {f"{part}_key": f"{prefix}{part}" for part in ("connectivities", "distances")}
    adata.obsp[keys["distances_key"]], adata.obsp[keys["connectivities_key"]] = distances, P
    n_neighbors = int(np.diff(distances.indptr).max()) + 1  # scanpy counts the cell itself
    stored = "euclidean" if euclidean else metric  # the distances are not squared, unlike the costs
    params = {"n_neighbors": n_neighbors, "method": "snekhorn", "metric": stored, "random_state": 0}
    params |= {"perplexity": affinity.perplexity_, "use_rep": name}
    adata.uns[key_added or "neighbors"] = {**keys, "params": params}
    return adata if copy else None


def _checked(adata: Any, metric: Any, *, copy: bool, **names: Any) -> Any:
    """Return the object to write to; raise unless it is annotated data, and the names of entries are text or None."""
    check_choice(copy, "copy", (True, False))
    for parameter, name in names.items():
        if name is not None:
            check_text(name, parameter, "pass the name of an entry")
        if name == "":
            raise InputError(f"{parameter} is empty; pass the name of an entry.")
    if metric is not None:
        check_metric(metric)
    if not hasattr(adata, "obsm"):
        raise InputTypeError(f"adata must be an AnnData object, got {type(adata).__name__}; for arrays, use TSNEkhorn.")
    return adata.copy() if copy else adata


def _layout_key(adata: AnnData, key_added: Any, use_rep: str | None) -> str:
    """Return the name of the layout without its prefix; raise if it would replace an entry that other tools need."""
    key = check_text(key_added, "key_added", "pass a name such as 'tsnekhorn'").removeprefix(PREFIX)
    if key in RESERVED:
        raise InputError(f"key_added={key_added!r} is not a name that files can hold; pass one such as 'tsnekhorn'.")
    entry = f"{PREFIX}{key}"
    if entry in (use_rep, DEFAULT_REP):
        raise InputError(
            f"key_added={key_added!r} would write the layout to obsm[{entry!r}], from which layouts are computed; pass "
            "another name, such as 'tsnekhorn'."
        )
    if key in _described_graphs(adata):
        raise InputError(f"key_added={key_added!r} would replace uns[{key!r}], a neighbour graph; pass another name.")
    return key


def _place(name: str) -> str:
    """Return the place of a representation, for messages."""
    return name if name == "X" else f"obsm[{name!r}]"


def _representation(adata: AnnData, use_rep: str | None, n_pcs: int | None) -> tuple[str, Any]:
    """Return the name of the entry to lay out, and its first columns."""
    if n_pcs is not None:
        check_count(n_pcs, "n_pcs", smallest=0)
    given = use_rep
    if use_rep is None:
        use_rep = DEFAULT_REP if DEFAULT_REP in adata.obsm and n_pcs != 0 else "X"
    if use_rep == "X":
        if n_pcs and given == "X":
            raise InputError(
                f"n_pcs={n_pcs} applies to entries of obsm, not to X; leave out n_pcs, or pass the entry as use_rep."
            )
        if n_pcs:
            raise InputError(
                f"n_pcs={n_pcs}, but there are no principal components; run scanpy.pp.pca, or pass use_rep."
            )
        if adata.X is None:
            raise InputError(f"adata has no X; {_entries_to_pass(adata)}.")
        _warn_of_counts(adata.X)
        return use_rep, adata.X
    if use_rep not in adata.obsm:
        remedy = did_you_mean(use_rep, ["X", *adata.obsm])
        raise InputError(f"use_rep={use_rep!r} is neither 'X' nor an entry of obsm; {remedy}")
    found = adata.obsm[use_rep]
    found = check_points(found, name=_place(use_rep))  # a later message would call it X
    if n_pcs is None:
        return use_rep, found
    if not 0 < n_pcs <= found.shape[1]:
        raise InputError(f"n_pcs={n_pcs}, but {use_rep} has {found.shape[1]} columns; pass a number from 1 to that.")
    return use_rep, found[:, :n_pcs]


def _entries_to_pass(adata: AnnData) -> str:
    """Return what to do without X."""
    if not adata.obsm:
        return "add the data as X, or as an entry of obsm"
    return f"pass an entry of obsm as use_rep (available: {first_few(list(adata.obsm))})"


def _warn_of_counts(X: Any) -> None:
    """Warn if X looks like raw counts, of which a few genes would dominate all distances."""
    if sparse.issparse(X):
        check_sparse(X, "X")
    if note := counts_note(X):
        warn(f"{note}.")


def _distances_key(adata: AnnData, neighbors_key: str, obsp: str | None) -> str:
    """Return the entry of obsp with the distances of a neighbour graph."""
    if obsp is not None:
        raise InputError(f"neighbors_key={neighbors_key!r} and obsp={obsp!r} both name a graph; pass one of them.")
    graphs = _described_graphs(adata)
    if neighbors_key not in graphs:
        raise InputError(
            f"neighbors_key={neighbors_key!r} is not a neighbour graph of adata.uns; "
            f"{did_you_mean(neighbors_key, graphs)}"
        )
    return str(graphs[neighbors_key]["distances_key"])


def _described_graphs(adata: AnnData) -> dict[str, Mapping[str, Any]]:
    """Return the entries of uns that describe a neighbour graph; old ones do not name the entry of obsp."""
    entries = {key: found for key, found in adata.uns.items() if isinstance(found, Mapping)}
    if "neighbors" in entries and "distances" in adata.obsp:
        entries["neighbors"] = {"distances_key": "distances", **entries["neighbors"]}
    return {key: found for key, found in entries.items() if "distances_key" in found}


def _squared_distances(adata: AnnData, obsp: str) -> sparse.csr_matrix:
    """Return the graph of distances; Euclidean distances are squared, as the methods expect."""
    if obsp not in adata.obsp:
        raise InputError(f"obsp={obsp!r} is not an entry of adata.obsp; {did_you_mean(obsp, adata.obsp)}")
    described = _described_graphs(adata).values()
    if obsp == "connectivities" or any(found.get("connectivities_key") == obsp for found in described):
        raise InputError(f"obsp={obsp!r} holds weights, not distances; pass the entry with the distances.")
    found = adata.obsp[obsp]
    check_sparse(found, f"obsp={obsp!r}")
    graph = sparse.csr_matrix(found)
    metrics = [found.get("params", {}).get("metric") for found in described if found["distances_key"] == obsp]
    if metrics and metrics[0] not in ("euclidean", None):
        return graph
    return graph.power(2)


def _perplexity_of_graph(graph: sparse.csr_matrix, obsp: str, *, warned: bool) -> float:
    """Return the default perplexity, or a smaller one, with a warning, if cells have too few neighbours for it."""
    n_neighbors = float(np.median(np.diff(graph.indptr)))
    perplexity = max(min(DEFAULT_PERPLEXITY, n_neighbors / NEIGHBORS_PER_PERPLEXITY), 2.0)
    if warned and perplexity < DEFAULT_PERPLEXITY:
        wanted = int(NEIGHBORS_PER_PERPLEXITY * DEFAULT_PERPLEXITY) + 1  # scanpy counts the cell itself
        warn(
            f"obsp={obsp!r} has {n_neighbors:g} neighbours per cell, which allows a perplexity of {perplexity:.3g} "
            f"only; run scanpy.pp.neighbors with n_neighbors={wanted} for a perplexity of {DEFAULT_PERPLEXITY:g}, or "
            f"pass perplexity={perplexity:.3g} if that is what you want."
        )
    return perplexity
