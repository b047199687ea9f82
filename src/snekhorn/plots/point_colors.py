"""Turn values into colours: one colour per category, or a colour scale for numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from numbers import Real
from typing import Any, Literal

import numpy as np
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize, is_color_like, to_hex, to_rgba_array
from numpy.typing import NDArray

from .. import colors
from ..colors import DISTINCT, MISSING
from ..errors import InputError, InputTypeError, did_you_mean, shown
from ..runtime.natural_order import natural_key
from ..runtime.user_warnings import warn

Palette = Mapping[str, Any] | Sequence[Any] | str

MAX_COLORS = len(DISTINCT)
CONTINUOUS = 256  # colours; a colormap with at least this many is a scale of shades, not a list
MAX_FLOAT_CLASSES = 12  # whole-number floats with more distinct values are more often counts than classes
OTHER = "#8f8f8f"
MICROSECONDS_PER_DAY = 8.64e10
UNITS = {"days": 86400.0, "hours": 3600.0, "minutes": 60.0, "seconds": 1.0}  # in seconds
FIRST_DAY, LAST_DAY = np.datetime64("0001-01-01"), np.datetime64("9999-12-31")  # of the calendar of Matplotlib


@dataclass(frozen=True)
class Categories:
    """Categories of the points.

    `codes` are indices into `names` and `colors`, -1 for missing values. If there are too many categories, the last
    name stands for the `others` smallest ones.
    """

    codes: NDArray[np.int64]
    names: list[str]
    colors: list[str]
    others: int = 0

    @property
    def n_missing(self) -> int:
        return int((self.codes < 0).sum())

    @property
    def named(self) -> bool:
        """Whether a legend is needed: points without values have one colour and no name."""
        return self.names != [""]

    @property
    def rgb(self) -> NDArray[np.float64]:
        """Colour of every point."""
        palette = to_rgba_array([*self.colors, MISSING])[:, :3]  # the code -1 selects the last entry
        return palette[self.codes]

    @property
    def layers(self) -> NDArray[np.int64]:
        """Drawing order: missing values at the bottom, then merged small categories, then all others."""
        colored = self.codes < len(self.names) - bool(self.others)
        return np.where(self.codes < 0, 0, np.where(colored, 2, 1))


@dataclass(frozen=True)
class Numbers:
    """Numbers of the points, NaN if missing, with the limits of the colour scale and the name of its colormap.

    Dates are numbers of days since 1970, as in Matplotlib. Durations have a unit, which the label of the scale gives.
    """

    values: NDArray[np.float64]
    low: float
    high: float
    colormap: str
    are_dates: bool = False
    unit: str = ""

    @property
    def n_missing(self) -> int:
        return int(np.isnan(self.values).sum())

    @property
    def scale(self) -> ScalarMappable:
        """Map from numbers to colours."""
        return ScalarMappable(Normalize(self.low, self.high), colormaps[self.colormap].with_extremes(bad=MISSING))

    @property
    def rgb(self) -> NDArray[np.float64]:
        """Colour of every point."""
        return self.scale.to_rgba(self.values)[:, :3]

    @property
    def extend(self) -> Literal["neither", "both", "min", "max"]:
        """Ends of the scale that some numbers exceed, as Matplotlib names them."""
        below, above = bool(np.nanmin(self.values) < self.low), bool(np.nanmax(self.values) > self.high)
        if below and above:
            return "both"
        return "min" if below else "max" if above else "neither"

    @property
    def layers(self) -> NDArray[np.int64]:
        """Drawing order: missing values at the bottom."""
        return np.where(np.isnan(self.values), 0, 1)


def is_categorical(values: Any) -> bool:
    """Return whether values are categories: anything but numbers, dates and durations, or a few repeated whole numbers.

    "Few" means at most 40 distinct integers, including integers stored as floats because some are missing, and at most
    12 distinct values for other floats. Each must occur at least twice on average.
    """
    return _declared_categories(values) is not None or _looks_categorical(_as_array(values))


def _looks_categorical(array: NDArray[Any]) -> bool:
    if array.dtype.kind in "Mm":
        return bool(np.isnat(array).all())
    if array.dtype.kind not in "iuf":
        return True
    finite = array[np.isfinite(array)]
    if (finite != np.round(finite)).any():
        return False
    distinct = np.unique(finite).size
    integers = array.dtype.kind != "f" or finite.size < array.size
    return distinct <= (MAX_COLORS if integers else MAX_FLOAT_CLASSES) and 2 * distinct <= finite.size


def encode(
    values: Any,
    n: int,
    *,
    categorical: bool | Literal["auto"] = "auto",
    palette: Palette | None = None,
    colormap: str = "viridis",
) -> Categories | Numbers:
    """Encode the values of n points as categories or as numbers."""
    if isinstance(values, str):
        raise InputTypeError(
            f"values must be one value per point, got the text {shown(values)}; pass an array or a list."
        )
    if values is None:
        return Categories(np.zeros(n, dtype=np.int64), [""], colors.categorical(1))
    array = _as_array(values)
    if array.shape != (n,):
        found = f"{array.size} entries" if array.ndim == 1 else f"shape {array.shape}"
        raise InputError(f"values has {found} for {n} points; pass one value per point.")
    declared = _declared_categories(values)
    if categorical == "auto":
        categorical = declared is not None or _looks_categorical(array)
    if categorical:
        categories = _categories(array, declared)
        return categories if palette is None else _painted(categories, palette)
    _check_colormap(colormap, "colormap")
    return _numbers(array, colormap)


def _as_array(values: Any) -> NDArray[Any]:
    """Convert values to an array of numbers, dates, durations, booleans, strings or, if they are mixed, objects."""
    if isinstance(values, Sequence):  # converted as objects, because NumPy turns NaN among strings into "nan"
        values = np.array(list(values), dtype=object)
    array = np.asarray(values)
    if array.dtype.kind not in "biufUSOTMm":
        raise InputError(f"values of type {array.dtype} cannot be used as colours; pass numbers or strings.")
    if array.dtype.kind == "M":
        return _calendar_dates(array)
    if array.dtype.kind != "O" or array.ndim != 1:
        return array
    if any(issubclass(kind, str) for kind in set(map(type, array.tolist()))):  # a quick answer for text
        return array
    present = {type(value) for value in array.tolist() if not _is_missing(value)}
    if present and all(issubclass(kind, date) for kind in present):
        return _calendar_dates(np.array([_date(value) for value in array.tolist()], dtype="datetime64[us]"))
    if present and all(issubclass(kind, timedelta | np.timedelta64) for kind in present):  # the latter is also Real
        return np.array([None if _is_missing(value) else value for value in array.tolist()], dtype="timedelta64")
    if any(issubclass(kind, bool) or not issubclass(kind, Real) for kind in present):
        return array
    numbers = np.array([np.nan if _is_missing(value) else value for value in array.tolist()])
    return numbers if numbers.dtype.kind in "iuf" else numbers.astype(np.float64)  # huge integers are objects


def _calendar_dates(dates: NDArray[Any]) -> NDArray[Any]:
    """Return dates in microseconds, so that `tolist` returns dates; those that Matplotlib cannot draw are missing."""
    days = dates.astype("datetime64[D]")  # nanoseconds do not reach the ends of the calendar
    outside = (days < FIRST_DAY) | (days > LAST_DAY)
    if outside.any():
        warn(
            f"{outside.sum():,} of {dates.size:,} dates are before year 1 or after year 9999, such as "
            f"{days[outside][0]}; they are drawn as missing"
        )
    return np.where(outside, np.datetime64("NaT"), dates).astype("datetime64[us]")


def _date(value: Any) -> Any:
    """Return a date as NumPy has it, in UTC if it has a time zone."""
    if _is_missing(value):
        return np.datetime64("NaT")
    offset = value.utcoffset() if isinstance(value, datetime) else None
    if offset is None:
        return np.datetime64(value, "us")
    return np.datetime64(value.replace(tzinfo=None), "us") - np.timedelta64(offset)


def _is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, NaT or pandas.NA."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # the truth value of pandas.NA is undefined
        return True


def _declared_categories(values: Any) -> list[Any] | None:
    """Return the categories of an ordered pandas Categorical, [] for an unordered one, None for other values."""
    dtype: Any = getattr(values, "dtype", None)
    if not hasattr(dtype, "ordered"):
        return None
    return list(dtype.categories) if dtype.ordered else []


def _numbers(array: NDArray[Any], colormap: str) -> Numbers:
    are_dates, unit = array.dtype.kind == "M", ""
    try:
        if array.dtype.kind == "m":
            values, unit = _in_units(array)
        else:
            values = _days(array) if are_dates else array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"values are not numbers ({error}); pass categorical=True or 'auto'.") from error
    values = np.where(np.isfinite(values), values, np.nan)
    if np.isnan(values).all():
        raise InputError("values contains no finite numbers; pass values=None to draw all points in one colour.")
    return Numbers(values, *colors.color_limits(values[~np.isnan(values)]), colormap, are_dates, unit)


def _days(dates: NDArray[Any]) -> NDArray[np.float64]:
    """Return dates as numbers of days since 1970, NaN if missing."""
    return np.where(np.isnat(dates), np.nan, dates.astype(np.int64) / MICROSECONDS_PER_DAY)


def _in_units(durations: NDArray[Any]) -> tuple[NDArray[np.float64], str]:
    """Return durations in the largest unit of which the longest one has at least two, and the name of the unit."""
    seconds = durations / np.timedelta64(1, "s")  # NaN if missing
    longest = float(np.nanmax(np.abs(seconds), initial=0.0))
    unit = next((name for name, size in UNITS.items() if longest >= 2 * size), "seconds")
    return seconds / UNITS[unit], unit


def _categories(array: NDArray[Any], declared: list[Any] | None) -> Categories:
    """Encode categories in declared or natural order; if there are more than 40, merge the smallest ones."""
    distinct, inverse = _distinct(array)
    names = [_name(value) for value in distinct]
    found = {name for name in names if name is not None}
    ordered = [name for value in declared or [] if (name := _name(value)) in found and name] or natural_order(found)
    place = {name: i for i, name in enumerate(ordered)}
    codes = np.array([-1 if name is None else place[name] for name in names])[inverse]
    if len(ordered) <= MAX_COLORS:
        return Categories(codes, ordered, colors.categorical(len(ordered)))
    sizes = np.bincount(codes[codes >= 0])
    kept = np.sort(np.argsort(-sizes, kind="stable")[: MAX_COLORS - 1])
    merged = np.full(len(ordered) + 1, MAX_COLORS - 1)
    merged[kept], merged[-1] = np.arange(kept.size), -1
    others = len(ordered) - kept.size
    names_kept = [*(ordered[i] for i in kept), f"other ({others:,} categories)"]
    return Categories(merged[codes], names_kept, [*colors.categorical(kept.size), OTHER], others)


def _painted(categories: Categories, palette: Any) -> Categories:
    """Give categories the colours of a palette; the name that stands for the smallest categories keeps its colour."""
    names = categories.names[: len(categories.names) - bool(categories.others)]
    if isinstance(palette, str):
        palette = _spread(palette, len(names))
    elif not isinstance(palette, Mapping):
        palette = _listed(palette, len(names))
    chosen = palette if isinstance(palette, Mapping) else dict(zip(names, palette, strict=False))
    for name, color in chosen.items():
        if not is_color_like(color):
            raise InputError(f"palette[{name!r}] is {shown(color)}, which is not a colour; try '#0072b2'.")
    by_name = {_name(name): color for name, color in chosen.items()}
    pairs = zip(categories.names, categories.colors, strict=True)
    return replace(categories, colors=[to_hex(by_name.get(name, color)) for name, color in pairs])


def _spread(name: str, n: int) -> list[Any]:
    """Return n colours of a colormap: the first ones if it is a list of distinct colours, otherwise evenly spaced."""
    _check_colormap(name, "palette")
    colormap = colormaps[name]
    if colormap.N < CONTINUOUS:
        return [colormap(i % colormap.N) for i in range(n)]
    return list(colormap(np.linspace(0.0, 1.0, n)))


def _listed(palette: Any, n: int) -> list[Any]:
    """Return the colours of a list or an array; raise if there are too few."""
    if not np.iterable(palette):
        raise InputTypeError(
            f"palette is {shown(palette)}, which has no colours; pass a dictionary from names to colours, a list of "
            "colours, or the name of a colormap."
        )
    if len(found := list(palette)) < n:
        raise InputError(
            f"palette has {len(found)} colours for {n} categories; pass one colour per category, or a dictionary with "
            "the colours of some of them."
        )
    return found


def _check_colormap(name: Any, parameter: str) -> None:
    if not isinstance(name, str):
        raise InputTypeError(
            f"{parameter} must be the name of a Matplotlib colormap, got {shown(name)}; try 'viridis'."
        )
    if name not in colormaps:
        raise InputError(f"{parameter}={name!r} is not a Matplotlib colormap; {did_you_mean(name, colormaps)}")


def _distinct(array: NDArray[Any]) -> tuple[list[Any], NDArray[np.int64]]:
    """Return the distinct values, and the index of every point's value among them."""
    if array.dtype.kind in "biuf":
        distinct, inverse = np.unique(array, return_inverse=True)
        return distinct.tolist(), inverse
    values = (array.astype("timedelta64[us]") if array.dtype.kind == "m" else array).tolist()
    try:
        index = {value: place for place, value in enumerate(dict.fromkeys(values))}
        inverse = np.fromiter(map(index.__getitem__, values), np.int64, len(values))
    except TypeError as error:
        raise InputError(f"values has entries that cannot be categories ({error}); pass numbers or strings.") from error
    return list(index), inverse


def _name(value: Any) -> str | None:
    """Return the name of a category, or None if missing; 3.0 becomes "3", because NaN turns integers into floats."""
    if _is_missing(value):
        return None
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else str(value)
    return " ".join(str(value).split()) or "(empty)"


def natural_order(names: set[str]) -> list[str]:
    """Sort numbers by value, and other names in natural order: a2 before a10."""
    try:
        numbers = {name: float(name) for name in names}
    except ValueError:
        return sorted(names, key=natural_key)
    return sorted(names, key=lambda name: (np.isnan(numbers[name]), numbers[name], name))
