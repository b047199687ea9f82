import numpy as np
import pytest

from snekhorn.kernels.neighbor_ranks import _excess_ranks, _nearest, _rank, _silhouette, _vote


@pytest.fixture(params=["distinct", "ties", "equal"])
def d(request, rng):
    values = {"distinct": rng.random(300), "ties": rng.integers(0, 20, 300) / 2.0, "equal": np.ones(300)}[request.param]
    values[17] = np.inf
    return values


@pytest.mark.parametrize("k", [1, 2, 15, 150, 299])
def test_nearest_are_the_first_of_a_stable_sort(d, k):
    np.testing.assert_array_equal(_nearest(d, k), np.argsort(d, kind="stable")[:k])


def test_ranks_are_places_in_a_stable_sort(d):
    order = np.argsort(d, kind="stable")
    assert [_rank(d, j) for j in order] == list(range(1, 301))


def test_excess_ranks_are_nothing_for_the_nearest_and_most_for_the_farthest(d):
    order = np.argsort(d, kind="stable")
    assert _excess_ranks(d, order[:5]) == 0
    assert _excess_ranks(d, order[-5:]) == sum(range(296 - 5, 301 - 5))


@pytest.mark.parametrize(
    ("labels", "winner"), [([2], 2), ([0, 1, 1], 1), ([2, 0, 0, 2], 2), ([1, 0, 2, 2, 0], 0), ([0, 1, 2], 0)]
)
def test_a_tied_vote_goes_to_the_nearest(labels, winner):
    assert _vote(np.array(labels), 3) == winner


def test_silhouette_of_classes_of_one_and_of_coinciding_classes_is_zero():
    assert _silhouette(np.array([0.0, 3.0]), np.array([1, 3]), 0) == 0.0
    assert _silhouette(np.array([0.0, 0.0]), np.array([2, 3]), 0) == 0.0
    assert _silhouette(np.array([1.0, 12.0]), np.array([2, 3]), 0) == 0.75
