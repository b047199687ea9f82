"""Lay out the same points at several perplexities and exaggerations, without computing anything twice."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ..affinities.affinity import Affinity
from ..affinities.symmetric_entropic import SymmetricEntropicAffinity
from ..errors import InputError, InputTypeError, shown
from ..geometry.inputs import check_layout
from ..runtime.checks import check_perplexity, check_positive
from ..runtime.execution import choose_execution, one_blas_thread
from ..runtime.memory import limited_memory
from ..runtime.settings import offering
from .neighbor_embedding import NeighborEmbedding
from .parameters import check_estimator
from .resources import LONG_SUMS, count_points

Model = TypeVar("Model", bound=NeighborEmbedding)

# Parameters that `sweep` varies: the name of the argument, an example, and the check of a value.
SWEPT: dict[str, tuple[str, str, Callable[[Any], float]]] = {
    "perplexity": ("perplexities", "[10, 30, 100]", check_perplexity),
    "exaggeration": ("exaggerations", "[1, 1.5, 2]", lambda value: check_positive(value, "exaggeration")),
}


def sweep(
    model: Model,
    X: Any,
    perplexities: Iterable[float] | None = None,
    *,
    exaggerations: Iterable[float] | None = None,
) -> Iterator[Model]:
    """Fit a clone of `model` at each perplexity and each exaggeration, smallest first, and yield it.

    The affinity is computed once per perplexity, and all exaggerations share it and the initial layout. Neighbours are
    searched once, and the solver starts each affinity from the previous solution. At a single perplexity, the layouts
    are those of separate fits; at several, they are close, but not identical, to those of separate fits.

    Each clone has its `affinity_`, but cannot `transform` new points: fit again with the values that you choose.

    Parameters
    ----------
    model : estimator
        Estimator with its own affinity (affinity=None) or, to vary only the exaggeration, with affinity="precomputed".
    X : array of shape (n, p)
        Features, or the input that `metric` and `affinity` of the model describe.
    perplexities : iterable of float, optional
        Perplexities to fit; by default, that of `model`. Duplicates are fitted once.
    exaggerations : iterable of float, optional
        Exaggerations to fit at each perplexity; by default, that of `model`. Duplicates are fitted once.

    Yields
    ------
    estimator
        A fitted clone of `model`. The exaggeration varies fastest.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from snekhorn import TSNEkhorn, sweep
    >>> models = list(sweep(TSNEkhorn(), load_iris().data, exaggerations=[1, 1.5]))
    >>> [model.exaggeration for model in models]
    [1.0, 1.5]
    """
    check_estimator(model, "sweep(TSNEkhorn(), X, [10, 30])")
    model = clone(model)
    X, start, all_perplexities, all_exaggerations = _checked(model, X, perplexities, exaggerations)
    affinity = None if model.takes_affinity else model.default_affinity(count_points(X))
    costs = X
    if affinity is not None and len(all_perplexities) > 1:
        costs = _share_work(affinity, X)
    offered = (model.offered_parameters() or set()) - {"affinity"}  # `sweep` does not take an affinity object
    start_depends_on_p = isinstance(model.init, str) and model.init != "random" and not model.starts_from_pca
    for perplexity in all_perplexities:
        with limited_memory(model.max_memory), offering(offered):
            P = X if affinity is None else affinity.set_params(perplexity=perplexity).fit_transform(costs)
        if start is None or start_depends_on_p:
            with one_blas_thread():
                start = model.initial_layout(X, P)
        for exaggeration in all_exaggerations:
            one = clone(model).set_params(perplexity=perplexity, exaggeration=exaggeration)
            with warnings.catch_warnings():  # one warning is enough, before the affinity is computed
                warnings.filterwarnings("ignore", message=f".*{LONG_SUMS}")
                one.set_params(affinity="precomputed", init=start).fit(P)
            if affinity is not None:
                one.affinity_report_, one.perplexity_ = affinity.report_, affinity.perplexity_
            yield one


def _checked(
    model: NeighborEmbedding, X: Any, perplexities: Any, exaggerations: Any
) -> tuple[Any, NDArray[Any] | None, list[float], list[float]]:
    """Check everything before any long work; return X, the initial layout if it is given, and the values to fit.

    The model gets the largest of the values, because the neighbours for the largest perplexity serve the others.
    """
    if perplexities is None and exaggerations is None:
        raise InputError("sweep has no values to fit; pass perplexities, exaggerations or both.")
    if model.checkpoint is not None:
        raise InputError("sweep computes several layouts, but a checkpoint holds one; set checkpoint=None.")
    if isinstance(model.affinity, Affinity):
        raise InputError(
            f"sweep does not take an affinity object, got affinity={model.affinity!r}; set affinity=None, or compute "
            "P with affinity.fit_transform(X), set affinity='precomputed' and pass P as X."
        )
    if model.takes_affinity and perplexities is not None:
        raise InputError(
            "perplexities have no effect on affinity='precomputed'; pass only exaggerations, or set affinity=None."
        )
    found = []
    for name, values in (("perplexity", perplexities), ("exaggeration", exaggerations)):
        found.append([getattr(model, name)] if values is None else _distinct(values, name))
        model.set_params(**{name: found[-1][-1]})
    X, _ = model.checked_for_fit(X)
    start = None if isinstance(model.init, str) else check_layout(model.init, (count_points(X), model.n_components))
    return X, start, *found


def _distinct(values: Any, name: str) -> list[float]:
    """Return the values in increasing order without duplicates; raise if one is invalid or if there are none."""
    several, example, check = SWEPT[name]
    if isinstance(values, str) or not np.iterable(values):
        raise InputTypeError(
            f"{several} must be a list of numbers, got {shown(values)}; pass a list such as {example}."
        )
    found = sorted({check(value) for value in values})
    if not found:
        raise InputError(f"{several} is empty; pass at least one value, as in {example}.")
    return found


def _share_work(affinity: Affinity, X: Any) -> Any:
    """Return what the affinities of all perplexities are computed from, and let each start from the previous one.

    For features, these are the neighbours for the largest perplexity; smaller perplexities use the nearest of them.
    """
    if isinstance(affinity, SymmetricEntropicAffinity):
        affinity.set_params(warm_start=True)
    if affinity.n_neighbors is None or affinity.metric == "precomputed" or isinstance(X, tuple):
        return X
    with one_blas_thread():
        graph = affinity.costs_of(X, choose_execution(affinity.n_jobs))
    affinity.set_params(metric="precomputed")
    return graph
