"""Choose the features among the columns of a file: by name, by pattern, or all that are numeric."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError, did_you_mean, first_few

if TYPE_CHECKING:
    from .table import Wanted

WILDCARDS = frozenset("*?[")


def choose_features(path: Path, names: Sequence[str], numeric: Sequence[str], wanted: Wanted) -> list[str]:
    """Return the features: the requested columns, or all numeric ones, without the excluded ones.

    Patterns match numeric columns that are neither the label nor the id.

    Parameters
    ----------
    names : sequence of str
        Names of all columns.
    numeric : sequence of str
        Names of the columns that can be features.
    """
    offered = [name for name in numeric if name not in (wanted.label, wanted.id)]
    if wanted.columns is None:
        chosen = offered
    elif wanted.of_model:  # names of a model are no patterns
        chosen = [*wanted.columns]
        _check_known(path, chosen, names, model=True)
    else:
        chosen = matching_columns(path, wanted.columns, names, offered)
    excluded = set(matching_columns(path, wanted.exclude or (), names, names))
    features = [name for name in dict.fromkeys(chosen) if name not in excluded]
    if chosen and not features:
        raise InputError(f"--exclude leaves out all {len(chosen)} features of {path}; exclude fewer columns.")
    return features


def matching_columns(path: Path, patterns: Sequence[str], names: Sequence[str], offered: Sequence[str]) -> list[str]:
    """Return the columns with these names, and those of the offered ones that match a pattern such as 'gene*'."""
    found: list[str] = []
    known = set(names)
    for pattern in patterns:
        if pattern in known:
            found.append(pattern)
        elif WILDCARDS.isdisjoint(pattern):
            _check_known(path, [pattern], names, model=False)
        else:
            matched = [name for name in offered if fnmatchcase(name, pattern)]
            if not matched:
                kind = "column" if len(offered) == len(names) else "numeric column"
                raise InputError(
                    f"no {kind} of {path} matches {pattern!r}; available: {first_few(list(offered)) or 'none'}."
                )
            found += matched
    return found


def _check_known(path: Path, wanted: Sequence[str], names: Sequence[str], *, model: bool) -> None:
    known = set(names)
    for name in wanted:
        if name not in known:
            needed = ", which the model needs" if model else ""
            raise InputError(f"{path} has no column {name!r}{needed}; {did_you_mean(name, names)}")
