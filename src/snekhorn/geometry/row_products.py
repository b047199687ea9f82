"""Multiply rows by a matrix so that the result of a row depends on that row alone.

BLAS rounds a row differently in a batch of another size, at the edge of a batch, and with another number of threads.
Here, every product has the same shape: rows are padded with zeros to full blocks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..runtime.execution import Execution, one_blas_thread, run_in_blocks

# A multiple of the number of rows that any BLAS kernel takes at once; more make single rows slower, fewer all of them.
BLOCK_ROWS = 192


@one_blas_thread()
def row_products(X: Any, mean: NDArray[Any], matrix: NDArray[Any], execution: Execution) -> NDArray[np.float64]:
    """Compute (X - mean) matrix^T in float64.

    The mean is subtracted before the product, because a large mean would cost precision.
    """
    n, p = X.shape
    out = np.empty((n, len(matrix)))

    def multiply(rows: slice) -> None:
        block = np.zeros((BLOCK_ROWS, p))
        some = rows.stop - rows.start
        np.subtract(X[rows], mean, out=block[:some])
        out[rows] = (block @ matrix.T)[:some]

    run_in_blocks(execution, multiply, n, BLOCK_ROWS, n * p * len(matrix))
    return out
