"""The latent side of every method, and how its sums are computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .grid_potential import DEFAULT, Accuracy, GridSum
from .normalizations import DoublyStochastic, Normalization, RowSums, TotalSum
from .potentials import DirectSum, Kernel, Potential

DIRECT_LIMIT = {1: 500, 2: 2000}  # points; up to this many the direct sum is faster than the grid


@dataclass(frozen=True)
class Latent:
    """Kernel and normalisation of Q: "total", "rows", or "both" rows and columns (doubly stochastic)."""

    kernel: Kernel
    normalized: str
    rise: ClassVar[int] = 200  # iterations in which momentum rises

    @property
    def rate(self) -> float:
        """Step of the descent proper; the Gaussian kernel's attraction does not level off with distance."""
        return 1.0 if self.kernel is Kernel.STUDENT else 0.25

    @property
    def momentum(self) -> float:
        """What it rises to; at once, it would fling groups apart while the layout expands."""
        return 0.95 if self.kernel is Kernel.STUDENT else 0.8

    @property
    def doubly_stochastic(self) -> bool:
        return self.normalized == "both"

    def normalization(self, sums: Potential, *, self_loops: bool) -> Normalization:
        if self.doubly_stochastic:
            return DoublyStochastic(sums, self_loops=self_loops)
        return TotalSum(sums) if self.normalized == "total" else RowSums(sums)


def choose_method(method: str, n: int, n_components: int) -> str:
    """ "exact" or "fft"; there is no grid in three dimensions."""
    if method == "fft" and n_components not in DIRECT_LIMIT:
        raise ValueError(f"method='fft' works for n_components 1 and 2, got {n_components}; use 'exact' or 'auto'.")
    if method != "auto":
        return method
    return "fft" if n > DIRECT_LIMIT.get(n_components, n) else "exact"


def potential(method: str, kernel: Kernel, n_threads: int, accuracy: Accuracy = DEFAULT) -> Potential:
    """The sums of charges of a method."""
    return DirectSum(kernel, n_threads) if method == "exact" else GridSum(kernel, n_threads, accuracy)
