"""Data, and measures that do not use the library, for several test files."""

import os
import tracemalloc
import warnings
from functools import cache
from inspect import signature
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import eigh
from scipy.special import entr
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from snekhorn import registry
from snekhorn.affinities import MultiscaleSymmetricEntropicAffinity
from snekhorn.errors import InputError
from snekhorn.geometry.costs import DenseCost, NeighborGraph
from snekhorn.registry import classes

AFFINITIES = tuple(entry.load() for entry in classes(registry.AFFINITIES.values()).values())
WITH_PERPLEXITY = tuple(kind for kind in AFFINITIES if {"perplexity", "perplexities"} & set(signature(kind).parameters))
SMALL_SCALE = 5.0


@cache
def has_unit_rows(kind):
    """Whether the rows of this affinity sum to 1."""
    return row_gap(make(kind, 5.0).fit_transform(clusters(30))) < 1e-6


@cache
def needs_symmetric_costs(kind):
    """Whether this affinity is symmetric on a directed graph without being symmetrised afterwards."""
    around = (np.arange(12)[:, None] + np.arange(1, 8)) % 12
    P = dense(make(kind, 3.0, metric="precomputed").fit_transform((around, np.ones(around.shape))))
    return np.array_equal(P, P.T)


def make(kind, perplexity=10.0, **parameters):
    """Return an affinity of this kind with this perplexity, if it has one, and with a smaller one if it has several."""
    if kind not in WITH_PERPLEXITY:
        return kind(**parameters)
    if kind is MultiscaleSymmetricEntropicAffinity:
        return kind(perplexities=(SMALL_SCALE, perplexity), **parameters)
    return kind(perplexity=perplexity, **parameters)


DATA = Path(os.environ.get("SNEKHORN_DATA") or "SNEKHORN_DATA is not set")
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="SNEKHORN_DATA does not name a folder of data sets")


def changed(array, index, value):
    """A copy of an array with one entry replaced."""
    array = array.copy()
    array[index] = value
    return array


def refused(model, X, *parts):
    """Check that fitting raises an error that has all these parts, whatever their case."""
    with pytest.raises(InputError) as error:
        model.fit(X)
    for part in parts:
        assert part.lower() in str(error.value).lower()


def read_only(X, folder):
    """A copy of X that cannot be written to."""
    X = X.copy()
    X.setflags(write=False)
    return X


def clusters(n, p=3, seed=0):
    """Points of three Gaussians of standard deviations 0.2, 1 and 3, as in the paper's Figure 2."""
    rng = np.random.default_rng(seed)
    label = np.arange(n) % 3
    return np.array([0.2, 1.0, 3.0])[label, None] * rng.normal(size=(n, p)) + 4.0 * label[:, None]


def jittered_circle(n, seed=0):
    """Return points with similar neighbourhoods, for which no entropy dual approaches its floor."""
    angle = 2.0 * np.pi * np.arange(n) / n
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return circle + 0.1 * np.random.default_rng(seed).normal(size=(n, 2))


def without_some_entries(X):
    """Return X with one zero in every row: sparse, with distinct points."""
    X = X.copy()
    X[np.arange(len(X)), np.arange(len(X)) % X.shape[1]] = 0.0
    return X


def squared_distances(X):
    X = np.asarray(X, dtype=float)
    return ((X[:, None] - X) ** 2).sum(axis=2)


def dense(P):
    return (P.toarray() if sparse.issparse(P) else np.asarray(P)).astype(float)


def uniform_rows(P):
    """Whether the entries of each row that are not negligible are equal, but for rounding."""
    share = P / P.max(axis=1, keepdims=True)
    return ((share < 1e-3) | (share > 0.99)).all(axis=1)


def entropies(P):
    """-sum_j P_ij log P_ij"""
    return entr(dense(P)).sum(axis=1)


def row_gap(P):
    return float(np.abs(dense(P).sum(axis=1) - 1.0).max())


def graph_cost(C, edges):
    """The costs of C on a boolean matrix of edges, self-loops left out."""
    edges = sparse.csr_matrix(edges & ~np.eye(len(C), dtype=bool))
    row = np.repeat(np.arange(len(C)), np.diff(edges.indptr))
    return NeighborGraph(edges.indptr, edges.indices, C[row, edges.indices])


def cost_and_mask(form, n=12, seed=0, dtype=float):
    """A cost object of one of the two forms, its full matrix, and where the matrix counts (off the diagonal)."""
    rng = np.random.default_rng(seed)
    C = squared_distances(rng.normal(size=(n, 3))).astype(dtype)
    mask = np.ones((n, n), dtype=bool)
    if form == "graph":
        mask = rng.random((n, n)) < 0.4
        mask |= mask.T | np.eye(n, k=1, dtype=bool) | np.eye(n, k=-1, dtype=bool)
    mask &= ~np.eye(n, dtype=bool)
    return (DenseCost(C) if form == "dense" else graph_cost(C, mask)), C.astype(float), mask


def fit_whatever_it_says(affinity, X):
    """Fit, and return the warnings meant for users; any other warning stays an error."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("error")
        warnings.simplefilter("always", UserWarning)
        warnings.simplefilter("always", ConvergenceWarning)
        affinity.fit(X)
    return [warning.category for warning in said]


def full_matrices_held(affinity, X):
    """Most memory that fitting to X takes at once, in matrices of n x n."""
    affinity.fit(X[:60])  # what it takes to compile a kernel does not count
    tracemalloc.start()
    affinity.fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / affinity.affinity_.nbytes


@cache
def real_data(name):
    """A data set of the folder SNEKHORN_DATA, on its first 50 principal components if it has more features."""
    with np.load(DATA / f"{name}.npz") as file:
        X = file["X"].astype(float)
    if X.shape[1] <= 50:
        return X
    X -= X.mean(axis=0)
    n = X.shape[0]
    with threadpool_limits(1):  # threads of several test processes would get in each other's way
        values, vectors = eigh(X @ X.T, subset_by_index=[n - 50, n - 1])
    return vectors * np.sqrt(values)
