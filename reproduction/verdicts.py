"""Compare our results with the paper's numbers and claims."""

from __future__ import annotations

from harness.results_page import ABSENT

OTHERWISE = "rows prepared differently"  # differently from the paper, so no verdict is possible
NEAR = 1.0  # hundredths of a score that count as the same


def verdict(ours: float | None, theirs: float | None, *, near: float = NEAR) -> str:
    """Compare our number with the paper's, in hundredths, where larger is better; empty if the paper has none."""
    if ours is None or theirs is None:
        return "" if theirs is None and ours is not None else ABSENT
    if abs(ours - theirs) <= near:
        return "the same"
    return "better" if ours > theirs else "worse"


def claim(*, holds: bool) -> str:
    """Return the verdict on a claim of the paper."""
    return "as in the paper" if holds else "differs"


def most(count: int, total: int) -> str:
    """Return the verdict on a claim about all cases; more than four fifths are enough."""
    return "mixed" if 0.5 * total <= count <= 0.8 * total else claim(holds=count > 0.8 * total)


def difference(ours: float | None, theirs: float | None) -> str:
    """Return our number minus the paper's, with its sign; empty if either is missing."""
    return "" if ours is None or theirs is None else f"{round(ours - theirs, 1) + 0.0:+.1f}"


def hundredths(value: float | None) -> str | None:
    """Return 100 times a score, with one decimal."""
    return None if value is None else f"{round(100.0 * value, 1) + 0.0:.1f}"  # + 0.0 turns -0.0 into 0.0
