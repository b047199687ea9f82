"""Sums at some rows are those at all rows, bit for bit, also if another process continues with the mesh."""

import numpy as np
import pytest

from snekhorn.embedding import charge_grid
from snekhorn.embedding.charge_grid import GridState, GridSums
from snekhorn.embedding.charge_sums import Kernel
from snekhorn.embedding.mesh_size import DEFAULT

from .layouts_and_sums import ONE_THREAD, blobs, fitted

N = 3000
CUTS = (slice(0, 700), slice(700, 701), slice(701, N))


def _in_pieces(Z, charges, kernel, state):
    """Return the sums of every range of rows, and the state after them."""

    def new_sums():
        return GridSums(kernel, ONE_THREAD, DEFAULT, state)

    layout = new_sums().divided(Z, charges)
    far = layout.far_part()
    first, *others = CUTS  # on a cluster, the worker of the first range also computes the far part
    near = [layout.near_sums(first), *(new_sums().divided(Z, charges).near_sums(rows) for rows in others)]
    phi, slope = (np.concatenate(x) for x in zip(*[new_sums().joined(part, far) for part in near], strict=True))
    return phi, slope, near[0].state.noted(sum(part.on_mesh.n_pairs for part in near))


@pytest.mark.parametrize("kernel", Kernel)
@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("span", [3.0, 80.0])
def test_rows_of_a_layout_that_grows_and_crowds(kernel, d, span, rng):
    whole, state = GridSums(kernel, ONE_THREAD), GridState()
    Z, charges = fitted(blobs(N, d), span), rng.uniform(0.5, 1.0, N)
    for factor in (1.0, 1.01, 1.5, 0.3):
        Z = factor * Z
        if factor < 1.0:
            Z[:10] /= factor  # they keep the extent, so that only the near pairs tell that the layout is crowded
        phi, slope, state = _in_pieces(Z, charges, kernel, state)
        want = whole(Z, charges)
        assert (phi.tobytes(), slope.tobytes()) == tuple(values.tobytes() for values in want)
        assert state == whole.state


def test_rows_with_points_that_are_summed_directly(rng, monkeypatch):
    monkeypatch.setattr(charge_grid, "widest_extent", lambda *_: 30.0)
    Z, charges = fitted(blobs(N, 2), 20.0), rng.uniform(0.5, 1.0, N)
    Z[[5, 700, 2999]] += 1e4  # far
    charges[[6, 2000]] = 1e6  # heavy
    whole = GridSums(Kernel.STUDENT, ONE_THREAD)
    want = whole(Z, charges)
    phi, slope, state = _in_pieces(Z, charges, Kernel.STUDENT, GridState())
    assert whole.state.n_far == 3
    assert (phi.tobytes(), slope.tobytes()) == tuple(values.tobytes() for values in want)
    assert state == whole.state
