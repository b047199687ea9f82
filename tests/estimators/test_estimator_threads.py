"""Same data, same bits: fitted twice, on any number of threads, in any process."""

import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from snekhorn import TSNE, TSNEkhorn, metrics, sweep
from snekhorn.geometry.preprocessing import Preprocessing
from snekhorn.runtime.execution import Threads, choose_execution

from .cases import each_estimator, each_method, quick, stops_early

pytestmark = stops_early

SCRIPT = """
import hashlib, warnings
import numpy as np
from sklearn.pipeline import make_pipeline
from snekhorn import TSNEkhorn, metrics
from snekhorn.geometry.preprocessing import Preprocessing
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
few, counts, wide = rng.normal(size=(400, 5)), rng.poisson(1.0, (4000, 30)), rng.normal(size=(300, 2500))
quick = {"perplexity": 8.0, "max_iter": 30}
for model, X in (
    (TSNEkhorn(method="exact", init="random", random_state=3, **quick), few),
    (TSNEkhorn(method="fft", init="random", random_state=3, **quick), few),
    (TSNEkhorn(init="spectral", **quick), counts),
    (TSNEkhorn(metric="mahalanobis", **quick), counts),
    (make_pipeline(Preprocessing(n_components=20), TSNEkhorn(**quick)), counts),
    (make_pipeline(Preprocessing(n_components=20), TSNEkhorn(**quick)), wide),
    (TSNEkhorn(**quick), wide),
):
    Z = model.fit_transform(X)
    print(hashlib.sha256(Z.tobytes() + model.transform(X[:50] + 0.1).tobytes()).hexdigest())
    scores = metrics.evaluate(X, Z, np.arange(len(X)) % 3, sample=200)
    print(hashlib.sha256(repr(sorted(scores.items())).encode()).hexdigest())
"""


@each_estimator
@each_method
def test_fitted_twice(X, kind, method):
    estimator = quick(kind, method=method, init="random", random_state=0)
    want = estimator.fit_transform(X).copy()
    np.testing.assert_array_equal(estimator.fit_transform(X), want)


@each_estimator
@each_method
@pytest.mark.parametrize("n_neighbors", [None, 40])
def test_any_number_of_threads(many, kind, method, n_neighbors):
    new = many[:300] + 0.1
    one = quick(kind, method=method, n_neighbors=n_neighbors, max_iter=15, n_jobs=1).fit(many)
    for n_jobs in (2, 4):
        other = quick(kind, method=method, n_neighbors=n_neighbors, max_iter=15, n_jobs=n_jobs).fit(many)
        np.testing.assert_array_equal(other.embedding_, one.embedding_)
        np.testing.assert_array_equal(other.transform(new), one.transform(new))
        assert other.kl_divergence_ == one.kl_divergence_


@each_estimator
@each_method
def test_any_number_of_threads_after_reordering(many, kind, method, monkeypatch):
    monkeypatch.setattr("snekhorn.embedding.descent.REORDER_FROM", 100)
    found = [
        quick(kind, method=method, n_neighbors=40, max_iter=15, n_jobs=n_jobs).fit_transform(many) for n_jobs in (1, 4)
    ]
    np.testing.assert_array_equal(*found)


@each_estimator
def test_reordering_changes_nothing_but_rounding(many, kind, monkeypatch):
    seen = []
    estimator = quick(
        kind,
        method="exact",
        n_neighbors=40,
        max_iter=60,
        learning_rate=0.1,
        callbacks=lambda i, loss, Z: seen.append(Z.copy()),
    )
    want = estimator.fit_transform(many)
    monkeypatch.setattr("snekhorn.embedding.descent.REORDER_FROM", 100)
    np.testing.assert_allclose(estimator.fit_transform(many), want, atol=1e-6)
    np.testing.assert_allclose(seen[1], seen[0], atol=1e-6)


def test_reordering_a_point_that_nothing_reaches(monkeypatch):
    monkeypatch.setattr("snekhorn.embedding.descent.REORDER_FROM", 10)
    P = np.ones((20, 20))
    P[-1] = P[:, -1] = 1e-12
    assert np.isfinite(quick(TSNEkhorn, affinity="precomputed").fit_transform(P)).all()


