"""The affinities of the paper, one file each, and a multi-scale one.

Read `base.py` for what they share, `entropic.py` for the affinity of t-SNE, and `symmetric_entropic.py`
with `dual.py` for the paper's.
"""

from .affinity import row_entropies, row_perplexities
from .doubly_stochastic import DoublyStochasticAffinity
from .entropic import EntropicAffinity
from .gaussian import GaussianAffinity
from .multiscale import MultiscaleSymmetricEntropicAffinity
from .self_tuning import SelfTuningAffinity
from .symmetric_entropic import SymmetricEntropicAffinity

__all__ = [
    "DoublyStochasticAffinity",
    "EntropicAffinity",
    "GaussianAffinity",
    "MultiscaleSymmetricEntropicAffinity",
    "SelfTuningAffinity",
    "SymmetricEntropicAffinity",
    "row_entropies",
    "row_perplexities",
]
