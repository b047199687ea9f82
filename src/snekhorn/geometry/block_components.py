"""Means, standard deviations and principal axes of points that are read by blocks.

With up to 2,000 columns, one pass computes the covariance matrix, and thereby everything else. With more columns, the
matrix would be too large, and subspace iteration takes a few more passes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.utils import check_random_state

from ..runtime.execution import Execution, run_in_blocks
from .inputs import check_largest
from .point_blocks import PointBlocks
from .row_products import row_products

COLUMNS_AT_ONCE = 128  # of a matrix of products; smaller blocks make products slower, larger keep fewer threads busy
EXTRA_DIRECTIONS = 10  # of subspace iteration; with more, it needs fewer passes, but each takes longer
PASSES = 5  # of subspace iteration; more would refine axes that differ little in variance

Array = NDArray[Any]


@dataclass(frozen=True)
class Moments:
    """Moments of the columns.

    Attributes
    ----------
    mean, deviations : array of shape (p,)
        Means and standard deviations; the standard deviation of a constant column is exactly 0.
    covariance : array of shape (p, p) or None
        Covariances, only the lower triangle.
    """

    mean: Array
    deviations: Array
    covariance: Array | None


def block_moments(blocks: PointBlocks, execution: Execution, *, covariance: bool) -> Moments:
    """Compute the moments in one pass, combining those of each part as Chan, Golub and LeVeque (1983) do.

    Each part is centred at its own mean, so a large mean does not cost precision.
    """
    p = blocks.shape[1]
    mean, scatter = np.zeros(p), np.zeros((p, p) if covariance else p)
    low, high = np.full(p, np.inf), np.full(p, -np.inf)
    for rows, part in blocks:
        n_before, n = rows.start, rows.stop
        block = part.astype(float)
        low, high = np.minimum(low, block.min(axis=0)), np.maximum(high, block.max(axis=0))
        check_largest(float(max(high.max(), -low.min())), blocks.shape)
        center = block.mean(axis=0)
        block -= center
        shift = center - mean
        weight = n_before * (n - n_before) / n
        if covariance:
            run_in_blocks(execution, partial(add_products, block, scatter), p, COLUMNS_AT_ONCE, block.size * p)
            scatter += np.outer(weight * shift, shift)
        else:
            scatter += (block**2).sum(axis=0) + weight * shift**2
        mean += shift * ((n - n_before) / n)
    scatter /= blocks.shape[0]
    deviations = np.where(low < high, np.sqrt(np.diag(scatter) if covariance else scatter), 0.0)
    return Moments(np.where(low < high, mean, low), deviations, scatter if covariance else None)


def add_products(block: Array, scatter: Array, columns: slice) -> None:
    """Add the products of these columns of the block with all columns from the first of them on."""
    scatter[columns.start :, columns] += block[:, columns.start :].T @ block[:, columns]


def leading_axes(covariance: Array, n_components: int) -> tuple[Array, float]:
    """Return the first principal axes, each with its largest loading positive, and the share of the variance they keep.

    Only the lower triangle of the covariance is read.
    """
    p = len(covariance)
    try:
        values, vectors = eigh(covariance, subset_by_index=[p - n_components, p - 1])
    except np.linalg.LinAlgError:  # LAPACK's fastest method fails for a few matrices with repeated eigenvalues
        values, vectors = eigh(covariance, driver="ev")
        values, vectors = values[p - n_components :], vectors[:, p - n_components :]
    return with_fixed_signs(vectors.T[::-1]), share(values.sum(), np.trace(covariance))


def share(kept: Any, total: Any) -> float:
    """Return kept / total as a number from 0 to 1, and 1 if nothing varies."""
    return float(min(max(kept / total, 0.0), 1.0)) if total > 0.0 else 1.0


def with_fixed_signs(axes: Array) -> Array:
    """Give each axis the sign that makes its largest loading positive."""
    signs = np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])
    return np.asarray(axes * signs[:, None])


def iterated_axes(
    blocks: PointBlocks, mean: Array, factors: Array, n_components: int, random_state: Any, execution: Execution
) -> tuple[Array, float]:
    """Compute the first principal axes of (X - mean) * factors by subspace iteration, one pass per iteration.

    Also return the sum of the squares that they keep, summed over all points.
    """
    p = blocks.shape[1]
    n_directions = min(n_components + EXTRA_DIRECTIONS, p)
    V, _ = np.linalg.qr(check_random_state(random_state).normal(size=(p, n_directions)))
    for _ in range(PASSES):
        start = V
        product = np.zeros_like(V)
        matrix = np.ascontiguousarray((V * factors[:, None]).T)
        for _, part in blocks:
            projected = row_products(part, mean, matrix, execution)
            block = (part - mean) * factors
            task = partial(_add_back, block, projected, product)
            run_in_blocks(execution, task, p, COLUMNS_AT_ONCE, block.size * n_directions)
        V, _ = np.linalg.qr(product)
    within = start.T @ product  # the covariance within the last subspace, times the number of points
    values, vectors = np.linalg.eigh((within + within.T) / 2)
    axes = with_fixed_signs(np.ascontiguousarray((start @ vectors[:, ::-1][:, :n_components]).T))
    return axes, float(values[::-1][:n_components].sum())


def _add_back(block: Array, projected: Array, product: Array, columns: slice) -> None:
    product[columns] += block[:, columns].T @ projected
