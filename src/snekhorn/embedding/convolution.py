"""Convolution of a grid's charges with a radial kernel, in free space, by fast Fourier transforms.

`Padded` doubles every axis, so that no charge meets its periodic image. `Split` does that on a coarse grid only:
the kernel is cut into a near part, zero beyond a radius, for which padding by that radius is enough on the fine
grid, and a smooth far part, for which coarse cells are enough. Its cost is a third for large grids.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from scipy import fft

from ..kernels.grid_sums import RATIO, WIDTH, prolong_rows, restrict_rows
from ..runtime.execution import run_rows
from .potentials import Array, Kernel
from .spline_window import sampled_transform, weights

DECAY = 32  # nodes after which the inverse of the window has died away: it must not see the kernel's periodic kink
RADIUS = 8  # coarse cells within which the near part of the kernel lives
MATCHED = 8  # derivatives in which near and far part of the Student kernel join
GAUSSIAN_RADIUS = 6.5  # beyond, exp(-r^2) is below 1e-18
SPLIT_FROM = 400  # nodes along an axis; below, two grids cost more than one

Profile = Callable[[Array], Array]  # a radial kernel as a function of the squared distance


class Convolution(Protocol):
    """Charges of the nodes in, potentials of the nodes out."""

    near: Array  # potential of a charge of 1 at a node, at the nodes around it, as far as it varies within cells
    near_at_zero: float  # what that should be at distance zero

    def __call__(self, grid: Array, n_threads: int) -> Array: ...


def choose_convolution(
    kernel: Kernel, offset: float, spacing: float, shape: tuple[int, ...], dtype: Any
) -> Convolution:
    """The faster one."""
    if len(shape) == 1 or max(shape) < SPLIT_FROM:
        return Padded(lambda squared: kernel(squared) - offset, spacing, shape, dtype)
    return Split(kernel, spacing, shape, dtype)


class Padded:
    """Convolution with any kernel: axes are doubled.

    Parameters
    ----------
    profile : callable
    spacing : float
    shape : tuple of int
        Nodes along every axis.
    dtype : float32 or float64
    cells : float
        Width of this grid's cells in units of those of the grid whose window smeared the charges; 1 where that
        is this grid itself, and no other window is to be undone.
    """

    def __init__(self, profile: Profile, spacing: float, shape: tuple[int, ...], dtype: Any, *, cells: int = 1) -> None:
        self.lengths = tuple(_even_length(2 * nodes + DECAY) for nodes in shape)
        transform, self.near = _transform(profile, spacing, self.lengths, cells)
        self.near_at_zero = float(profile(np.zeros(1))[0])
        self.transform = transform.astype(dtype)

    def __call__(self, grid: Array, n_threads: int) -> Array:
        return _convolve(grid, self.transform, self.lengths, n_threads)


class Split:
    """Convolution in the plane, near part on the grid, far part on one with cells RATIO times as wide."""

    def __init__(self, kernel: Kernel, spacing: float, shape: tuple[int, ...], dtype: Any) -> None:
        radius = RADIUS * RATIO * spacing if kernel is Kernel.STUDENT else GAUSSIAN_RADIUS
        far = _student_far(radius) if kernel is Kernel.STUDENT else None

        def near(squared: Array) -> Array:
            inside = squared < radius**2
            return np.where(inside, kernel(squared) - (far(squared) if far else 0.0), 0.0)

        margin = int(radius / spacing) + 1
        self.lengths = tuple(_even_length(nodes + margin) for nodes in shape)
        transform, self.near = _transform(near, spacing, self.lengths)
        self.near_at_zero = float(near(np.zeros(1))[0])
        self.transform = transform.astype(dtype)
        self.far: Padded | None = None
        if far is not None:
            self.shape = tuple((nodes - 1) // RATIO + WIDTH for nodes in shape)
            self.far = Padded(far, RATIO * spacing, self.shape, dtype, cells=RATIO)
            self.table = weights(np.arange(RATIO) / RATIO).astype(dtype)

    def __call__(self, grid: Array, n_threads: int) -> Array:
        nodes = np.ascontiguousarray(_convolve(grid, self.transform, self.lengths, n_threads))
        if self.far is not None:
            down = self._restricted(grid, self.shape[0], n_threads)
            coarse = self._restricted(np.ascontiguousarray(down.T), self.shape[1], n_threads)
            field = self.far(np.ascontiguousarray(coarse.T), n_threads)
            across = np.zeros((grid.shape[1], self.shape[0]), grid.dtype)
            self._prolong(np.ascontiguousarray(field.T), across, n_threads)
            self._prolong(np.ascontiguousarray(across.T), nodes, n_threads)
        return nodes

    def _restricted(self, fine: Array, n_coarse: int, n_threads: int) -> Array:
        coarse = np.empty((n_coarse, fine.shape[1]), fine.dtype)
        run_rows(restrict_rows, n_coarse, fine.size * WIDTH, n_threads, fine, self.table, coarse)
        return coarse

    def _prolong(self, coarse: Array, fine: Array, n_threads: int) -> None:
        run_rows(prolong_rows, fine.shape[0], fine.size * WIDTH, n_threads, coarse, self.table, fine)


def _student_far(radius: float) -> Profile:
    """1 / (1 + r^2) beyond the radius; inside, its Taylor polynomial in r^2 at the radius."""
    edge = 1.0 + radius**2

    def far(squared: Array) -> Array:
        x = np.maximum(1.0 - (1.0 + squared) / edge, 0.0)
        inside = sum(x**power for power in range(MATCHED + 1)) / edge
        return np.where(squared < radius**2, inside, 1.0 / (1.0 + squared))

    return far


def _convolve(grid: Array, transform: Array, lengths: tuple[int, ...], n_threads: int) -> Array:
    """Rows that are zero or not needed are left out of the transforms."""
    wave = fft.rfft(grid, lengths[-1], axis=-1, workers=n_threads)
    if grid.ndim == 2:
        wave = fft.fft(wave, lengths[0], axis=0, workers=n_threads, overwrite_x=True)
    wave *= transform
    if grid.ndim == 2:
        wave = fft.ifft(wave, axis=0, workers=n_threads, overwrite_x=True)[: grid.shape[0]]
    return fft.irfft(wave, lengths[-1], axis=-1, workers=n_threads)[..., : grid.shape[-1]]


def _even_length(n: int) -> int:
    """A length of at least n that is even and fast to transform."""
    return 2 * int(fft.next_fast_len((n + 1) // 2, real=True))


def _transform(profile: Profile, spacing: float, lengths: tuple[int, ...], cells: int = 1) -> tuple[Array, Array]:
    """Transform of the kernel on the periodic grid, divided by the squared transforms of the windows.

    With it, the potential of a charge at a node, at the nodes up to WIDTH - 1 away. The kernel is even along every
    axis, so cosine transforms of one half of each do.
    """
    axes = range(len(lengths))
    squared: Any = sum(_along(axis, lengths, (np.arange(lengths[axis] // 2 + 1) * spacing) ** 2) for axis in axes)
    half = fft.dctn(profile(squared), type=1)
    for axis in axes:
        angles = 2.0 * np.pi * np.arange(half.shape[axis]) / lengths[axis]
        divisor = sampled_transform(angles) * (sampled_transform(angles / cells) if cells > 1 else 1.0)
        half /= _along(axis, lengths, divisor**2)
    near = fft.idctn(half, type=1)[tuple(slice(WIDTH) for _ in axes)]
    around = near[np.ix_(*[np.abs(np.arange(1 - WIDTH, WIDTH))] * len(lengths))]
    whole = half if len(lengths) == 1 else np.concatenate([half, half[-2:0:-1]])  # the last axis stays a half
    return whole, around


def _along(axis: int, lengths: tuple[int, ...], values: Array) -> Array:
    return values.reshape([-1 if a == axis else 1 for a in range(len(lengths))])
