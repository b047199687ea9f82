"""What is wrong with a file, in one sentence for the person who gave it."""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path


class InputError(ValueError):
    """A file, column or cell that cannot be used; the message names it and the remedy."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The known name nearest to one that is not known, or the first few, as the end of a sentence."""
    known = list(known)
    lowered = {other.lower(): other for other in known}
    if near := get_close_matches(name.lower(), lowered, n=1, cutoff=0.6):
        return f"did you mean {lowered[near[0]]!r}?"
    few = ", ".join(map(repr, known[:8])) + (", ..." if len(known) > 8 else "")
    return f"there are {few}." if known else "there are none."


def unlike(path: Path, kind: str, error: Exception) -> InputError:
    """The error of a file that is not what its suffix says."""
    reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")[:120]
    return InputError(f"{path} is not a readable {kind} file, as its suffix says ({reason}); write it again.")
