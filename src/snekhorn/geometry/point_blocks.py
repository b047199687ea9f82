"""Points that may not fit into memory, read in blocks of consecutive rows.

`as_blocks` recognises the inputs that are read so: dask arrays, Zarr arrays, HDF5 data sets, the X of an AnnData object
opened with ``backed="r"``, large memory-mapped arrays, and the folders of files that `snekhorn.io` opens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..errors import InputError, InputTypeError
from ..runtime.memory import require_memory
from ..runtime.sparse_format import check_sparse

MANY_COLUMNS = 50  # more columns are reduced to this many principal components, as in the paper
LARGE = 100_000_000  # values; up to this many, a mapped or backed array is used like any array in memory
PIECE_BYTES = 1 << 26  # read at once from a file; larger pieces take more memory, smaller ones more calls
PASS_ROWS_AT_ONCE = 4096  # of a pass over all points; must not depend on the blocks, because sums round differently
VALUES_AT_ONCE = PASS_ROWS_AT_ONCE * 2000  # of a pass, if there are more than 2,000 columns

Array = NDArray[Any]
Guard = Callable[[], AbstractContextManager[None]]


class PointBlocks:
    """Points in blocks of consecutive rows, of which at most one is in memory.

    Parameters
    ----------
    sizes : sequence of int
        Number of rows of each block.
    n_columns : int
        Number of columns.
    dtype : dtype
        Type of the stored numbers. Single precision is read as float32, and everything else as float64.
    load : callable
        ``load(i)`` returns block i, dense or sparse.
    places : sequence of (str, int), optional
        File of each block, and the number of its first row in this file, for errors.
    names : sequence of str, optional
        Names of the columns, for errors.
    """

    ndim = 2

    def __init__(
        self,
        sizes: Sequence[int],
        n_columns: int,
        dtype: Any,
        load: Callable[[int], Any],
        *,
        places: Sequence[tuple[str, int]] | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        self._load, self._places, self._names = load, places, names
        self._first = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        self._n_stored = n_columns
        self._columns: list[int] | None = None
        self._guard: Guard = nullcontext
        self._loaded: tuple[int, Any] = (-1, None)
        self.shape = (int(self._first[-1]), n_columns)
        self.dtype = np.dtype(np.float32 if np.dtype(dtype) in (np.float16, np.float32) else np.float64)

    def select(self, columns: list[int]) -> PointBlocks:
        """Return these columns of the points."""
        stored = columns if self._columns is None else [self._columns[i] for i in columns]
        names = None if self._names is None else [self._names[i] for i in columns]
        return self._with(_columns=stored, _names=names, shape=(self.shape[0], len(columns)))

    def in_file(self, file: str, names: Sequence[str], guard: Guard) -> PointBlocks:
        """Name the file and the columns in errors; blocks are read inside ``guard()``, which reports a damaged file."""
        places = [(file, int(row)) for row in self._first[:-1]]
        return self._with(_places=places, _names=names, _guard=guard)

    def read(self, start: int, stop: int) -> Array:
        """Return these rows as an array in C order; raise if a value is not finite."""
        out = np.empty((stop - start, self.shape[1]), self.dtype)
        filled = 0
        while filled < len(out):
            i, within = self._find(start + filled)
            part = self._block(i)[within : within + len(out) - filled]
            part = part if self._columns is None else part[:, self._columns]
            part = part.toarray() if sparse.issparse(part) else part
            out[filled : filled + len(part)] = part
            filled += len(part)
        if not np.isfinite(out).all():
            row, column = np.argwhere(~np.isfinite(out))[0]
            raise self._not_finite(start + int(row), int(column), out[row, column])
        return out

    def __iter__(self) -> Iterator[tuple[slice, Array]]:
        """Yield all rows in order, in parts that do not depend on the blocks, with their slices."""
        n, p = self.shape
        step = max(1, min(PASS_ROWS_AT_ONCE, VALUES_AT_ONCE // p))
        for start in range(0, n, step):
            stop = min(start + step, n)
            yield slice(start, stop), self.read(start, stop)

    def column(self, place: int) -> Array:
        """Return one column."""
        return np.concatenate([block[:, 0] for _, block in self.select([place])])

    def outline(self, n_components: int | None = None) -> Array:
        """Return an array with the shape and type that the points, or their components, will have in memory.

        It takes no memory itself, and serves to estimate what a fit to the points needs before they are read.
        """
        n, p = self.shape
        if n_components is None or n_components >= min(n, p):
            return np.broadcast_to(np.zeros((), self.dtype), self.shape)
        return np.broadcast_to(np.zeros((), np.float32), (n, n_components))

    def to_array(self) -> Array:
        """Read all points into memory."""
        n, p = self.shape
        require_memory(float(n) * p * self.dtype.itemsize, f"{n:,} points with {p:,} columns", "use fewer columns")
        out = np.empty(self.shape, self.dtype)
        for rows, block in self:
            out[rows] = block
        return out

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return self.to_array().astype(self.dtype if dtype is None else dtype, copy=False)

    def _with(self, **changes: Any) -> PointBlocks:
        changed = copy(self)
        changed.__dict__.update(changes)
        return changed

    def _find(self, row: int) -> tuple[int, int]:
        """Return the block of a row, and the place of the row in the block."""
        i = int(np.searchsorted(self._first, row, side="right")) - 1
        return i, row - int(self._first[i])

    def _block(self, i: int) -> Any:
        """Return a block, which is kept until another one is read."""
        if self._loaded[0] != i:
            self._loaded = (-1, None)  # free the last block first
            with self._guard():
                block = self._load(i)
            expected = (int(self._first[i + 1] - self._first[i]), self._n_stored)
            if tuple(block.shape) != expected:
                where = self._places[i][0] if self._places else f"block {i} of X"
                raise InputError(
                    f"{where} has changed: a block of shape {tuple(block.shape)} was read instead of {expected}; do "
                    "not write to X while it is read."
                )
            self._loaded = (i, block)
        return self._loaded[1]

    def _not_finite(self, row: int, column: int, value: Any) -> InputError:
        if self._places is None:
            return InputError(
                f"X contains {value} at row {row}, column {column}; NaN and infinity are not allowed. "
                "Drop such rows, or impute the values."
            )
        i, within = self._find(row)
        file, first = self._places[i]
        name = column if self._names is None else self._names[column]
        return InputError(
            f"{file}: the value in row {first + within + 1}, column {name!r} is {value}; fill it in or drop the row."
        )


def as_blocks(X: Any) -> PointBlocks | None:
    """Return X as blocks if it is an input that is read by blocks; otherwise None.

    Optional packages are recognised by name, because importing them takes long.
    """
    if isinstance(X, PointBlocks):
        return X
    package = type(X).__module__.partition(".")[0]
    if package.startswith("dask"):
        return _dask_blocks(X)
    if getattr(X, "ndim", 2) != 2 or not hasattr(X, "dtype") or X.dtype.kind not in "biuf":
        return None
    if package == "anndata" and getattr(X, "format", None) == "csr":
        n_entries = X.group["data"].shape[0]
        return _sliced_blocks(X, 12.0 * n_entries / max(X.shape[0], 1))
    is_large = isinstance(X, np.memmap) and X.size > LARGE and X.shape[1] > MANY_COLUMNS
    if package in ("zarr", "h5py") or is_large:
        return _sliced_blocks(X, X.shape[1] * X.dtype.itemsize, (getattr(X, "chunks", None) or (1,))[0])
    return None


def select_columns(X: Any, columns: list[int]) -> Any:
    """Return these columns of an array, a sparse matrix or points in blocks."""
    return X.select(columns) if isinstance(X, PointBlocks) else X[:, columns]


def piece_bounds(n: int, bytes_per_row: float, chunk: int = 1) -> list[int]:
    """Divide n rows into pieces to be read at once, of whole chunks, because a chunk is always read as a whole."""
    return [*range(0, n, piece_rows(bytes_per_row, chunk)), n]


def piece_rows(bytes_per_row: float, chunk: int = 1) -> int:
    """Return the number of rows of a piece."""
    return int(max(PIECE_BYTES / max(bytes_per_row, 1.0) // chunk, 1) * chunk)


def _sliced_blocks(X: Any, bytes_per_row: float, chunk: int = 1) -> PointBlocks:
    """Divide an array into pieces, each of which is read when it is sliced."""
    bounds = piece_bounds(X.shape[0], bytes_per_row, chunk)
    return PointBlocks(
        np.diff(bounds).tolist(), X.shape[1], X.dtype, lambda i: _in_memory(X[bounds[i] : bounds[i + 1]])
    )


def _dask_blocks(X: Any) -> PointBlocks:
    """Compute one chunk of rows at a time."""
    if getattr(X, "ndim", 0) != 2 or not hasattr(X, "blocks") or X.dtype.kind not in "biuf":
        raise InputTypeError(
            f"X is a dask {type(X).__name__}; pass a two-dimensional dask array of numbers, such as "
            "X.to_dask_array(lengths=True) for a data frame."
        )
    if any(size != size for sizes in X.chunks for size in sizes):  # NaN
        raise InputError("X is a dask array with chunks of unknown size; call X.compute_chunk_sizes() first.")
    return PointBlocks(X.chunks[0], X.shape[1], X.dtype, lambda i: _in_memory(X.blocks[i].compute()))


def _in_memory(block: Any) -> Any:
    """Return a block as an array or a CSR matrix; SciPy would trust indices that come from a file."""
    check_sparse(block, "X")
    return sparse.csr_matrix(block) if sparse.issparse(block) else np.asarray(block)
