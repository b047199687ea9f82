"""snekhorn: dimension reduction with symmetric entropic affinities.

Reading order, from X to P: `pairs` turns X into costs (`costs`), dense or on the neighbours that
`neighbors` finds; `affinities` turns costs into P with the loops of `optim` and the compiled sums of
`kernels`. `metrics` compares X with an embedding of it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_SUBMODULES = ("affinities", "metrics")

if TYPE_CHECKING:
    from . import affinities, metrics

__all__ = ["__version__", "affinities", "metrics"]


def __getattr__(name: str) -> Any:  # heavy imports wait until they are used
    if name in _SUBMODULES:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
