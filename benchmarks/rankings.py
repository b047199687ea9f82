"""Rank methods on several data sets, where differences within the spread of the subsamples count as none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from harness.experiment import Case

from .field_methods import DEFAULTS, OURS, PEERS

MARGIN = 0.003  # a smaller difference counts as none, however small the spread is


@dataclass(frozen=True)
class Score:
    """Mean and standard deviation over subsamples."""

    mean: float
    spread: float

    def differs(self, other: Score) -> bool:
        """Return whether two means differ by more than the larger of their spreads, and by more than `MARGIN`."""
        return abs(self.mean - other.mean) > max(self.spread, other.spread, MARGIN)


Scores: TypeAlias = Mapping[tuple[str, str], Score]  # data, method -> score


def summarize(cases: Iterable[Case], score: str) -> dict[tuple[str, str], Score]:
    """Return the mean and spread of a score for every data set and method that has it."""
    values: dict[tuple[str, str], list[float]] = {}
    for case in cases:
        if case.get(score) is not None:
            values.setdefault((case["data"], case["method"]), []).append(case[score])
    return {key: _score(found) for key, found in values.items()}


def best_of(cases: Sequence[Case], score: str) -> dict[tuple[str, str], Score]:
    """Return the score at the factor with the largest mean, over the subsamples that every factor has."""
    by_factor = {
        factor: [case for case in cases if case["factor"] == factor]
        for factor in sorted({case["factor"] for case in cases})
    }
    common = set.intersection(*({case["repeat"] for case in found} for found in by_factor.values()))
    tables = [summarize([case for case in found if case["repeat"] in common], score) for found in by_factor.values()]
    keys = dict.fromkeys(key for found in tables for key in found)
    return {key: max((t[key] for t in tables if key in t), key=lambda one: one.mean) for key in keys}


def _score(values: Sequence[float]) -> Score:
    return Score(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0)


def leaders(scores: Scores, data: str, entrants: Iterable[str]) -> list[str]:
    """Return the methods with the highest mean on a data set, and those that do not differ from it."""
    found = {method: scores[data, method] for method in entrants if (data, method) in scores}
    if not found:
        return []
    best = max(found.values(), key=lambda one: one.mean)
    return [method for method, score in found.items() if not score.differs(best)]


def rank(scores: Scores, data: str, method: str, entrants: Iterable[str]) -> int:
    """Return 1 plus the number of methods that are better by more than the spread."""
    mine = scores[data, method]
    others = [scores[data, other] for other in entrants if (data, other) in scores]
    return 1 + sum(other.mean > mine.mean and other.differs(mine) for other in others)


def rivals(method: str) -> tuple[str, ...]:
    """Return the methods that a method is ranked among: the peers and one of ours, so that ours has one entry."""
    return (method if method in OURS else DEFAULTS, *PEERS)


def sets_of(scores: Scores, method: str) -> list[str]:
    """Return the data sets on which a method has a score."""
    return [data for data, other in scores if other == method]


def ahead_and_behind(scores: Scores, method: str, other: str) -> tuple[int, int]:
    """Return on how many sets `other` is ahead of `method`, and on how many behind, by more than the spread."""
    both = [(scores[data, other], scores[data, method]) for data in sets_of(scores, method) if (data, other) in scores]
    apart = [their.mean - my.mean for their, my in both if their.differs(my)]
    return sum(gap > 0 for gap in apart), sum(gap < 0 for gap in apart)
