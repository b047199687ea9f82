"""Build the parts of a fit from the parameters: affinity, schedule, initial layout and objective."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from ..affinities.affinity import Affinity
from ..affinities.entropic import EntropicAffinity
from ..affinities.symmetric_entropic import SymmetricEntropicAffinity
from ..embedding.initial_layout import pca_layout, random_layout, spectral_layout
from ..embedding.latent import choose_method
from ..embedding.objective import Objective, make_objective
from ..embedding.schedule import Schedule, make_schedule
from ..embedding.springs import Springs
from ..runtime.execution import Execution, choose_execution
from ..runtime.memory import limited_memory
from .embedding_input import EmbeddingInput
from .resources import (
    LayoutKind,
    count_points,
    require_memory_for_affinity,
    require_memory_for_points,
    warn_of_long_sums,
)

DENSE_LIMIT = 3000  # points; up to this number, n_neighbors="auto" uses all pairs
GRAPH_TOL = 1e-4  # tolerance of P on a neighbour graph; 1e-6 takes a third more passes and hardly changes the scores


class LayoutParts(EmbeddingInput):
    """Parts of a fit, as the parameters of `NeighborEmbedding` describe them."""

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

    def make_affinity(self, n: int) -> Affinity | None:
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
            # Without a diagonal, Q cannot match a row of P that sums to less than 1, and repels the point ever further.
            balance = 1.0 if self.balance == "auto" and not self.latent_self_loops else self.balance
            affinity = SymmetricEntropicAffinity(self.perplexity, balance=balance, **shared)
            return affinity if all_pairs else affinity.set_params(tol=GRAPH_TOL)
        return EntropicAffinity(self.perplexity, symmetrize=self.latent.normalized == "total", **shared)

    def offered_parameters(self) -> set[str] | None:
        """Return the parameters by which the user can change the affinity; None for all those of an own affinity."""
        if self.affinity is not None:
            return None
        graph = {"graph"} if isinstance(self.metric, str) and self.metric == "precomputed" else set()
        return {"perplexity", "n_neighbors", "self_loops", "affinity"} | graph

    @property
    def is_symmetric(self) -> bool:
        """Whether P is symmetric by construction, or has been checked for symmetry."""
        return (self.affinity is None or self.takes_affinity) and self.latent.normalized != "rows"

    def check_resources(self, X: Any) -> None:
        """Raise if there is not enough memory, and warn if the fit may take hours, before any work is done."""
        n = count_points(X)
        affinity, method = self.make_affinity(n), choose_method(self.method, n, self.n_components)
        layout = LayoutKind(self.is_symmetric, self.latent.doubly_stochastic, exact=method == "exact")
        with limited_memory(self.max_memory):
            if affinity is None:
                require_memory_for_affinity(X, layout)
            else:
                require_memory_for_points(X, affinity, layout)
        if method == "exact":
            execution = choose_execution(self.n_jobs)
            warn_of_long_sums(type(self).__name__, n, self.n_components, self.max_iter, execution)

    def initial_layout(self, X: Any, P: Any) -> NDArray[Any]:
        """Compute the initial layout that `init` specifies."""
        if self.init == "random":
            seed = check_random_state(self.random_state).randint(2**31)
            return random_layout(P.shape[0], self.n_components, seed)
        if self.init == "spectral" or self.takes_affinity or self.cost_metric == "precomputed":
            return spectral_layout(P, self.n_components)
        return pca_layout(X, self.n_components, execution=choose_execution(self.n_jobs))

    def make_objective(self, P: Any, execution: Execution, springs: Springs | None = None) -> Objective:
        """Return the objective of the layout of P, perhaps with springs that hold points."""
        return make_objective(
            P,
            self.latent,
            method=choose_method(self.method, P.shape[0], self.n_components),
            self_loops=self.latent_self_loops,
            symmetric=self.is_symmetric,
            execution=execution,
            springs=springs,
        )
