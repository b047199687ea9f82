"""The error of a file that is not what its suffix says."""

from pathlib import Path

from ..errors import InputError


def unlike(path: Path, kind: str, error: Exception) -> InputError:
    """Describe why `path` cannot be read as `kind`."""
    reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")[:120]
    return InputError(f"{path} is not a readable {kind} file, as its suffix says ({reason}); write it again.")
