"""Estimators for dask arrays: the same layouts, to the last bit, as on one machine."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

import dask.array
import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..estimators import methods
from ..estimators.checkpoints import Checkpoint
from ..estimators.layout_parts import DENSE_LIMIT
from ..estimators.neighbor_embedding import PULL, SETTLING_ITER, NeighborEmbedding
from ..estimators.parameters import EmbeddingParameters
from ..geometry.costs import count_neighbors
from ..geometry.distance_metrics import DIRECT_METRICS
from ..geometry.inputs import check_fitted, check_layout
from ..runtime.execution import choose_execution, one_blas_thread
from .cluster_checks import check_workers, find_client
from .layout_pieces import make_pieced_objective, take_steps_on_workers
from .memory_checks import client_bytes, require_memory_on_cluster
from .pieced_checkpoints import fit_affinity_on_workers
from .point_pieces import PointPieces, check_dask_array, load_points
from .workers import LostClusterError, Workers, reported_losses, row_ranges

# Attributes of a fitted model.
FITTED = (
    *("embedding_", "potential_", "kl_divergence_", "n_iter_", "report_"),
    *("affinity_", "affinity_report_", "perplexity_", "n_features_in_"),
)

Self = TypeVar("Self", bound="DaskEmbedding")


class DaskEmbedding(NeighborEmbedding):
    """Base class of the estimators for dask arrays.

    The workers of the cluster search for neighbours, compute the affinity and move the points, each for a range of
    rows. The layout is the same, to the last bit, as that of the estimator of the same name in `snekhorn` for the same
    array, whatever the number of workers, if all machines have the same processor and versions. The fit survives the
    loss of workers. Up to 3,000 points are laid out by the process of the client.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the layout, 1 to 3.
    client : distributed.Client or None, default=None
        Client of the cluster; None means the current one.
    **parameters
        Other parameters are those of `snekhorn.estimators.NeighborEmbedding`. Some values are not supported on a
        cluster: other metrics than Euclidean and cosine ones, `n_neighbors=None`, an `affinity`, `balance=0`,
        `latent_self_loops=False`, `init="spectral"`, `optimizer="adam"` and `method="exact"`.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, n_components)
        The layout.
    affinity_ : None or ndarray
        None, because the affinity would fill the memory of the workers; the affinity itself up to 3,000 points.
    potential_, kl_divergence_, n_iter_, report_, affinity_report_, perplexity_, n_features_in_
        See `snekhorn.estimators.NeighborEmbedding`.
    """

    local: ClassVar[type[NeighborEmbedding]]

    def __init__(self, n_components: int = 2, *, client: Any = None, **parameters: Any) -> None:
        super().__init__(n_components, **parameters)
        self.client = client

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted([*EmbeddingParameters._get_param_names(), "client"])  # noqa: SLF001

    def __sklearn_clone__(self: Self) -> Self:
        return type(self)(**self.get_params(deep=False))  # a client cannot be copied

    def fit_transform(
        self, X: Any, y: Any = None, *, align: Any = None, align_rows: Any = None, pull: float = 0.0
    ) -> Any:
        """Compute the layout of X and return it as a dask array with the chunks of X."""
        Z = self.fit(X, y, align=align, align_rows=align_rows, pull=pull).embedding_
        return dask.array.from_array(Z, chunks=(X.chunks[0], Z.shape[1]))

    def transform(self, X: Any) -> Any:
        """Place new points in the layout, which does not change.

        Parameters
        ----------
        X : dask array or array of shape (m, p)
            Features. The workers place the points of a dask array, for which each of them needs all training points
            in memory.

        Returns
        -------
        dask array or ndarray of shape (m, n_components)
            Coordinates of the new points, as a dask array if X is one; it is computed when it is used.
        """
        check_fitted(self)
        if not isinstance(X, dask.array.Array):
            return self.to_local().transform(X)
        check_dask_array(X, n_columns=self.n_features_in_)
        client = find_client(self.client)
        workers = Workers(1, client, (), check_workers(client))
        model = workers.share(self.to_local().set_params(n_jobs=1, callbacks=None)).future
        X, d = X.rechunk({1: -1}), self.embedding_.shape[1]
        dtype = self.embedding_.dtype
        return X.map_blocks(_placed, model, chunks=(X.chunks[0], (d,)), dtype=dtype, meta=np.empty((0, d), dtype))

    def extend(self: Self, X: Any, *, pull: float = PULL, max_iter: int = SETTLING_ITER) -> Self:
        """Raise, because only an estimator for a single machine can be extended."""
        raise InputError(f"{type(self).__name__} on a Dask cluster has no extend; use model.to_local().extend(X).")

    def save(self, path: Any) -> None:
        """Write the fitted estimator to a file for `snekhorn.load`, which returns one for a single machine."""
        self.to_local().save(path)

    def to_local(self, X: Any = None) -> NeighborEmbedding:
        """Return the fitted estimator as one for a single machine; X is loaded into memory, unless it is passed."""
        check_fitted(self)
        model = self._unfitted()
        _copy_results(self, model)
        if X is None:
            X = _loaded(self._points, find_client(self.client))
        model.keep_reference(np.ascontiguousarray(X, dtype=self.embedding_.dtype))
        return model

    def _fit(self, X: Any, *, align: Any, align_rows: Any, pull: float) -> None:
        if align is not None or align_rows is not None or pull:
            raise InputError(
                f"align is not supported on a Dask cluster; use snekhorn.{type(self).__name__} on one machine."
            )
        try:
            self._fit_on_workers(X)
        except LostClusterError as error:
            if self.checkpoint is None:
                raise
            raise LostClusterError(f"{error} It resumes from the checkpoint {self.checkpoint}.") from error

    @one_blas_thread()
    def _fit_on_workers(self, X: Any) -> None:
        check_dask_array(X)
        self.check_parameters()
        n = X.shape[0]
        Z = None if isinstance(self.init, str) else check_layout(self.init, (n, self.n_components))
        client = find_client(self.client)
        addresses = check_workers(client)
        if n <= DENSE_LIMIT:
            self._fit_here(X, client)
            return
        self.check_support()
        n_threads = choose_execution(self.n_jobs).n_threads
        affinity, k = self.default_affinity(n), self._count_neighbors(n)
        require_memory_on_cluster(X, k, client, len(addresses), **self._memory_settings())
        points = load_points(X, client, addresses, n_threads)
        self._note_columns_without_names(X.shape[1])
        workers = Workers(n_threads, client, row_ranges(n, len(addresses)), addresses)
        checkpoint = Checkpoint.open(self, points.fingerprint, n)
        P = fit_affinity_on_workers(affinity, points, k, workers, checkpoint)
        self._keep_report_of(affinity)
        start = checkpoint.load("layout")
        if start is not None:
            Z = start.Z
        elif Z is None:
            Z = self.initial_layout(points, P)
        objective = make_pieced_objective(P, self.latent.kernel)
        del affinity, points, P  # which frees memory of the workers
        how = {"start": start, "steps": take_steps_on_workers}
        Z, report = self._descend(objective, Z, self.schedule(), checkpoint, **how)
        self._finish(X, None, objective, Z, report)

    def keep_reference(self, X: Any) -> None:
        """Keep the training points where they are."""
        self._points = X

    @property
    def _layout_dtype(self) -> Any:
        return self._points.dtype if self._points.dtype == np.float32 else np.float64

    def _fit_here(self, X: Any, client: Any) -> None:
        """Fit few points in this process."""
        model = self._unfitted().fit(_loaded(X, client))
        _copy_results(model, self)
        self.keep_reference(X)

    def offered_parameters(self) -> set[str] | None:
        """Return the parameters by which the user can change the affinity, which cannot be passed here."""
        return (super().offered_parameters() or set()) - {"affinity"}

    def client_bytes(self, X: Any) -> float:
        """Estimate what the client needs for a fit, in addition to what it uses; X may be an outline of the points.

        For so few points that the client does the work, this is 0, because the workers do not need memory then.
        """
        n = X.shape[0]
        return 0.0 if n <= DENSE_LIMIT else client_bytes(X, self._count_neighbors(n), **self._memory_settings())

    def _count_neighbors(self, n: int) -> int:
        """Return the number of neighbours of each of n points that are too many for all pairs."""
        affinity = self.default_affinity(n)
        k = count_neighbors(affinity.n_neighbors, n, affinity.graph_perplexity())
        assert k is not None
        return k

    def _memory_settings(self) -> dict[str, bool]:
        return {"with_start": self.starts_from_pca, "stores": self.checkpoint is not None}

    def check_support(self) -> None:
        """Raise for values that only a single machine supports."""
        supported: dict[str, bool] = {
            "metric": self.metric in DIRECT_METRICS,
            "n_neighbors": self.n_neighbors is not None,
            "affinity": self.affinity is None,
            "balance": self.balance != 0,
            "latent_self_loops": bool(self.latent_self_loops),
            "init": not isinstance(self.init, str) or self.init in ("pca", "random"),
            "optimizer": self.optimizer == "momentum",
            "method": self.method in ("auto", "fft"),
        }
        for name in (name for name, is_supported in supported.items() if not is_supported):
            raise InputError(
                f"{name}={getattr(self, name)!r} is not supported on a Dask cluster; leave it at its default, or "
                "compute the layout on one machine."
            )

    def initial_layout(self, X: Any, P: Any) -> NDArray[Any]:
        """Compute the initial layout that `init` specifies."""
        if self.starts_from_pca and isinstance(X, PointPieces):
            return X.pca_layout(self.n_components)
        return super().initial_layout(X, P)

    def _unfitted(self) -> NeighborEmbedding:
        parameters = self.get_params(deep=False)
        del parameters["client"]
        return self.local(**parameters)


class TSNEkhorn(DaskEmbedding):
    """t-SNEkhorn for dask arrays, like `snekhorn.TSNEkhorn`.

    See `snekhorn.dask.DaskEmbedding` for parameters and attributes.
    """

    latent = methods.TSNEkhorn.latent
    local = methods.TSNEkhorn


class SNEkhorn(DaskEmbedding):
    """SNEkhorn for dask arrays, like `snekhorn.SNEkhorn`.

    See `snekhorn.dask.DaskEmbedding` for parameters and attributes.
    """

    latent = methods.SNEkhorn.latent
    local = methods.SNEkhorn


def _copy_results(fitted: NeighborEmbedding, target: NeighborEmbedding) -> None:
    """Copy the attributes of a fitted model; a model of a precomputed affinity has fewer of them than others."""
    for name in FITTED:
        target.__dict__.pop(name, None)  # left by an earlier fit
        if hasattr(fitted, name):
            setattr(target, name, getattr(fitted, name))


def _loaded(X: Any, client: Any) -> NDArray[Any]:
    """Return all rows of a dask array."""
    with reported_losses(client):
        loaded: NDArray[Any] = client.compute(X).result()
    return loaded


def _placed(block: NDArray[Any], model: NeighborEmbedding, block_info: Any = None) -> NDArray[Any]:
    try:
        placed: NDArray[Any] = model.transform(block)
    except InputError as error:
        first = block_info[0]["array-location"][0][0] if block_info else 0
        raise InputError(f"{error} Rows are counted from row {first:,} of the array, where its chunk begins.") from None
    return placed
