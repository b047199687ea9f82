"""A cluster gives the same bits as one machine, whatever its number of workers."""

import dask.array as da
import numpy as np
import pytest
from sklearn.base import clone

import snekhorn
import snekhorn.dask
from snekhorn.embedding import descent
from snekhorn.embedding.objective import HUB
from snekhorn.errors import NumericalOverflowError
from snekhorn.geometry.column_statistics import ROWS_PER_BLOCK

from .clusters import SETTINGS, N, in_chunks, local_cluster, unequal_groups, work_as_for_many_points

pytestmark = pytest.mark.filterwarnings("ignore:.*stopped at max_iter")


def _check_same(found, want):
    for name in ("embedding_", "potential_"):
        assert getattr(found, name).tobytes() == getattr(want, name).tobytes()
    assert found.embedding_.dtype == want.embedding_.dtype
    assert found.kl_divergence_ == want.kl_divergence_
    assert found.report_ == want.report_
    assert str(found.affinity_report_) == str(want.affinity_report_)
    assert found.affinity_report_.neighbor_recall == want.affinity_report_.neighbor_recall
    assert found.n_features_in_ == want.n_features_in_


@pytest.mark.usefixtures("two_workers")
@pytest.mark.parametrize("many", [False, True])
def test_two_workers(many, monkeypatch):
    if many:
        work_as_for_many_points(monkeypatch)
    X = unequal_groups()
    want = snekhorn.TSNEkhorn(**SETTINGS).fit(X)
    _check_same(snekhorn.dask.TSNEkhorn(**SETTINGS).fit(in_chunks(X)), want)


@pytest.mark.usefixtures("two_workers")
def test_points_in_several_pieces(monkeypatch):
    """Fewer points fit into one piece, because pieces end at multiples of a block of rows."""
    work_as_for_many_points(monkeypatch)
    X = unequal_groups(2 * ROWS_PER_BLOCK + 1000)
    settings = {**SETTINGS, "max_iter": 2}
    want = snekhorn.TSNEkhorn(**settings).fit(X)
    _check_same(snekhorn.dask.TSNEkhorn(**settings).fit(in_chunks(X)), want)


def test_a_client_that_is_not_the_default(monkeypatch):
    """The program has such a client; many points are searched a few tasks at a time."""
    work_as_for_many_points(monkeypatch)
    X, settings = unequal_groups(), {**SETTINGS, "max_iter": 2}
    want = snekhorn.TSNEkhorn(**settings).fit(X)
    with local_cluster(1, default=False) as client:
        _check_same(snekhorn.dask.TSNEkhorn(**settings, client=client, verbose=True).fit(in_chunks(X)), want)


@pytest.mark.slow
@pytest.mark.parametrize("n_workers", [1, 4])
def test_other_numbers_of_workers(n_workers, monkeypatch):
    work_as_for_many_points(monkeypatch)
    X = unequal_groups()
    want = snekhorn.TSNEkhorn(**SETTINGS).fit(X)
    with local_cluster(n_workers) as client:
        _check_same(snekhorn.dask.TSNEkhorn(**SETTINGS, client=client).fit(in_chunks(X)), want)


@pytest.mark.slow
@pytest.mark.usefixtures("two_workers")
@pytest.mark.parametrize(
    "other",
    [
        {"metric": "cosine"},
        {"self_loops": True, "balance": 1.0},
        {"n_components": 3, "init": "random", "random_state": 3},
        {"n_components": 1, "marginal_tol": 1e-6},
    ],
    ids=str,
)
def test_other_parameters(other):
    X = unequal_groups().astype(float)
    want = snekhorn.TSNEkhorn(**SETTINGS, **other).fit(X)
    _check_same(snekhorn.dask.TSNEkhorn(**SETTINGS, **other).fit(in_chunks(X)), want)


@pytest.mark.slow
@pytest.mark.usefixtures("two_workers")
def test_the_gaussian_kernel():
    X = unequal_groups()
    settings = {**SETTINGS, "balance": 0.5}  # hubs have more mass, which shortens their steps
    want = snekhorn.SNEkhorn(**settings).fit(X)
    assert want.affinity_.sum(axis=1).max() > HUB  # otherwise the case would test nothing; the mean is 1
    _check_same(snekhorn.dask.SNEkhorn(**settings).fit(in_chunks(X)), want)


