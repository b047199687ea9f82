"""The potential of charges on a grid, in time linear in n: spread, convolve by FFT, gather.

The window is a B-spline, and the transform of the kernel is divided by the square of the spline's, so that the
grid reproduces the kernel exactly between nodes. What the grid gets wrong is the kernel's content beyond its
resolution, largest for the field of a charge at its own place: that part is known, and taken off.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import fft
from scipy.interpolate import BSpline, PPoly

from ..kernels.grid import (
    WIDTH,
    bounds,
    count_rows,
    gather_line,
    gather_plane,
    sort_by_row,
    spread_line,
    spread_plane,
)
from ..kernels.threads import run_rows
from .charges import Array, Field, Kernel

FEWEST_CELLS = 32  # of the layout along an axis: small layouts need cells below the kernel's own scale
MOST_CELLS = {1: 2**20, 2: 2800}  # the cells of a larger layout are wider: time and memory are bounded
DECAY = 32  # nodes after which the inverse of the window has died away: it must not see the kernel's periodic kink
SLACK = 1.05  # a layout may grow this much before the grid is made anew
SELF_TABLE = 64  # fractions of a cell, along an axis, at which a charge's field at its own place is known


@dataclass(frozen=True)
class Accuracy:
    """Width of the cells, where the kernel's is 1, and the precision of the sums.

    Relative L2 errors of potential and gradient: below 2e-4 and 5e-3 for DEFAULT, 1e-6 and 1e-5 for TIGHT.
    """

    spacing: float
    dtype: type[np.floating[Any]]


DEFAULT = Accuracy(0.38, np.float32)
TIGHT = Accuracy(0.18, np.float64)

SPLINE = BSpline.basis_element(np.arange(WIDTH + 1.0))
_PIECES = PPoly.from_spline(SPLINE).c[:, WIDTH - 1 : 2 * WIDTH - 1]  # between the repeated knots at both ends
WINDOW = np.ascontiguousarray(_PIECES[:, ::-1])  # node k of a point sees the piece WIDTH - 1 - k of the spline
SLOPE = np.ascontiguousarray((WINDOW[:-1].T * np.arange(WIDTH - 1, 0, -1)).T)


class GridSum:
    """Potential of charges in one or two dimensions, in time linear in n.

    Parameters
    ----------
    kernel : Kernel
    n_threads : int
    accuracy : Accuracy
    """

    noise = 1e-3

    def __init__(self, kernel: Kernel, n_threads: int = 1, accuracy: Accuracy = DEFAULT) -> None:
        self.kernel = kernel
        self.n_threads = n_threads
        self.accuracy = accuracy
        self._mesh: Mesh | None = None

    def __call__(self, Z: Array, charges: Array) -> tuple[Array, Array]:
        if self._mesh is None or not self._mesh.suits(Z):
            self._mesh = Mesh.around(Z, self.kernel, self.accuracy)
        return self._mesh.sums(Z, charges, self.n_threads)

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
    """Cell, fraction and charge of points, in the plane sorted by row of cells: `first` says where each begins."""

    cell: Any
    fraction: Array
    charge: Array
    order: Any
    first: Any


@dataclass(frozen=True)
class Mesh:
    """A grid over a box, and the kernel's transform on it."""

    low: Array
    n_cells: tuple[int, ...]
    spacing: float
    padded: tuple[int, ...]  # lengths of the transforms: a charge must not meet its periodic image
    offset: float  # constant left out of the kernel, for precision where it hardly varies
    transform: Array
    own: Array

    @classmethod
    def around(cls, Z: Array, kernel: Kernel, accuracy: Accuracy) -> Mesh:
        low, high = box(Z)
        extent = (high - low) * SLACK
        widest = float(extent.max())
        spacing = min(accuracy.spacing, widest / FEWEST_CELLS) or accuracy.spacing
        spacing = max(spacing, widest / MOST_CELLS[Z.shape[1]])
        n_cells = tuple(int(cells) + 1 for cells in extent / spacing)
        padded = tuple(fft.next_fast_len(2 * (cells + WIDTH - 1) + DECAY, real=True) for cells in n_cells)
        offset = float(kernel(np.sum(extent**2)))
        transform = _transform(kernel, offset, spacing, padded)
        own = _own_field(transform, padded, spacing, 1.0 - offset)
        dtype = accuracy.dtype
        middle = (low + high - np.array(n_cells) * spacing) / 2
        return cls(middle, n_cells, spacing, padded, offset, transform.astype(dtype), own.astype(dtype))

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
        dtype = self.transform.dtype
        first = np.empty(self.n_cells[0] + 1, np.int64)
        places = Places(
            np.empty((n, d), np.int32), np.empty((n, d), dtype), np.empty(n, dtype), np.empty(n, np.int64), first
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
        dtype = self.transform.dtype
        grid = np.empty(tuple(cells + WIDTH - 1 for cells in self.n_cells), dtype)
        arrays = (places.cell, places.fraction, places.charge, WINDOW.astype(dtype), grid)
        if grid.ndim == 1:
            spread_line(*arrays)
        else:
            work = len(places.cell) * WIDTH**2
            run_rows(spread_plane, grid.shape[0], work, n_threads, places.first, *arrays)
        return grid

    def gather(self, places: Places, nodes: Array, n_threads: int) -> tuple[Array, Array]:
        """Potential, but for the constant, and gradient at the places."""
        dtype = self.transform.dtype
        n, d = places.cell.shape
        out = np.empty((n, d + 1), dtype)
        windows = (WINDOW.astype(dtype), (SLOPE / self.spacing).astype(dtype))
        arrays = (places.order, places.cell, places.fraction, places.charge, *windows, nodes, self.own, out)
        run_rows(gather_line if d == 1 else gather_plane, n, n * WIDTH**d, n_threads, *arrays)
        return out[:, 0].astype(float), out[:, 1:].astype(float)

    def convolve(self, grid: Array, n_threads: int) -> Array:
        """The grid's charges under the kernel. Rows that are zero or not needed are left out of the transforms."""
        rows, columns = grid.shape[0], grid.shape[-1]
        wave = fft.rfft(grid, self.padded[-1], axis=-1, workers=n_threads)
        if grid.ndim == 2:
            wave = fft.fft(wave, self.padded[0], axis=0, workers=n_threads, overwrite_x=True)
        wave *= self.transform
        if grid.ndim == 2:
            wave = fft.ifft(wave, axis=0, workers=n_threads, overwrite_x=True)[:rows]
        return fft.irfft(wave, self.padded[-1], axis=-1, workers=n_threads)[..., :columns]


def box(Z: Array) -> tuple[Array, Array]:
    """Lower and upper corner of the layout."""
    low, high = np.empty(Z.shape[1]), np.empty(Z.shape[1])
    bounds(Z, low, high)
    return low, high


def _transform(kernel: Kernel, offset: float, spacing: float, padded: tuple[int, ...]) -> Array:
    """Transform of the kernel on the periodic grid, divided by the squared transform of the sampled window."""
    squared: Any = 0.0
    for axis, length in enumerate(padded):
        steps = np.arange(length)
        squared = squared + _along(axis, len(padded), (np.minimum(steps, length - steps) * spacing) ** 2)
    transform = fft.rfftn(kernel(squared) - offset).real
    nodes = np.arange(1, WIDTH // 2)
    for axis, length in enumerate(padded):
        angle = 2.0 * np.pi * np.arange(transform.shape[axis]) / length
        sampled = SPLINE(WIDTH / 2) + 2.0 * np.cos(np.outer(angle, nodes)) @ SPLINE(WIDTH / 2 + nodes)
        transform /= _along(axis, len(padded), sampled**2)
    return transform


def _own_field(transform: Array, padded: tuple[int, ...], spacing: float, truth: float) -> Array:
    """What the grid gives a charge of 1 at its own place in excess of the truth, by fraction of the cell."""
    near = np.arange(1 - WIDTH, WIDTH)
    field = fft.irfftn(transform, padded)
    u = (np.arange(SELF_TABLE) + 0.5) / SELF_TABLE
    weights = _powers(u, WIDTH) @ WINDOW
    slopes = _powers(u, WIDTH - 1) @ SLOPE / spacing
    shifted = np.stack([_shift(weights, int(d)) for d in near])
    value, slope = np.einsum("uk,duk->ud", weights, shifted), np.einsum("uk,duk->ud", slopes, shifted)
    if len(padded) == 1:
        own = np.stack([value @ field[near], slope @ field[near]], axis=-1)
    else:
        field = field[np.ix_(near, near)]
        pairs = ((value, value), (slope, value), (value, slope))
        own = np.stack([down @ field @ across.T for down, across in pairs], axis=-1)
    own[..., 0] -= truth
    return own


def _powers(u: Array, n: int) -> Array:
    return u[:, None] ** np.arange(n - 1, -1, -1)


def _shift(weights: Array, d: int) -> Array:
    """weights of node k + d at place k, zero outside."""
    out = np.zeros_like(weights)
    if d >= 0:
        out[:, : WIDTH - d] = weights[:, d:]
    else:
        out[:, -d:] = weights[:, :d]
    return out


def _along(axis: int, n_axes: int, values: Array) -> Array:
    return values.reshape([-1 if a == axis else 1 for a in range(n_axes)])
