"""Errors that are the user's to fix: what is wrong, the value, and the remedy, in one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches


class InputError(ValueError):
    """A parameter, an array, a file or a column that cannot be used.

    Raised for everything that a user can put right. Any other `ValueError` is a bug in this package.
    """


class LayoutOverflowError(FloatingPointError, InputError):
    """A layout whose coordinates grew beyond all bounds; a smaller learning rate is the remedy."""


class MissingMemoryError(MemoryError, InputError):
    """Work that would need more memory than there is, found out before it starts."""


class InputTypeError(TypeError, InputError):
    """A value of a type that cannot be used."""


@contextmanager
def reported_as_input_errors() -> Iterator[None]:
    """Turn the errors of a library that checks what users pass into errors of this package."""
    try:
        yield
    except InputError:
        raise
    except TypeError as error:
        raise InputTypeError(str(error)) from error
    except ValueError as error:
        raise InputError(str(error)) from error


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Suggest the known name nearest to an unknown one, or list the first few; the end of a sentence."""
    known = list(known)
    lowered = {other.lower(): other for other in known}
    if near := get_close_matches(name.lower(), lowered, n=1, cutoff=0.6):
        return f"did you mean {lowered[near[0]]!r}?"
    few = ", ".join(map(repr, known[:8])) + (", ..." if len(known) > 8 else "")
    return f"there are {few}." if known else "there are none."
