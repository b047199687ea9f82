import tracemalloc

import numpy as np
import pytest

from snekhorn.affinities import SymmetricEntropicAffinity
from snekhorn.geometry.costs import BYTES_PER_EDGE
from snekhorn.runtime import memory


def test_what_fits_passes(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 100)
    memory.require_memory(100, "a matrix", "make it smaller")


def test_what_does_not_fit_says_how_much_and_what_to_change(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 2 * memory.GIB)
    with pytest.raises(MemoryError, match=r"for a matrix: about 3\.0 GiB needed, only 2\.0 GiB .*; make it smaller"):
        memory.require_memory(3 * memory.GIB, "a matrix", "make it smaller")


def test_a_system_that_does_not_tell_is_trusted(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: None)
    memory.require_memory(1e30, "a matrix", "make it smaller")


def test_this_system_has_some():
    available = memory.available_bytes()
    assert available is None or available > memory.GIB / 100


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("p", [2, 200])  # with few hubs, and with many
def test_what_is_asked_for_an_affinity_of_neighbours_is_enough(p, dtype):
    X, k = np.random.default_rng(0).normal(size=(3000, p)).astype(dtype), 30
    affinity = SymmetricEntropicAffinity(10.0, n_neighbors=k, self_loops=False)
    affinity.fit(X[:500])  # what it takes to compile a kernel does not count
    tracemalloc.start()
    affinity.fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.3 < peak / (BYTES_PER_EDGE * k * len(X)) < 1.0
