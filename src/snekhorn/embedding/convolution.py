"""Convolve the charges on a grid with a radial kernel, in free space, by fast Fourier transforms.

A window, a B-spline, connects points and nodes: it spreads charges onto the nodes and gathers fields from the nodes.
The transform of the kernel is corrected for the window twice, so that spreading, convolving and gathering reproduce the
kernel. Every axis is padded, so that no charge acts on the periodic image of another: doubled, or less if the kernel
has a short range.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import fft
from scipy.interpolate import BSpline, PPoly
from scipy.special import bernoulli, factorial

from ..kernels.grid_sums import multiply
from ..runtime.execution import Execution
from .charge_sums import Array

DECAY = 4  # padding, in widths of the window, for its inverse to decay; with less, it reaches the periodic kink

Profile = Callable[[Array], Array]  # a radial kernel as a function of the squared distance


class Window:
    """B-spline that touches `width` nodes along an axis; its degree is width - 1.

    A point at a fraction u of a cell has the weight sum_p coefficients[p, k] u^(width - 1 - p) at its k-th node.

    Parameters
    ----------
    width : int
        Even number of nodes.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self.spline = BSpline.basis_element(np.arange(width + 1.0))
        pieces = PPoly.from_spline(self.spline).c[
            :, width - 1 : 2 * width - 1
        ]  # without the repeated knots at the ends
        self.coefficients = np.ascontiguousarray(pieces[:, ::-1])  # the first node lies in the last piece
        powers = np.arange(width - 1, -1, -1)
        self.slope = np.roll(self.coefficients * powers[:, None], 1, axis=0)  # the highest power is 0
        self._powers = powers

    def weights(self, fractions: Array) -> Array:
        """Return the weights (m, width) of the nodes touched by points at these fractions of a cell."""
        weights: Array = fractions[:, None] ** self._powers @ self.coefficients
        return weights

    def slopes(self, fractions: Array) -> Array:
        """Return the derivatives of these weights."""
        slopes: Array = fractions[:, None] ** self._powers @ self.slope
        return slopes

    def correction(self, angles: Array) -> Array:
        """Return, by frequency, the factors that undo the smoothing by the window.

        The inverse of the window sampled at the nodes would make the field exact at the nodes. Between nodes, its error
        would be of one sign on average, and add up over dense groups of points. The other factor removes this mean, to
        leading order.
        """
        nodes, middle = np.arange(1, self.width // 2), self.width / 2
        sampled = self.spline(middle) + 2.0 * np.cos(np.outer(angles, nodes)) @ self.spline(middle + nodes)
        mean = abs(bernoulli(self.width)[-1]) / factorial(self.width)
        squared = 2.0 - 2.0 * np.cos(angles)  # nearly angles^2, but smooth where frequencies wrap around
        correction: Array = (1.0 + mean * squared ** (self.width // 2)) / sampled
        return correction


class Convolution:
    """Map from the charges at the nodes to the field at the nodes.

    Parameters
    ----------
    profile : callable
    window : Window
    spacing : float
    shape : tuple of int
        Number of nodes along every axis.
    reach : float
        Distance beyond which the kernel is zero; infinite if there is none.
    dtype : float32 or float64

    Attributes
    ----------
    around : array
        Field of a unit charge on the nodes up to window.width - 1 away.
    """

    def __init__(
        self, profile: Profile, window: Window, spacing: float, shape: tuple[int, ...], reach: float, dtype: Any
    ) -> None:
        self.lengths = padded_lengths(window.width, shape, reach / spacing)
        half = _half_transform(profile, window, spacing, self.lengths)
        self.around = _around(half, window.width, self.lengths)
        for axis in range(len(shape) - 1):  # the last axis stays halved
            mirror = np.flip(half, axis)[(slice(None),) * axis + (slice(1, -1),)]
            half = np.concatenate([half, mirror], axis)
        self.transform = half.astype(dtype)

    def __call__(self, grid: Array, execution: Execution, n_threads: int) -> Array:
        """Return the field at the nodes; rows that are zero or not needed are not transformed.

        The last axis has the length of its transform in both arrays, so that nothing is copied to pad it. The
        transforms use `n_threads` threads.
        """
        workers, outer = n_threads, range(grid.ndim - 1)
        wave = fft.rfft(grid, axis=-1, workers=workers)
        for axis in reversed(outer):
            wave = fft.fft(wave, self.lengths[axis], axis=axis, workers=workers, overwrite_x=True)
        rows = self.transform.reshape(-1, self.transform.shape[-1])
        execution.run(multiply, len(rows), rows.size, rows, wave.reshape(rows.shape))
        for axis in outer:
            wave = fft.ifft(wave, axis=axis, workers=workers, overwrite_x=True)
            wave = wave[(slice(None),) * axis + (slice(grid.shape[axis]),)]
        field: Array = fft.irfft(wave, self.lengths[-1], axis=-1, workers=workers)
        return field


def padded_lengths(width: int, shape: tuple[int, ...], reach: float) -> tuple[int, ...]:
    """Return the lengths of the transforms for a grid of this shape; `reach` is in units of the spacing."""
    return tuple(_even_length(nodes + int(min(nodes, reach + 1.0)) + DECAY * width) for nodes in shape)


def _even_length(n: int) -> int:
    """Return an even length of at least n whose transform is fast."""
    return 2 * int(fft.next_fast_len((n + 1) // 2, real=True))


def _half_transform(profile: Profile, window: Window, spacing: float, lengths: tuple[int, ...]) -> Array:
    """Compute the transform of the kernel on the periodic grid, corrected for spreading and for gathering.

    The kernel is even along every axis, so cosine transforms of one half suffice.
    """
    axes = range(len(lengths))
    squared: Any = sum(_along(axis, lengths, (np.arange(lengths[axis] // 2 + 1) * spacing) ** 2) for axis in axes)
    half: Array = fft.dctn(profile(squared), type=1)
    for axis in axes:
        angles = 2.0 * np.pi * np.arange(half.shape[axis]) / lengths[axis]
        half *= _along(axis, lengths, window.correction(angles) ** 2)
    return half


def _around(half: Array, width: int, lengths: tuple[int, ...]) -> Array:
    """Return the inverse transform at the nodes up to width - 1 away from the first one."""
    shifts = np.abs(np.arange(1 - width, width))
    for length in lengths:  # contract the first axis, and append the axis of shifts
        frequencies = np.arange(length // 2 + 1)
        twice = np.where((frequencies == 0) | (frequencies == length // 2), 1.0, 2.0)  # for negative frequencies
        waves = np.cos(2.0 * np.pi / length * np.outer(frequencies, shifts)) * twice[:, None] / length
        half = np.einsum("i...,ij->...j", half, waves)
    return half


def _along(axis: int, lengths: tuple[int, ...], values: Array) -> Array:
    return values.reshape([-1 if a == axis else 1 for a in range(len(lengths))])
