"""Earlier layout of some of the points, to which a new layout is aligned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..embedding.charge_sums import Array
from ..embedding.initial_layout import scaled_to_start
from ..embedding.springs import Similarity, Springs
from ..errors import InputError
from ..geometry.unreadable_points import check_no_mask
from ..runtime.checks import check_nonnegative
from ..runtime.execution import Execution

STRONGEST = 1e4  # pull; with stronger springs, the layout may stop before it has reached its size
STRONGEST_WITH_ADAM = 10.0  # pull; Adam's steps do not become shorter along stiffer springs, so it would not settle
RESOLUTION = 1e-3  # distance between coordinates; the kernels have width 1, so a larger one would change Q


@dataclass(frozen=True)
class EarlierLayout:
    """Positions of points in an earlier layout.

    Parameters
    ----------
    positions : array of shape (n, d)
        Position of every point; 0 for points that the earlier layout did not have. They are centred, and as wide as 1.
    known : array of shape (n,)
        1 for points that the earlier layout had, 0 for others.
    centre : array of shape (d,)
        Centre of the earlier layout, in its own units.
    pull : float
        Strength of the springs that hold the points.
    """

    positions: Array
    known: Array
    centre: Array
    pull: float

    @classmethod
    def checked(
        cls, align: Any, align_rows: Any, pull: float, shape: tuple[int, int], dtype: Any
    ) -> EarlierLayout | None:
        """Check the arguments of `fit`, for a layout of this shape and type; return None without an earlier layout."""
        if align is None:
            for name, value in (("align_rows", align_rows), ("pull", pull or None)):
                if value is not None:
                    raise InputError(f"{name} has no effect without an earlier layout; pass it as align.")
            return None
        if pull > STRONGEST:
            raise InputError(f"pull must be at most {STRONGEST:g}, got {pull:g}; 100 keeps the shape almost exactly.")
        n, d = shape
        earlier = _check_positions(align, d)
        rows = _check_rows(align_rows, len(earlier), n)
        matched = rows >= 0
        bad = np.flatnonzero(matched & ~np.isfinite(earlier).all(axis=1))
        if bad.size:
            raise InputError(f"row {bad[0]} of align is not finite; set its entry of align_rows to -1.")
        if (n_common := int(matched.sum())) < 2:
            count = f"{n_common} point{'s' * (n_common != 1)}"
            raise InputError(f"align has {count} in common with X; pass at least 2, or align=None.")
        positions, known = np.zeros(shape), np.zeros(n)
        positions[rows[matched]], centre = _centred(earlier[matched], np.dtype(dtype))
        known[rows[matched]] = 1.0
        return cls(positions, known, centre, pull)

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
        return Similarity.closest(Z, self.positions, self.known, execution, scale=False)(Z) + self.centre


def check_pull(pull: Any, optimizer: Any) -> float:
    """Return the strength of springs, checked; raise if the optimiser cannot follow such springs."""
    strength: float = check_nonnegative(pull, "pull")
    if isinstance(optimizer, str) and optimizer == "adam" and strength > STRONGEST_WITH_ADAM:
        raise InputError(
            f"pull must be at most {STRONGEST_WITH_ADAM:g} with optimizer='adam', got {strength:g}; use "
            "optimizer='momentum' for stronger springs."
        )
    return strength


def _check_positions(align: Any, d: int) -> Array:
    check_no_mask(align, "align")
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


def _centred(positions: Array, dtype: np.dtype[Any]) -> tuple[Array, Array]:
    """Return positions with centre 0 and width 1, and their own centre; raise if `dtype` cannot represent a result."""
    with np.errstate(over="ignore"):
        width = float(np.ptp(positions, axis=0).max())
    if width == 0.0:
        raise InputError(
            f"align has {len(positions)} points in common with X, all at one position; pass a layout, or align=None."
        )
    if not np.finfo(float).tiny <= width < np.inf:
        raise InputError(f"align is {width:.3g} wide, which exceeds the range of numbers; scale it to a width of 1.")
    scaled = positions / width
    middle = scaled.mean(axis=0)
    largest = float(np.abs(middle * width).max())
    with np.errstate(over="ignore", invalid="ignore"):
        spacing = np.spacing(dtype.type(largest))
    if not spacing <= RESOLUTION:  # NaN also fails this test
        raise InputError(
            f"the centre of align is at {largest:.3g}, where {dtype} numbers are too far apart for a layout; subtract "
            "the mean from align, and divide it by its width."
        )
    return scaled - middle, middle * width


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
