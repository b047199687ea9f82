"""Compiled loops: arrays in, arrays out.

A loop over rows takes ``(start, stop, ...)``, releases the GIL and writes only to its own rows. Each row is computed
sequentially, so results do not depend on how rows are divided among threads.
"""

from collections.abc import Callable
from typing import Any, NamedTuple


class RowLoop(NamedTuple):
    """Loop over the pairs of every row, compiled for dense costs and for neighbour graphs.

    `dense` takes ``(start, stop, matrix, ...)``; `graph` takes ``(start, stop, indptr, indices, costs, ...)``. A loop
    writes to its last argument only, and there only to its own rows. A loop for `in_order` writes to its first one.
    """

    dense: Callable[..., Any] | None = None
    graph: Callable[..., Any] | None = None
