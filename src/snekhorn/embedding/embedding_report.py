"""What the descent says of its work."""

from dataclasses import dataclass, field
from enum import Enum

OVERFLOW = "the layout overflowed; lower learning_rate, or set it to 'auto'; scale init down where it is an array."


class Stop(str, Enum):
    """Why the descent stopped; the text tells the user what to do."""

    CONVERGED = "converged: the loss no longer falls by more than tol"
    MAX_ITER = "stopped at max_iter while the loss was still falling; raise max_iter to go on"
    CALLBACK = "stopped by a callback"
    INTERRUPTED = "interrupted from the keyboard; the layout is the one reached"


@dataclass
class EmbeddingReport:
    """Outcome of the descent.

    Attributes
    ----------
    converged : bool
        Whether the loss fell by less than `tol` between two checks.
    n_iter : int
        Gradient steps taken.
    reason : str
        Why the descent stopped, in words.
    iterations, losses : list of int, list of float
        When the loss was computed, and its value per point, without exaggeration. It is the divergence of P from Q
        where the rows of P sum to 1, or Q is not doubly stochastic; elsewhere it is the objective of layout and
        potential together, which differs by a shift.
    marginal_gap : float or None
        Largest distance of a row sum of Q from 1, where Q is doubly stochastic; None after an interrupt that came
        while the rows were given that sum.
    method : str
        "exact" or "fft", how the sums over all pairs were computed.
    """

    converged: bool = False
    n_iter: int = 0
    reason: str = ""
    iterations: list[int] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    marginal_gap: float | None = None
    method: str = ""

    def __str__(self) -> str:
        loss = f", loss {self.losses[-1]:.4f}" if self.losses else ""
        gap = "" if self.marginal_gap is None else f", row sums of Q within {self.marginal_gap:.1e} of 1"
        return f"{self.reason} ({self.n_iter} iterations{loss}{gap})"
