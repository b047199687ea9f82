"""Estimators for dask arrays, whose work is done by the workers of a Dask cluster."""

from .dask_methods import DaskEmbedding, SNEkhorn, TSNEkhorn
from .workers import LostClusterError

__all__ = ["DaskEmbedding", "LostClusterError", "SNEkhorn", "TSNEkhorn"]
