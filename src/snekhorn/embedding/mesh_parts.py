"""Points sorted by box, and the two parts of their field, which a mesh computes and puts together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .charge_sums import Array


@dataclass(frozen=True)
class SortedPoints:
    """Points sorted by box, as the compiled loops expect them.

    Attributes
    ----------
    position : array of shape (d, n)
        Positions in units of the spacing.
    charge : array of shape (n,)
    order : array of shape (n,)
        Index of every sorted point in the layout.
    first : array of shape (boxes + 1,)
        Start of every box.
    """

    position: Array
    charge: Array
    order: NDArray[np.uint32]
    first: NDArray[np.uint32]


@dataclass(frozen=True)
class NearPart:
    """Near part of the field and its gradient at some points.

    Attributes
    ----------
    targets : SortedPoints
        The points.
    field : array of shape (n, d + 1)
        Field and gradient, in sorted order.
    n_pairs : float
        Number of near pairs.
    """

    targets: SortedPoints
    field: Array
    n_pairs: float


@dataclass(frozen=True)
class FarPart:
    """Far part of the field at the nodes, which is enough to gather it at any point.

    Attributes
    ----------
    nodes : array
        Field at the nodes, without its constant.
    excess : array
        See `Convolution`.
    constant : float
    """

    nodes: Array
    excess: Array
    constant: float
