"""Draw maps of data: dimension reduction with symmetric entropic affinities, SNEkhorn and t-SNEkhorn.

    from snekhorn import TSNEkhorn, plots, show

    model = TSNEkhorn().fit(X)                  # X: a table or array with one row per point
    plots.scatter(model.embedding_, y)          # a picture, coloured by y
    show(model.embedding_, {"y": y}, data=X)    # an interactive page, in a notebook
    model.transform(X_new)                      # positions of new points
    model.save("map.snekhorn")                  # `snekhorn.load` reads it

The estimators `TSNEkhorn`, `SNEkhorn`, `TSNE`, `SymmetricSNE` and `SNE` work like those of scikit-learn. `sweep`
compares settings, `metrics.evaluate` measures how faithful a layout is, `affinities` has affinities that can be used on
their own, and `snekhorn.anndata` works on AnnData objects. The command `snekhorn` does the same for files: try
`snekhorn embed --help`.

To read the code from X to Z: `geometry` turns X into costs, either dense or on a neighbour graph. `affinities` turns
costs into P, and `embedding` turns any P into a layout Z. `estimators` combines them and keeps what is needed to place
new points. Below them, `solvers` holds optimisers that are independent of any affinity, `kernels` holds the compiled
loops, and `runtime` decides where the loops run. `registry` lists every affinity and method by name.

Around this core, `metrics` measures how faithful a layout is to its data, `plots` draws it, `page` shows it in a
browser, `io` reads and writes files, `datasets` loads the paper's data, and `cli` is the command-line program.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .registry import METHODS, classes

__version__ = "0.1.0"

_SUBMODULES = ("affinities", "datasets", "metrics", "plots")
_NAMES = {
    **dict.fromkeys(classes(METHODS.values()), "estimators"),
    "load": "estimators.saved_models",
    "save": "estimators.saved_models",
    "show": "page.notebook_view",
    "sweep": "estimators.sweep",
}

if TYPE_CHECKING:
    from . import affinities as affinities
    from . import datasets as datasets
    from . import metrics as metrics
    from . import plots as plots
    from .estimators import SNE as SNE
    from .estimators import TSNE as TSNE
    from .estimators import SNEkhorn as SNEkhorn
    from .estimators import SymmetricSNE as SymmetricSNE
    from .estimators import TSNEkhorn as TSNEkhorn
    from .estimators.saved_models import load as load
    from .estimators.saved_models import save as save
    from .estimators.sweep import sweep as sweep
    from .page.notebook_view import show as show

__all__ = ["__version__", *_SUBMODULES, *_NAMES]


def __getattr__(name: str) -> Any:  # defer heavy imports until they are needed
    if name in _SUBMODULES:
        return import_module(f".{name}", __name__)
    if name in _NAMES:
        return getattr(import_module(f".{_NAMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
