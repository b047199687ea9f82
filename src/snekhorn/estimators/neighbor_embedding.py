"""Base estimator: check the input, compute P and the layout, and keep what is needed to place new points."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..affinities.affinity import Affinity
from ..embedding.descent import EmbeddingReport, Stop, minimize
from ..embedding.latent import choose_method
from ..embedding.objective import Objective
from ..embedding.schedule import Schedule, make_optimizer
from ..embedding.springs import Springs
from ..errors import InputError
from ..geometry.inputs import check_fitted, check_layout, check_squares
from ..runtime.checks import check_count
from ..runtime.execution import Execution, choose_execution, one_blas_thread
from ..runtime.interrupts import delayed_interrupts
from ..runtime.memory import limited_memory
from ..runtime.settings import offering
from .checkpoints import Checkpoint, NoCheckpoint, fingerprint
from .earlier_layout import EarlierLayout, check_pull
from .html_representation import FittedRepresentation
from .layout_warnings import warn_of_layout
from .point_placement import PointPlacement
from .resources import count_points

SEE_HERE = "Parameters and attributes are those of `snekhorn.estimators.NeighborEmbedding`."
PULL, SETTLING_ITER = 0.02, 100  # of `extend`; a stronger pull or fewer iterations keep new groups from making room

Self = TypeVar("Self", bound="NeighborEmbedding")


class NeighborEmbedding(FittedRepresentation, PointPlacement):
    """Base class of all methods.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the layout, 1 to 3.
    perplexity : float, default=30.0
        Effective number of neighbours per point.
    metric : str, default="sqeuclidean"
        Cost between points: any metric that scikit-learn supports, or "precomputed" for a cost matrix or a sparse
        neighbour graph such as the output of `sklearn.neighbors.KNeighborsTransformer`. Costs are used unchanged: pass
        squared distances to match the default.
    n_neighbors : int, "auto" or None, default="auto"
        Number of neighbours to which the affinity is restricted; None uses all points. "auto" uses all points if there
        are at most 3,000, and otherwise one and a half times the perplexity.
    affinity : None, affinity object or "precomputed", default=None
        None uses the affinity of the method. An object from `snekhorn.affinities` combines its P with the Q of the
        method, and its own perplexity, metric, neighbours and self-loops apply. With "precomputed", X is P itself,
        dense or sparse, of shape (n, n). Methods whose Q has no diagonal ignore the diagonal of P.
    balance : float or "auto", default="auto"
        How equally points count in P, for methods with a doubly stochastic Q: 1 is the symmetric entropic affinity of
        the paper, in which every row sums to 1; 0 is the symmetrised entropic affinity of t-SNE, in which hubs count
        more; values in between mix the two. "auto" uses 0.5, which preserves more neighbours, and up to 1 if noise is
        so unequal that hubs would mislead; without `latent_self_loops`, it is 1. `affinity_report_.balance` is the
        value used. An affinity object has its own `balance`.
    self_loops : bool, default=False
        Whether the diagonal is part of P, as in the paper. Without it, no mass is spent on the point itself, and
        layouts are usually better.
    latent_self_loops : bool, default=True
        Whether the diagonal is part of a doubly stochastic Q. The Q of the other methods has no diagonal.
    init : {"pca", "spectral", "random"} or array of shape (n, n_components), default="pca"
        Initial layout. If there are no features, "pca" means "spectral". An array is used unchanged.
    early_exaggeration : float, default=12.0
        Attraction factor in the first 100 iterations (or the first third of `max_iter`, if that is less).
    exaggeration : float, default=1.0
        Attraction factor in the remaining iterations: 1 preserves neighbours, 1.5 to 2 shows groups more clearly.
    learning_rate : float or "auto", default="auto"
        Step size of the descent; "auto" means 1, for any number of points.
    optimizer : {"momentum", "adam"}, default="momentum"
        Optimiser of the descent. "adam" is the one used in the paper, without early exaggeration.
    max_iter : int, default=2000
        Maximum number of iterations.
    tol : float, default=5e-5
        Stop when the loss decreases by less than `tol` (relative, per iteration) at two consecutive checks, or at a
        single check with "adam".
    marginal_tol : float, default=1e-2
        Tolerance on the deviation of the final row sums of a doubly stochastic Q from 1.
    method : {"auto", "exact", "fft"}, default="auto"
        How to compute sums over all pairs: directly, or on a grid in time linear in n. "auto" chooses the faster one.
    callbacks : callable, list of callables or None, default=None
        Functions called with (iteration, loss, layout) every 50 iterations, or every iteration with "adam". The descent
        stops if one of them returns True.
    n_jobs : int or None, default=None
        Number of threads; None and -1 use all cores. The result does not depend on this number.
    max_memory : int, float, str or None, default=None
        Largest memory of the process, including X: a number of bytes, a text such as "8GB", or a fraction of the memory
        that is available to the process at the start. If an estimate exceeds it, `fit` raises an error before any long
        work. None means the memory that is available.
    random_state : int, RandomState or None, default=None
        Random seed for init="random". Other initial layouts depend on the data alone.
    verbose : bool, default=False
        Whether to show progress.
    checkpoint : str, path or None, default=None
        Folder in which `fit` stores its state: the neighbours, the affinity and, about once a minute and after an
        interrupt, the descent. If the process ends early, the same call resumes from the folder, and returns the same
        bits as without a break. The folder remains, so that you can delete it when you have the results.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, n_components)
        The layout.
    affinity_ : ndarray or sparse matrix of shape (n, n)
        The affinity P.
    potential_ : ndarray of shape (n,)
        The potential f, if Q is doubly stochastic.
    kl_divergence_ : float
        Divergence of P from Q, per point. The loss in `report_` has further terms if the rows of P do not sum to 1
        although those of Q do, as with `balance` below 1, and after `align` with `pull`; see `EmbeddingReport`.
    n_iter_ : int
        Number of iterations.
    report_ : EmbeddingReport
        Why the descent stopped, the history of the loss, and the largest deviation of a row sum of Q from 1.
    affinity_report_ : SolveReport
        Report on the affinity, unless it was precomputed.
    perplexity_ : float
        Perplexity used for new points in `transform`. It is the perplexity of P, which is lower than `perplexity` if
        rows are too short for it. For an affinity with several perplexities, it is the largest requested one (100 for
        "auto"). For an affinity without a perplexity, it is the parameter `perplexity`.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns of X, if X is a data frame.
    reduction_ : Preprocessing
        Reduction to principal components, if X was read by blocks and has more than 50 columns.
    """

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Copy the parameter descriptions, which are written only here, to the docstring of each method."""
        super().__init_subclass__(**arguments)
        if cls.__doc__ and NeighborEmbedding.__doc__:
            shared = NeighborEmbedding.__doc__.split("\n", 2)[2].strip()
            cls.__doc__ = cls.__doc__.replace(SEE_HERE, shared)

    def fit(self: Self, X: Any, y: Any = None, *, align: Any = None, align_rows: Any = None, pull: float = 0.0) -> Self:
        """Compute the layout of X.

        Parameters
        ----------
        X : array of shape (n, p)
            Features, or the input that `metric` and `affinity` describe. Features may also be a dask array, a Zarr
            array, an HDF5 data set, the X of an AnnData object opened with ``backed="r"``, or a memory-mapped array of
            more than 100 million values. They are then read by blocks, and if the metric is Euclidean, more than 50
            columns are reduced to 50 principal components in single precision.
        y : None
            Ignored.
        align : array of shape (m, n_components) or None, default=None
            Earlier layout of some of the points. The new layout is rotated, mirrored and shifted to be as close to it
            as possible.
        align_rows : array of shape (m,) or None, default=None
            Row of X for each row of `align`, or -1 for a point that is not in X. None means that the rows are the same.
        pull : float, default=0.0
            Strength of springs that keep the shape of the earlier layout, in any position and scale. With a positive
            value, the descent starts from the earlier layout. The attraction of all neighbours of a point together has
            a strength of 1. The largest value is 10,000, or 10 with `optimizer="adam"`.

        Returns
        -------
        self
            The fitted estimator.
        """
        with self._restored_after_errors():
            self._fit(X, align=align, align_rows=align_rows, pull=check_pull(pull, self.optimizer))
        return self

    def fit_transform(
        self, X: Any, y: Any = None, *, align: Any = None, align_rows: Any = None, pull: float = 0.0
    ) -> NDArray[Any]:
        """Compute the layout of X and return it; see `fit` for the parameters."""
        return self.fit(X, y, align=align, align_rows=align_rows, pull=pull).embedding_

    def extend(self: Self, X: Any, *, pull: float = PULL, max_iter: int = SETTLING_ITER) -> Self:
        """Add new points to the layout, and let all points settle without losing their places.

        New points are placed as by `transform`. The affinity of all points is then computed, and a short descent moves
        all of them, while springs hold the old points at their positions. Halfway, the new points are placed again, by
        their neighbours among old and new points alike. Afterwards, the estimator is fitted to all points: `embedding_`
        and `affinity_` have the rows of the old points, then those of the new ones. The estimator itself changes, as in
        `partial_fit` of scikit-learn; if an error occurs, it stays as it was. The parameter `checkpoint` is ignored.

        Parameters
        ----------
        X : array of shape (m, p)
            Features of the new points.
        pull : float, default=0.02
            Strength of the springs: 0 lets the old points move freely, 1 almost fixes them. The attraction of all
            neighbours of a point together has a strength of 1. With `optimizer="adam"`, the largest value is 10.
        max_iter : int, default=100
            Maximum number of iterations.

        Returns
        -------
        self
            The estimator, fitted to all points.
        """
        with self._restored_after_errors():
            self._extend(X, check_pull(pull, self.optimizer), check_count(max_iter, "max_iter"))
        return self

    def save(self, path: Any) -> None:
        """Write the fitted estimator to a file for `snekhorn.load`, in a versioned format without pickle."""
        from .saved_models import save

        save(self, path)

    @contextmanager
    def _restored_after_errors(self) -> Iterator[None]:
        """Limit the memory and the advice, and restore an earlier fit if an error occurs."""
        before = self.__dict__.copy()
        try:
            with limited_memory(self.max_memory), offering(self.offered_parameters()):
                yield
        except BaseException:
            self.__dict__ = before
            raise

    @one_blas_thread()
    def _fit(self, X: Any, *, align: Any, align_rows: Any, pull: float) -> None:
        X, earlier = self.checked_for_fit(X, align=align, align_rows=align_rows, pull=pull)
        n, execution = count_points(X), choose_execution(self.n_jobs)
        affinity = self.make_affinity(n)
        checkpoint = Checkpoint.open(self, partial(fingerprint, X), n, earlier)
        P = X if affinity is None else checkpoint.fit_affinity(affinity, X, execution)
        self._keep_report_of(affinity)
        start = checkpoint.load("layout")
        Z = self._first_layout(X, P, earlier, execution) if start is None else start.Z
        objective = self.make_objective(P, execution, None if earlier is None else earlier.springs(execution))
        Z, report = self._descend(objective, Z, self.schedule(), checkpoint, start=start)
        self._finish(X, P, objective, Z if earlier is None else earlier.aligned(Z, execution), report)

    def checked_for_fit(
        self, X: Any, *, align: Any = None, align_rows: Any = None, pull: float = 0.0
    ) -> tuple[Any, EarlierLayout | None]:
        """Check everything before the long work; return X in memory, and the earlier layout."""
        unread = self.unread_points(X)  # reading takes long, so everything else is checked first
        points = self.checked_input(X) if unread is None else unread
        self.check_parameters()
        shape = (count_points(points), self.n_components)
        if not isinstance(self.init, str):
            check_layout(self.init, shape)
        earlier = EarlierLayout.checked(align, align_rows, pull, shape, getattr(points, "dtype", float))
        self.check_resources(points)
        if unread is not None:
            points = self.checked_input(X)
        if self.starts_from_pca and not isinstance(points, tuple):
            check_squares(points)
        return points, earlier

    def _first_layout(self, X: Any, P: Any, earlier: EarlierLayout | None, execution: Execution) -> NDArray[Any]:
        """Return the initial layout: `init`, at the earlier positions if a pull keeps them."""
        if isinstance(self.init, str):
            Z = self.initial_layout(X, P)
        else:
            Z = check_layout(self.init, (count_points(X), self.n_components))
        return earlier.initial_layout(Z, execution) if earlier is not None and earlier.pull else Z

    @one_blas_thread()
    def _extend(self, X: Any, pull: float, max_iter: int) -> None:
        self._check_extensible()
        new = self.checked_input(X, reset=False)
        self._reference.check_queries(new)
        self.check_parameters()
        n_old, n = len(self.embedding_), len(self.embedding_) + new.shape[0]
        self.check_resources(self._reference.outline(n))
        execution = choose_execution(self.n_jobs)
        Z = np.concatenate([self.embedding_, self.placed(new)]).astype(float)
        self._reference.release_search()  # not needed for P, which takes most of the memory
        points = self._reference.joined(new)
        affinity = self.make_affinity(n)
        assert affinity is not None
        P = affinity.fit_transform(points)
        self._keep_report_of(affinity)
        strengths = np.where(np.arange(n) < n_old, pull, 0.0)
        springs = Springs(Z.copy(), strengths, execution, free=False) if pull else None
        objective = self.make_objective(P, execution, springs)
        place_again = partial(self.placed_again, n_old=n_old, P=P, objective=objective)
        Z, report = self._descend(objective, Z, self.schedule().settling(max_iter), NoCheckpoint(), between=place_again)
        if report.reason == Stop.MAX_ITER.value:
            report.stop(Stop.EXTENDED)
        self._finish(points, P, objective, Z, report)

    def _check_extensible(self) -> None:
        """Raise unless the layout can be extended by new points."""
        check_fitted(self)
        if self._reference.X is None:
            if self.takes_affinity and hasattr(self, "affinity_report_"):
                raise InputError(self.no_new_points())
            what = "affinity='precomputed'" if self.takes_affinity else "metric='precomputed'"
            raise InputError(
                f"extend needs features, but {what} has no information about pairs of new points; fit all points "
                "again with align=model.embedding_."
            )
        if (d := self.embedding_.shape[1]) != self.n_components:
            raise InputError(
                f"the layout has {d} dimension{'s' * (d > 1)}, but n_components={self.n_components!r}; set it back, or "
                "fit the model again."
            )

    def _descend(
        self,
        objective: Objective,
        Z: NDArray[Any],
        schedule: Schedule,
        checkpoint: Checkpoint | NoCheckpoint,
        **how: Any,
    ) -> tuple[NDArray[Any], EmbeddingReport]:
        """Minimise the objective from Z; `how` are further arguments of `minimize`."""
        optimizer = make_optimizer(self.optimizer, Z.shape, objective.execution)
        how = {"callbacks": self.callback_list(), "verbose": self.verbose, "keep": checkpoint.keep, **how}
        with self.remedies_for_overflow():
            Z, report = minimize(objective, Z, optimizer, schedule, **how)
        if report.interrupted:
            checkpoint.store_kept()
        report.method = choose_method(self.method, len(Z), self.n_components)
        return Z, report

    def _finish(self, X: Any, P: Any, objective: Objective, Z: NDArray[Any], report: EmbeddingReport) -> None:
        """Solve for the potential, store the results, and warn about problems; an interrupt is reported."""
        try:
            report.marginal_gap = objective.solve_potential(Z, self.marginal_tol)
        except KeyboardInterrupt:  # the layout is complete; only the last digits of f are missing
            report.stop(Stop.INTERRUPTED)
        try:
            with delayed_interrupts():
                self._keep(X, P, objective, Z, report)
        except KeyboardInterrupt:
            report.stop(Stop.INTERRUPTED)
        warn_of_layout(self, objective, Z, report)

    def _keep(self, X: Any, P: Any, objective: Objective, Z: NDArray[Any], report: EmbeddingReport) -> None:
        """Store the results."""
        self.kl_divergence_ = objective.divergence(Z)
        if (potential := objective.potential) is not None:
            self.potential_ = potential
        self.n_iter_, self.report_ = report.n_iter, report
        self.affinity_ = P
        self.keep_reference(X)
        self.embedding_ = Z.astype(self._layout_dtype)

    def _keep_report_of(self, affinity: Affinity | None) -> None:
        """Keep the report of the affinity, and the perplexity for new points."""
        for name in ("affinity_report_", "perplexity_"):  # left by an earlier fit
            self.__dict__.pop(name, None)
        if affinity is None:
            return
        self.affinity_report_ = affinity.report_
        asked = affinity.own_perplexity()
        self.perplexity_ = float(getattr(affinity, "perplexity_", self.perplexity if asked is None else asked))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.takes_affinity or self.cost_metric == "precomputed"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
