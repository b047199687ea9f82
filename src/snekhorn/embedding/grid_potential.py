"""The potential of charges on a grid, in time linear in n: spread, convolve by FFT, gather.

The window is a B-spline, and the transform of the kernel is divided by the square of the spline's, so that the
grid reproduces the kernel exactly between nodes. What the grid gets wrong is the kernel's content beyond its
resolution, largest for the field of a charge at its own place: that part is known, and taken off.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..kernels.grid_sums import (
    WIDTH,
    bounds,
    count_rows,
    gather_line,
    gather_plane,
    sort_by_row,
    spread_line,
    spread_plane,
)
from ..runtime.execution import run_rows
from .convolution import Convolution, choose_convolution
from .embedding_report import OVERFLOW
from .potentials import Array, Field, Kernel
from .spline_window import SLOPE, WINDOW, slopes, weights

FEWEST_CELLS = 32  # of the layout along an axis: small layouts need cells below the kernel's own scale
MOST_CELLS = {1: 2**20, 2: 3000}  # the cells of a larger layout are wider: time and memory are bounded
SMALLEST_CELL = 1e-4  # finer ones would only add rounding
ROUNDING = 1e-12  # share of a coordinate below which its places in a cell are not told apart
LARGEST = 1e100  # coordinate whose square is safe
SLACK = 1.08  # a layout may grow this much before the grid is made anew
SELF_TABLE = 64  # fractions of a cell, along an axis, at which a charge's field at its own place is known
FAINTEST = {np.float32: 1e-6, np.float64: 1e-9}  # share of the largest potential below which others are noise


@dataclass(frozen=True)
class Accuracy:
    """Width of the cells, where the kernel's is 1, and the precision of the sums.

    Relative L2 errors of potential and gradient: below 2e-4 and 5e-3 for DEFAULT, 1e-6 and 1e-5 for TIGHT.
    """

    spacing: float
    dtype: type[np.floating[Any]]


ON_A_LINE = 0.9  # cells are that much narrower: forces cancel less there, and nodes cost little
DEFAULT = Accuracy(0.38, np.float32)
TIGHT = Accuracy(0.18, np.float64)


class GridSum:
    """Potential of charges in one or two dimensions, in time linear in n.

    Parameters
    ----------
    kernel : Kernel
    n_threads : int
    accuracy : Accuracy
    """

    def __init__(self, kernel: Kernel, n_threads: int = 1, accuracy: Accuracy = DEFAULT) -> None:
        self.kernel = kernel
        self.n_threads = n_threads
        self.accuracy = accuracy
        self._mesh: Mesh | None = None

    def __call__(self, Z: Array, charges: Array) -> tuple[Array, Array]:
        if self._mesh is None or not self._mesh.suits(Z):
            self._mesh = Mesh.around(Z, self.kernel, self.accuracy)
        return self._mesh.sums(Z, charges, self.n_threads)

    def others(self, Z: Array, charges: Array) -> tuple[Array, Array]:
        phi, slope = self(Z, charges)
        return np.maximum(phi - charges, FAINTEST[self.accuracy.dtype] * float(phi.max())), slope

    def freeze(self, Z: Array, charges: Array) -> Field:
        return GridField.of(Mesh.around(Z, self.kernel, self.accuracy), Z, charges, self.kernel, self.n_threads)


@dataclass(frozen=True)
class GridField:
    """The potential of charges that stay where they are, for places in or near the layout."""

    kernel: Kernel
    n_threads: int
    mesh: Mesh
    nodes: Array
    constant: float

    @classmethod
    def of(cls, mesh: Mesh, Z: Array, charges: Array, kernel: Kernel, n_threads: int) -> GridField:
        places = mesh.locate(Z, charges)
        nodes = mesh.convolve(mesh.spread(places, n_threads), n_threads)
        return cls(kernel, n_threads, mesh, nodes, mesh.offset * float(np.sum(charges)))

    def at(self, places: Array) -> tuple[Array, Array]:
        inside = np.clip(places, self.mesh.low, self.mesh.high)
        located = self.mesh.locate(inside, np.zeros(len(places)))
        phi, slope = self.mesh.gather(located, self.nodes, self.n_threads)
        return phi + self.constant, slope


@dataclass(frozen=True)
class Places:
    """Cells and fractions, a row an axis, and charges of points sorted by row of cells, which begin at `first`."""

    cell: Any
    fraction: Array
    charge: Array
    order: Any
    first: Any


@dataclass(frozen=True)
class Mesh:
    """A grid over a box, and the kernel's convolution on it."""

    low: Array
    n_cells: tuple[int, ...]
    spacing: float
    offset: float  # constant left out of the kernel, for precision where it hardly varies
    convolve: Convolution
    own: Array
    dtype: Any

    @classmethod
    def around(cls, Z: Array, kernel: Kernel, accuracy: Accuracy) -> Mesh:
        low, high = box(Z)
        extent = (high - low) * SLACK
        widest = float(extent.max())
        farthest = float(np.maximum(np.abs(low), np.abs(high)).max())
        widest_cell = accuracy.spacing * (ON_A_LINE if Z.shape[1] == 1 else 1.0)
        spacing = min(widest_cell, max(widest / FEWEST_CELLS, SMALLEST_CELL))
        spacing = max(spacing, widest / MOST_CELLS[Z.shape[1]], ROUNDING * farthest)
        n_cells = tuple(int(cells) + 1 for cells in extent / spacing)
        offset = float(kernel(np.sum(extent**2))) if spacing < widest_cell else 0.0
        nodes = tuple(cells + WIDTH - 1 for cells in n_cells)
        convolve = choose_convolution(kernel, offset, spacing, nodes, accuracy.dtype)
        own = _own_field(convolve, spacing).astype(accuracy.dtype)
        middle = (low + high - np.array(n_cells) * spacing) / 2
        return cls(middle, n_cells, spacing, offset, convolve, own, np.dtype(accuracy.dtype))

    def suits(self, Z: Array) -> bool:
        """Whether the layout fits, and is not so small that a finer grid is due."""
        low, high = ((corner - self.low) / self.spacing for corner in box(Z))
        fits = bool((low >= 0.0).all() and (high < self.n_cells).all())
        return fits and float((high - low).max()) * SLACK**3 >= max(self.n_cells)

    @property
    def high(self) -> Array:
        """The upper corner, just inside."""
        return self.low + self.spacing * (np.array(self.n_cells) - 1e-3)

    def locate(self, Z: Array, charges: Array) -> Places:
        """Points as the compiled loops want them."""
        n, d = Z.shape
        dtype = self.dtype
        first = np.empty(self.n_cells[0] + 1, np.int64)
        places = Places(
            np.empty((d, n), np.int32), np.empty((d, n), dtype), np.empty(n, dtype), np.empty(n, np.int64), first
        )
        where = (self.low, 1.0 / self.spacing, first)
        count_rows(Z, *where)
        sort_by_row(Z, charges, *where, places.order, places.cell, places.fraction, places.charge)
        return places

    def sums(self, Z: Array, charges: Array, n_threads: int) -> tuple[Array, Array]:
        """Potential and gradient at the points."""
        places = self.locate(Z, charges)
        phi, slope = self.gather(places, self.convolve(self.spread(places, n_threads), n_threads), n_threads)
        return phi + self.offset * float(np.sum(charges)), slope

    def spread(self, places: Places, n_threads: int) -> Array:
        """Charges of the nodes."""
        dtype = self.dtype
        grid = np.empty(tuple(cells + WIDTH - 1 for cells in self.n_cells), dtype)
        arrays = (places.cell, places.fraction, places.charge, WINDOW.astype(dtype), grid)
        if grid.ndim == 1:
            spread_line(*arrays)
        else:
            work = len(places.charge) * WIDTH**2
            run_rows(spread_plane, grid.shape[0], work, n_threads, places.first, *arrays)
        return grid

    def gather(self, places: Places, nodes: Array, n_threads: int) -> tuple[Array, Array]:
        """Potential, but for the constant, and gradient at the places."""
        dtype = self.dtype
        d, n = places.cell.shape
        out = np.empty((n, d + 1), dtype)
        windows = (WINDOW.astype(dtype), (SLOPE / self.spacing).astype(dtype))
        arrays = (places.order, places.cell, places.fraction, places.charge, *windows, nodes, self.own, out)
        run_rows(gather_line if d == 1 else gather_plane, n, n * WIDTH**d, n_threads, *arrays)
        out = out.astype(float)
        return out[:, 0], out[:, 1:]


