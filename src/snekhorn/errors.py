"""Errors that users can fix: each message gives the problem, the value and the remedy in one sentence."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from math import prod
from typing import Any

FEW_ENTRIES = 8  # of an array that is written in full
LONGEST_VALUE = 100  # characters of a value in a message; a longer value would hide the remedy


class InputError(ValueError):
    """Invalid parameter, array, file or column.

    Raised for every problem that the user can fix. Any other `ValueError` is a bug in this package.
    """


class NumericalOverflowError(FloatingPointError, InputError):
    """Overflow in a layout or an affinity; the message says what to scale or lower."""


class MissingMemoryError(MemoryError, InputError):
    """Lack of memory for a computation; raised before the computation starts.

    The arguments are the problem and its remedies, so that the program can leave out those that it does not offer.
    """

    def __str__(self) -> str:
        problem, *remedies = map(str, self.args)
        if not remedies:
            return problem
        *others, last = remedies
        return f"{problem}; {', '.join([*others, f'or {last}' if others else last])}."


class MissingFileError(FileNotFoundError, InputError):
    """File that does not exist."""


class InputTypeError(TypeError, InputError):
    """Value of an unsupported type."""


@contextmanager
def reported_as_input_errors() -> Iterator[None]:
    """Convert errors that a library raises for invalid user input into errors of this package."""
    try:
        yield
    except InputError:
        raise
    except TypeError as error:
        raise InputTypeError(str(error)) from error
    except ValueError as error:
        raise InputError(str(error)) from error


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Suggest the known name closest to an unknown one, or list the first known names, to complete an error message."""
    known = list(known)
    if near := nearest_name(name, known):
        return f"did you mean {near!r}?"
    listed = first_few(known) or "none"
    return f"available: {listed}{'' if listed.endswith('...') else '.'}"


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name closest to an unknown one, or None if none is close."""
    lowered = {other.lower(): other for other in known}
    near = get_close_matches(name.lower(), lowered, n=1, cutoff=0.6)
    return lowered[near[0]] if near else None


def first_few(names: Sequence[str]) -> str:
    """List the first eight names in quotes, followed by an ellipsis if there are more."""
    return ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")


def shown(value: Any) -> str:
    """Write a value for an error message as Python does, but a large array by its shape, a long list by its length."""
    shape = getattr(value, "shape", ())
    if isinstance(shape, tuple) and prod(shape) > FEW_ENTRIES:
        return f"{type(value).__name__} of shape {shape}"
    text = " ".join(repr(value).split())
    if len(text) <= LONGEST_VALUE:
        return text
    sized = hasattr(value, "__len__") and not isinstance(value, str | bytes)
    return f"{type(value).__name__} of length {len(value):,}" if sized else f"{text[:LONGEST_VALUE]}..."


def option_text(option: str, *names: str) -> str:
    """Write an option and the names of columns that it takes as a shell and the program read them."""
    several = option in ("--columns", "--exclude")
    return shlex.join([option, ",".join(map(_protected, names)) if several else names[0]])


def _protected(name: str) -> str:
    """Put a name with a comma in double quotes, because commas separate names."""
    return '"' + name.replace('"', '""') + '"' if "," in name or '"' in name else name
