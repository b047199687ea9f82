"""Convolve the charges on a grid with a radial kernel, in free space, by fast Fourier transforms.

A window, a B-spline, connects points and nodes: it spreads charges onto the nodes and gathers fields from the nodes.
The transform of the kernel is corrected for the window twice, so that spreading, convolving and gathering reproduce the
kernel. Every axis is padded, so that no charge acts on the periodic image of another: doubled, or less if the kernel
has a short range.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from scipy import fft
from scipy.interpolate import BSpline, PPoly
from scipy.special import bernoulli, factorial

from ..kernels.grid_sums import multiply
from ..runtime.execution import Execution
from .charge_sums import Array

TABLE_SIZE = {1: 64, 2: 64, 3: 32}  # fractions of a cell per axis at which the own field of a charge is tabulated
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
    lengths : tuple of int
        Lengths of the transforms.
    """

    def __init__(
        self, profile: Profile, window: Window, spacing: float, shape: tuple[int, ...], reach: float, dtype: Any
    ) -> None:
        self.lengths = padded_lengths(window.width, shape, reach / spacing)
        self._profile, self._window, self._spacing, self._dtype = profile, window, spacing, dtype

    @property
    def around(self) -> Array:
        """Field of a unit charge on the nodes up to window.width - 1 away."""
        return self._tables[0]

    @property
    def transform(self) -> Array:
        """Transform of the kernel, corrected for the window."""
        return self._tables[1]

    @cached_property
    def excess(self) -> Array:
        """By how much the grid overestimates the field of a unit charge at its own position, by fractions of a cell."""
        at_zero = float(self._profile(np.zeros(1))[0])
        return _self_field_excess(self.around, self._window, self._spacing, at_zero).astype(self._dtype)

    @cached_property
    def _tables(self) -> tuple[Array, Array]:
        """Computed when first used, which takes as long as several convolutions, and only where convolutions run."""
        half = _half_transform(self._profile, self._window, self._spacing, self.lengths)
        around = _around(half, self._window.width, self.lengths)
        for axis in range(len(self.lengths) - 1):  # the last axis stays halved
            mirror = np.flip(half, axis)[(slice(None),) * axis + (slice(1, -1),)]
            half = np.concatenate([half, mirror], axis)
        return around, half.astype(self._dtype)

    def __call__(self, grid: Array, execution: Execution, n_threads: int) -> Array:
        """Return the field at the nodes; rows that are zero or not needed are not transformed.

        The last axis has the length of its transform in both arrays, so that nothing is copied to pad it. The
        transforms use `n_threads` threads.
        """
        workers, outer = n_threads, range(grid.ndim - 1)
        rows = self.transform.reshape(-1, self.transform.shape[-1])  # computed now, before other arrays take memory
        wave = fft.rfft(grid, axis=-1, workers=workers)
        for axis in reversed(outer):
            wave = fft.fft(wave, self.lengths[axis], axis=axis, workers=workers, overwrite_x=True)
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


def _self_field_excess(around: Array, window: Window, spacing: float, at_zero: float) -> Array:
    """Tabulate by how much the grid overestimates the field of a unit charge at its own position."""
    d = around.ndim
    u = (np.arange(TABLE_SIZE[d]) + 0.5) / TABLE_SIZE[d]
    weights, slopes = window.weights(u), window.slopes(u) / spacing
    shifted = np.stack([_shift(weights, int(k)) for k in np.arange(1 - window.width, window.width)])
    value = np.einsum("uk,duk->ud", weights, shifted)
    slope = np.einsum("uk,duk->ud", slopes, shifted)
    columns = []
    for differentiated in [-1, *range(d)]:
        table = around
        for axis in range(d):  # contract the first axis, and append the axis of fractions
            table = np.tensordot(table, slope if axis == differentiated else value, axes=(0, 1))
        columns.append(table)
    columns[0] = columns[0] - at_zero
    return np.ascontiguousarray(np.stack(columns, axis=-1))


def _shift(weights: Array, k: int) -> Array:
    """Move the weight of node a + k to node a; fill with zeros."""
    out = np.zeros_like(weights)
    width = weights.shape[1]
    if k >= 0:
        out[:, : width - k] = weights[:, k:]
    else:
        out[:, -k:] = weights[:, :k]
    return out
