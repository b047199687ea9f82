"""Tell which parameters of a model change its result, and which of them the user can set where the model is used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

# Parameters of estimators and affinities that leave the result unchanged, to the last bit.
HOW = frozenset({"callbacks", "checkpoint", "client", "max_memory", "n_jobs", "verbose"})

_offered: ContextVar[frozenset[str] | None] = ContextVar("offered", default=None)


def settings_of_result(model: Any) -> dict[str, Any]:
    """Return the parameters of a model that determine its result."""
    return {name: value for name, value in model.get_params(deep=False).items() if name not in HOW}


@contextmanager
def offering(names: Iterable[str] | None) -> Iterator[None]:
    """Declare, for advice inside this context, that the user can set only these parameters of an affinity.

    An estimator offers some parameters of the affinity that it builds, and the program offers some of the estimator.
    None declares nothing. In contexts within each other, all of them must offer a parameter.
    """
    outer = _offered.get()
    inner = outer if names is None else frozenset(names) if outer is None else outer.intersection(names)
    token = _offered.set(inner)
    try:
        yield
    finally:
        _offered.reset(token)


def offered_parameters() -> frozenset[str] | None:
    """Return the parameters that the user can set, or None for all parameters of the affinity."""
    return _offered.get()
