"""Bad input is refused before the long work starts, with what to change."""

from functools import partial

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client

import snekhorn
from snekhorn.dask import TSNEkhorn, search_tasks
from snekhorn.dask.memory_checks import least_memory
from snekhorn.dask.neighbor_pieces import find_neighbors_on_workers
from snekhorn.errors import InputError, InputTypeError

from .clusters import SETTINGS, in_chunks, local_cluster, unequal_groups, work_as_for_many_points


@pytest.fixture
def no_search(monkeypatch):
    def work(*args):
        raise AssertionError("the long work has started")

    monkeypatch.setattr("snekhorn.dask.pieced_checkpoints.find_neighbors_on_workers", work)


pytestmark = pytest.mark.usefixtures("no_search")


def _with_unknown_chunks(X):
    return X[X[:, 0] > 0.0]


def _with_bad_entry(value):
    X = unequal_groups()
    X[3333, 4] = value
    return in_chunks(X)


@pytest.mark.usefixtures("two_workers")
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: da.zeros((0, 5)), "X has shape 0 x 5; pass at least 2 points"),
        (lambda: da.zeros((5, 0)), "X has shape 5 x 0; pass at least 2 points .* and 1 feature"),
        (lambda: da.zeros(5000), "X has 1 dimension; pass an array of points"),
        (lambda: _with_unknown_chunks(in_chunks(unequal_groups())), r"unknown sizes; call X.compute_chunk_sizes\(\)"),
        (lambda: _with_bad_entry(np.nan), "X contains nan at row 3333, column 4"),
        (lambda: _with_bad_entry(-np.inf), "X contains -inf at row 3333, column 4"),
        (lambda: in_chunks(unequal_groups().astype(float) * 1e160), "squares overflow; scale X down"),
    ],
)
def test_arrays(make, message):
    with pytest.raises(InputError, match=message):
        TSNEkhorn().fit(make())


@pytest.mark.usefixtures("two_workers")
@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros((5000, 2)), "X has the type ndarray, but snekhorn.dask needs a dask array"),
        ([[0.0, 1.0]], "X has the type list"),
        (da.zeros((5000, 2), dtype=complex), "X has the type complex128; pass real numbers"),
    ],
)
def test_types(X, message):
    with pytest.raises(InputTypeError, match=message):
        TSNEkhorn().fit(X)


@pytest.mark.usefixtures("two_workers")
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"metric": "manhattan"}, "metric='manhattan' is not supported on a Dask cluster; leave it at its default"),
        ({"n_neighbors": None}, "n_neighbors=None is not supported"),
        ({"affinity": snekhorn.affinities.EntropicAffinity()}, "affinity=EntropicAffinity.. is not supported"),
        ({"balance": 0.0}, "balance=0.0 is not supported"),
        ({"latent_self_loops": False}, "latent_self_loops=False is not supported"),
        ({"init": "spectral"}, "init='spectral' is not supported"),
        ({"optimizer": "adam"}, "optimizer='adam' is not supported"),
        ({"method": "exact"}, "method='exact' is not supported"),
        ({"perplexity": -1.0}, "perplexity"),
        ({"init": np.zeros((7, 2))}, r"init has shape \(7, 2\)"),
        ({"client": "tcp://127.0.0.1:8786"}, "client must be a distributed.Client or None"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_parameters(parameters, message):
    with pytest.raises(InputError, match=message):
        TSNEkhorn(**parameters).fit(in_chunks(unequal_groups()))


@pytest.mark.parametrize("n", [3600, 100], ids=["many points", "few points"])
def test_a_cluster_without_workers(n):
    with local_cluster(0) as client, pytest.raises(InputError, match="has no workers; start some"):
        TSNEkhorn(client=client).fit(in_chunks(unequal_groups()[:n]))


def test_no_client(monkeypatch):
    def missing():
        raise ValueError("No clients found")

    monkeypatch.setattr("snekhorn.dask.cluster_checks.get_client", missing)
    with pytest.raises(InputError, match="no Dask client; create one"):
        TSNEkhorn().fit(in_chunks(unequal_groups()))


def test_a_closed_client(two_workers):
    client = Client(two_workers.scheduler.address, set_as_default=False)
    client.close()
    with pytest.raises(InputError, match="client is closed; create a new one"):
        TSNEkhorn(client=client).fit(in_chunks(unequal_groups()))


def _hide_the_package():
    import sys

    sys.modules["snekhorn"] = None  # an import then fails, as if it were not installed


def _change_the_version():
    import snekhorn

    snekhorn.__version__ = "0.0.9"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_hide_the_package, "does not have snekhorn, but the client has version"),
        (_change_the_version, "has snekhorn 0.0.9, but the client has version .* install snekhorn=="),
    ],
)
def test_workers_that_differ(change, message):
    with local_cluster(2) as client:
        client.run(change, workers=[sorted(client.nthreads())[1]])
        with pytest.raises(InputError, match=message):
            TSNEkhorn(client=client).fit(in_chunks(unequal_groups()))


