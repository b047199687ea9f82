import numpy as np
import pytest

from snekhorn.affinities import SymmetricEntropicAffinity

from ..helpers import entropies, fit_whatever_it_says, needs_data, real_data, row_gap

pytestmark = needs_data

each_set = pytest.mark.parametrize("name", ["snareseq_chromatin", "coil20"])
each_perplexity = pytest.mark.parametrize("perplexity", [5.0, 30.0, 100.0])


def _check(affinity, perplexity, most_passes):
    report = affinity.report_
    assert report.converged
    assert report.n_passes <= most_passes
    assert row_gap(affinity.affinity_) < 1e-8
    np.testing.assert_array_equal(affinity.affinity_, affinity.affinity_.T)
    above = entropies(affinity.affinity_) - np.log(perplexity)
    assert above.min() > -2e-8
    assert np.sum(above > 2e-8) <= report.n_floor_rows


@each_set
@each_perplexity
@pytest.mark.parametrize("unit_rows", [False, True])
def test_converges_in_100_passes(name, perplexity, unit_rows):
    X = real_data(name)
    if unit_rows:
        X = X / np.linalg.norm(X, axis=1, keepdims=True)
    affinity = SymmetricEntropicAffinity(perplexity).fit(X)
    _check(affinity, perplexity, 100)
    assert affinity.report_.n_floor_rows == 0  # with self-loops, the floor is too low to be met


@each_set
@pytest.mark.parametrize("perplexity", [30.0, 100.0])
def test_converges_in_200_passes_without_self_loops(name, perplexity):
    _check(SymmetricEntropicAffinity(perplexity, self_loops=False).fit(real_data(name)), perplexity, 200)


@each_set
def test_low_perplexities_without_self_loops_converge_or_say_so(name):
    affinity = SymmetricEntropicAffinity(5.0, self_loops=False)
    said = fit_whatever_it_says(affinity, real_data(name))
    assert np.isfinite(affinity.affinity_).all()
    assert bool(said) == bool(affinity.report_.unsolved_rows.size) != affinity.report_.converged


@each_set
def test_float32(name):
    affinity = SymmetricEntropicAffinity(30.0).fit(real_data(name).astype(np.float32))
    assert affinity.affinity_.dtype == np.float32
    assert row_gap(affinity.affinity_) < 1e-4
    np.testing.assert_allclose(entropies(affinity.affinity_), np.log(30.0), atol=1e-4)


@each_set
def test_a_neighbour_graph_converges_in_100_passes(name):
    affinity = SymmetricEntropicAffinity(30.0, n_neighbors="auto").fit(real_data(name))
    assert affinity.report_.converged
    assert affinity.report_.n_passes <= 100
