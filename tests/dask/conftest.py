import pytest

from .clusters import local_cluster


@pytest.fixture(scope="package")
def two_workers():
    with local_cluster(2) as client:
        yield client
