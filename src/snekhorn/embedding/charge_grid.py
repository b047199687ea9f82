"""Compute sums of charges in time linear in n, on a mesh.

Some points would decide the accuracy of all others, so their pairs are summed directly: points too far away for the
mesh to reach, charges so large that their rounding errors hide other charges, and points whose own field is lost in
rounding errors. If there are too many of them, the sums are `rough`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..runtime.execution import Execution
from .charge_sums import Array, DirectSums, Field, Kernel
from .far_points import outside_densest_box
from .mesh import LARGEST_CHARGE, Mesh, MeshField, MeshState, corners
from .mesh_parts import FarPart, NearPart, SortedPoints
from .mesh_size import DEFAULT, TIGHT, Accuracy, choose_radius, widest_extent

MOST_PAIRS = 2**27  # pairs summed directly, as long as a step on a mesh of 2^24 nodes; with fewer, more sums are rough
APART_COST = 300  # near pairs summed, per point, in the time that it takes to keep any points apart
HEAVIEST = 1e4  # charge of a point on the mesh, relative to the median; larger ones leave errors of 0.001 in float32
FAINT = {np.float32: 1e-4, np.float64: 1e-8}  # fields below this fraction of the largest field are mostly grid error
# Student fields of the others, relative to a point's own charge. Below this, they are off by 0.5 % and more, because
# the error of the own term remains. If it is larger, more points are summed directly.
FAINT_BESIDE_OWN = {np.float32: 2e-3, np.float64: 1e-5}
NOISE = {np.float32: 1e-6, np.float64: 1e-9}  # rounding error relative to the largest field; a smaller field is noise

Indices = NDArray[np.intp]
NO_POINTS: Indices = np.empty(0, dtype=np.intp)


@dataclass(frozen=True)
class GridState:
    """State of `GridSums`, from which another process can continue.

    Attributes
    ----------
    mesh : MeshState or None
        State of the mesh; None before the first layout.
    n_far : int
        Number of points that the mesh left out when it was built.
    rough : bool
        Whether the last sums are less accurate than they should be.
    """

    mesh: MeshState | None = None
    n_far: int = 0
    rough: bool = False

    def noted(self, n_pairs: float) -> GridState:
        """Return the state after a layout with this many near pairs in all rows together."""
        return self if self.mesh is None else replace(self, mesh=self.mesh.noted(n_pairs))


@runtime_checkable
class SumsWithState(Protocol):
    """Sums of charges from whose state another process can continue."""

    @property
    def state(self) -> GridState:
        """State after the last sums."""

    def restore(self, state: GridState) -> None:
        """Continue from a state."""


@dataclass(frozen=True)
class RowSums:
    """Sums at some rows, apart from the far part of the field.

    Attributes
    ----------
    on_mesh : NearPart
        Near part of the field at the rows on the mesh.
    state : GridState
        State of the sums, before the near pairs of all rows are noted.
    own : array of bool or None
        Which of the rows are on the mesh; None if all points are.
    of_apart, at_apart : tuple of arrays
        Field of the points apart at the rows on the mesh, and field of all points at the other rows.
    """

    on_mesh: NearPart
    state: GridState
    own: NDArray[np.bool_] | None = None
    of_apart: tuple[Array, ...] = ()
    at_apart: tuple[Array, ...] = ()


@dataclass(frozen=True)
class DividedLayout:
    """Layout with its mesh, ready for sums at any rows.

    Attributes
    ----------
    Z, charges : ndarray
        The layout.
    mesh : Mesh
    points : SortedPoints
        Points on the mesh.
    on_mesh : array of bool or None
        Which points are on the mesh; None if all are.
    direct : DirectSums
        Sums over the pairs of the other points.
    state : GridState
        State of the sums, before the near pairs are noted.
    """

    Z: Array
    charges: Array
    mesh: Mesh
    points: SortedPoints
    on_mesh: NDArray[np.bool_] | None
    direct: DirectSums
    state: GridState

    def far_part(self) -> FarPart:
        """Return the far part of the field, which is the same for all rows."""
        return self.mesh.far_part(self.points)

    def near_sums(self, rows: slice) -> RowSums:
        """Return the sums at consecutive rows, apart from the far part of the field, which `GridSums.joined` adds."""
        Z, charges = self.Z[rows], self.charges[rows]
        if self.on_mesh is None:
            return RowSums(self.mesh.near_part_at(self.points, self.mesh.sort(Z, charges)), self.state)
        apart, own = ~self.on_mesh, self.on_mesh[rows]
        near = self.mesh.near_part_at(self.points, self.mesh.sort(Z[own], charges[own]))
        of_apart = self.direct.freeze(self.Z[apart], self.charges[apart]).at(Z[own])
        at_apart = self.direct.freeze(self.Z, self.charges).at(Z[~own])
        return RowSums(near, self.state, own, of_apart, at_apart)


class GridSums:
    """Sums of charges in up to three dimensions, in time linear in n.

    Parameters
    ----------
    kernel : Kernel
    execution : Execution
    accuracy : Accuracy
    state : GridState or None
        State to continue from. With a state, the process keeps the meshes for the next sums.
    """

    def __init__(
        self, kernel: Kernel, execution: Execution, accuracy: Accuracy = DEFAULT, state: GridState | None = None
    ) -> None:
        self.kernel = kernel
        self.execution = execution
        self.accuracy = accuracy
        self.rough = False
        self._direct = DirectSums(kernel, execution)
        self._mesh: Mesh | None = None
        self._n_far = 0  # number of points that the mesh left out when it was built
        self._keeps_meshes = state is not None
        if state is not None:
            self.restore(state)

    @property
    def state(self) -> GridState:
        """State from which the sums can continue in another process."""
        return GridState(None if self._mesh is None else self._mesh.state, self._n_far, self.rough)

    def restore(self, state: GridState) -> None:
        """Continue from a state."""
        self._mesh = None
        if state.mesh is not None:
            self._mesh = Mesh.restored(state.mesh, self.kernel, self.accuracy, self.execution)
        self._n_far, self.rough = state.n_far, state.rough

    def __call__(self, Z: Array, charges: Array) -> tuple[Array, Array]:
        """Return phi and its gradient at all points."""
        mesh, apart = self._divide(Z, charges)
        phi, slope = self._sums_on_mesh(mesh, apart, Z, charges)
        if apart.size:
            phi[apart], slope[apart] = self._direct.freeze(Z, charges).at(Z[apart])
        return phi, slope

    def divided(self, Z: Array, charges: Array) -> DividedLayout:
        """Choose the mesh of a layout, and sort the points on it."""
        mesh, apart = self._divide(Z, charges)
        on_mesh = _without(apart, len(Z)) if apart.size else None
        points = mesh.sort(Z, charges) if on_mesh is None else mesh.sort(Z[on_mesh], charges[on_mesh])
        return DividedLayout(Z, charges, mesh, points, on_mesh, self._direct, self.state)

    def joined(self, near: RowSums, far: FarPart) -> tuple[Array, Array]:
        """Return phi and its gradient at the rows; the same, to the last bit, as the sums at all points."""
        assert near.state.mesh is not None
        mesh = Mesh.restored(near.state.mesh, self.kernel, self.accuracy, self.execution)
        phi, slope = mesh.gather(near.on_mesh, far)
        if near.own is None:
            return phi, slope
        all_phi, all_slopes = np.empty(near.own.size), np.empty((near.own.size, slope.shape[1]))
        all_phi[near.own], all_slopes[near.own] = phi + near.of_apart[0], slope + near.of_apart[1]
        all_phi[~near.own], all_slopes[~near.own] = near.at_apart
        return all_phi, all_slopes

    def of_others(self, Z: Array, charges: Array) -> tuple[Array, Array]:
        mesh, apart = self._divide(Z, charges)
        phi, slope = self._sums_on_mesh(mesh, apart, Z, charges)
        largest = float(self.execution.max(phi))
        phi = phi - charges
        phi[apart] = -1.0
        noise = NOISE[self.accuracy.dtype] * largest
        limit = np.full(phi.shape, FAINT[self.accuracy.dtype] * largest)
        if self.kernel is Kernel.STUDENT:
            limit = np.maximum(limit, FAINT_BESIDE_OWN[self.accuracy.dtype] * charges)
        faint = np.flatnonzero(phi < limit)  # including the points apart
        if not self._can_sum_directly(faint, Z):
            faint = np.flatnonzero(phi < noise)
        phi = np.maximum(phi, noise)
        if not self._can_sum_directly(faint, Z):
            self.rough, faint = True, apart
        if faint.size:
            phi[faint], slope[faint] = self._direct.of_others(Z, charges, faint)
        return phi, slope

    def freeze(self, Z: Array, charges: Array) -> Field:
        # In float32, rounding errors would move new points to other minima of their loss, which is flat in empty space.
        precise = GridSums(self.kernel, self.execution, replace(self.accuracy, dtype=np.float64))
        mesh, apart = precise._divide(Z, charges)
        near = _without(apart, len(Z))
        on_mesh = mesh.freeze(Z[near], charges[near])
        largest = max(on_mesh.largest_far_part(), float(self.execution.max(charges)))
        return _GridField(
            on_mesh=on_mesh,
            of_apart=self._direct.freeze(Z[apart], charges[apart]) if apart.size else None,
            of_all=self._direct.freeze(Z, charges),
            faint=FAINT[self.accuracy.dtype] * largest,
            rough=precise.rough,
        )

    def refined(self) -> GridSums:
        return GridSums(self.kernel, self.execution, TIGHT)

    def _sums_on_mesh(self, mesh: Mesh, apart: Indices, Z: Array, charges: Array) -> tuple[Array, Array]:
        """Return phi and its gradient at the points of the mesh, and zeros at the points apart."""
        if not apart.size:
            return mesh.sums(Z, charges)
        near = _without(apart, len(Z))
        phi, slope = np.zeros(len(Z)), np.zeros(Z.shape)
        phi[near], slope[near] = mesh.sums(Z[near], charges[near])
        of_apart, slope_of_apart = self._direct.freeze(Z[apart], charges[apart]).at(Z[near])
        phi[near] += of_apart
        slope[near] += slope_of_apart
        return phi, slope

    def _divide(self, Z: Array, charges: Array) -> tuple[Mesh, Indices]:
        """Return a mesh, and the points to keep apart from it; note whether the sums will be rough."""
        mesh, far = self._fit_mesh(Z)
        apart = far
        heaviest = float(self.execution.max(charges))
        if heaviest > LARGEST_CHARGE or heaviest > HEAVIEST * self.execution.min(charges):
            limit = min(HEAVIEST * float(np.median(charges)), LARGEST_CHARGE)
            apart = np.union1d(far, np.flatnonzero(charges > limit))
        affordable = self._can_sum_directly(apart, Z)
        self.rough = mesh.coarse or not affordable
        return mesh, apart if affordable else far

    def _fit_mesh(self, Z: Array) -> tuple[Mesh, Indices]:
        """Return a mesh with cells as narrow as the kernel needs, and the points too far away for it.

        Keep the last mesh if it suits. If too many points are far, or if that is cheaper, the mesh holds them all.
        """
        low, high = corners(Z, self.execution)
        mesh, far = self._mesh, NO_POINTS
        if mesh is not None and mesh.suits(low, high):
            return mesh, far
        if float((high - low).max()) > (side := widest_extent(self.kernel, self.accuracy, low.size, len(Z))):
            if mesh is not None and self._n_far:
                far = mesh.outside(Z)
                if far.size <= self._n_far and mesh.suits(*corners(Z[_without(far, len(Z))], self.execution)):
                    return mesh, far
            far = np.flatnonzero(outside_densest_box(Z, side))
            if not self._can_sum_directly(far, Z) or not self._saves_time(far, Z):
                far = NO_POINTS
        near = Z[_without(far, len(Z))] if far.size else Z
        settings = (self.kernel, self.accuracy, self.execution)
        self._mesh, self._n_far = Mesh.around(near, *settings, keep=self._keeps_meshes), far.size
        return self._mesh, far

    def _saves_time(self, far: Indices, Z: Array) -> bool:
        """Return whether sums over the pairs of far points take less time than a mesh that holds these points."""
        of_all, of_near = self._cost_on_mesh(Z), self._cost_on_mesh(Z[_without(far, len(Z))])
        return of_all == np.inf or of_near + (2.0 * far.size + APART_COST) * len(Z) < of_all

    def _cost_on_mesh(self, Z: Array) -> float:
        """Return the cost of sums on a mesh that holds all points, in near pairs."""
        low, high = corners(Z, self.execution)
        return choose_radius(Z, low, high, self.kernel, self.accuracy, self.execution)[1]

    def _can_sum_directly(self, points: Indices, Z: Array) -> bool:
        return points.size * len(Z) <= MOST_PAIRS


def _without(points: Indices, n: int) -> NDArray[np.bool_]:
    """Return a mask of n points that is False for these points."""
    mask = np.ones(n, dtype=bool)
    mask[points] = False
    return mask


@dataclass(frozen=True)
class _GridField:
    """Field on a mesh; positions outside the mesh, or where the field is faint, need a direct sum."""

    on_mesh: MeshField
    of_apart: Field | None  # field of the points that are not on the mesh
    of_all: Field
    faint: float  # a field on the mesh below this is mostly error
    rough: bool

    @property
    def kernel(self) -> Kernel:
        return self.of_all.kernel

    def at(self, positions: Array) -> tuple[Array, Array]:
        phi, slope = self.on_mesh.at(positions)
        unknown = phi < self.faint
        unknown[self.on_mesh.mesh.outside(positions)] = True
        if self.of_apart is not None:
            of_apart, slope_of_apart = self.of_apart.at(positions)
            phi, slope = phi + of_apart, slope + slope_of_apart
        if unknown.any():
            phi[unknown], slope[unknown] = self.of_all.at(positions[unknown])
        return phi, slope
