"""What an estimator's parameters stand for: the affinity, the start, the objective, the descent and its schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ..affinities import EntropicAffinity, SymmetricEntropicAffinity
from ..affinities.affinity import Affinity
from ..embedding import objective, schedule
from ..embedding.initial_layout import pca_layout, random_layout, spectral_layout
from ..embedding.latent import SumMethod
from ..runtime.execution import Threads
from ..solvers.descent_steps import Optimizer
from .size import knows_symmetry

if TYPE_CHECKING:
    from .neighbor_embedding import NeighborEmbedding

DENSE_LIMIT = 3000  # points; up to this many n_neighbors="auto" keeps all pairs
GRAPH_TOL = 1e-6  # of the rows of P where neighbours are searched: large layouts, in float32, tell no more


def default_affinity(model: NeighborEmbedding, n: int) -> Affinity:
    """The affinity of the method."""
    all_pairs = model.n_neighbors is None or (model.n_neighbors == "auto" and n <= DENSE_LIMIT)
    shared: dict[str, Any] = {
        "metric": model.metric,
        "n_neighbors": None if all_pairs else model.n_neighbors,
        "self_loops": model.self_loops,
        "n_jobs": model.n_jobs,
        "verbose": model.verbose,
    }
    if model._latent.doubly_stochastic:
        affinity = SymmetricEntropicAffinity(model.perplexity, **shared)
        return affinity if all_pairs else affinity.set_params(tol=GRAPH_TOL)
    return EntropicAffinity(model.perplexity, symmetrize=model._latent.normalized == "total", **shared)


def make_start(model: NeighborEmbedding, X: Any, P: Any) -> NDArray[Any]:
    """Where the descent starts from, unless an array says it."""
    if model.init == "random":
        seed = check_random_state(model.random_state).randint(2**31)
        return random_layout(P.shape[0], model.n_components, seed)
    if model.init == "spectral" or model._given_affinity or model._metric() == "precomputed":
        return spectral_layout(P, model.n_components)
    return pca_layout(X, model.n_components)


def make_objective(model: NeighborEmbedding, P: Any, method: SumMethod) -> objective.Objective:
    """What the layout minimises."""
    return objective.make_objective(
        P,
        model._latent,
        method=method,
        self_loops=model.latent_self_loops,
        symmetric=knows_symmetry(model),
        execution=Threads.from_jobs(model.n_jobs),
    )


def make_optimizer(model: NeighborEmbedding, shape: tuple[int, ...]) -> Optimizer:
    """The optimiser."""
    return schedule.make_optimizer(model.optimizer, shape, Threads.from_jobs(model.n_jobs))


def make_schedule(model: NeighborEmbedding) -> schedule.Schedule:
    """Its two phases."""
    names = ("optimizer", "learning_rate", "early_exaggeration", "exaggeration", "max_iter", "tol")
    return schedule.make_schedule(model._latent, **{name: getattr(model, name) for name in names})
