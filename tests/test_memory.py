import pytest

from snekhorn import memory


def test_what_fits_passes(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 100)
    memory.require(100, "a matrix", "make it smaller")


def test_what_does_not_fit_says_how_much_and_what_to_change(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 2 * memory.GIB)
    with pytest.raises(MemoryError, match=r"a matrix needs about 3\.0 GiB and 2\.0 GiB are available; make it smaller"):
        memory.require(3 * memory.GIB, "a matrix", "make it smaller")


def test_a_system_that_does_not_tell_is_trusted(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: None)
    memory.require(1e30, "a matrix", "make it smaller")


def test_this_system_has_some():
    available = memory.available_bytes()
    assert available is None or available > memory.GIB / 100
