"""Fixtures that several test files share."""

import os
import signal

import hypothesis
import numpy as np
import pytest

from .helpers import clusters

# Compiling a kernel inside an example is no failure; the same examples every time keep runs comparable.
hypothesis.settings.register_profile("snekhorn", deadline=None, derandomize=True, database=None, max_examples=40)
hypothesis.settings.load_profile("snekhorn")


@pytest.fixture(autouse=True)
def environment():
    """Restore the environment after each test; Dask, for one, limits the threads of libraries in it."""
    before = os.environ.copy()
    yield
    if os.environ != before:
        os.environ.clear()
        os.environ.update(before)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def X():
    """Sixty points of three Gaussians whose spreads differ by a factor of 15."""
    return clusters(60)


@pytest.fixture(scope="session")
def many():
    """Enough points for every kernel to run on threads."""
    return clusters(600, p=5)


@pytest.fixture
def interruptible():
    """Let interrupts arrive even if the tests run in the background of a shell, which ignores them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
