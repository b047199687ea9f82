import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits

from snekhorn import SNE, TSNE, SNEkhorn, SymmetricSNE, TSNEkhorn
from snekhorn.affinities import EntropicAffinity, SymmetricEntropicAffinity
from snekhorn.affinities.balance import EQUAL, LOWEST, UNEQUAL, choose_balance, gini
from snekhorn.datasets import make_heteroscedastic_multinomial
from snekhorn.metrics import silhouette

from ..helpers import clusters, dense, refused, row_gap

X = clusters(120)


def _fit(balance, points=X, perplexity=10.0, **parameters):
    return SymmetricEntropicAffinity(perplexity, balance=balance, **parameters).fit(points)


@pytest.mark.parametrize("balance", [0.25, 0.9])
@pytest.mark.parametrize("self_loops", [True, False])
@pytest.mark.parametrize("n_neighbors", [None, 15])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_is_the_weighted_mean_of_the_two_affinities(balance, self_loops, n_neighbors, dtype):
    parameters = {"self_loops": self_loops, "n_neighbors": n_neighbors, "points": X.astype(dtype)}
    both = [dense(_fit(b, **parameters).affinity_) for b in (1.0, 0.0)]
    stored = _fit(balance, **parameters).affinity_
    P = dense(stored)
    want = balance * both[0] + (1.0 - balance) * both[1]
    np.testing.assert_allclose(P, want, rtol=10 * np.finfo(dtype).eps, atol=np.finfo(dtype).eps)
    np.testing.assert_array_equal(P, P.T)
    assert stored.dtype == dtype


@pytest.mark.parametrize("self_loops", [True, False])
def test_zero_is_the_symmetrised_entropic_affinity(self_loops):
    affinity = _fit(0.0, self_loops=self_loops)
    entropic = EntropicAffinity(10.0, symmetrize=True, self_loops=self_loops).fit(X)
    np.testing.assert_array_equal(affinity.affinity_, entropic.affinity_)
    np.testing.assert_array_equal(affinity.entropy_dual_, entropic.entropy_dual_)
    np.testing.assert_array_equal(affinity.marginal_dual_, entropic.marginal_dual_)
    assert affinity.report_.n_passes == 1
    assert affinity.report_.converged


def test_the_report_describes_the_symmetric_part():
    mixed, symmetric = _fit(0.3), _fit(1.0)
    assert row_gap(mixed.affinity_) > 0.1
    assert mixed.report_.balance == 0.3
    assert "balance 0.3" in str(mixed.report_)
    assert "balance" not in str(symmetric.report_)
    for field in ("converged", "marginal_gap", "entropy_gap", "n_passes", "reason"):
        assert getattr(mixed.report_, field) == getattr(symmetric.report_, field)
    assert mixed.report_.inequality is symmetric.report_.inequality is None
    np.testing.assert_array_equal(mixed.entropy_dual_, symmetric.entropy_dual_)


def test_rows_too_short_for_the_perplexity_are_reported_without_the_solver():
    lists = [[1], [0, 2], [1, 3, 4, 5], [2, 4, 5], [2, 3, 5], [2, 3, 4]]
    graph = np.full((6, 6), np.inf)
    for i, near in enumerate(lists):
        graph[i, near] = 1.0 + np.arange(len(near))
    graph = np.minimum(graph, graph.T)
    found = np.nonzero(np.isfinite(graph))
    given = sparse.csr_matrix((graph[found], found), shape=(6, 6))
    with pytest.warns(UserWarning, match="cannot reach perplexity"):
        affinity = _fit(0.0, given, 2.5, metric="precomputed", self_loops=False)
    np.testing.assert_array_equal(affinity.report_.unreachable_rows, [0, 1])


@pytest.mark.parametrize("self_loops", [True, False])
@pytest.mark.parametrize("n_neighbors", [None, 15])
def test_the_inequality_is_that_of_the_column_sums_of_the_entropic_affinity(self_loops, n_neighbors):
    affinity = _fit("auto", n_neighbors=n_neighbors, self_loops=self_loops)
    given = X
    parameters = {}
    if n_neighbors is not None:  # on the same edges, which are symmetric
        P, C = affinity.affinity_, ((X[:, None] - X) ** 2).sum(axis=2)
        given = P.copy()
        given.setdiag(0.0)
        given.eliminate_zeros()
        row, column = given.nonzero()
        given.data = C[row, column]
        parameters = {"metric": "precomputed"}
    E = dense(EntropicAffinity(10.0, self_loops=self_loops, **parameters).fit_transform(given))
    sums = E.sum(axis=0)
    want = np.abs(sums[:, None] - sums).mean() / (2.0 * sums.mean())
    assert affinity.report_.inequality == pytest.approx(want, rel=1e-10)
    assert affinity.report_.balance == choose_balance(affinity.report_.inequality)


def test_gini():
    assert gini(np.ones(10)) == 0.0
    assert gini(np.full(5, 0.1)) == 0.0  # not below, by rounding
    assert gini(np.array([0.0, 0.0, 0.0, 4.0])) == pytest.approx(0.75)


def test_the_rule_rises_smoothly_from_the_lowest_balance_to_one():
    inequality = np.linspace(0.0, 1.0, 1001)
    found = np.array([choose_balance(value) for value in inequality])
    assert (found[inequality <= EQUAL] == LOWEST).all()
    assert (found[inequality >= UNEQUAL] == 1.0).all()
    assert (np.diff(found) >= 0.0).all()
    assert np.diff(found).max() < 0.01


def test_unequal_noise_is_recognised_and_the_layout_is_robust_to_it():
    points, y, batch = make_heteroscedastic_multinomial(200)
    model = SNEkhorn().fit(points)
    assert model.affinity_report_.inequality > UNEQUAL
    assert model.affinity_report_.balance == 1.0
    np.testing.assert_array_equal(model.affinity_, _fit(1.0, points, 30.0, self_loops=False).affinity_)
    Z = model.embedding_
    assert silhouette(Z, y) > 0.7
    assert abs(silhouette(Z[y == 1], batch[y == 1])) < 0.05


def test_estimators_pass_the_balance_on():
    points = load_digits().data[:150]
    models = [TSNEkhorn(balance=b).fit(points) for b in ("auto", 0.5, 1.0)]
    found = [model.affinity_report_.balance for model in models]
    assert found == [0.5, 0.5, 1.0]
    assert models[0].affinity_report_.inequality < EQUAL
    np.testing.assert_array_equal(models[0].embedding_, models[1].embedding_)
    assert not np.array_equal(models[0].embedding_, models[2].embedding_)


def test_without_a_diagonal_of_q_auto_is_one():
    model = TSNEkhorn(latent_self_loops=False).default_affinity(100)
    assert model.balance == 1.0
    refused(TSNEkhorn(latent_self_loops=False, balance=0.5), X, "balance=0.5 needs latent_self_loops=True")


@pytest.mark.parametrize("method", [TSNE, SymmetricSNE, SNE])
def test_methods_without_a_balance_refuse_one(method):
    refused(method(balance=1), X, f"{method.__name__} has no balance", "TSNEkhorn")


@pytest.mark.parametrize("balance", [-0.1, 1.5, np.nan, "half", None, True, [0.5]])
def test_other_values_are_refused(balance):
    parts = ("balance must be a number from 0 to 1, or 'auto'", repr(balance))
    refused(SymmetricEntropicAffinity(balance=balance), X, *parts)
    refused(TSNEkhorn(balance=balance), X, *parts)
