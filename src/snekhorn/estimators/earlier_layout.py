"""Earlier layout of some of the points, to which a new layout is aligned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..embedding.charge_sums import Array
from ..embedding.initial_layout import scaled_to_start
from ..embedding.springs import Similarity, Springs
from ..errors import InputError
from ..runtime.checks import check_nonnegative
from ..runtime.execution import Execution


@dataclass(frozen=True)
class EarlierLayout:
    """Positions of points in an earlier layout.

    Parameters
    ----------
    positions : array of shape (n, d)
        Position of every point; 0 for points that the earlier layout did not have.
    known : array of shape (n,)
        1 for points that the earlier layout had, 0 for others.
    pull : float
        Strength of the springs that hold the points.
    """

    positions: Array
    known: Array
    pull: float

    @classmethod
    def checked(cls, align: Any, align_rows: Any, pull: Any, shape: tuple[int, int]) -> EarlierLayout | None:
        """Check the arguments of `fit`, for a layout of this shape; return None without an earlier layout."""
        pull = check_nonnegative(pull, "pull")
        if align is None:
            for name, value in (("align_rows", align_rows), ("pull", pull or None)):
                if value is not None:
                    raise InputError(f"{name} has no effect without an earlier layout; pass it as align.")
            return None
        n, d = shape
        earlier = _check_positions(align, d)
        rows = _check_rows(align_rows, len(earlier), n)
        matched = rows >= 0
        positions, known = np.zeros(shape), np.zeros(n)
        positions[rows[matched]], known[rows[matched]] = earlier[matched], 1.0
        if not np.isfinite(positions).all():
            row = np.flatnonzero(matched & ~np.isfinite(earlier).all(axis=1))[0]
            raise InputError(f"row {row} of align is not finite; set its entry of align_rows to -1.")
        if matched.sum() < 2 or not np.ptp(earlier[matched], axis=0).any():
            raise InputError(
                f"align has {matched.sum()} points in common with X, at less than two positions; pass more points, or "
                "align=None."
            )
        return cls(positions, known, pull)

    def initial_layout(self, Z: Array, execution: Execution) -> Array:
        """Return the initial layout: the earlier positions, and Z, mapped to them, for points without a position."""
        moved = Similarity.closest(Z, self.positions, self.known, execution)(Z)
        return scaled_to_start(np.where(self.known[:, None] > 0.0, self.positions, moved))

    def springs(self, execution: Execution) -> Springs | None:
        """Return springs that keep the shape of the earlier layout, if there is a pull."""
        return Springs(self.positions, self.pull * self.known, execution, free=True) if self.pull else None

    def aligned(self, Z: Array, execution: Execution) -> Array:
        """Rotate, mirror and shift a layout so that it is as close as possible to the earlier one.

        Distances within the layout do not change, because Q depends on them.
        """
        return Similarity.closest(Z, self.positions, self.known, execution, scale=False)(Z)


def _check_positions(align: Any, d: int) -> Array:
    try:
        earlier = np.array(align, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"align is not an array of numbers ({error}); pass an earlier layout.") from error
    if earlier.ndim != 2 or earlier.shape[1] != d:
        raise InputError(
            f"align has shape {earlier.shape}, but the layout has {d} dimension{'s' * (d > 1)}; pass an earlier layout "
            f"with {d} column{'s' * (d > 1)}, or set n_components."
        )
    return earlier


def _check_rows(align_rows: Any, m: int, n: int) -> Any:
    """Return the row of X for each of the m rows of an earlier layout, or -1."""
    if align_rows is None:
        if m != n:
            raise InputError(
                f"align has {m} rows, but X has {n}; pass align_rows, the row of X for each row of align, with -1 for "
                "points that are not in X."
            )
        return np.arange(n)
    rows = np.asarray(align_rows)
    if rows.shape != (m,) or rows.dtype.kind not in "iu":
        raise InputError(
            f"align_rows must be an array of {m} whole numbers, one for each row of align; got an array of "
            f"{rows.dtype} of shape {rows.shape}."
        )
    if m and not -1 <= rows.min() <= rows.max() < n:
        raise InputError(f"align_rows must be from -1 to {n - 1}, got {rows.min()} to {rows.max()}.")
    found, counts = np.unique(rows[rows >= 0], return_counts=True)
    if (twice := found[counts > 1]).size:
        raise InputError(f"align_rows has row {twice[0]} of X more than once; match each row of X at most once.")
    return rows
