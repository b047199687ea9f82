import os

import pytest

from .clusters import local_cluster


@pytest.fixture(scope="package")
def environment_of_package():
    """Restore the environment, in which Dask limits the threads of libraries for its workers."""
    before = os.environ.copy()
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(scope="package")
def two_workers(environment_of_package):
    with local_cluster(2) as client:
        yield client
