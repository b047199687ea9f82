"""What colours the points: categories with a colour each, or numbers on a scale."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize, to_rgba_array
from numpy.typing import NDArray

from .. import colors
from ..colors import MISSING

MOST_COLOURS = 40
FEW_WHOLE = 12  # floats that are whole are more often counts than classes
OTHER = "#8f8f8f"
LONG_TAIL = 1.5  # range of all numbers over the range of the middle 98 per cent


@dataclass(frozen=True)
class Categories:
    """Category of every point: `codes` index `names` and `colours`, -1 is missing.

    `others` is how many small categories the last name stands for.
    """

    codes: NDArray[np.int64]
    names: list[str]
    colours: list[str]
    others: int = 0

    @property
    def n_missing(self) -> int:
        return int((self.codes < 0).sum())

    @property
    def named(self) -> bool:
        """Whether there is anything to explain: points without values have one colour and no name."""
        return self.names != [""]

    @property
    def rgb(self) -> NDArray[np.float64]:
        """Colour of every point."""
        palette = to_rgba_array([*self.colours, MISSING])[:, :3]  # -1 finds the last one
        return palette[self.codes]

    @property
    def layers(self) -> NDArray[np.int64]:
        """Who is drawn over whom: the missing lowest, then other categories, then the coloured ones."""
        coloured = self.codes < len(self.names) - bool(self.others)
        return np.where(self.codes < 0, 0, np.where(coloured, 2, 1))


@dataclass(frozen=True)
class Numbers:
    """Number of every point, NaN where missing, the limits of the scale and Matplotlib's name of its colours."""

    values: NDArray[np.float64]
    low: float
    high: float
    colormap: str

    @property
    def n_missing(self) -> int:
        return int(np.isnan(self.values).sum())

    @property
    def scale(self) -> ScalarMappable:
        """What turns numbers into colours."""
        return ScalarMappable(Normalize(self.low, self.high), colormaps[self.colormap].with_extremes(bad=MISSING))

    @property
    def rgb(self) -> NDArray[np.float64]:
        """Colour of every point."""
        return self.scale.to_rgba(self.values)[:, :3]

    @property
    def extend(self) -> str:
        """Ends of the scale that some numbers are beyond, in Matplotlib's words."""
        below, above = bool(np.nanmin(self.values) < self.low), bool(np.nanmax(self.values) > self.high)
        return {(False, False): "neither", (True, False): "min", (False, True): "max"}.get((below, above), "both")

    @property
    def layers(self) -> NDArray[np.int64]:
        return np.where(np.isnan(self.values), 0, 1)


def is_categorical(values: Any) -> bool:
    """Whether values are categories: anything but numbers, and whole numbers that are few and repeat.

    Few is at most 40 for integers, also for those that became floats because some are missing, and 12 for other
    floats; they repeat if there are two points to a value on average.
    """
    return _declared_categories(values) is not None or _is_categorical(_as_array(values))


def _is_categorical(array: NDArray[Any]) -> bool:
    if array.dtype.kind not in "iuf":
        return True
    finite = array[np.isfinite(array)]
    if (finite != np.round(finite)).any():
        return False
    distinct = np.unique(finite).size
    integers = array.dtype.kind != "f" or finite.size < array.size
    return distinct <= (MOST_COLOURS if integers else FEW_WHOLE) and 2 * distinct <= finite.size


def encode(values: Any, n: int, *, categorical: bool | str = "auto", colormap: str = "viridis") -> Categories | Numbers:
    """Values of n points as categories or numbers."""
    if values is None:
        return Categories(np.zeros(n, dtype=np.int64), [""], colors.categorical(1))
    array = _as_array(values)
    if array.shape != (n,):
        found = f"{array.size} entries" if array.ndim == 1 else f"shape {array.shape}"
        raise ValueError(f"values has {found} for {n} points; pass one value a point.")
    declared = _declared_categories(values)
    if (declared is not None or _is_categorical(array)) if categorical == "auto" else categorical:
        return _categories(array, declared)
    if colormap not in colormaps:
        raise ValueError(f"colormap must be one that Matplotlib knows, got {colormap!r}; 'viridis' is a good one.")
    return _numbers(array, colormap)


