"""Points in pieces on the workers: checks of a dask array, its rows, and its principal components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import dask.array
import numpy as np
from distributed import Client
from numpy.typing import NDArray

from ..embedding.initial_layout import layout_of_components, rounding
from ..errors import InputError, InputTypeError
from ..estimators.checkpoints import joined_hashes
from ..geometry.block_components import leading_axes
from ..geometry.column_statistics import ROWS_PER_BLOCK
from ..geometry.inputs import check_largest
from ..geometry.preprocessing import FEW_COLUMNS, principal_components
from ..runtime.execution import Threads
from . import point_tasks
from .workers import Array, Pieces, Workers, row_ranges


@dataclass(frozen=True)
class PointPieces:
    """Rows of a dask array, float32 or float64, in pieces on the workers.

    The ranges of `workers` end at multiples of ROWS_PER_BLOCK, because sums over blocks of another size would be
    rounded differently.
    """

    workers: Workers
    parts: Pieces
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    lowest: Array
    highest: Array

    @property
    def largest(self) -> float:
        """Largest absolute value of an entry."""
        return max(float(self.highest.max()), -float(self.lowest.min()))

    def rows(self, wanted: NDArray[np.integer[Any]]) -> Array:
        """Return some rows, in this order."""
        ranges = self.workers.ranges
        owner = np.searchsorted([rows.stop for rows in ranges], wanted, side="right")
        places = [np.flatnonzero(owner == i) for i in range(len(ranges))]
        local = Pieces([wanted[place] - rows.start for place, rows in zip(places, ranges, strict=True)])
        out = np.empty((wanted.size, self.shape[1]), dtype=self.dtype)
        for place, part in zip(
            places, self.workers.fetch(self.workers.map_pieces(point_tasks.rows_at, self.parts, local)), strict=True
        ):
            out[place] = part
        return out

    def fingerprint(self) -> str:
        """Return the hash of the points that a checkpoint stores, the same as that of an array."""
        hashes = self.workers.fetch(self.workers.map_pieces(point_tasks.hashes_of_rows, self.parts))
        return joined_hashes([(self.shape, self.dtype, [block for part in hashes for block in part])])

    def to_array(self) -> Array:
        """Return all rows."""
        return np.concatenate(self.workers.fetch(self.parts.parts))

    def pca_layout(self, n_components: int) -> Array:
        """Return the initial layout of principal components, like `snekhorn.embedding.initial_layout.pca_layout`."""
        n, p = self.shape
        if needs_all_points(self.shape):
            found = principal_components(self.to_array(), n_components, execution=Threads(self.workers.n_threads))
        else:
            found = self._components(min(n_components, n - 1, p))
        return layout_of_components(found, n_components, rounding(self.dtype, self.largest))

    def _components(self, n_components: int) -> Array:
        workers, (n, p) = self.workers, self.shape
        sums = workers.fetch(workers.map_pieces(point_tasks.block_sums, self.parts))
        mean = np.asarray(sum(block for part in sums for block in part) / n)  # in the order of the blocks
        scatter: Any = np.zeros((p, p))
        for part in self.parts.parts:  # one after the other, because the order of a sum affects its rounding
            scatter = workers.submit(point_tasks.add_scatter, part, mean, scatter)
        axes, _ = leading_axes(workers.fetch([scatter])[0] / n, n_components)
        return np.concatenate(workers.fetch(workers.map_pieces(point_tasks.projected, self.parts, mean, axes)))


def needs_all_points(shape: tuple[int, int]) -> bool:
    """Return whether principal components need all points in one place, because there are many columns."""
    n, p = shape
    return p > min(FEW_COLUMNS, 2 * n)


def check_dask_array(X: Any, *, n_columns: int | None = None) -> None:
    """Raise unless X is a two-dimensional dask array of numbers, of known shape, in chunks that are NumPy arrays.

    For new points, `n_columns` is the number of columns that they must have.
    """
    if not isinstance(X, dask.array.Array):
        raise InputTypeError(
            f"X has the type {type(X).__name__}, but snekhorn.dask needs a dask array; use dask.array.from_array(X) or "
            "the estimator of the same name in snekhorn."
        )
    if X.ndim != 2:
        raise InputError(f"X has {X.ndim} dimension{'s' * (X.ndim != 1)}; pass an array of points (rows) and features.")
    if np.isnan(X.shape).any():
        raise InputError("X has chunks of unknown sizes; call X.compute_chunk_sizes() first.")
    n, p = X.shape
    if n_columns is None and (n < 2 or p < 1):
        raise InputError(f"X has shape {n} x {p}; pass at least 2 points (rows) and 1 feature.")
    if n_columns is not None and (n < 1 or p != n_columns):
        raise InputError(f"X has shape {n} x {p}; pass at least 1 point with {n_columns} features.")
    if X.dtype.kind not in "biuf":
        raise InputTypeError(f"X has the type {X.dtype}; pass real numbers, for example X.astype('float32').")
    if not isinstance(X._meta, np.ndarray):  # noqa: SLF001  (there is no public name)
        raise InputTypeError(
            f"the chunks of X are {type(X._meta).__name__} objects; convert them with X.map_blocks."  # noqa: SLF001
        )


def load_points(X: Any, client: Client, addresses: tuple[str, ...], n_threads: int) -> PointPieces:
    """Load a checked dask array into the memory of the workers; raise if it has entries that are not finite."""
    n, p = X.shape
    dtype = np.dtype(X.dtype if X.dtype in (np.float32, np.float64) else np.float64)
    ranges = row_ranges(n, len(addresses), ROWS_PER_BLOCK)
    workers = Workers(n_threads, client, ranges, addresses)
    X = X.rechunk((tuple(rows.stop - rows.start for rows in ranges), (p,)))
    blocks = Pieces(client.compute(list(X.to_delayed().ravel())))
    parts = Pieces(workers.map_pieces(point_tasks.prepared, blocks, dtype))
    found = workers.fetch(workers.map_pieces(point_tasks.summary, parts))
    for summary, rows in zip(found, ranges, strict=True):
        if summary.shape != (rows.stop - rows.start, p):
            raise InputError(
                f"the chunks of X have other shapes than X declares: rows {rows.start:,} to {rows.stop - 1:,} are an "
                f"array of {summary.shape[0]:,} x {summary.shape[1]:,}; call X.compute_chunk_sizes(), or correct the "
                "shapes passed to dask.array.from_delayed."
            )
        if summary.problem is not None:
            row, column, value = summary.problem
            raise InputError(
                f"X contains {value} at row {row}, column {column}; NaN and infinity are not allowed. Drop such rows, "
                "or impute the values."
            )
    lowest = np.min([summary.lowest for summary in found], axis=0)
    highest = np.max([summary.highest for summary in found], axis=0)
    points = PointPieces(workers, parts, (n, p), dtype, lowest, highest)
    check_largest(points.largest, points.shape)
    return points
