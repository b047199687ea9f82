import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from snekhorn.affinities import SymmetricEntropicAffinity, row_entropies, row_perplexities, symmetric_solver
from snekhorn.solvers.concave_problems import Outcome
from snekhorn.solvers.solve_report import Reason


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_uniform_row_has_as_many_neighbours_as_entries(form, dtype):
    P = np.zeros((300, 400))
    for i in range(300):
        P[i, : i + 1] = 1.0 / (i + 1)
    P = form(P.astype(dtype))
    np.testing.assert_allclose(row_perplexities(P), np.arange(1, 301), rtol=1e-12 if dtype == np.float64 else 1e-5)
    np.testing.assert_allclose(
        row_entropies(P), np.log(np.arange(1, 301)) + 1, rtol=1e-12 if dtype == np.float64 else 1e-5
    )


def test_the_matrix_is_not_changed():
    P = sparse.random(20, 20, 0.5, random_state=0, format="csr")
    before = P.copy()
    row_entropies(P)
    np.testing.assert_array_equal(P.toarray(), before.toarray())


@pytest.mark.parametrize("self_loops", [True, False])
@pytest.mark.parametrize(("n_neighbors", "k_advice"), [(None, False), (20, True), (59, False), (10**6, False)])
def test_a_warning_advises_only_what_can_help(X, monkeypatch, self_loops, n_neighbors, k_advice):
    def stall(problem, start, **options):
        point, passes = start()
        return Outcome(point, Reason.STALLED, 1, passes, [])

    monkeypatch.setattr(symmetric_solver, "maximize", stall)
    affinity = SymmetricEntropicAffinity(5.0, self_loops=self_loops, n_neighbors=n_neighbors)
    with pytest.warns(ConvergenceWarning) as said:
        affinity.fit(X)
    text = str(said[0].message)
    assert "lower perplexity" in text
    assert ("self_loops" in text) == (not self_loops)
    assert ("n_neighbors" in text) == k_advice


def test_automatic_neighbours_that_are_all_points():
    affinity = SymmetricEntropicAffinity(25.0, n_neighbors="auto").fit(np.random.default_rng(0).normal(size=(30, 3)))
    assert affinity.effective_parameters()["n_neighbors"] is None