@pytest.mark.usefixtures("two_workers")
@pytest.mark.filterwarnings("ignore:.*stopped at max_iter")
def test_new_points_of_another_width():
    X = in_chunks(unequal_groups(400))
    model = TSNEkhorn(max_iter=20).fit(X)
    with pytest.raises(InputError, match="X has shape 400 x 3; pass at least 1 point with 20 features"):
        model.transform(X[:, :3])
    bad = np.ones((400, 20))
    bad[333, 4] = np.nan
    with pytest.raises(InputError, match=r"nan at row 33, column 4.* from row 300 of the array, where its chunk beg"):
        model.transform(da.from_array(bad, chunks=(100, 20))).compute()


@pytest.mark.usefixtures("two_workers")
@pytest.mark.parametrize("n", [1000, 3000])
def test_chunks_that_have_other_sizes_than_declared(n):
    chunks = [da.from_delayed(dask.delayed(np.ones)((size, 5)), (2000, 5), float) for size in (2000, n)]
    with pytest.raises(InputError, match="chunks of X have other shapes than X declares: rows 0 to 3,999 are an arr"):
        TSNEkhorn().fit(da.concatenate(chunks))


@pytest.mark.usefixtures("two_workers")
def test_earlier_layouts_and_more_points_are_for_one_machine():
    X = in_chunks(unequal_groups())
    for how in ({"align": np.zeros((len(X), 2))}, {"pull": 0.1}):
        with pytest.raises(InputError, match="align is not supported on a Dask cluster"):
            TSNEkhorn().fit(X, **how)
    with pytest.raises(InputError, match=r"TSNEkhorn on a Dask cluster has no extend; use model.to_local\(\)"):
        TSNEkhorn().extend(X)


@pytest.mark.usefixtures("two_workers")
def test_points_that_the_client_cannot_hold_are_refused_before_any_work(monkeypatch):
    monkeypatch.setattr("snekhorn.runtime.memory.available_bytes", lambda: 1_000_000)
    monkeypatch.setattr("snekhorn.dask.dask_methods.load_points", lambda *args: pytest.fail("points were loaded"))
    with pytest.raises(InputError, match="numbers per point that this process holds for 3,600 points"):
        TSNEkhorn().fit(in_chunks(unequal_groups()))


@pytest.mark.usefixtures("two_workers")
def test_points_that_the_workers_cannot_hold_are_refused_before_any_work(monkeypatch):
    monkeypatch.setattr("snekhorn.dask.memory_checks.least_memory", lambda client: 300_000_000)
    monkeypatch.setattr("snekhorn.dask.dask_methods.load_points", lambda *args: pytest.fail("points were loaded"))
    with pytest.raises(InputError, match=r"on the workers for 3,600 points with 2,250 neighbours.*lower the perpl"):
        TSNEkhorn(perplexity=1500).fit(in_chunks(unequal_groups()))


@pytest.mark.usefixtures("two_workers")
@pytest.mark.filterwarnings("ignore:.*stopped at max_iter")
@pytest.mark.parametrize("memory", [254_000_000, 400_000_000], ids=["too little", "enough"])
def test_points_that_no_worker_can_compare_with_all_others(memory, monkeypatch):
    """As if the search in clusters had found too few neighbours; more workers would not help."""
    work_as_for_many_points(monkeypatch)
    monkeypatch.setattr("snekhorn.dask.neighbor_pieces.LEAST_RECALL", 1.1)
    monkeypatch.setattr("snekhorn.dask.memory_checks.least_memory", lambda client: memory)
    monkeypatch.setattr("snekhorn.dask.pieced_checkpoints.find_neighbors_on_workers", find_neighbors_on_workers)
    fit = partial(TSNEkhorn(**{**SETTINGS, "max_iter": 1}).fit, in_chunks(unequal_groups()))
    if memory > 300_000_000:
        fit()
        return
    monkeypatch.setattr(search_tasks, "lists_of_all", lambda *args: pytest.fail("all points were compared"))
    with pytest.raises(InputError, match=r"cannot resolve the distances.*rescale the columns .*more memory") as found:
        fit()
    assert "more workers" not in str(found.value)


def test_the_least_memory_of_a_worker():
    with local_cluster(1, memory_limit="1.5GB") as client:
        assert least_memory(client) == 1_500_000_000


@pytest.mark.usefixtures("two_workers")
def test_an_initial_layout_that_the_client_cannot_compute_is_refused_before_any_work(monkeypatch):
    monkeypatch.setattr("snekhorn.runtime.memory.available_bytes", lambda: 100_000_000)
    monkeypatch.setattr("snekhorn.dask.dask_methods.load_points", lambda *args: pytest.fail("points were loaded"))
    wide = da.zeros((3600, 2001), chunks=(1000, 2001), dtype=np.float32)
    with pytest.raises(InputError, match="principal components of 3,600 points with 2,001 columns"):
        TSNEkhorn().fit(wide)
