"""Mix the symmetric entropic affinity S with the symmetrised entropic affinity of t-SNE.

    P = b S + (1 - b) (E + E^T) / 2

E is the directed entropic affinity, on the same edges. In (E + E^T) / 2, hubs, the neighbours of many points, have
large row sums and attract many points. In S, every row sums to one, so hubs count no more than other points.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from ..geometry.costs import Array, Cost, Matrix
from ..kernels import entropic_mean
from ..runtime.checks import check_fraction
from .entropic import KernelRows, tie_limit

Balance: TypeAlias = float | Literal["auto"]

# The rule of "auto". At perplexity 30, the column sums of E have a Gini coefficient of 0.12 to 0.39 on the eleven data
# sets tried. In simulations in which hubs mislead because noise is unequal, it is 0.51 to 0.9 in 50 dimensions and
# more, but only about 0.4 in 10 dimensions. It is also high if noise dominates but is equal everywhere, where the
# balance makes no difference.
LOWEST = 0.5  # balance on ordinary data; a lower one keeps a few more neighbours, but shows groups less clearly
EQUAL = 0.4  # inequality up to which the balance is lowest; if it is larger, unequal noise is mistaken for structure
UNEQUAL = 0.55  # inequality from which the balance is 1; if it is smaller, ordinary data lose neighbours


def check_balance(balance: Any) -> None:
    """Raise unless the balance is "auto" or a number from 0 to 1."""
    if not (isinstance(balance, str) and balance == "auto"):
        check_fraction(balance, "balance")


def choose_balance(inequality: float) -> float:
    """Return the balance for data whose column sums of E have this Gini coefficient; it rises smoothly."""
    t = float(np.clip((inequality - EQUAL) / (UNEQUAL - EQUAL), 0.0, 1.0))
    return LOWEST + (1.0 - LOWEST) * t * t * (3.0 - 2.0 * t)


def gini(values: Array) -> float:
    """Compute the Gini coefficient: 0 if all values are equal, almost 1 if a single one is positive."""
    ordered = np.sort(values)
    n = ordered.size
    ranks = 2.0 * np.arange(1, n + 1) - n - 1.0
    return max(float(np.sum(ranks * ordered) / (n * np.sum(ordered))), 0.0)  # rounding can make equal values negative


@dataclass(frozen=True)
class EntropicMean:
    """The symmetrised entropic affinity (E + E^T) / 2 on symmetric costs, which is not stored."""

    cost: Cost
    rows: KernelRows
    self_loops: bool

    def column_sums(self) -> Array:
        """Compute the column sums of E."""
        sums = np.empty(self.cost.n_points)
        self.cost.over_rows(entropic_mean.column_sums, self._numbers, self.self_loops, sums)
        return sums

    def mixed_with(self, entries: Array, diagonal: Array | None, balance: float) -> Matrix:
        """Return the weighted mean of another affinity, given as for `cost.as_matrix`, and this one.

        The entries are overwritten.
        """
        self.cost.over_rows(entropic_mean.mix, self._numbers, self.self_loops, balance, entries)
        if diagonal is not None:
            own = np.exp(self.rows.nearest / self.rows.bandwidth - self.rows.log_normalizer)
            diagonal = balance * diagonal + (1.0 - balance) * own
        return self.cost.as_matrix(entries, diagonal)

    @property
    def _numbers(self) -> Array:
        """The four numbers of each row that the loops need."""
        numbers = np.empty((self.cost.n_points, entropic_mean.N_COLUMNS))
        numbers[:, entropic_mean.INVERSE_BANDWIDTH] = 1.0 / self.rows.bandwidth
        numbers[:, entropic_mean.NEAREST] = self.rows.nearest
        numbers[:, entropic_mean.TIED] = tie_limit(self.rows.nearest, self.cost.dtype)
        numbers[:, entropic_mean.LOG_NORMALIZER] = self.rows.log_normalizer
        return numbers
