"""Changes of the input that do not affect P, and data on which solvers tend to fail."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.exceptions import ConvergenceWarning

from snekhorn.affinities import EntropicAffinity, MultiscaleSymmetricEntropicAffinity, SymmetricEntropicAffinity
from snekhorn.runtime.checks import USUAL_PERPLEXITY
from snekhorn.solvers.solve_report import Reason

from ..helpers import (
    AFFINITIES,
    WITH_PERPLEXITY,
    clusters,
    dense,
    entropies,
    fit_whatever_it_says,
    make,
    row_gap,
    squared_distances,
)

SAME = {"rtol": 0.0, "atol": 1e-7}

each_affinity = pytest.mark.parametrize("kind", AFFINITIES)
each_with_perplexity = pytest.mark.parametrize("kind", WITH_PERPLEXITY)
SOLVED = (SymmetricEntropicAffinity, MultiscaleSymmetricEntropicAffinity)  # that may fail without self-loops
with_and_without_self_loops = pytest.mark.parametrize("self_loops", [True, False])
dense_and_sparse = pytest.mark.parametrize("n_neighbors", [None, 30])


def _assert_solved(affinity, perplexity, tolerance=1e-8):
    """P is symmetric, and rows have unit sum and the target entropy, except those that the report counts."""
    P, report = affinity.affinity_, affinity.report_
    assert report.converged
    np.testing.assert_array_equal(dense(P), dense(P).T)
    assert row_gap(P) < tolerance
    above = entropies(P) - np.log(perplexity)
    assert above.min() > -2 * tolerance
    assert np.sum(above > 2 * tolerance) <= report.n_floor_rows


@each_affinity
@with_and_without_self_loops
@dense_and_sparse
def test_permuting_the_points_permutes_the_matrix(X, kind, self_loops, n_neighbors, rng):
    order = rng.permutation(len(X))
    affinity = make(kind, self_loops=self_loops, n_neighbors=n_neighbors)
    P = dense(affinity.fit_transform(X))
    np.testing.assert_allclose(dense(affinity.fit_transform(X[order])), P[np.ix_(order, order)], **SAME)


@each_affinity
@with_and_without_self_loops
@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_the_unit_of_the_costs_does_not_matter(X, kind, self_loops, scale):
    affinity = make(kind, self_loops=self_loops, metric="precomputed")
    C = squared_distances(X)
    np.testing.assert_allclose(affinity.fit_transform(C * scale), affinity.fit_transform(C), **SAME)


@each_affinity
@dense_and_sparse
@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_the_unit_of_the_points_does_not_matter(X, kind, n_neighbors, scale):
    affinity = make(kind, n_neighbors=n_neighbors)
    np.testing.assert_allclose(dense(affinity.fit_transform(X * scale)), dense(affinity.fit_transform(X)), **SAME)


@each_affinity
@dense_and_sparse
def test_the_origin_does_not_matter(X, kind, n_neighbors):
    affinity = make(kind, n_neighbors=n_neighbors)
    np.testing.assert_allclose(dense(affinity.fit_transform(X + 1000.0)), dense(affinity.fit_transform(X)), **SAME)


@each_affinity
@dense_and_sparse
def test_constant_columns_do_not_matter(X, kind, n_neighbors):
    affinity = make(kind, n_neighbors=n_neighbors)
    wide = np.insert(X, [0, 2], 7.0, axis=1)
    np.testing.assert_allclose(dense(affinity.fit_transform(wide)), dense(affinity.fit_transform(X)), **SAME)


@each_affinity
@with_and_without_self_loops
@dense_and_sparse
def test_float32_in_gives_float32_out(X, kind, self_loops, n_neighbors):
    affinity = make(kind, self_loops=self_loops, n_neighbors=n_neighbors)
    P = affinity.fit_transform(X.astype(np.float32))
    assert P.dtype == np.float32
    assert affinity.fit_transform(X).dtype == np.float64
    np.testing.assert_allclose(dense(P), dense(affinity.affinity_), atol=1e-3)


@with_and_without_self_loops
@pytest.mark.parametrize("perplexity", [5.0, 30.0])
def test_float32_gaps(X, perplexity, self_loops):
    affinity = SymmetricEntropicAffinity(perplexity, self_loops=self_loops).fit(X.astype(np.float32))
    _assert_solved(affinity, perplexity, tolerance=1e-4)


@pytest.mark.parametrize("n", range(3, 11))
@pytest.mark.parametrize("seed", range(5))
def test_few_points(n, seed):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    for perplexity in {1.5, 2.0, n / 2, n - 1.0}:
        _assert_solved(SymmetricEntropicAffinity(perplexity).fit(X), perplexity)


@each_with_perplexity
@with_and_without_self_loops
@pytest.mark.parametrize("n", range(2, 11))
def test_few_points_with_the_usual_perplexity_warn_once_and_work(kind, self_loops, n, rng):
    affinity = make(kind, USUAL_PERPLEXITY, self_loops=self_loops)
    first, *rest = fit_whatever_it_says(affinity, rng.normal(size=(n, 3)))
    assert first is UserWarning
    assert np.isfinite(affinity.affinity_).all()
    if kind in SOLVED and not self_loops and rest:  # below 10, it may report that it failed
        assert rest == [ConvergenceWarning]
        assert not affinity.report_.converged
    else:
        assert rest == []
        assert affinity.report_.converged
        assert row_gap(affinity.affinity_) < 1e-7


@each_with_perplexity
@pytest.mark.parametrize("perplexity", [60, 60.5, 1000])
def test_a_perplexity_not_below_n_is_clamped_to_n_minus_one_with_one_warning(X, kind, perplexity):
    with pytest.warns(UserWarning, match=rf"perplexity={perplexity:g} .* using 59") as said:
        P = make(kind, perplexity).fit_transform(X)
    assert len(said) == 1
    np.testing.assert_allclose(P, make(kind, 59).fit_transform(X), **SAME)


@pytest.mark.parametrize("perplexity", [2.0, 3.0, 10.0, 29.5, 45.0, 57.0, 58.0])
def test_every_perplexity_up_to_n(X, perplexity):
    _assert_solved(SymmetricEntropicAffinity(perplexity).fit(X), perplexity)


@pytest.mark.parametrize("perplexity", [10.0, 29.5, 45.0, 57.0, 58.0])
def test_every_perplexity_up_to_n_without_self_loops(X, perplexity):
    _assert_solved(SymmetricEntropicAffinity(perplexity, self_loops=False).fit(X), perplexity)


@with_and_without_self_loops
@dense_and_sparse
@pytest.mark.parametrize("perplexity", [3.0, 10.0])
def test_every_point_twice(perplexity, self_loops, n_neighbors):
    X = np.repeat(clusters(60), 2, axis=0)
    affinity = SymmetricEntropicAffinity(perplexity, self_loops=self_loops, n_neighbors=n_neighbors).fit(X)
    _assert_solved(affinity, perplexity)


@each_with_perplexity
@with_and_without_self_loops
def test_identical_points_share_their_mass_evenly(kind, self_loops):
    P = make(kind, 5.0, self_loops=self_loops).fit_transform(np.full((20, 3), 0.1))
    want = (np.ones((20, 20)) - (1 - self_loops) * np.eye(20)) / (20 - (1 - self_loops))
    np.testing.assert_allclose(P, want, rtol=1e-7)


@pytest.mark.parametrize(
    ("X", "perplexity", "self_loops"),
    [
        (np.ones((50, 3)), 5.0, True),
        (np.repeat([[0.0, 0.0], [1.0, 0.0]], 15, axis=0), 2.0, True),
        (np.eye(30), 1.5, False),
    ],
    ids=["one place", "two places", "simplex"],
)
def test_the_solver_converges_if_all_rows_reach_their_smallest_bandwidths(X, perplexity, self_loops):
    affinity = SymmetricEntropicAffinity(perplexity, self_loops=self_loops).fit(X)
    assert affinity.report_.converged
    assert affinity.report_.floor_rows.size == len(X)


def test_identical_points_on_a_neighbour_graph():
    _assert_solved(SymmetricEntropicAffinity(5.0, n_neighbors=20).fit(np.zeros((60, 2))), 5.0)


def test_identical_points_on_a_neighbour_graph_without_self_loops_end_and_say_how():
    """All points have the same few neighbours, whose mass is not enough for all."""
    affinity = SymmetricEntropicAffinity(5.0, n_neighbors=20, self_loops=False)
    said = fit_whatever_it_says(affinity, np.zeros((60, 2)))
    assert np.isfinite(dense(affinity.affinity_)).all()
    assert bool(said) == bool(affinity.report_.unsolved_rows.size) != affinity.report_.converged


@each_affinity
@dense_and_sparse
@pytest.mark.parametrize("distance", [1e3, 1e6])
def test_an_outlier_leaves_the_others_right(X, kind, n_neighbors, distance):
    far = np.concatenate([X, [[distance, 0.0, 0.0]]])
    affinity = make(kind, n_neighbors=n_neighbors).fit(far)
    assert np.isfinite(dense(affinity.affinity_)).all()
    if kind is SymmetricEntropicAffinity:
        _assert_solved(affinity, 10.0)


@pytest.mark.parametrize("distance", [1e3, 1e6])
def test_an_outlier_without_self_loops(X, distance):
    far = np.concatenate([X, [[distance, 0.0, 0.0]]])
    _assert_solved(SymmetricEntropicAffinity(10.0, self_loops=False).fit(far), 10.0)


@with_and_without_self_loops
@pytest.mark.parametrize("perplexity", [10.0, 50.0])
def test_unit_norm_rows(many, perplexity, self_loops):
    X = many / np.linalg.norm(many, axis=1, keepdims=True)
    _assert_solved(SymmetricEntropicAffinity(perplexity, self_loops=self_loops).fit(X), perplexity)


@pytest.mark.parametrize("draw", ["normal", "standard_t"])
def test_hubs(draw):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 200)) if draw == "normal" else rng.standard_t(3, size=(3000, 200))
    affinity = SymmetricEntropicAffinity(15.0, n_neighbors=45).fit(X)
    _assert_solved(affinity, 15.0)
    assert affinity.report_.n_passes <= 100
    assert affinity.report_.unreachable_rows.size == 0


# Values that differ by up to nine orders of magnitude, ties and zeros included.
points = hnp.arrays(
    np.float64,
    st.tuples(st.integers(3, 20), st.integers(1, 3)),
    elements=st.one_of(st.integers(-3, 3).map(float), st.floats(-1e3, 1e3).map(lambda v: float(np.round(v, 6)))),
)


def _perplexity(share, n_entries):
    """Return a perplexity at a fraction of the way from 1.1 to the largest one that is not clamped."""
    return 1.1 + share * (max(n_entries - 1.0, (n_entries + 1.0) / 2.0) - 1.1) * (1.0 - 1e-12)


@given(points, st.floats(0.0, 1.0))
def test_any_points_any_perplexity(X, share):
    perplexity = _perplexity(share, len(X))
    affinity = SymmetricEntropicAffinity(perplexity)
    fit_whatever_it_says(affinity, X)
    if affinity.report_.reason.startswith(Reason.ROUNDING.value):  # costs that differ by ten digits and more leave few
        assert max(affinity.report_.marginal_gap, affinity.report_.entropy_gap) < 1e-7
    else:
        _assert_solved(affinity, perplexity)


@pytest.mark.parametrize(
    "x",
    [
        [0.0, 0.0, 0.0, -1.0, -1.0, 8.0, 8.0],
        [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 29.0, 29.0],
        [0.0, 0.0, 0.0, 1.0, -1.0, -1.0, -1.0, 790.5, 1.0, 790.5],
    ],
)
def test_duplicates_with_more_entropy_than_asked_for(x):
    _assert_solved(SymmetricEntropicAffinity(1.1).fit(np.array(x)[:, None]), 1.1)


@settings(max_examples=15)
@given(points, st.floats(0.0, 1.0))
def test_any_points_any_perplexity_without_self_loops_end_and_say_how(X, share):
    perplexity = _perplexity(share, len(X) - 1)
    affinity = SymmetricEntropicAffinity(perplexity, self_loops=False)
    said = fit_whatever_it_says(affinity, X)
    assert np.isfinite(affinity.affinity_).all()
    assert bool(said) == bool(affinity.report_.unsolved_rows.size) != affinity.report_.converged


@given(points, st.floats(0.0, 1.0), st.booleans())
def test_any_points_have_an_entropic_affinity(X, share, self_loops):
    perplexity = _perplexity(share, len(X) - 1 + self_loops)
    affinity = EntropicAffinity(perplexity, self_loops=self_loops).fit(X)
    assert row_gap(affinity.affinity_) < 1e-9
    above = entropies(affinity.affinity_) - np.log(perplexity)
    assert above.min() > -1e-8
    assert np.sum(above > 1e-7) <= affinity.report_.n_floor_rows
