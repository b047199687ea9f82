"""Base estimator: check the input, compute P and the layout, and keep what is needed to place new points."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..affinities.affinity import Affinity
from ..affinities.entropic import EntropicAffinity, entropic_weights
from ..affinities.symmetric_entropic import SymmetricEntropicAffinity
from ..embedding.charge_sums import ROUGH_SUMS
from ..embedding.descent import EmbeddingReport, Stop, minimize
from ..embedding.initial_layout import pca_layout, random_layout, spectral_layout
from ..embedding.latent import choose_method
from ..embedding.objective import Objective, make_objective
from ..embedding.placing import frozen_field, place
from ..embedding.schedule import Schedule, make_optimizer, make_schedule
from ..geometry.costs import NEIGHBORS_PER_PERPLEXITY
from ..geometry.inputs import check_layout, check_squares
from ..geometry.neighbor_index import NeighborIndex
from ..runtime.execution import Execution, choose_execution, one_blas_thread
from ..runtime.interrupts import delayed_interrupts
from ..runtime.memory import limited_memory
from ..runtime.user_warnings import warn
from .checkpoints import Checkpoint, fingerprint, fit_affinity
from .embedding_input import EmbeddingInput
from .layout_warnings import warn_of_layout
from .resources import (
    LayoutKind,
    count_points,
    require_memory_for_affinity,
    require_memory_for_points,
    warn_of_long_sums,
)

SEE_HERE = "Parameters and attributes are those of `snekhorn.estimators.NeighborEmbedding`."
DENSE_LIMIT = 3000  # points; up to this number, n_neighbors="auto" uses all pairs
GRAPH_TOL = 1e-4  # tolerance of P on a neighbour graph; a smaller one takes up to half more passes and changes no score
NEW_POINTS_AT_ONCE = 50_000  # placing a point takes 4 kB at perplexity 30, so larger batches take more memory

Self = TypeVar("Self", bound="NeighborEmbedding")


class NeighborEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, EmbeddingInput):  # type: ignore[misc]
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
        How equal points are made in P, for methods with a doubly stochastic Q: 1 is the symmetric entropic affinity of
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
        Folder in which `fit` stores its state: the neighbours, the affinity and, about once a minute, the descent. If
        the process ends early, the same call resumes from the folder, and returns the same bits as without a break. The
        folder remains, so that you can delete it when you have the results.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, n_components)
        The layout.
    affinity_ : ndarray or sparse matrix of shape (n, n)
        The affinity P.
    potential_ : ndarray of shape (n,)
        The potential f, if Q is doubly stochastic.
    kl_divergence_ : float
        Divergence of P from Q, per point.
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

    def fit(self: Self, X: Any, y: Any = None) -> Self:
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

        Returns
        -------
        self
            The fitted estimator.
        """
        before = self.__dict__.copy()
        try:
            with limited_memory(self.max_memory):
                self._fit(X)
        except BaseException:  # restore an earlier fit
            self.__dict__ = before
            raise
        return self

    def fit_transform(self, X: Any, y: Any = None) -> NDArray[Any]:
        """Compute the layout of X and return it."""
        return self.fit(X, y).embedding_

    @one_blas_thread()
    def transform(self, X: Any) -> NDArray[Any]:
        """Place new points in the layout, which does not change.

        Each point is placed independently of the others, at the position that best matches its affinities to the points
        of the layout. A row of the training data gets its coordinates in the layout; identical rows get those of the
        first. The perplexity is `perplexity_`; parameters that were changed after the fit are ignored.

        Parameters
        ----------
        X : array of shape (m, p)
            Features, or costs of shape (m, n) to the points of the layout if metric="precomputed".

        Returns
        -------
        ndarray of shape (m, n_components)
            Coordinates of the new points.
        """
        check_is_fitted(self)
        X = self.checked_input(X, reset=False)
        self._reference.check_queries(X)
        execution = choose_execution(self.n_jobs)
        Z = np.asarray(self.embedding_, dtype=float)
        log_charges = self.potential_ if self.latent.doubly_stochastic else np.zeros(len(Z))
        field = frozen_field(Z, log_charges, self.latent, self.report_.method, execution)
        if field.rough:
            warn(f"{type(self).__name__}: {ROUGH_SUMS}", ConvergenceWarning)
        placed = np.empty((X.shape[0], Z.shape[1]), dtype=self.embedding_.dtype)
        for start in range(0, X.shape[0], NEW_POINTS_AT_ONCE):
            batch = slice(start, start + NEW_POINTS_AT_ONCE)
            indices, costs, p = self._weights_of_new_points(X, batch, execution)
            placed[batch] = place(field, Z, indices, p, execution)
            known = costs[:, 0] == 0.0
            placed[batch][known] = self.embedding_[indices[known, 0]]
        return placed

    def save(self, path: Any) -> None:
        """Write the fitted estimator to a file for `snekhorn.load`, in a versioned format without pickle."""
        from .saved_models import save

        save(self, path)

    @one_blas_thread()
    def _fit(self, X: Any) -> None:
        unread = self.unread_points(X)
        if unread is not None:  # reading takes long, so everything else is checked first
            self.check_parameters()
            self.check_resources(unread)
        X = self.checked_input(X)
        self.check_parameters()
        n = count_points(X)
        execution = choose_execution(self.n_jobs)
        Z = None if isinstance(self.init, str) else check_layout(self.init, (n, self.n_components))
        affinity = self._make_affinity(n)
        method = choose_method(self.method, n, self.n_components)
        if unread is None:
            self.check_resources(X)
        if self.starts_from_pca and not isinstance(X, tuple):
            check_squares(X)  # before the long computation of P
        checkpoint = None if self.checkpoint is None else Checkpoint.open(self, fingerprint(X), n)
        P = X
        if affinity is not None:
            P = affinity.fit_transform(X) if checkpoint is None else fit_affinity(affinity, X, checkpoint, execution)
        self._keep_report_of(affinity)
        start = None if checkpoint is None else checkpoint.load("layout")
        if start is not None:
            Z = start.Z
        elif Z is None:
            Z = self.initial_layout(X, P)
        loops, symmetric = self.latent_self_loops, self._is_symmetric
        objective = make_objective(
            P, self.latent, method=method, self_loops=loops, symmetric=symmetric, execution=execution
        )
        Z, report = self._descend(objective, Z, start=start, keep=None if checkpoint is None else checkpoint.keep)
        report.method = method
        self._finish(X, P, objective, Z, report)

    def _descend(self, objective: Objective, Z: NDArray[Any], **how: Any) -> tuple[NDArray[Any], EmbeddingReport]:
        """Minimise the objective from Z; `how` are further arguments of `minimize`."""
        optimizer = make_optimizer(self.optimizer, Z.shape, objective.execution)
        callbacks = self.callback_list()
        with self.remedies_for_overflow():
            return minimize(objective, Z, optimizer, self.schedule(), callbacks=callbacks, verbose=self.verbose, **how)

    def _finish(self, X: Any, P: Any, objective: Objective, Z: NDArray[Any], report: EmbeddingReport) -> None:
        """Balance Q, store the results, and warn about problems; an interrupt is reported, and nothing is lost."""
        try:
            report.marginal_gap = objective.balance(Z, self.marginal_tol)
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
        self.embedding_ = Z.astype(self._reference.dtype)

    def keep_reference(self, X: Any) -> None:
        """Index the training points, for `transform`."""
        self._reference = NeighborIndex(X, "precomputed" if self.takes_affinity else self.cost_metric)

    def schedule(self) -> Schedule:
        """Return the schedule of the descent."""
        return make_schedule(
            self.latent,
            optimizer=self.optimizer,
            learning_rate=self.learning_rate,
            early_exaggeration=self.early_exaggeration,
            exaggeration=self.exaggeration,
            max_iter=self.max_iter,
            tol=self.tol,
        )

    def _make_affinity(self, n: int) -> Affinity | None:
        """Return the affinity object that computes P, or None if X is P."""
        if self.takes_affinity:
            return None
        return self.default_affinity(n) if self.affinity is None else clone(self.affinity)

    def default_affinity(self, n: int) -> Affinity:
        """Return the method's own affinity for n points, with the parameters of the estimator."""
        all_pairs = self.n_neighbors is None or (self.n_neighbors == "auto" and n <= DENSE_LIMIT)
        shared: dict[str, Any] = {
            "metric": self.metric,
            "n_neighbors": None if all_pairs else self.n_neighbors,
            "self_loops": self.self_loops,
            "n_jobs": self.n_jobs,
            "verbose": self.verbose,
        }
        if self.latent.doubly_stochastic:
            # Without a diagonal, Q cannot match a row of P that sums to less than 1, and repels the point without end.
            balance = 1.0 if self.balance == "auto" and not self.latent_self_loops else self.balance
            affinity = SymmetricEntropicAffinity(self.perplexity, balance=balance, **shared)
            return affinity if all_pairs else affinity.set_params(tol=GRAPH_TOL)
        return EntropicAffinity(self.perplexity, symmetrize=self.latent.normalized == "total", **shared)

    @property
    def _is_symmetric(self) -> bool:
        """Whether P is symmetric by construction, or has been checked for symmetry."""
        return (self.affinity is None or self.takes_affinity) and self.latent.normalized != "rows"

    def check_resources(self, X: Any) -> None:
        """Raise if there is not enough memory, and warn if the fit may take hours, before any work is done."""
        n = count_points(X)
        affinity, method = self._make_affinity(n), choose_method(self.method, n, self.n_components)
        layout = LayoutKind(self._is_symmetric, self.latent.doubly_stochastic, exact=method == "exact")
        with limited_memory(self.max_memory):
            if affinity is None:
                require_memory_for_affinity(X, layout)
            else:
                require_memory_for_points(X, affinity, layout)
        if method == "exact":
            execution = choose_execution(self.n_jobs)
            warn_of_long_sums(type(self).__name__, n, self.n_components, self.max_iter, execution)

    def _keep_report_of(self, affinity: Affinity | None) -> None:
        """Keep the report of the affinity, and the perplexity for new points."""
        for name in ("affinity_report_", "perplexity_"):  # left by an earlier fit
            self.__dict__.pop(name, None)
        if affinity is None:
            return
        self.affinity_report_ = affinity.report_
        has_perplexity = any(getattr(affinity, name, None) is not None for name in ("perplexity", "perplexities"))
        asked = affinity.graph_perplexity() if has_perplexity else self.perplexity
        self.perplexity_ = float(getattr(affinity, "perplexity_", asked))

    def initial_layout(self, X: Any, P: Any) -> NDArray[Any]:
        """Compute the initial layout that `init` specifies."""
        if self.init == "random":
            seed = check_random_state(self.random_state).randint(2**31)
            return random_layout(P.shape[0], self.n_components, seed)
        if self.init == "spectral" or self.takes_affinity or self.cost_metric == "precomputed":
            return spectral_layout(P, self.n_components)
        return pca_layout(X, self.n_components, execution=choose_execution(self.n_jobs))

    def _weights_of_new_points(self, X: Any, batch: slice, execution: Execution) -> tuple[Any, Any, Any]:
        """Return the neighbours of a batch of new points in the layout, with their costs and affinities."""
        n = len(self.embedding_)
        perplexity = min(self.perplexity_, n - 1.0)
        k = min(n, int(np.ceil(NEIGHBORS_PER_PERPLEXITY * perplexity)))
        indices, costs = self._reference.query(X[batch], k, execution, batch.start)
        return indices, costs, entropic_weights(costs, perplexity, execution)

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.takes_affinity or self.cost_metric == "precomputed"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
