"""Same data, same bits: fitted twice, on any number of threads, in any process."""

import subprocess
import sys

import numpy as np
import pytest

from snekhorn import TSNEkhorn

from .cases import each_estimator, each_method, quick, stops_early

pytestmark = stops_early

SCRIPT = """
import hashlib, warnings
import numpy as np
from snekhorn import TSNEkhorn
warnings.simplefilter("ignore")
X = np.random.default_rng(0).normal(size=(400, 5))
for method in ("exact", "fft"):
    estimator = TSNEkhorn(perplexity=8.0, max_iter=60, method=method, init="random", random_state=3)
    Z = estimator.fit_transform(X)
    print(hashlib.sha256(Z.tobytes() + estimator.transform(X[:50] + 0.1).tobytes()).hexdigest())
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
def test_two_processes():
    code = [sys.executable, "-c", SCRIPT]
    said = [subprocess.run(code, capture_output=True, text=True, check=True).stdout for _ in range(2)]
    assert len(said[0].split()) == 2
    assert said[0] == said[1]


def test_order_of_the_points_changes_little(many):
    order = np.random.default_rng(0).permutation(len(many))
    estimator = TSNEkhorn(perplexity=8.0, max_iter=15, method="exact")  # later, rounding has grown
    np.testing.assert_allclose(estimator.fit_transform(many[order]), estimator.fit_transform(many)[order], atol=1e-6)
