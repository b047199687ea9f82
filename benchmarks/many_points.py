"""Data sets of 10,000 points and more, real and generated, on which the descent is studied."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from harness.data_sets import load_points

from .measure import Array

Labeled = tuple[Array, NDArray[np.int64]]

TITLES = {
    "mnist": "MNIST, 70,000 points",
    "mnist 20k": "MNIST, 20,000 points",
    "cifar_resnet56": "CIFAR-10 features, 10,000 points",
    "groups": "100 groups of unequal size, 30,000 points",
    "branches": "six branches, 20,000 points",
    "roll": "Swiss roll, 15,000 points",
}
QUICK_SIZE = 1000  # points of every set in a quick run


def load_many(name: str, folder: Path | None, *, quick: bool) -> Labeled:
    """Return the points in float32 and their labels."""
    if name.startswith("mnist"):
        X, y = load_points("mnist", folder, n=20_000 if name == "mnist 20k" else None, dtype=np.float32)
    elif name in GENERATED:
        X, y = GENERATED[name](np.random.default_rng(0))
    else:
        X, y = load_points(name, folder, dtype=np.float32)
    return (X[:QUICK_SIZE], y[:QUICK_SIZE]) if quick else (X, y)


def _groups(rng: np.random.Generator) -> Labeled:
    """Return Gaussian groups of unequal size and width in 30 dimensions."""
    label = rng.choice(100, 30_000, p=rng.dirichlet(np.ones(100)))
    centres, widths = 2.0 * rng.normal(size=(100, 30)), rng.uniform(0.3, 1.0, 100)
    X = centres[label] + widths[label, None] * rng.normal(size=(label.size, 30))
    return X.astype(np.float32), label


def _branches(rng: np.random.Generator) -> Labeled:
    """Return a stem that divides into six branches, with noise, in 50 dimensions."""
    along, branch = rng.uniform(0.0, 1.0, 20_000), rng.integers(0, 6, 20_000)
    directions = 10.0 * rng.normal(size=(6, 50))
    stem, beyond = np.minimum(along, 0.3), np.maximum(along - 0.3, 0.0)
    X = stem[:, None] * directions[0] + beyond[:, None] * directions[branch]
    return (X + 0.5 * rng.normal(size=X.shape)).astype(np.float32), branch


def _roll(rng: np.random.Generator) -> Labeled:
    """Return a rolled-up rectangle; labels are stripes along the roll."""
    angle, height = rng.uniform(1.5 * np.pi, 4.5 * np.pi, 15_000), rng.uniform(0.0, 20.0, 15_000)
    X = np.stack([angle * np.cos(angle), height, angle * np.sin(angle)], axis=1)
    return X.astype(np.float32), (3.0 * angle).astype(np.int64)


GENERATED = {"groups": _groups, "branches": _branches, "roll": _roll}
