"""Estimators: validate, compute P, lay it out, keep what was found."""

from .base import NeighborEmbedding
from .methods import SNE, TSNE, SNEkhorn, SymmetricSNE, TSNEkhorn

__all__ = ["SNE", "TSNE", "NeighborEmbedding", "SNEkhorn", "SymmetricSNE", "TSNEkhorn"]
