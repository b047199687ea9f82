"""Dimension reduction with symmetric entropic affinities: SNEkhorn and t-SNEkhorn.

Reading order, from X to Z: `geometry` turns X into costs, dense or on a graph of nearest neighbours; `affinities` turns
costs into P; `embedding` turns any P into a layout Z; `estimators` puts these together and keeps what new points need.
Below them, `solvers` holds loops that know no affinity, `kernels` the compiled sums, and `runtime` where loops run.
`registry` lists every affinity and method by name. Beside that line, `metrics` measures how faithful a layout is to its
data, `plots` draws it, `page` shows it in a browser, `io` reads and writes files, `datasets` loads the paper's data,
and `cli` is the program.
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
