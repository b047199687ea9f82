"""Tables and verdicts of the results page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

ABSENT, PENDING = "not available", "not run yet"
OTHERWISE = "rows prepared otherwise"  # than the paper's, so that no verdict is due
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


def claim(*, holds: bool) -> str:
    """Whether what the paper says is what was found."""
    return "as in the paper" if holds else "differs"


def most(count: int, total: int) -> str:
    """The same of something that the paper says of all: four fifths are enough."""
    return "mixed" if 0.5 * total <= count <= 0.8 * total else claim(holds=count > 0.8 * total)


def difference(ours: float | None, theirs: float | None) -> str:
    return "" if ours is None or theirs is None else f"{round(ours - theirs, 1) + 0.0:+.1f}"


def hundredths(value: float | None) -> str | None:
    return None if value is None else f"{round(100.0 * value, 1) + 0.0:.1f}"  # not -0.0


def _text(value: Any) -> str:
    if value is None:
        return ABSENT
    return f"{value:.3g}" if isinstance(value, float) else str(value)
