"""Data of the paper: its simulations, and loaders of its real sets.

`load` looks into a folder of the user's first, and downloads what has a known checksum otherwise; `names` lists what
there is. `make_three_gaussians` and `make_heteroscedastic_multinomial` are the simulations.
"""

from .catalogue import CUMIDA, SETS, names
from .errors import DamagedData, MissingData
from .generators import make_heteroscedastic_multinomial, make_three_gaussians
from .loading import Dataset, load

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
