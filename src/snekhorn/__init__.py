"""snekhorn: dimension reduction with symmetric entropic affinities.

Reading order, from X to Z: `pairs` turns X into costs (`costs`), dense or on the neighbours that `neighbors` finds;
`affinities` turns costs into P with the loops of `optim` and the compiled sums of `kernels`; `embedding` turns any P
into a layout Z; `estimators` put the two together, `reference` and `persistence` keep what later calls need.
Beside that line, `metrics` says how faithful a layout is to its data, `plots` draws it and `page` shows it in a
browser, in the colours of `colors`; `io` reads and writes files, and `cli` is the program. `datasets` has the data of
the paper.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_SUBMODULES = ("affinities", "datasets", "metrics", "plots")
_NAMES = {
    **dict.fromkeys(("SNE", "SNEkhorn", "SymmetricSNE", "TSNE", "TSNEkhorn"), "estimators"),
    "load": "estimators.saved_models",
    "sweep": "estimators.sweep",
}

if TYPE_CHECKING:
    from . import affinities, datasets, metrics, plots
    from .estimators import SNE, TSNE, SNEkhorn, SymmetricSNE, TSNEkhorn
    from .estimators.saved_models import load
    from .estimators.sweep import sweep

__all__ = [
    "SNE",
    "TSNE",
    "SNEkhorn",
    "SymmetricSNE",
    "TSNEkhorn",
    "__version__",
    "affinities",
    "datasets",
    "load",
    "metrics",
    "plots",
    "sweep",
]


def __getattr__(name: str) -> Any:  # heavy imports wait until they are used
    if name in _SUBMODULES:
        return import_module(f".{name}", __name__)
    if name in _NAMES:
        return getattr(import_module(f".{_NAMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