def box(Z: Array) -> tuple[Array, Array]:
    """Lower and upper corner of the layout, which must be finite: the compiled loops trust that it fits."""
    if not (np.abs(Z) < LARGEST).all():
        raise FloatingPointError(OVERFLOW)
    low, high = np.empty(Z.shape[1]), np.empty(Z.shape[1])
    bounds(Z, low, high)
    return low, high


def _own_field(convolve: Convolution, spacing: float) -> Array:
    """What the grid gives a charge of 1 at its own place in excess of the truth, by fraction of the cell."""
    u = (np.arange(SELF_TABLE) + 0.5) / SELF_TABLE
    shifted = np.stack([_shift(weights(u), int(d)) for d in np.arange(1 - WIDTH, WIDTH)])
    value = np.einsum("uk,duk->ud", weights(u), shifted)
    slope = np.einsum("uk,duk->ud", slopes(u) / spacing, shifted)
    near = convolve.near
    if near.ndim == 1:
        own = np.stack([value @ near, slope @ near], axis=-1)
    else:
        pairs = ((value, value), (slope, value), (value, slope))
        own = np.stack([down @ near @ across.T for down, across in pairs], axis=-1)
    own[..., 0] -= convolve.near_at_zero
    return own


def _shift(weights: Array, d: int) -> Array:
    """weights of node k + d at place k, zero outside."""
    out = np.zeros_like(weights)
    if d >= 0:
        out[:, : WIDTH - d] = weights[:, d:]
    else:
        out[:, -d:] = weights[:, :d]
    return out
