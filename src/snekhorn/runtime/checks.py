"""Check user-facing parameters; every error names the parameter, the value received and the remedy."""

from __future__ import annotations

import numbers
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError, InputTypeError, shown
from .progress import note
from .user_warnings import warn

USUAL_PERPLEXITY = 30.0  # for data of any size, and for the number of neighbours of affinities without a perplexity
PREFIXES = "kmgt"
AMOUNT = re.compile(rf"\s*(\d+\.?\d*|\.\d+)\s*(?:(?:([{PREFIXES}])(i)?)?b?|(%))\s*")


def check_perplexity(perplexity: Any) -> float:
    """Raise unless the perplexity is a finite number above 1."""
    if not _is_real(perplexity) or not 1.0 < perplexity < np.inf:
        raise InputError(f"perplexity must be a finite number above 1, got {shown(perplexity)}; 30 is a good start.")
    return float(perplexity)


def clamp_perplexity(perplexity: float, n_entries: int, n_points: int, usable: float | None = None) -> float:
    """Return the perplexity; if rows of `n_entries` cannot reach it, lower it and warn.

    A row of n entries has perplexity n only if it is uniform, and then it carries no information about the data. The
    limit is therefore n - 1, or 1.5 for rows of two entries. Rows shorter than the number of points are those of a
    neighbour graph. If they differ in length, `usable` is the perplexity to use instead of one above the limit.
    """
    largest = max(n_entries - 1.0, (n_entries + 1.0) / 2.0)
    start = max(min(USUAL_PERPLEXITY, float(n_points // 3)), 2.0)
    advice = f"above a third of the points, layouts show little structure; {start:g} is a good start"
    if perplexity <= largest:
        if perplexity > max(n_points / 3.0, start):
            note(f"perplexity={perplexity:g} is large for {n_points:,} points: {advice}")
        return perplexity
    if usable is not None:
        warn(
            f"perplexity={perplexity:g} exceeds what the rows of this neighbour graph allow; using {usable:g}. "
            f"Pass a perplexity of at most {usable:g} to avoid this warning."
        )
        return usable
    if n_entries == 1:
        warn("every row has a single entry, so the perplexity has no effect; add points, or allow self-loops.")
    elif n_entries < n_points - 1:
        warn(
            f"perplexity={perplexity:g} exceeds what rows with {n_entries} entries allow; using {largest:g}. "
            f"Pass a perplexity of at most {largest:g} to avoid this warning."
        )
    else:
        but = f", but {advice}" if start < largest else ""
        warn(f"perplexity={perplexity:g} is too large for {n_points:,} points; using {largest:g}{but}.")
    return largest


def check_positive(value: Any, name: str) -> float:
    """Raise unless `value` is a positive finite number."""
    if not _is_real(value) or not 0.0 < value < np.inf:
        raise InputError(f"{name} must be a positive finite number, got {shown(value)}.")
    return float(value)


def check_nonnegative(value: Any, name: str) -> float:
    """Raise unless `value` is a finite number of at least 0."""
    if not _is_real(value) or not 0.0 <= value < np.inf:
        raise InputError(f"{name} must be a finite number of at least 0, got {shown(value)}.")
    return float(value)


def check_fraction(value: Any, name: str) -> float:
    """Raise unless `value` is a number from 0 to 1, or "auto", which the caller handles."""
    if not _is_real(value) or not 0.0 <= value <= 1.0:
        raise InputError(f"{name} must be a number from 0 to 1, or 'auto'; got {shown(value)}.")
    return float(value)


def check_count(value: Any, name: str, *, smallest: int = 1, largest: int | None = None) -> int:
    """Raise unless `value` is a whole number between `smallest` and `largest`; None means no upper limit."""
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not whole or value < smallest or (largest is not None and value > largest):
        bounds = f"of at least {smallest}" if largest is None else f"from {smallest} to {largest}"
        raise InputError(f"{name} must be a whole number {bounds}, got {shown(value)}.")
    return int(value)


def check_choice(value: Any, name: str, choices: tuple[Any, ...]) -> Any:
    """Raise unless `value` is one of `choices`."""
    if isinstance(value, np.bool_):
        value = bool(value)
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
        raise InputError(f"{name} must be one of {', '.join(map(repr, choices))}; got {shown(value)}.")
    return value


def check_text(value: Any, name: str, remedy: str) -> str:
    """Raise unless `value` is text; the remedy says what to pass instead."""
    if not isinstance(value, str):
        raise InputTypeError(f"{name} must be text, got {shown(value)}; {remedy}.")
    return value


def check_mapping(value: Any, name: str, remedy: str) -> Mapping[Any, Any]:
    """Raise unless `value` is a dictionary, or a mapping like it; the remedy says what to pass instead."""
    if not isinstance(value, Mapping):
        raise InputTypeError(f"{name} must be a dictionary, got {shown(value)}; {remedy}.")
    return value


def check_path(value: Any, name: str, *, or_file: str = "", remedy: str = "pass the name of a file") -> Path:
    """Return the path of a file or a folder; raise unless `value` is one."""
    if not isinstance(value, str | os.PathLike) or "\0" in str(value):
        raise InputTypeError(f"{name} must be text or a pathlib.Path{or_file}, got {shown(value)}; {remedy}.")
    return Path(value)


def check_jobs(n_jobs: Any) -> int | None:
    """Raise unless `n_jobs` is None or a non-zero whole number."""
    if n_jobs is None:
        return None
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral) or n_jobs == 0:
        raise InputError(
            f"n_jobs must be a number of threads, or -1 for all cores, or -2 for all but one; got {shown(n_jobs)}."
        )
    return int(n_jobs)


def check_memory(max_memory: Any) -> float | None:
    """Return a limit on the memory as a number: up to 1 it is a fraction, above 1 a number of bytes.

    Units such as GB are powers of 1000, and units such as GiB are powers of 1024.
    """
    if max_memory is None:
        return None
    limit = np.nan
    if isinstance(max_memory, str) and (parts := AMOUNT.fullmatch(max_memory.lower())):
        number, prefix, binary, percent = parts.groups()
        limit = float(number) * (1024.0 if binary else 1000.0) ** (PREFIXES.index(prefix) + 1 if prefix else 0)
        limit = (limit / 100.0 if limit <= 100.0 else np.nan) if percent else limit
    elif _is_real(max_memory):
        limit = float(max_memory)
    if not 0.0 < limit < np.inf:
        raise InputError(
            "max_memory must be a number of bytes, a text such as '8GB', a fraction of the memory such as 0.5, or "
            f"None; got {shown(max_memory)}."
        )
    return limit


def check_seed(seed: Any) -> None:
    """Raise unless `seed` can be the parameter `random_state`."""
    from sklearn.utils import check_random_state  # imported here because it is slow to load

    try:
        check_random_state(seed)
    except ValueError as error:
        raise InputError(
            "random_state must be a whole number from 0 to 2**32 - 1, a numpy.random.RandomState or None; "
            f"got {shown(seed)}."
        ) from error


def _is_real(value: Any) -> bool:
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return False
    try:
        float(value)
    except OverflowError:  # a whole number of more than 308 digits
        return False
    return True


def is_missing(value: Any) -> bool:
    """Return whether a value of metadata stands for none: None, NaN, or NaT and NA of pandas."""
    if value is None:
        return True
    unequal = value != value
    return bool(unequal) if isinstance(unequal, bool | np.bool_) else type(value).__name__ == "NAType"
