"""The first worker keeps the layout of a step until it has computed the forces of its own piece, and no longer."""

import gc

import numpy as np
import pytest
from scipy import sparse

from snekhorn.dask import layout_tasks, workers
from snekhorn.dask.layout_tasks import LayoutPart, StepSettings
from snekhorn.dask.workers import LocalStarts
from snekhorn.embedding.charge_grid import GridState
from snekhorn.embedding.charge_sums import Kernel
from snekhorn.embedding.mesh_size import DEFAULT

from ..embedding.layouts_and_sums import ONE_THREAD, blobs, fitted

N, ROWS = 2000, slice(0, 600)
SETTINGS = StepSettings(Kernel.STUDENT, DEFAULT, 1.0, 1.0)


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch):
    for module in (layout_tasks, workers):
        monkeypatch.setattr(module, "worker_threads", lambda: ONE_THREAD)


def _parts(Z, charges):
    return [LayoutPart(Z[rows], charges[rows], GridState()) for rows in (ROWS, slice(ROWS.stop, N))]


def _piece(rng):
    P = sparse.random(N, N, 0.01, "csr", rng=rng, dtype=np.float32)[ROWS]
    return [LocalStarts(P.indptr.astype(np.int64)), P.indices.astype(np.uint32), P.data]


def _bytes(forces):
    near = forces.near.on_mesh
    return [near.field.tobytes(), near.targets.position.tobytes(), near.n_pairs, forces.attraction.tobytes()]


def test_the_layout_is_used_twice_and_forgotten(rng):
    Z, charges, piece = fitted(blobs(N, 2), 80.0), rng.uniform(0.5, 1.0, N), _piece(rng)
    parts = _parts(Z, charges)
    alone = layout_tasks.forces_of_pairs(ROWS, _parts(Z, charges), piece, SETTINGS)
    assert not layout_tasks._layouts  # a worker that does not compute the far part keeps nothing
    assert layout_tasks.far_part_of_field(parts, SETTINGS) is not None
    assert len(layout_tasks._layouts) == 1
    after = layout_tasks.forces_of_pairs(ROWS, parts, piece, SETTINGS)
    assert not layout_tasks._layouts  # although the parts are still there
    assert _bytes(after) == _bytes(alone)


def test_a_layout_whose_second_task_runs_elsewhere_goes_with_its_parts(rng):
    parts = _parts(fitted(blobs(N, 2), 80.0), rng.uniform(0.5, 1.0, N))
    layout_tasks.far_part_of_field(parts, SETTINGS)
    assert len(layout_tasks._layouts) == 1
    del parts
    gc.collect()
    assert not layout_tasks._layouts


def test_a_layout_that_has_overflowed(rng):
    Z = fitted(blobs(N, 2), 80.0)
    Z[5] = np.nan
    parts = _parts(Z, np.ones(N))
    assert layout_tasks.far_part_of_field(parts, SETTINGS) is None
    assert layout_tasks.forces_of_pairs(ROWS, parts, _piece(rng), SETTINGS) is None
