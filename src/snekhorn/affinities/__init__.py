"""Affinities of the paper, one file each, and a multi-scale affinity.

See `affinity` for the common base class, `entropic` for the affinity of t-SNE, and `symmetric_entropic`,
`symmetric_dual` and `symmetric_solver` for the affinity that the paper introduces. Every class in
`snekhorn.registry.AFFINITIES` can be imported from here.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..registry import AFFINITIES, classes

if TYPE_CHECKING:
    from .affinity import Affinity
    from .doubly_stochastic import DoublyStochasticAffinity as DoublyStochasticAffinity
    from .entropic import EntropicAffinity as EntropicAffinity
    from .gaussian import GaussianAffinity as GaussianAffinity
    from .measured_rows import row_entropies, row_perplexities
    from .multiscale import MultiscaleSymmetricEntropicAffinity as MultiscaleSymmetricEntropicAffinity
    from .self_tuning import SelfTuningAffinity as SelfTuningAffinity
    from .symmetric_entropic import SymmetricEntropicAffinity as SymmetricEntropicAffinity

_CLASSES = classes(AFFINITIES.values())
_SHARED = {"Affinity": "affinity", "row_entropies": "measured_rows", "row_perplexities": "measured_rows"}

__all__ = [
    "Affinity",
    "row_entropies",
    "row_perplexities",
    *_CLASSES,
]


def __getattr__(name: str) -> Any:  # import classes on first use
    if name in _CLASSES:
        return _CLASSES[name].load()
    if name in _SHARED:
        return getattr(import_module(f".{_SHARED[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
