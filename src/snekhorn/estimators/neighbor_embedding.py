"""Estimators: validate, compute P, lay it out, keep what was found."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from ..affinities.affinity import Affinity
from ..embedding.descent import Callback, EmbeddingReport, Stop, minimize
from ..embedding.latent import Latent, choose_method
from ..embedding.objective import Objective
from ..geometry.inputs import check_affinity_matrix, check_finite, check_layout
from ..geometry.neighbor_index import Reference
from ..runtime.user_warnings import warn
from .checks import check_lists, check_parameters
from .parts import default_affinity, make_objective, make_optimizer, make_schedule, make_start
from .places import place_points, placing_perplexity
from .size import count_points, require_memory, warn_of_long_sums

SEE_HERE = "Parameters and attributes are those of `snekhorn.estimators.NeighborEmbedding`."
COLLAPSED = 1e-3  # width of a layout; the kernels are 1 wide, and the same for all pairs below it


class NeighborEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What all methods share.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the layout, 1 to 3.
    perplexity : float, default=30.0
        Effective number of neighbours of every point.
    metric : str, default="sqeuclidean"
        Cost between points: any metric that scikit-learn knows, or "precomputed" for a matrix of costs or a sparse
        neighbour graph as `sklearn.neighbors.KNeighborsTransformer` writes it. Costs are used as they are: square
        Euclidean distances for what the default does.
    n_neighbors : int, "auto" or None, default="auto"
        Neighbours that the affinity is restricted to; None for all points. "auto" takes all up to 3,000 points, and
        three times the perplexity above.
    affinity : None, affinity object or "precomputed", default=None
        None for the affinity of the method. An object of `snekhorn.affinities` matches any other P with the Q of
        the method, and brings its own perplexity, metric, neighbours and self-loops. With "precomputed", X is P
        itself, dense or sparse, of shape (n, n). Methods whose Q has no diagonal leave out that of P.
    self_loops : bool, default=False
        Whether the diagonal is part of P. The paper has it; without it no mass is spent on the point itself and
        the layouts are better.
    latent_self_loops : bool, default=True
        Whether the diagonal is part of Q, where Q is doubly stochastic; the other methods have none.
    init : {"pca", "spectral", "random"} or array of shape (n, n_components), default="pca"
        The start. Where there are no features, "pca" means "spectral". An array is used as it is.
    early_exaggeration : float, default=12.0
        Factor of the attraction in the first 250 iterations (or the first third of max_iter).
    exaggeration : float, default=1.0
        Factor of the attraction afterwards: above 1, clusters are tighter and further apart.
    learning_rate : float or "auto", default="auto"
        Step of the descent, where "auto" is 1. It does not depend on the number of points.
    optimizer : {"momentum", "adam"}, default="momentum"
        "adam" is the descent of the paper, without early exaggeration.
    max_iter : int, default=2000
        Largest number of iterations.
    tol : float, default=3e-5
        The descent ends where the loss falls by less than this share of itself an iteration, at two looks in a row
        ("adam": at one).
    marginal_tol : float, default=1e-2
        Largest distance of a row sum of Q from 1 at the end, where Q is doubly stochastic.
    method : {"auto", "exact", "fft"}, default="auto"
        Sums over all pairs directly, or in time linear in n; "auto" takes the faster one.
    callbacks : callable, list of callables or None, default=None
        Called every 50 iterations ("adam": every iteration) with (iteration, loss, layout); one that returns True
        stops the descent.
    n_jobs : int or None, default=None
        Number of threads; None and -1 use all cores. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of random starts. Other starts depend on the data alone.
    verbose : bool, default=False
        Show progress.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, n_components)
        The layout.
    affinity_ : ndarray or sparse matrix of shape (n, n)
        P.
    potential_ : ndarray of shape (n,)
        f, where Q is doubly stochastic.
    kl_divergence_ : float
        Divergence of P from Q, per point.
    n_iter_ : int
        Iterations made.
    report_ : EmbeddingReport
        Why the descent stopped, the losses on the way, the worst row sum of Q.
    affinity_report_ : SolveReport
        How the affinity was computed, where it was not precomputed.
    perplexity_ : float
        That of new points in `transform`. It is that of P, which is less than `perplexity` where rows cannot have that
        one; of several the largest one asked for (100 where they are "auto"); that of the estimator where the affinity
        has none.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Their names, where X has them.
    """

    _latent: ClassVar[Latent]

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Let `help` of a method list the parameters, which are described here, once."""
        super().__init_subclass__(**arguments)
        if cls.__doc__ and NeighborEmbedding.__doc__:
            shared = NeighborEmbedding.__doc__.split("\n", 2)[2].strip()
            cls.__doc__ = cls.__doc__.replace(SEE_HERE, shared)

    def __init__(  # noqa: PLR0913
        self,
        n_components: int = 2,
        *,
        perplexity: float = 30.0,
        metric: str = "sqeuclidean",
        n_neighbors: int | str | None = "auto",
        affinity: Any = None,
        self_loops: bool = False,
        latent_self_loops: bool = True,
        init: Any = "pca",
        early_exaggeration: float = 12.0,
        exaggeration: float = 1.0,
        learning_rate: float | str = "auto",
        optimizer: str = "momentum",
        max_iter: int = 2000,
        tol: float = 3e-5,
        marginal_tol: float = 1e-2,
        method: str = "auto",
        callbacks: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.perplexity = perplexity
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.affinity = affinity
        self.self_loops = self_loops
        self.latent_self_loops = latent_self_loops
        self.init = init
        self.early_exaggeration = early_exaggeration
        self.exaggeration = exaggeration
        self.learning_rate = learning_rate
        self.optimizer = optimizer
        self.max_iter = max_iter
        self.tol = tol
        self.marginal_tol = marginal_tol
        self.method = method
        self.callbacks = callbacks
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> NeighborEmbedding:
        """Lay out the points of X.

        Parameters
        ----------
        X : array of shape (n, p)
            Or what `metric` and `affinity` allow.
        y : None
            Ignored.

        Returns
        -------
        self
            Fitted.
        """
        before = self.__dict__.copy()
        try:
            return self._fit(X)
        except BaseException:  # what was fitted before stays as it was
            self.__dict__ = before
            raise

    def _fit(self, X: Any) -> NeighborEmbedding:
        X = self._validated(X)
        check_parameters(self)
        Z = self._given_layout(X)
        affinity = self._make_affinity(X)
        method = choose_method(self.method, count_points(X), self.n_components)
        require_memory(self, X, affinity)
        warn_of_long_sums(self, count_points(X), method)
        P = self._compute_affinity(X, affinity)
        if Z is None:
            Z = make_start(self, X, P)
        objective = make_objective(self, P, method)
        Z, report = minimize(
            objective,
            Z,
            make_optimizer(self, Z.shape),
            make_schedule(self),
            callbacks=self._callbacks(),
            verbose=self.verbose,
        )
        self._finish(objective, Z, report, method)
        self.affinity_, self._reference = P, self._keep_reference(X)
        self.embedding_ = Z.astype(self._reference.dtype)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> NDArray[Any]:
        """Lay out the points of X and return the layout."""
        return self.fit(X, y).embedding_

    def transform(self, X: Any) -> NDArray[Any]:
        """Place new points in the layout, which stays as it is.

        Every point is placed by itself, where its affinities to the points of the layout are matched best; a row
        of the training data returns the coordinates it has in the layout (of equal rows, those of the first). The
        perplexity, `perplexity_`, is that of the fit: parameters that were changed since do not count.

        Parameters
        ----------
        X : array of shape (m, p)
            With metric="precomputed", costs of shape (m, n) to the points of the layout.

        Returns
        -------
        ndarray of shape (m, n_components)
            Their places.
        """
        check_is_fitted(self)
        return place_points(self, self._validated(X, reset=False))

    def save(self, path: Any) -> None:
        """Write the fitted estimator to a file that `snekhorn.load` reads: no pickle, a versioned format."""
        from .saved_models import save

        save(self, path)

    def _validated(self, X: Any, *, reset: bool = True) -> Any:
        if self._given_affinity:
            if not reset:
                raise ValueError("affinity='precomputed' tells nothing of new points; fit with features to transform.")
            X = check_affinity_matrix(X, symmetric=self._latent.normalized != "rows")
            self._note_pairs(X.shape[1])
            return X
        if isinstance(X, tuple) and reset:
            self._note_pairs(check_lists(X))
            return X
        X = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",  # sums of a row round by its layout in memory
            ensure_all_finite=False,
            ensure_min_samples=2 if reset else 1,
        )
        check_finite(X, "X")
        return X

    def _note_pairs(self, n: int) -> None:
        """Columns that are points have no names; those of an earlier fit are forgotten."""
        self.n_features_in_ = n
        self.__dict__.pop("feature_names_in_", None)

    def _given_layout(self, X: Any) -> NDArray[Any] | None:
        """The start, where it is an array."""
        if isinstance(self.init, str):
            return None
        return check_layout(self.init, (count_points(X), self.n_components))

    def _make_affinity(self, X: Any) -> Affinity | None:
        """What P is computed by, or None where X is P."""
        if self._given_affinity:
            return None
        return default_affinity(self, count_points(X)) if self.affinity is None else clone(self.affinity)

    def _compute_affinity(self, X: Any, affinity: Affinity | None) -> Any:
        if affinity is None:
            for name in ("affinity_report_", "perplexity_"):  # of an earlier fit
                self.__dict__.pop(name, None)
            return X
        P = affinity.fit_transform(X)
        self.affinity_report_ = affinity.report_
        self.perplexity_ = placing_perplexity(affinity, self.perplexity)
        return P

    def _callbacks(self) -> list[Callback]:
        if self.callbacks is None:
            return []
        return list(self.callbacks) if isinstance(self.callbacks, list | tuple) else [self.callbacks]

    def _finish(self, objective: Objective, Z: NDArray[Any], report: EmbeddingReport, method: str) -> None:
        """Balance Q, and note how it all went."""
        report.method = method
        try:
            report.marginal_gap = self._balance(objective, Z)
        except KeyboardInterrupt:  # the layout is there: only the last digits of f are missing
            report.stop(Stop.INTERRUPTED)
        self.kl_divergence_ = objective.divergence(Z)
        if self._latent.doubly_stochastic:
            self.potential_ = objective.potential
        self.n_iter_, self.report_ = report.n_iter, report
        if report.reason in (Stop.MAX_ITER.value, Stop.INTERRUPTED.value):
            warn(f"{type(self).__name__}: {report}.", ConvergenceWarning)
        if not isinstance(self.init, str) and self.kl_divergence_ > objective.divergence_of_one_place:
            warn(
                f"{type(self).__name__}: the layout is worse than all points in one place would be, because init is so "
                "wide that points no longer find each other; scale it to a standard deviation of 1 or less.",
                ConvergenceWarning,
            )
        if np.ptp(Z, axis=0).max() < COLLAPSED:
            warn(
                f"{type(self).__name__}: the layout has shrunk to one place, because P hardly tells pairs of points "
                "apart; a lower perplexity, more points, or self_loops may help."
            )

    def _balance(self, objective: Objective, Z: NDArray[Any]) -> float | None:
        """Give the rows of Q their sum of 1, where it is doubly stochastic; return the largest distance from it."""
        gap = objective.balance(Z, self.marginal_tol)
        if gap is not None and gap > self.marginal_tol:
            warn(
                f"{type(self).__name__}: a row of Q sums to 1 only within {gap:.1e}; "
                "keep latent_self_loops=True, or raise marginal_tol.",
                ConvergenceWarning,
            )
        return gap

    def _keep_reference(self, X: Any) -> Reference:
        """What `transform` needs of the data."""
        return Reference(X, "precomputed" if self._given_affinity else self._metric())

    def _metric(self) -> str:
        return getattr(self.affinity, "metric", self.metric)

    @property
    def _given_affinity(self) -> bool:
        return isinstance(self.affinity, str) and self.affinity == "precomputed"

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._given_affinity or self._metric() == "precomputed"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
