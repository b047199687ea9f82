"""Define the latent affinity Q of every method, and how its sums over all pairs are computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from ..runtime.execution import Execution
from .charge_grid import GridSums
from .charge_sums import ChargeSums, DirectSums, Kernel
from .normalizations import DoublyStochastic, Normalization, RowNormalized, TotalNormalized

DIRECT_LIMIT = {1: 500, 2: 2000, 3: 3000}  # points, by dimension; above this, the grid is faster than the direct sum

SumMethod = Literal["exact", "fft"]
Normalized = Literal["total", "rows", "both"]


@dataclass(frozen=True)
class Latent:
    """Kernel of Q, its normalisation, and step sizes that suit both.

    Parameters
    ----------
    kernel : Kernel
    normalized : {"total", "rows", "both"}
        Whether the total of Q is n, its rows sum to 1, or its rows and columns both sum to 1 (doubly stochastic).
    """

    kernel: Kernel
    normalized: Normalized
    rise: ClassVar[int] = 50  # iterations; faster may throw groups apart while the layout expands, slower takes longer

    @property
    def rate(self) -> float:
        """Learning rate after early exaggeration; lower for the Gaussian kernel, which attracts over long distances."""
        return 1.0 if self.kernel is Kernel.STUDENT else 0.25

    @property
    def momentum(self) -> float:
        """Final momentum; a larger one needs fewer iterations for many points and more for few points."""
        return 0.95 if self.kernel is Kernel.STUDENT else 0.8

    @property
    def doubly_stochastic(self) -> bool:
        """Whether the rows and columns of Q sum to 1."""
        return self.normalized == "both"

    def normalization(self, sums: ChargeSums, *, self_loops: bool) -> Normalization:
        """Build the normalisation of Q; only a doubly stochastic Q can have self-loops."""
        if self.doubly_stochastic:
            return DoublyStochastic(sums, self_loops=self_loops)
        return TotalNormalized(sums) if self.normalized == "total" else RowNormalized(sums)


def choose_method(method: Literal["auto", "exact", "fft"], n: int, n_components: int) -> SumMethod:
    """Return the method, choosing the faster one for "auto"."""
    if method != "auto":
        return method
    return "fft" if n > DIRECT_LIMIT[n_components] else "exact"


def make_charge_sums(method: SumMethod, kernel: Kernel, execution: Execution) -> ChargeSums:
    """Build the sums over all pairs, direct or on a grid."""
    return DirectSums(kernel, execution) if method == "exact" else GridSums(kernel, execution)
