"""Data sets and grid of perplexities of the paper."""

from __future__ import annotations

from harness.data_sets import Points, load_points, title
from harness.experiment import NotAvailable, Settings

QUICK_POINTS = 150
LARGE_POINTS = 5000  # any number above 300 gives the whole grid
FEW_POINTS = {  # data sets of fewer than 300 points, for which the grid is shorter
    **{"khan": 63, "su": 102, "all": 128, "gordon": 181, "scgem": 177, "throat_42743": 103, "prostate_6919": 124},
    **{"renal_53757": 143, "colorectal_21510": 147, "breast_45827": 151, "liver_76427": 165},
    **{"colorectal_44076": 194, "leukemia_28497": 281, "breast_70947": 289},
}
IMAGES = ("coil20", "olivetti", "umist", "cifar")
MICROARRAYS = ("khan", "su", "all", "gordon")  # substitutes for CuMiDa, which may not be obtainable
QUICK_SETS = ("digits", "scgem", "liver_14520")  # always, often and rarely available


def chosen(sets: tuple[str, ...], settings: Settings) -> tuple[str, ...]:
    """Return the data sets of a run."""
    return QUICK_SETS if settings.quick else sets


def points(name: str, settings: Settings) -> Points:
    """Return points and classes; a quick run uses a sample and downloads nothing."""
    sample = QUICK_POINTS if settings.quick else None
    return load_points(name, settings.data, sample=sample, download=not settings.quick)


def points_for(name: str, perplexity: float, settings: Settings) -> Points:
    """Return points and classes if there are enough points, because a lowered perplexity would be misreported."""
    X, y = points(name, settings)
    if perplexity >= len(X):
        raise NotAvailable(f"{title(name)} has only {len(X)} points.")
    return X, y


def grid(n: int, *, quick: bool = False) -> list[int]:
    """Return the paper's perplexities: multiples of ten up to 300 that are below the number of points."""
    full = list(range(10, min(n - 1, 300) + 1, 10))
    return full[1:4:2] if quick else full
