"""Combine any P with any Q: the divergence is never negative, and unusual options still give layouts."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning

from snekhorn import SNE, TSNE, SNEkhorn, SymmetricSNE, TSNEkhorn
from snekhorn.affinities import DoublyStochasticAffinity, EntropicAffinity, SymmetricEntropicAffinity
from snekhorn.embedding.objective import make_objective
from snekhorn.runtime.execution import Threads

ESTIMATORS = (TSNEkhorn, SNEkhorn, TSNE, SymmetricSNE, SNE)
FLOWERS = np.unique(load_iris().data, axis=0)


def _fit(estimator, X=FLOWERS):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(X)


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("affinity", [SymmetricEntropicAffinity, EntropicAffinity, DoublyStochasticAffinity])
@pytest.mark.parametrize("self_loops", [True, False])
def test_divergence_is_not_negative(kind, affinity, self_loops):
    model = _fit(kind(affinity=affinity(perplexity=10.0, self_loops=self_loops), max_iter=300))
    assert model.kl_divergence_ > 0.0
    assert np.ptp(model.embedding_) < 300.0


def test_a_diagonal_counts_for_nothing_where_q_has_none():
    P = SymmetricEntropicAffinity(10.0, self_loops=False).fit_transform(FLOWERS)
    loaded = P + np.eye(len(P))
    model = TSNE(affinity="precomputed", max_iter=30, init=FLOWERS[:, :2])
    bare, *others = (_fit(model, Q).embedding_ for Q in (P, loaded, sparse.csr_matrix(loaded)))
    for layout in others:
        np.testing.assert_array_equal(layout, bare)


def test_nothing_but_a_diagonal_is_an_error():
    with pytest.raises(ValueError, match=r"row 0 of the affinity is zero"):
        TSNE(affinity="precomputed").fit(np.eye(10))


@pytest.mark.parametrize("method", ["exact", "fft"])
@pytest.mark.parametrize("perplexity", [3.0, 5.0, 10.0])
def test_no_self_loops_anywhere_with_the_gaussian_kernel(method, perplexity):
    model = _fit(SNEkhorn(perplexity=perplexity, latent_self_loops=False, method=method, max_iter=600))
    assert model.kl_divergence_ < 1.0
    assert model.report_.marginal_gap < 1e-2


def test_rows_of_q_that_miss_the_tolerance_are_said():
    with pytest.warns(ConvergenceWarning) as said:
        TSNEkhorn(max_iter=30, marginal_tol=1e-17).fit(FLOWERS)
    assert any("row sums of Q deviate from 1 by up to" in str(warning.message) for warning in said)


def test_exaggeration_is_part_of_what_the_descent_watches():
    X = load_digits().data[:400]
    model, long = (_fit(TSNEkhorn(exaggeration=4.0, tol=tol), X) for tol in (3e-5, 1e-7))
    assert model.report_.converged
    assert _exaggerated(model) < 1.02 * _exaggerated(long)


def _exaggerated(model):
    objective = make_objective(
        model.affinity_, model.latent, method="exact", self_loops=True, symmetric=True, execution=Threads()
    )
    objective.normalization.charges = np.exp(model.potential_)
    return objective.loss(model.embedding_, 4.0)


def test_a_loss_that_tends_to_zero_ends():
    blocks = np.kron(np.eye(8), np.ones((10, 10)) / 10)
    assert _fit(TSNEkhorn(affinity="precomputed"), blocks).report_.converged


def test_new_points_may_be_sparse_where_the_old_were_dense():
    X = load_digits().data[:200]
    model = _fit(TSNEkhorn(max_iter=60), X)
    np.testing.assert_array_equal(model.transform(sparse.csr_matrix(X[:5])), model.embedding_[:5])
    model = _fit(TSNEkhorn(max_iter=60), sparse.csr_matrix(X))
    np.testing.assert_array_equal(model.transform(X[:5]), model.embedding_[:5])


@pytest.mark.parametrize("n_hubs", [1, 5, 20])
def test_hubs_do_not_fly_apart_under_the_gaussian_kernel(n_hubs):
    n = 200
    P = np.full((n, n), 1e-4)
    P[:, :n_hubs] += 1.0 / n_hubs
    start = 1e-2 * np.random.default_rng(0).normal(size=(n, 2))
    model = _fit(SymmetricSNE(affinity="precomputed", init=start, max_iter=600), (P + P.T) / 2.0)
    assert model.report_.converged
    assert np.ptp(model.embedding_) < 300.0
