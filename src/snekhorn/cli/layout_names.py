"""Name each of several layouts by its settings, in the columns of a table and in the titles of pictures and scores."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..estimators import NeighborEmbedding

NUMBER = r"\d+(?:\.\d+)?(?:e[+-]?\d+)?"
KEY = re.compile(rf"(?P<perplexity>{NUMBER})?_?(?:e(?P<exaggeration>{NUMBER}))?")


@dataclass(frozen=True)
class LayoutValues:
    """Perplexities and exaggerations to compute layouts for, each with each."""

    perplexities: list[float]
    exaggerations: list[float]

    @property
    def several(self) -> bool:
        """Whether there is more than one layout."""
        return self._n_layouts > 1

    @property
    def _n_layouts(self) -> int:
        return len(self.perplexities) * len(self.exaggerations)

    def key(self, model: NeighborEmbedding) -> str:
        """Return the key of a layout, which consists of the settings that vary: "30", "e1.5" or "30_e1.5".

        In a table, the names of the columns consist of the axis and the key: x_30, x_e1.5, x_30_e1.5.
        """
        parts = []
        if len(self.perplexities) > 1:
            parts.append(f"{model.perplexity:g}")
        if len(self.exaggerations) > 1:
            parts.append(f"e{model.exaggeration:g}")
        return "_".join(parts)

    def described(self, n: int) -> str:
        """Return a description of the layouts of n points."""
        what = f"{self._n_layouts} layouts" if self.several else "the layout"
        text = f"{what} of {n:,} points, perplexity {_listed(self.perplexities)}"
        return text if self.exaggerations == [1.0] else f"{text}; exaggeration {_listed(self.exaggerations)}"


def _listed(values: list[float]) -> str:
    return ", ".join(f"{value:g}" for value in sorted(values))


def layout_settings(key: str) -> dict[str, str]:
    """Return the settings in a key, by name; the setting "layout" is the key itself if another program wrote it."""
    found = KEY.fullmatch(key)
    settings = {name: value for name, value in found.groupdict().items() if value} if found else {}
    return settings or {"layout": key or "x, y"}


def layout_title(key: str) -> str:
    """Return the settings in a key as a title."""
    settings = layout_settings(key)
    return settings.get("layout", ", ".join(f"{name} {value}" for name, value in settings.items()))


def sheet_columns(keys: Iterable[str]) -> int | None:
    """Return the number of exaggerations if the keys are a grid with one row per perplexity, otherwise None."""
    settings = [layout_settings(key) for key in keys]
    if any(len(each) < 2 for each in settings):
        return None
    rows, columns = (len({each[name] for each in settings}) for name in ("perplexity", "exaggeration"))
    return columns if rows * columns == len(settings) else None
