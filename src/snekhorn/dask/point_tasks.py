"""Tasks on pieces of points: pure functions that run on the workers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..estimators.checkpoints import block_hashes
from ..geometry.block_components import COLUMNS_AT_ONCE, add_products
from ..geometry.column_statistics import ROWS_PER_BLOCK
from ..geometry.row_products import row_products
from ..runtime.execution import one_blas_thread, run_in_blocks
from .workers import Array, worker_threads


@dataclass(frozen=True)
class Summary:
    """Shape of a piece, and range of each column; a problem is the row, column and value of a bad entry."""

    shape: tuple[int, int]
    lowest: Array
    highest: Array
    problem: tuple[int, int, float] | None


def prepared(rows: slice, block: Any, dtype: np.dtype[Any]) -> Array:
    """Return a piece in C order, because rounding depends on the memory order."""
    return np.ascontiguousarray(block, dtype=dtype)


def summary(rows: slice, points: Array) -> Summary:
    """Return the shape, the range of every column, and the first entry that is not finite."""
    lowest, highest = points.min(axis=0), points.max(axis=0)
    if np.isfinite(lowest).all() and np.isfinite(highest).all():
        return Summary(points.shape, lowest, highest, None)
    row, column = np.argwhere(~np.isfinite(points))[0]
    return Summary(points.shape, lowest, highest, (rows.start + int(row), int(column), float(points[row, column])))


def hashes_of_rows(rows: slice, points: Array) -> list[bytes]:
    """Return the hashes of blocks of rows, which end where the blocks of all rows do."""
    return block_hashes(points)


def rows_at(rows: slice, points: Array, wanted: NDArray[np.intp]) -> Array:
    """Return some rows of a piece."""
    return points[wanted]


def block_sums(rows: slice, points: Array) -> list[Array]:
    """Return the sums over blocks of rows, in float64."""
    return [block.sum(axis=0) for block in _blocks(points)]


@one_blas_thread()
def add_scatter(points: Array, mean: Array, scatter: Array) -> Array:
    """Add the products of the centred columns, block by block; only the lower triangle is complete."""
    scatter, p = scatter.copy(), points.shape[1]
    for block in _blocks(points):
        block -= mean
        run_in_blocks(worker_threads(), partial(add_products, block, scatter), p, COLUMNS_AT_ONCE, block.size * p)
    return scatter


def projected(rows: slice, points: Array, mean: Array, axes: Array) -> Array:
    """Return the coordinates of a piece along these axes."""
    return row_products(points, mean, axes, worker_threads())


def _blocks(points: Array) -> Iterator[Array]:
    for start in range(0, len(points), ROWS_PER_BLOCK):
        yield np.array(points[start : start + ROWS_PER_BLOCK], dtype=float, order="C")