def _as_array(values: Any) -> NDArray[Any]:
    """Values as an array of numbers, booleans, strings or, if they are mixed, objects."""
    if isinstance(values, Sequence):  # as objects, because NumPy would turn NaN among strings into "nan"
        values = np.array(list(values), dtype=object)
    array = np.asarray(values)
    if array.dtype.kind not in "biufUSOT":
        raise ValueError(f"values has type {array.dtype}, which has no colours; pass numbers or strings.")
    if array.dtype.kind != "O" or array.ndim != 1:
        return array
    present = {type(value) for value in array.tolist() if not _is_missing(value)}
    if any(issubclass(kind, bool) or not issubclass(kind, Real) for kind in present):
        return array
    numbers = np.array([np.nan if _is_missing(value) else value for value in array.tolist()])
    return numbers if numbers.dtype.kind in "iuf" else numbers.astype(np.float64)  # huge integers are objects


def _is_missing(value: Any) -> bool:
    """None, NaN, NaT and pandas.NA, whose truth is undefined."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def _declared_categories(values: Any) -> list[Any] | None:
    """The categories of a pandas Categorical, in their order if they have one."""
    dtype: Any = getattr(values, "dtype", None)
    if not hasattr(dtype, "ordered"):
        return None
    return list(dtype.categories) if dtype.ordered else []


def _numbers(array: NDArray[Any], colormap: str) -> Numbers:
    try:
        values = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"values are no numbers ({error}); pass categorical=True or 'auto'.") from error
    values = np.where(np.isfinite(values), values, np.nan)
    if np.isnan(values).all():
        raise ValueError("values has no finite number; pass values=None for one colour.")
    smallest, low, high, largest = np.nanpercentile(values, [0, 1, 99, 100])
    if not 0.0 < LONG_TAIL * (high - low) < largest - smallest:
        low, high = smallest, largest
    return Numbers(values, float(low), float(high), colormap)


def _categories(array: NDArray[Any], declared: list[Any] | None) -> Categories:
    """Categories in their declared or natural order, the smallest beyond 40 put together."""
    distinct, inverse = _distinct(array)
    names = [_name(value) for value in distinct]
    found = {name for name in names if name is not None}
    ordered = [name for value in declared or [] if (name := _name(value)) in found and name] or natural_order(found)
    place = {name: i for i, name in enumerate(ordered)}
    codes = np.array([-1 if name is None else place[name] for name in names])[inverse]
    if len(ordered) <= MOST_COLOURS:
        return Categories(codes, ordered, colors.categorical(len(ordered)))
    sizes = np.bincount(codes[codes >= 0])
    kept = np.sort(np.argsort(-sizes, kind="stable")[: MOST_COLOURS - 1])
    merged = np.full(len(ordered) + 1, MOST_COLOURS - 1)
    merged[kept], merged[-1] = np.arange(kept.size), -1
    others = len(ordered) - kept.size
    names_kept = [*(ordered[i] for i in kept), f"other ({others:,} categories)"]
    return Categories(merged[codes], names_kept, [*colors.categorical(kept.size), OTHER], others)


def _distinct(array: NDArray[Any]) -> tuple[list[Any], NDArray[np.int64]]:
    """The different values, and where each point's is among them."""
    if array.dtype.kind in "biuf":
        distinct, inverse = np.unique(array, return_inverse=True)
        return distinct.tolist(), inverse
    index: dict[Any, int] = {}
    try:
        inverse = np.array([index.setdefault(value, len(index)) for value in array.tolist()])
    except TypeError as error:
        raise ValueError(f"values has entries that name no category ({error}); pass numbers or strings.") from error
    return list(index), inverse


def _name(value: Any) -> str | None:
    """How a category is written, None if it is missing; whole floats are labels that lost their type to a NaN."""
    if _is_missing(value):
        return None
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else str(value)
    return " ".join(str(value).split()) or "(empty)"


def natural_order(names: set[str]) -> list[str]:
    """Numbers by value; otherwise as a reader would, a2 before a10."""
    try:
        numbers = {name: float(name) for name in names}
    except ValueError:
        return sorted(names, key=_natural_key)
    return sorted(names, key=lambda name: (np.isnan(numbers[name]), numbers[name], name))


def _natural_key(name: str) -> tuple[Any, ...]:
    parts = re.split(r"([0-9]+)", name.casefold())
    return (*((part, 0) if i % 2 == 0 else ("", int(part)) for i, part in enumerate(parts)), (name, 0))
