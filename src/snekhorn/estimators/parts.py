"""What an estimator's parameters stand for: the affinity, the start, the objective, the descent and its schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ..affinities import EntropicAffinity, SymmetricEntropicAffinity
from ..affinities.affinity import Affinity
from ..embedding.descent import Phase, Schedule
from ..embedding.initial_layout import pca_layout, random_layout, spectral_layout
from ..embedding.latent import potential
from ..embedding.matching import matched
from ..embedding.objective import Objective
from ..geometry.inputs import check_no_empty_row
from ..runtime.execution import count_threads
from ..solvers.descent_steps import Adam, Descent, Momentum
from .size import knows_symmetry

if TYPE_CHECKING:
    from .neighbor_embedding import NeighborEmbedding

DENSE_LIMIT = 3000  # points; up to this many n_neighbors="auto" keeps all pairs
GRAPH_TOL = 1e-6  # of the rows of P where neighbours are searched: large layouts, in float32, tell no more
EARLY_ITER = 250  # or a third of max_iter, where that is less
EARLY_RATE, EARLY_MOMENTUM = 0.25, 0.8


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


def make_objective(model: NeighborEmbedding, P: Any, method: str) -> Objective:
    """What the layout minimises."""
    latent, n_threads = model._latent, count_threads(model.n_jobs)
    P = matched(P, latent)
    check_no_empty_row(P)
    return Objective(
        P,
        latent.kernel,
        latent.normalization(potential(method, latent.kernel, n_threads), self_loops=model.latent_self_loops),
        n_threads=n_threads,
        dtype=np.float64 if method == "exact" else np.float32,
        symmetric=knows_symmetry(model),
    )


def make_descent(model: NeighborEmbedding, shape: tuple[int, int]) -> Descent:
    """The optimiser."""
    if model.optimizer == "adam":
        return Adam(shape)
    return Momentum(shape, n_threads=count_threads(model.n_jobs))


def make_schedule(model: NeighborEmbedding) -> Schedule:
    """Its two phases; rates are divided by the exaggeration, which multiplies the gradient."""
    rate = 1.0 if model.learning_rate == "auto" else float(model.learning_rate)
    if model.optimizer == "adam":
        none, main = Phase(0, 1.0, rate), Phase(model.max_iter, model.exaggeration, rate)
        return Schedule(none, main, model.tol, check_every=1, patience=1, careful=False)  # as the paper stops
    early, latent = min(EARLY_ITER, model.max_iter // 3), model._latent
    return Schedule(
        Phase(early, model.early_exaggeration, rate * EARLY_RATE / model.early_exaggeration, EARLY_MOMENTUM),
        Phase(
            model.max_iter - early,
            model.exaggeration,
            rate * latent.rate / model.exaggeration,
            latent.momentum,
            latent.rise,
        ),
        model.tol,
    )
