"""The experiments of the paper, one file a figure or table, and what they share.

Read `experiment.py` for what an experiment is (cells to compute, a picture and a section of the results page to make
of them), `store.py` for how finished cells are kept, `layouts.py` and `clustering.py` for the protocols, the paper's
and ours. `registry.py` has all by name; `page.py` makes the results page.
"""

from .experiment import Experiment, Settings
from .registry import EXPERIMENTS
from .store import Store

__all__ = ["EXPERIMENTS", "Experiment", "Settings", "Store"]
