"""Scores of layouts agree with direct formulas."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from benchmarks.layout_measures import (
    MEASURES,
    RECALL_SIZES,
    all_scores,
    centroid_triplets,
    class_scores,
    distance_ranks,
    random_triplets,
)

from ..helpers import clusters


def _distances(A):
    return np.linalg.norm(A[:, None] - A[None], axis=2)


def test_a_perfect_layout_has_perfect_scores():
    Z = clusters(150, p=2)
    y = np.arange(150) % 3
    found = all_scores(Z, y, Z, 1)
    assert set(found) == set(MEASURES)
    perfect = [*(f"recall_{k}" for k in RECALL_SIZES), "trustworthiness", "continuity"]
    for score in (*perfect, "random_triplets", "centroid_triplets", "distance_ranks"):
        assert found[score] == pytest.approx(1.0), score


def test_scores_that_few_points_do_not_define_are_left_out():
    Z = clusters(60, p=2)
    found = all_scores(Z, np.arange(60) % 2, Z, 1)
    assert found["recall_50"] is None  # every layout keeps most of 50 neighbours among 60 points
    assert found["centroid_triplets"] is None


def test_random_triplets_estimate_the_share_of_all_triplets():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(300, 4)), rng.normal(size=(300, 2))
    Z[:, 0] += X[:, 0]
    dx, dz = _distances(X), _distances(Z)
    i, j, k = rng.integers(0, 300, size=(3, 200_000))
    valid = (i != j) & (i != k) & (j != k)
    same = (dx[i, j] < dx[i, k]) == (dz[i, j] < dz[i, k])
    found = np.mean([random_triplets(X, Z, seed) for seed in range(20)])
    assert found == pytest.approx(same[valid].mean(), abs=0.01)
    assert random_triplets(X, X) == 1.0


def test_centroid_triplets_compare_centres():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [5.0, 0.0]]).repeat(4, axis=0)
    y = np.arange(3).repeat(4)
    assert centroid_triplets(X, y, X) == 1.0
    Z = np.array([[0.0], [5.0], [1.0]]).repeat(4, axis=0)  # for the first and the last class, the others swap
    assert centroid_triplets(X, y, Z) == 0.0


def test_distance_ranks_estimate_spearman():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 5))
    Z = X[:, :2] + 0.3 * rng.normal(size=(200, 2))
    above = np.triu_indices(200, 1)
    expected = spearmanr(_distances(X)[above], _distances(Z)[above]).statistic
    assert distance_ranks(X, Z) == pytest.approx(expected, abs=0.02)


def test_classes_are_found_if_they_are_apart():
    rng = np.random.default_rng(2)
    y = np.arange(90) % 3
    Z = rng.normal(size=(90, 2)) + 20.0 * np.eye(3)[y][:, :2]
    assert class_scores(y, Z) == {"kmeans_ari": pytest.approx(1.0), "linear_accuracy": pytest.approx(1.0)}
    mixed = class_scores(y, rng.normal(size=(90, 2)))
    assert mixed["kmeans_ari"] < 0.1
    assert mixed["linear_accuracy"] < 0.6