@pytest.mark.slow
@pytest.mark.usefixtures("two_workers")
@pytest.mark.filterwarnings("ignore:.*so wide that method='fft' cannot resolve it")
@pytest.mark.filterwarnings("ignore:.*the row sums of Q deviate from 1")
def test_steps_that_overflow_are_repeated_with_half_the_length(monkeypatch):
    returns, put_back = [], descent._Descent.return_to_accepted
    monkeypatch.setattr(descent._Descent, "return_to_accepted", lambda self: (returns.append(1), put_back(self)))
    X = unequal_groups()
    settings = {**SETTINGS, "learning_rate": 1e11, "max_iter": 24}
    want = snekhorn.TSNEkhorn(**settings).fit(X)
    n_returns = len(returns)
    assert n_returns > 0  # otherwise the case would test nothing
    _check_same(snekhorn.dask.TSNEkhorn(**settings).fit(in_chunks(X)), want)
    assert len(returns) == 2 * n_returns
    with pytest.raises(NumericalOverflowError, match=r"TSNEkhorn: the layout overflowed; lower learning_rate=3e\+11"):
        snekhorn.dask.TSNEkhorn(**{**settings, "learning_rate": 3e11}).fit(in_chunks(X))


@pytest.mark.usefixtures("two_workers")
def test_new_points_and_saved_models(tmp_path):
    X, new = unequal_groups(), unequal_groups(400)[:90] + np.float32(0.01)
    local = snekhorn.TSNEkhorn(**SETTINGS).fit(X)
    model = clone(snekhorn.dask.TSNEkhorn(**SETTINGS))
    layout = model.fit_transform(in_chunks(X))
    assert isinstance(layout, da.Array)
    assert layout.chunks == (in_chunks(X).chunks[0], (2,))
    np.testing.assert_array_equal(layout.compute(), local.embedding_)
    want = local.transform(new)
    np.testing.assert_array_equal(model.transform(new), want)
    placed = model.transform(da.from_array(new, chunks=(40, 9)))
    assert placed.chunks == ((40, 40, 10), (2,))
    assert placed.dtype == want.dtype
    np.testing.assert_array_equal(placed.compute(), want)
    model.save(tmp_path / "model.npz")
    loaded = snekhorn.load(tmp_path / "model.npz")
    assert type(loaded) is snekhorn.TSNEkhorn
    np.testing.assert_array_equal(loaded.transform(new), want)


@pytest.mark.usefixtures("two_workers")
def test_few_points_are_laid_out_by_the_client():
    X = unequal_groups(400)
    want = snekhorn.TSNEkhorn(max_iter=60).fit(X)
    _check_same(snekhorn.dask.TSNEkhorn(max_iter=60).fit(in_chunks(X)), want)


@pytest.mark.usefixtures("two_workers")
def test_a_precomputed_affinity_of_few_points():
    X, settings = unequal_groups(400), {"max_iter": 60, "affinity": "precomputed"}
    P = snekhorn.affinities.SymmetricEntropicAffinity().fit_transform(X)
    want = snekhorn.TSNEkhorn(**settings).fit(P)
    found = snekhorn.dask.TSNEkhorn(max_iter=20).fit(in_chunks(X)).set_params(**settings).fit(in_chunks(P))
    np.testing.assert_array_equal(found.embedding_, want.embedding_)
    assert not hasattr(found, "affinity_report_")  # of the fit before
    np.testing.assert_array_equal(found.to_local().embedding_, want.embedding_)


@pytest.mark.usefixtures("two_workers")
def test_callbacks_stop_the_descent():
    seen = []

    def stop(iteration, loss, layout):
        seen.append((iteration, layout))
        return True

    model = snekhorn.dask.TSNEkhorn(**SETTINGS, callbacks=stop).fit(in_chunks(unequal_groups()))
    assert model.n_iter_ == 50
    assert [iteration for iteration, _ in seen] == [50]
    assert seen[0][1].shape == (N, 2)


@pytest.mark.usefixtures("two_workers")
@pytest.mark.parametrize("verbose", [True, False])
def test_every_stage_shows_its_progress(verbose, capsys):
    snekhorn.dask.TSNEkhorn(**SETTINGS, verbose=verbose).fit(in_chunks(unequal_groups()))
    said = capsys.readouterr().err
    for stage in ("neighbours", "affinity", "layout"):
        assert (f"{stage}:" in said) == verbose
