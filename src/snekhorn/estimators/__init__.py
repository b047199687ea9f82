"""Estimators: check the input, compute P and the layout, and keep what is needed to place new points.

Every class in `snekhorn.registry.METHODS` can be imported from here.
"""

from typing import TYPE_CHECKING, Any

from ..registry import METHODS, classes

if TYPE_CHECKING:
    from .methods import SNE as SNE
    from .methods import TSNE as TSNE
    from .methods import SNEkhorn as SNEkhorn
    from .methods import SymmetricSNE as SymmetricSNE
    from .methods import TSNEkhorn as TSNEkhorn
    from .neighbor_embedding import NeighborEmbedding

_CLASSES = classes(METHODS.values())

__all__ = ["NeighborEmbedding", *_CLASSES]


def __getattr__(name: str) -> Any:  # import classes on first use
    if name in _CLASSES:
        return _CLASSES[name].load()
    if name == "NeighborEmbedding":
        from .neighbor_embedding import NeighborEmbedding

        return NeighborEmbedding
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
