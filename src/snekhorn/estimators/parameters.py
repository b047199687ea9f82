"""Parameters that all estimators share, and their checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import signature
from os import PathLike
from typing import Any, ClassVar, Concatenate, Literal, ParamSpec, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from ..affinities.affinity import Affinity
from ..affinities.balance import Balance, check_balance
from ..embedding.descent import Callback
from ..embedding.latent import Latent
from ..embedding.schedule import OptimizerName
from ..errors import InputError, InputTypeError, NumericalOverflowError, did_you_mean, shown
from ..geometry.costs import check_neighbors
from ..geometry.distance_metrics import check_metric
from ..runtime.checks import (
    check_choice,
    check_count,
    check_jobs,
    check_memory,
    check_perplexity,
    check_positive,
    check_seed,
)

Init: TypeAlias = Literal["pca", "spectral", "random"]
Method: TypeAlias = Literal["auto", "exact", "fft"]
Given = ParamSpec("Given")


def naming_the_class(init: Callable[Concatenate[Any, Given], None]) -> Callable[Concatenate[Any, Given], None]:
    """Make errors about an unknown parameter name the class of the object, not the base class that defines `init`."""
    known = list(signature(init).parameters)[1:]

    @wraps(init)
    def checked(self: Any, /, *args: Given.args, **parameters: Given.kwargs) -> None:
        for name in parameters:
            if name not in known:
                raise InputTypeError(f"{type(self).__name__} has no parameter {name!r}; {did_you_mean(name, known)}")
        init(self, *args, **parameters)

    return checked


def check_estimator(model: Any, example: str) -> None:
    """Raise unless `model` is an estimator of this package; the example shows how to pass one."""
    if isinstance(model, type):
        raise InputTypeError(f"model is the class {model.__name__}; pass an object of it, {model.__name__}().")
    if not isinstance(model, EmbeddingParameters):
        raise InputTypeError(f"model must be an estimator of snekhorn, got {shown(model)}; pass one, as in {example}.")


class EmbeddingParameters(BaseEstimator):  # type: ignore[misc]
    """Parameters of `NeighborEmbedding`; see there for their descriptions."""

    latent: ClassVar[Latent]

    @naming_the_class
    def __init__(  # noqa: PLR0913
        self,
        n_components: int = 2,
        *,
        perplexity: float = 30.0,
        metric: str = "sqeuclidean",
        n_neighbors: int | Literal["auto"] | None = "auto",
        affinity: Affinity | Literal["precomputed"] | None = None,
        balance: Balance = "auto",
        self_loops: bool = False,
        latent_self_loops: bool = True,
        init: Init | Any = "pca",
        early_exaggeration: float = 12.0,
        exaggeration: float = 1.0,
        learning_rate: float | Literal["auto"] = "auto",
        optimizer: OptimizerName = "momentum",
        max_iter: int = 2000,
        tol: float = 5e-5,
        marginal_tol: float = 1e-2,
        method: Method = "auto",
        callbacks: Callback | list[Callback] | None = None,
        n_jobs: int | None = None,
        max_memory: float | str | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
        checkpoint: str | PathLike[str] | None = None,
    ) -> None:
        self.n_components = n_components
        self.perplexity = perplexity
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.affinity = affinity
        self.balance = balance
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
        self.max_memory = max_memory
        self.random_state = random_state
        self.verbose = verbose
        self.checkpoint = checkpoint

    @property
    def takes_affinity(self) -> bool:
        """Whether X is the affinity itself."""
        return isinstance(self.affinity, str) and self.affinity == "precomputed"

    @property
    def cost_metric(self) -> str:
        """Metric of the affinity: its own if it is an object, otherwise the parameter `metric`."""
        return str(getattr(self.affinity, "metric", self.metric))

    @property
    def starts_from_pca(self) -> bool:
        """Whether the initial layout is computed from the principal components of X."""
        given = self.takes_affinity or self.cost_metric == "precomputed"
        return not given and isinstance(self.init, str) and self.init == "pca"

    def check_parameters(self) -> None:
        """Raise for values that are invalid for any data."""
        check_count(self.n_components, "n_components", largest=3)
        check_perplexity(self.perplexity)
        check_metric(self.metric)
        check_neighbors(self.n_neighbors)
        self._check_balance()
        check_choice(self.self_loops, "self_loops", (True, False))
        check_choice(self.latent_self_loops, "latent_self_loops", (True, False))
        if isinstance(self.init, str):
            check_choice(self.init, "init", ("pca", "spectral", "random"))
        for name in ("early_exaggeration", "exaggeration", "tol", "marginal_tol"):
            check_positive(getattr(self, name), name)
        if not (isinstance(self.learning_rate, str) and self.learning_rate == "auto"):
            check_positive(self.learning_rate, "learning_rate")
        check_choice(self.optimizer, "optimizer", ("momentum", "adam"))
        check_count(self.max_iter, "max_iter")
        check_choice(self.method, "method", ("auto", "exact", "fft"))
        check_jobs(self.n_jobs)
        check_memory(self.max_memory)
        check_seed(self.random_state)
        if not isinstance(self.verbose, bool | np.bool_):  # accept numbers, the verbosity levels of other packages
            check_count(self.verbose, "verbose", smallest=0)
        if any(not callable(callback) for callback in self.callback_list()):
            raise InputError(f"callbacks must be a callable, a list of callables or None; got {shown(self.callbacks)}.")
        if self.checkpoint is not None and (not isinstance(self.checkpoint, str | PathLike) or self.checkpoint == ""):
            raise InputTypeError(f"checkpoint must be the name of a folder or None, got {shown(self.checkpoint)}.")
        self._check_affinity()

    @contextmanager
    def remedies_for_overflow(self) -> Iterator[None]:
        """Complete the error message of a layout that overflowed by what to change."""
        try:
            yield
        except NumericalOverflowError as error:
            lower = "set learning_rate to a value below 1, which is what 'auto' means"
            if self.learning_rate != "auto":
                lower = f"lower learning_rate={self.learning_rate:g}, or set it to 'auto'"
            scale = "" if isinstance(self.init, str) else "scale init to a standard deviation of 1 or less, or "
            raise NumericalOverflowError(f"{type(self).__name__}: {error}; {scale}{lower}.") from error

    def callback_list(self) -> list[Callback]:
        """Return the callbacks as a list."""
        if self.callbacks is None:
            return []
        return list(self.callbacks) if isinstance(self.callbacks, list | tuple) else [self.callbacks]

    def _check_balance(self) -> None:
        """Raise if the balance is invalid, or has no effect in this method."""
        check_balance(self.balance)
        if self.balance == "auto":
            return
        if not self.latent.doubly_stochastic:
            raise InputError(
                f"{type(self).__name__} has no balance, because its Q is not doubly stochastic; got "
                f"balance={self.balance!r}. Leave it at 'auto', or use TSNEkhorn or SNEkhorn."
            )
        if self.affinity is None and self.balance < 1.0 and not self.latent_self_loops:
            raise InputError(
                f"balance={self.balance!r} needs latent_self_loops=True: without a diagonal, Q repels points whose row "
                "of P sums to less than 1 ever further. Set balance to 1 or 'auto'."
            )

    def _check_affinity(self) -> None:
        if isinstance(self.affinity, str):
            check_choice(self.affinity, "affinity", ("precomputed",))
        elif isinstance(self.affinity, Affinity):
            self.affinity.check_parameters()
        elif self.affinity is not None:
            raise InputError(
                "affinity must be None, 'precomputed' or an object from snekhorn.affinities; got "
                f"{shown(self.affinity)}. To pass P itself, set affinity='precomputed' and pass P as X."
            )
