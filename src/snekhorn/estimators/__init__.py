"""Estimators: validate, compute P, lay it out, keep what was found."""

from .methods import SNE, TSNE, SNEkhorn, SymmetricSNE, TSNEkhorn
from .neighbor_embedding import NeighborEmbedding

__all__ = ["SNE", "TSNE", "NeighborEmbedding", "SNEkhorn", "SymmetricSNE", "TSNEkhorn"]
