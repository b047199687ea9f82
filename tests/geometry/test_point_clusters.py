"""Clusters of points: a partition whose parts are not too large, and the search in them."""

import numpy as np
import pytest

from snekhorn.geometry.column_statistics import ROWS_PER_BLOCK
from snekhorn.geometry.point_clusters import (
    ASSIGNED_AT_ONCE,
    CLUSTER_SIZE,
    LARGEST,
    REGIONS_PROBED,
    Centres,
    PointClusters,
    rows_for_centres,
)
from snekhorn.geometry.point_search import RECALL_GOAL, PointSearch
from snekhorn.kernels.candidate_ranking import keep_nearest
from snekhorn.runtime.execution import Threads

from ..helpers import clusters, squared_distances


def _float32(X):
    return np.ascontiguousarray(X, dtype=np.float32)


@pytest.mark.parametrize("n", [1, 2, 30, 500, 3000])
def test_every_point_belongs_to_one_cluster(n):
    found = PointClusters.of(_float32(clusters(n)), Threads(2))
    np.testing.assert_array_equal(np.sort(np.concatenate(found.members)), np.arange(n))
    for cluster, members in enumerate(found.members):
        assert (found.labels[members] == cluster).all()
        assert (np.diff(members) > 0).all()


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_many_equal_points_fall_into_several_clusters(share):
    """One cluster of them all would take time quadratic in their number."""
    X = _float32(np.random.default_rng(0).normal(size=(4000, 5)))
    X[: int(share * 4000)] = 0.0
    sizes = [members.size for members in PointClusters.of(X, Threads()).members]
    assert max(sizes) <= LARGEST * CLUSTER_SIZE


def test_points_of_a_cluster_are_near_its_centre():
    X = _float32(clusters(2000, p=6))
    found = PointClusters.of(X, Threads())
    centres = found.centres.positions
    nearest = np.argmin(squared_distances(np.concatenate([X, centres]).astype(float))[:2000, 2000:], axis=1)
    assert np.mean(nearest == found.labels) > 0.999  # others are nearly as near


def test_most_points_belong_to_the_nearest_of_all_centres():
    """A point is compared with the centres of some regions only."""
    X = _float32(np.random.default_rng(0).normal(size=(40_000, 4)))
    centres = Centres.find(X[rows_for_centres(len(X))], len(X), Threads(2))
    assert len(centres.regions) > REGIONS_PROBED
    found, some = centres.nearest(X, Threads(2)), slice(0, 1000)
    C = ((X[some, None].astype(float) - centres.positions[None]) ** 2).sum(axis=-1)
    assert np.mean(found[some] == np.argmin(C, axis=1)) > 0.98


def test_centres_around_a_centre_are_the_nearest_ones():
    X = _float32(np.random.default_rng(0).normal(size=(20_000, 3)))
    centres = PointClusters.of(X, Threads()).centres
    C = squared_distances(centres.positions.astype(float))
    for centre in range(0, len(C), 10):
        np.testing.assert_array_equal(np.sort(centres.around(centre, 9)), np.sort(np.argsort(C[centre])[:9]))


def test_heavy_tails_do_not_put_most_centres_into_one_region():
    """k-means gives most of these points to one centre; comparing them with all others would take quadratic time."""
    rng = np.random.default_rng(0)
    X = _float32(rng.normal(size=(40_000, 100)) * rng.lognormal(size=(40_000, 1)))
    centres = Centres.find(X[rows_for_centres(len(X))], len(X), Threads())
    assert np.bincount(centres.region).max() < 0.5 * len(centres.positions)


def test_centres_around_a_centre_are_as_many_as_wanted(monkeypatch):
    monkeypatch.setattr("snekhorn.geometry.point_clusters.REGIONS_AROUND", 2)
    X = _float32(np.random.default_rng(0).normal(size=(20_000, 3)))
    centres = PointClusters.of(X, Threads()).centres
    assert {centres.around(centre, 100).size for centre in range(len(centres.positions))} == {100}


def test_pieces_of_points_end_where_blocks_of_points_do():
    """On a cluster, points are assigned to centres in the same blocks as on one machine."""
    assert ROWS_PER_BLOCK % ASSIGNED_AT_ONCE == 0


@pytest.mark.parametrize("p", [2, 10, 40])
def test_the_search_in_clusters_reaches_its_goal(p):
    X = np.random.default_rng(p).normal(size=(3000, p))
    indices, squared = PointSearch(X, "sqeuclidean").in_clusters(None, 15, float, Threads(2))
    C = squared_distances(X)
    np.testing.assert_allclose(squared, np.take_along_axis(C, indices, axis=1), rtol=1e-9)
    np.fill_diagonal(C, np.inf)
    true = np.sort(C, axis=1)[:, 14:15]
    assert np.mean(squared <= true * (1 + 1e-9)) > RECALL_GOAL - 0.02
    assert (indices != np.arange(3000)[:, None]).all()


def test_the_nearest_are_kept_whatever_the_order():
    rng = np.random.default_rng(0)
    products, norms = rng.normal(size=(20, 60)).astype(np.float32), np.zeros(60, dtype=np.float32)
    near, distances = np.full((40, 7), -1), np.full((40, 7), np.inf, dtype=np.float32)
    asking = rng.permutation(40)[:20]
    for part in np.split(rng.permutation(60), 6):
        keep_nearest(np.ascontiguousarray(products[:, part]), norms[part], part, asking, near, distances)
    want = np.argsort(-products, axis=1)[:, :7]
    np.testing.assert_array_equal(np.sort(near[asking], axis=1), np.sort(want, axis=1))
    others = np.setdiff1d(np.arange(40), asking)
    assert (near[others] == -1).all()
