"""Several rows of a symmetric entropic affinity can have more entropy than they are asked for.

The paper states that at most one can. Two rows with gamma = 0 make P_ij = 0 possible, where its stationarity
condition is an inequality.
"""

import numpy as np
import pytest

from snekhorn.affinities import SymmetricEntropicAffinity, row_perplexities
from tests.affinities import convex
from tests.helpers import squared_distances

PERPLEXITY = 2.25
POINTS = np.array(
    [[0.0, 0.0], [-0.1, 0.0], [-3.0, 0.2], [4.0, -1.5], [-1.9, 1.5], [1.1, 0.3], [-2.8, -0.1], [2.1, -4.0]]
)


@pytest.fixture(scope="module")
def convex_solution():
    return convex.solve(squared_distances(POINTS), log_perplexity=np.log(PERPLEXITY))


def test_two_rows_are_unsaturated_in_the_convex_problem(convex_solution):
    above = row_perplexities(np.maximum(convex_solution, 0.0)) > PERPLEXITY + 0.01
    assert above.sum() == 2
    first, second = np.flatnonzero(above)
    assert convex_solution[first, second] < 1e-6


def test_the_solver_finds_the_same_rows(convex_solution):
    affinity = SymmetricEntropicAffinity(PERPLEXITY).fit(POINTS)
    assert affinity.report_.converged
    assert affinity.report_.n_floor_rows == 2
    # The floor on gamma is a hundredth of the median bandwidth: that close is the solution.
    np.testing.assert_allclose(affinity.affinity_, convex_solution, atol=1e-2)
