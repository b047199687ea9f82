"""Convolve the charges on a grid with a radial kernel, in free space, by fast Fourier transforms.

A window, the B-spline of degree 7, connects points and nodes: it spreads charges onto the nodes and gathers fields from
the nodes. The transform of the kernel is divided by the squared transform of the window, so that spreading, convolving
and gathering reproduce the kernel.

`Padded` doubles every axis, so that no charge acts on the periodic image of another. `Split` doubles the axes of a
coarse grid only. It splits the kernel into a near part, which is zero beyond a radius, so that padding the fine grid by
that radius is enough, and a smooth far part, which coarse cells resolve. On large grids it takes a third of the time of
`Padded`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from scipy import fft
from scipy.interpolate import BSpline, PPoly

from ..kernels.grid_sums import RATIO, WIDTH, prolong_rows, restrict_rows
from ..runtime.execution import Execution
from .charge_sums import Array, Kernel

DECAY = 32  # nodes of padding for the window's inverse to decay; with fewer, it reaches the kernel's periodic kink
RADIUS = 8  # radius of the near part in coarse cells; if smaller, coarse cells cannot resolve the far part
MATCHED = 8  # derivatives of the Student kernel's two parts that agree; with fewer, the far part is less smooth
GAUSSIAN_RADIUS = 6.5  # beyond this, exp(-r^2) is below 1e-18, so there is no far part
SPLIT_FROM = 400  # nodes along an axis; below this, two grids take longer than one

Profile = Callable[[Array], Array]  # a radial kernel as a function of the squared distance

_SPLINE = BSpline.basis_element(np.arange(WIDTH + 1.0))
_PIECES = PPoly.from_spline(_SPLINE).c[:, WIDTH - 1 : 2 * WIDTH - 1]  # without the repeated knots at both ends
WINDOW = np.ascontiguousarray(_PIECES[:, ::-1])  # node k of a point lies in piece WIDTH - 1 - k of the spline
WINDOW_SLOPE = np.roll(WINDOW * np.arange(WIDTH - 1, -1, -1)[:, None], 1, axis=0)  # the highest power is 0


def window_weights(fractions: Array) -> Array:
    """Return the weights (m, WIDTH) of the nodes touched by points at these fractions of a cell."""
    weights: Array = _powers(fractions) @ WINDOW
    return weights


def window_slopes(fractions: Array) -> Array:
    """Return the derivatives (m, WIDTH) of `window_weights` with respect to the fractions."""
    slopes: Array = _powers(fractions) @ WINDOW_SLOPE
    return slopes


def _powers(u: Array) -> Array:
    return u[:, None] ** np.arange(WIDTH - 1, -1, -1)


def _window_transform(angles: Array) -> Array:
    """Return the Fourier transform of the window sampled at the nodes."""
    nodes = np.arange(1, WIDTH // 2)
    transform: Array = _SPLINE(WIDTH / 2) + 2.0 * np.cos(np.outer(angles, nodes)) @ _SPLINE(WIDTH / 2 + nodes)
    return transform


class Convolution(Protocol):
    """Map from the charges at the nodes to the field at the nodes."""

    near: Array  # field of a unit charge on the surrounding nodes: only the part that varies within cells
    near_at_zero: float  # its exact value at distance zero

    def __call__(self, grid: Array, execution: Execution) -> Array:
        """Return the field at the nodes."""


def choose_convolution(
    kernel: Kernel, offset: float, spacing: float, shape: tuple[int, ...], dtype: Any
) -> Convolution:
    """Return the faster convolution with `kernel` minus the constant `offset`, which is 0 on large grids."""
    if len(shape) == 1 or max(shape) < SPLIT_FROM:
        return Padded(lambda squared: kernel(squared) - offset, spacing, shape, dtype)
    return Split(kernel, spacing, shape, dtype)


class Padded:
    """Convolution with any kernel, by doubling the axes.

    Parameters
    ----------
    profile : callable
    spacing : float
    shape : tuple of int
        Number of nodes along every axis.
    dtype : float32 or float64
    ratio : int
        Cell width of this grid, in cells of the grid onto which the charges were spread. If it is more than 1, the
        window of that grid is divided out as well.
    """

    def __init__(self, profile: Profile, spacing: float, shape: tuple[int, ...], dtype: Any, *, ratio: int = 1) -> None:
        self.lengths = tuple(_even_length(2 * nodes + DECAY) for nodes in shape)
        transform, self.near = _kernel_transform(profile, spacing, self.lengths, ratio)
        self.near_at_zero = float(profile(np.zeros(1))[0])
        self.transform = transform.astype(dtype)

    def __call__(self, grid: Array, execution: Execution) -> Array:
        return _convolve(grid, self.transform, self.lengths, execution)


class Split:
    """Convolution in the plane: near part on the grid itself, far part on a grid with cells RATIO times as wide."""

    def __init__(self, kernel: Kernel, spacing: float, shape: tuple[int, ...], dtype: Any) -> None:
        radius = RADIUS * RATIO * spacing if kernel is Kernel.STUDENT else GAUSSIAN_RADIUS
        far = _student_far(radius) if kernel is Kernel.STUDENT else None

        def near(squared: Array) -> Array:
            inside = squared < radius**2
            return np.where(inside, kernel(squared) - (far(squared) if far else 0.0), 0.0)

        margin = max(int(radius / spacing) + 1, WIDTH)  # the near part needs WIDTH nodes, however wide
        self.lengths = tuple(_even_length(nodes + margin) for nodes in shape)
        transform, self.near = _kernel_transform(near, spacing, self.lengths)
        self.near_at_zero = float(near(np.zeros(1))[0])
        self.transform = transform.astype(dtype)
        self.far: Padded | None = None
        if far is not None:
            self.coarse_shape = tuple((nodes - 1) // RATIO + WIDTH for nodes in shape)
            self.far = Padded(far, RATIO * spacing, self.coarse_shape, dtype, ratio=RATIO)
            self.table = window_weights(np.arange(RATIO) / RATIO).astype(dtype)

    def __call__(self, grid: Array, execution: Execution) -> Array:
        field = np.ascontiguousarray(_convolve(grid, self.transform, self.lengths, execution))
        if self.far is not None:
            down = self._restrict(grid, self.coarse_shape[0], execution)
            coarse = self._restrict(np.ascontiguousarray(down.T), self.coarse_shape[1], execution)
            far = self.far(np.ascontiguousarray(coarse.T), execution)
            across = np.zeros((grid.shape[1], self.coarse_shape[0]), grid.dtype)
            self._add_prolonged(np.ascontiguousarray(far.T), across, execution)
            self._add_prolonged(np.ascontiguousarray(across.T), field, execution)
        return field

    def _restrict(self, fine: Array, n_coarse: int, execution: Execution) -> Array:
        coarse = np.empty((n_coarse, fine.shape[1]), fine.dtype)
        execution.run(restrict_rows, n_coarse, fine.size * WIDTH, fine, self.table, coarse)
        return coarse

    def _add_prolonged(self, coarse: Array, fine: Array, execution: Execution) -> None:
        execution.run(prolong_rows, fine.shape[0], fine.size * WIDTH, coarse, self.table, fine)


def _student_far(radius: float) -> Profile:
    """Return 1 / (1 + r^2) outside the radius, and inside it the Taylor polynomial in r^2 around the radius."""
    edge = 1.0 + radius**2

    def far(squared: Array) -> Array:
        x = np.maximum(1.0 - (1.0 + squared) / edge, 0.0)
        inside = sum(x**power for power in range(MATCHED + 1)) / edge
        return np.where(squared < radius**2, inside, 1.0 / (1.0 + squared))

    return far


def _convolve(grid: Array, transform: Array, lengths: tuple[int, ...], execution: Execution) -> Array:
    """Multiply the transform of the grid by `transform`, skipping rows that are zero or not needed."""
    workers = execution.n_threads
    wave = fft.rfft(grid, lengths[-1], axis=-1, workers=workers)
    if grid.ndim == 2:
        wave = fft.fft(wave, lengths[0], axis=0, workers=workers, overwrite_x=True)
    wave *= transform
    if grid.ndim == 2:
        wave = fft.ifft(wave, axis=0, workers=workers, overwrite_x=True)[: grid.shape[0]]
    field: Array = fft.irfft(wave, lengths[-1], axis=-1, workers=workers)[..., : grid.shape[-1]]
    return field


def _even_length(n: int) -> int:
    """Return an even length of at least n whose transform is fast."""
    return 2 * int(fft.next_fast_len((n + 1) // 2, real=True))


def _kernel_transform(
    profile: Profile, spacing: float, lengths: tuple[int, ...], ratio: int = 1
) -> tuple[Array, Array]:
    """Compute the transform of the kernel on the periodic grid, divided by the squared transforms of the windows.

    Also return the field of a unit charge at a node, on the nodes up to WIDTH - 1 away. The kernel is even along every
    axis, so cosine transforms of one half suffice.
    """
    axes = range(len(lengths))
    squared: Any = sum(_along(axis, lengths, (np.arange(lengths[axis] // 2 + 1) * spacing) ** 2) for axis in axes)
    half = fft.dctn(profile(squared), type=1)
    for axis in axes:
        angles = 2.0 * np.pi * np.arange(half.shape[axis]) / lengths[axis]
        divisor = _window_transform(angles) * (_window_transform(angles / ratio) if ratio > 1 else 1.0)
        half /= _along(axis, lengths, divisor**2)
    near = fft.idctn(half, type=1)[tuple(slice(WIDTH) for _ in axes)]
    around = near[np.ix_(*[np.abs(np.arange(1 - WIDTH, WIDTH))] * len(lengths))]
    whole = half if len(lengths) == 1 else np.concatenate([half, half[-2:0:-1]])  # the last axis stays halved
    return whole, around


def _along(axis: int, lengths: tuple[int, ...], values: Array) -> Array:
    return values.reshape([-1 if a == axis else 1 for a in range(len(lengths))])
