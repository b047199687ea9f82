"""Score layouts in all the ways that reviewers ask for: neighbours, classes, and the global arrangement.

The scores that `snekhorn.metrics` has are taken from it. The others are here.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import rankdata
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from snekhorn.metrics import evaluate, knn_accuracy, neighbor_recall

from .measure import Array, quiet

RECALL_SIZES = (1, 5, 15, 50)
VOTE_SIZES = (1, 5, 15, 30)
TRIPLETS_PER_POINT = 5
PAIRS = 50_000
EXACT_POINTS, SAMPLE = 2_500, 1_000  # with more points than the first, neighbours are compared for a sample of them
CLASSED_POINTS = 5_000  # most points for k-means and the linear classifier
FOLDS = 5

LOCAL = {
    **{f"recall_{k}": f"recall at {k}" for k in RECALL_SIZES},
    "trustworthiness": "trustworthiness",
    "continuity": "continuity",
}
LABELS = {
    "knn_accuracy": "kNN accuracy",
    "silhouette": "silhouette",
    "kmeans_ari": "ARI of k-means",
    "linear_accuracy": "linear accuracy",
}
GLOBAL = {
    "random_triplets": "random triplets",
    "centroid_triplets": "centroid triplets",
    "distance_ranks": "Spearman correlation of distances",
}
MEASURES = {**LOCAL, **LABELS, **GLOBAL}  # names in tables


def all_scores(X: Array, y: Array, Z: Array, n_jobs: int) -> dict[str, float | None]:
    """Return every score of a layout; scores that the data do not define are None."""
    how: dict[str, Any] = {"n_jobs": n_jobs, "sample": SAMPLE if len(Z) > EXACT_POINTS else None}
    found = evaluate(X, Z, y, **how)
    recalls = {k: neighbor_recall(X, Z, n_neighbors=k, **how) for k in RECALL_SIZES if k < len(Z) / 2}
    votes = [knn_accuracy(Z, y, n_neighbors=k, **how) for k in VOTE_SIZES if k < len(Z) / 2]
    return {
        **{f"recall_{k}": recalls.get(k) for k in RECALL_SIZES},
        **{score: found.get(score) for score in ("trustworthiness", "continuity", "silhouette")},
        "knn_accuracy": float(np.mean(votes)) if votes else None,
        **class_scores(y, Z),
        "random_triplets": random_triplets(X, Z),
        "centroid_triplets": centroid_triplets(X, y, Z),
        "distance_ranks": distance_ranks(X, Z),
    }


def class_scores(y: Array, Z: Array) -> dict[str, float]:
    """Return how well k-means finds the classes, and how well a linear classifier does on points left out."""
    chosen = np.random.default_rng(0).permutation(len(Z))[:CLASSED_POINTS]
    Z, y = Z[chosen], y[chosen]
    clusters = KMeans(len(np.unique(y)), n_init=3, random_state=0).fit_predict(Z)
    linear = make_pipeline(StandardScaler(), LogisticRegression())
    folds = KFold(FOLDS, shuffle=True, random_state=0)
    accuracies = quiet(lambda: cross_val_score(linear, Z, y, cv=folds))
    return {"kmeans_ari": float(adjusted_rand_score(y, clusters)), "linear_accuracy": float(np.mean(accuracies))}


def random_triplets(X: Array, Z: Array, seed: int = 0) -> float:
    """Return the fraction of random triplets (i, j, k) in which the same one of j and k is nearer to i in X and Z."""
    rng = np.random.default_rng(seed)
    n = len(X)
    i = np.repeat(np.arange(n), TRIPLETS_PER_POINT)
    j, k = (i + rng.integers(1, n, size=i.size)) % n, (i + rng.integers(1, n, size=i.size)) % n
    agree = [(_squared(A, i, j) < _squared(A, i, k)) for A in (X, Z)]
    different = j != k
    return float(np.mean((agree[0] == agree[1])[different]))


def centroid_triplets(X: Array, y: Array, Z: Array) -> float | None:
    """Return the fraction of triplets of class centres with the same order of distances; None below three classes."""
    classes = np.unique(y)
    if len(classes) < 3:
        return None
    in_x, in_z = (
        cdist(centres, centres) for centres in (np.array([A[y == c].mean(axis=0) for c in classes]) for A in (X, Z))
    )
    return float(np.mean([(in_x[i, j] < in_x[i, k]) == (in_z[i, j] < in_z[i, k]) for i, j, k in _triplets(classes)]))


def _triplets(classes: Array) -> Iterable[tuple[int, int, int]]:
    """Yield every class with every pair of other classes."""
    for i in range(len(classes)):
        yield from ((i, j, k) for j, k in combinations([c for c in range(len(classes)) if c != i], 2))


def distance_ranks(X: Array, Z: Array, seed: int = 0) -> float:
    """Return Spearman's correlation of distances in X and in Z over random pairs of different points."""
    rng = np.random.default_rng(seed)
    i = rng.integers(0, len(X), size=PAIRS)
    j = (i + rng.integers(1, len(X), size=PAIRS)) % len(X)
    ranks = [rankdata(_squared(A, i, j)) for A in (X, Z)]
    return float(np.corrcoef(*ranks)[0, 1])


def _squared(A: Array, i: Array, j: Array) -> Array:
    difference = A[i] - A[j]
    return np.einsum("ij,ij->i", difference, difference)