@pytest.mark.slow
def test_processes_in_which_libraries_have_other_threads():
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
    said = []
    for n_threads in ("1", "2", "5"):
        threads = dict.fromkeys(names, n_threads)
        code = [sys.executable, "-c", SCRIPT]
        done = subprocess.run(code, capture_output=True, text=True, check=True, env={**os.environ, **threads})
        said.append(done.stdout.split())
    assert len(said[0]) == 14
    assert said[0] == said[1] == said[2]


POINTS = np.random.default_rng(0).normal(size=(60, 5))
SCALED = {"metric": "mahalanobis", "n_neighbors": 20}
USES_OF_THREADS = {
    "layout": lambda n: quick(TSNEkhorn, n_jobs=n).fit(POINTS).transform(POINTS[:9] + 0.1),
    "other metric": lambda n: quick(TSNE, n_jobs=n, **SCALED).fit(POINTS).transform(POINTS[:9] + 0.1),
    "preprocessing": lambda n: Preprocessing(n_components=3, n_jobs=n).fit(POINTS).transform(POINTS),
    "sweep": lambda n: list(sweep(quick(TSNEkhorn, n_jobs=n, **SCALED), POINTS, [5.0])),
    "scores": lambda n: metrics.evaluate(POINTS, POINTS[:, :2], metric="mahalanobis", n_jobs=n),
}


@pytest.mark.parametrize("use", USES_OF_THREADS)
def test_no_more_threads_than_requested(use, monkeypatch):
    used = set()
    run = Threads.run

    def noted(self, *arguments):
        used.add(self.n_threads)
        run(self, *arguments)

    monkeypatch.setattr(Threads, "run", noted)
    n_jobs = 2 * choose_execution(None).n_threads + 1  # unlike the default
    USES_OF_THREADS[use](n_jobs)
    assert used == {n_jobs}


@pytest.mark.parametrize("n_neighbors", [None, 24])
@pytest.mark.parametrize("data", ["counts", "binary", "float32"])
def test_any_number_of_threads_where_distances_tie(data, n_neighbors):
    rng = np.random.default_rng(0)
    X = {
        "counts": rng.poisson(1.0, (1200, 30)),
        "binary": rng.integers(0, 2, (1200, 15)),
        "float32": np.round(rng.normal(size=(1200, 10)), 1).astype(np.float32),
    }[data]
    one, *others = (
        quick(TSNEkhorn, n_neighbors=n_neighbors, max_iter=15, n_jobs=n_jobs).fit(X) for n_jobs in (1, 2, 3, 7)
    )
    for other in others:
        np.testing.assert_array_equal(other.embedding_, one.embedding_)
        np.testing.assert_array_equal(other.transform(X[::-1]), one.transform(X[::-1]))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("metric", ["correlation", "manhattan", "mahalanobis", "cosine"])
def test_any_number_of_threads_under_other_metrics(many, metric, dtype):
    X = (many + 5.0).astype(dtype)
    new = (many[:300] + 5.1).astype(dtype)
    one, *others = (quick(TSNEkhorn, metric=metric, max_iter=15, n_jobs=n_jobs).fit(X) for n_jobs in (1, 2, 3))
    for other in others:
        np.testing.assert_array_equal(other.affinity_, one.affinity_)
        np.testing.assert_array_equal(other.transform(new), one.transform(new))


def test_training_rows_after_principal_components():
    """Alone or in any batch, their components have the same bits, so they are recognised."""
    X = np.random.default_rng(0).normal(size=(300, 200))
    line = make_pipeline(Preprocessing(n_components=20), quick(TSNEkhorn, max_iter=15))
    Z = line.fit_transform(X)
    for rows in (slice(0, 1), slice(7, 30), slice(100, 300)):
        np.testing.assert_array_equal(line.transform(X[rows]), Z[rows])


def test_order_of_the_points_changes_little(many):
    order = np.random.default_rng(0).permutation(len(many))
    estimator = TSNEkhorn(perplexity=8.0, max_iter=15, method="exact")  # later, rounding has grown
    np.testing.assert_allclose(estimator.fit_transform(many[order]), estimator.fit_transform(many)[order], atol=1e-6)
