"""Compiled loops: arrays in, arrays out.

A loop over rows takes ``(start, stop, ...)``, releases the GIL and writes to its own rows only, each by a sequential
loop, so that results do not depend on how rows are divided among threads.
"""

from collections.abc import Callable
from typing import Any, NamedTuple


class RowLoop(NamedTuple):
    """One loop over the pairs of every row, compiled for the two forms that costs have.

    `dense` takes ``(start, stop, matrix, ...)``, `graph` takes ``(start, stop, indptr, indices, costs, ...)``.
    """

    dense: Callable[..., Any] | None = None
    graph: Callable[..., Any] | None = None
