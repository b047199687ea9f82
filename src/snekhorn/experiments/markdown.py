"""Tables and verdicts of the results page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

ABSENT, PENDING = "not available", "not run yet"
NEAR = 1.0  # a hundredth of a score: what counts as the same


def table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A Markdown table; None stands for what is not available."""
    lines = [list(header), ["---"] * len(header), *([_text(value) for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def verdict(ours: float | None, theirs: float | None, *, near: float = NEAR) -> str:
    """Ours against the paper's, larger being better, in hundredths."""
    if ours is None or theirs is None:
        return "" if theirs is None and ours is not None else ABSENT
    if abs(ours - theirs) <= near:
        return "the same"
    return "better" if ours > theirs else "worse"


def difference(ours: float | None, theirs: float | None) -> str:
    return "" if ours is None or theirs is None else f"{ours - theirs:+.1f}"


def hundredths(value: float | None) -> str | None:
    return None if value is None else f"{100.0 * value:.1f}"


def _text(value: Any) -> str:
    if value is None:
        return ABSENT
    return f"{value:.3g}" if isinstance(value, float) else str(value)
