"""Simulate or load the data sets of the paper.

`load` reads a data set from a local folder or, if its checksum is known, downloads it. `names` lists the available
data sets. `make_three_gaussians` and `make_heteroscedastic_multinomial` are the simulations.
"""

from .catalogue import CUMIDA, SETS, names
from .generators import make_heteroscedastic_multinomial, make_three_gaussians
from .loading import Dataset, MissingData, load
from .readers import DamagedData

__all__ = [
    "CUMIDA",
    "SETS",
    "DamagedData",
    "Dataset",
    "MissingData",
    "load",
    "make_heteroscedastic_multinomial",
    "make_three_gaussians",
    "names",
]
