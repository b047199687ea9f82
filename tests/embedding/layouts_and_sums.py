"""Layouts, affinities and dense formulas for the tests of the parts of the embedding."""

import numpy as np

from snekhorn.embedding.charge_grid import GridSums
from snekhorn.embedding.charge_sums import Kernel
from snekhorn.runtime.execution import Threads

from ..helpers import squared_distances

ONE_THREAD = Threads(1)


def fitted(Z, span):
    """Move and scale Z to a box whose widest axis has this span."""
    return (Z - Z.min(axis=0)) / np.ptp(Z, axis=0).max() * span - span / 2


def blobs(n, d, seed=0):
    """Islands of different sizes and densities, some with a tail: what a layout of real data looks like."""
    rng = np.random.default_rng(seed)
    label = rng.integers(12, size=n)
    centre, radius = rng.uniform(-1.0, 1.0, size=(12, d)), rng.uniform(0.03, 0.2, size=12)
    return centre[label] + radius[label, None] * rng.standard_t(5, size=(n, d)) * 0.5


def curve(n, d, seed=0):
    """A trajectory: points along a thin, closed line."""
    rng = np.random.default_rng(seed)
    t = np.sort(rng.uniform(0.0, 2.0 * np.pi, size=n))
    return np.stack([np.sin(t), np.cos(3.0 * t)], axis=1)[:, :d] + 0.01 * rng.normal(size=(n, d))


def uniform(n, d, seed=0):
    return np.random.default_rng(seed).uniform(size=(n, d))


def plain_sums(kernel, Z, charges, positions=None):
    """Compute the field of charges at Z and its gradient, at the positions, by the formula."""
    difference = (Z if positions is None else positions)[:, None] - Z
    squared = (difference**2).sum(axis=2)
    if kernel is Kernel.STUDENT:
        k, slope = 1.0 / (1.0 + squared), -2.0 / (1.0 + squared) ** 2
    else:
        k, slope = np.exp(-squared), -2.0 * np.exp(-squared)
    return k @ charges, np.einsum("ij,ijd->id", slope * charges, difference)


def latent_cost(kernel, Z):
    C = squared_distances(Z)
    return np.log1p(C) if kernel is Kernel.STUDENT else C


def error(found, want):
    """Relative L2 error."""
    return float(np.linalg.norm(found - want) / np.linalg.norm(want))


def doubly_stochastic_matrix(n, seed=0, *, diagonal=False):
    """A symmetric P with rows that sum to 1."""
    P = np.random.default_rng(seed).uniform(0.05, 1.0, size=(n, n))
    P = P + P.T
    np.fill_diagonal(P, 0.5 * float(diagonal))
    for _ in range(100):
        scale = 1.0 / np.sqrt(P.sum(axis=1))
        P = P * scale[:, None] * scale
    return P


def row_stochastic_matrix(n, seed=0):
    """A P that is far from symmetric, without diagonal."""
    P = np.random.default_rng(seed).exponential(size=(n, n)) ** 2 + 1e-3
    np.fill_diagonal(P, 0.0)
    return P / P.sum(axis=1, keepdims=True)


def plain_latent(kernel, normalized, Z, self_loops):
    """Q by its definition, as a dense matrix."""
    n = len(Z)
    K = np.exp(-latent_cost(kernel, Z))
    if normalized != "both" or not self_loops:
        np.fill_diagonal(K, 0.0)
    if normalized == "total":
        return n * K / K.sum()
    if normalized == "rows":
        return K / K.sum(axis=1, keepdims=True)
    f = np.zeros(n)
    for _ in range(5000):
        f = (f - np.log(K @ np.exp(f))) / 2
    return np.exp(f[:, None] + f) * K


def plain_divergence(P, Q):
    """KL(P | Q) per point."""
    there = P > 0.0
    return float(np.sum(P[there] * np.log(P[there] / Q[there]))) / len(P)


def random_charges(n, seed=1):
    """Return charges between 0.05 and 1."""
    return np.random.default_rng(seed).uniform(0.05, 1.0, size=n)


def meshes_of(*layouts):
    """Yield the mesh that the same sums use for each layout in turn."""
    grid = GridSums(Kernel.STUDENT, ONE_THREAD)
    for Z in layouts:
        grid(Z, np.ones(len(Z)))
        yield grid._mesh
